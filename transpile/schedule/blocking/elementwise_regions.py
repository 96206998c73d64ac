"""Recognise user loops that are elementwise: no element depends on another one, in any
iteration.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from transpile.ir.dims import Dim, Index, Shape, Symbol, substitute, symbols_of
from transpile.ir.loop_ir import (
    Apply,
    Declare,
    Expr,
    For,
    Literal,
    Load,
    Ref,
    Statement,
    Store,
    Update,
    While,
)
from transpile.ir.loop_rewrite import loads, map_expr, map_statement, subexpressions, walk, written
from transpile.ir.types import BOOL
from transpile.schedule.blocking.fixpoint import follow_all, is_negation
from transpile.util.frozen_records import dataclass, replace

Body = tuple[Statement, ...]


@dataclass(frozen=True)
class Elementwise:
    """A loop whose body consists of scalar statements and of nests over all elements.

    loop         the loop, of each nest only the innermost loop, over symbols[-1]
    symbols      the symbols of the nests, the same for all; extents: their extents
    state        the loop-carried arrays, each with the one subscript at which a nest accesses it
    scratch      arrays that every iteration writes before it reads them
    written      all arrays that it writes, stacked results included
    scalars      the loop-carried scalars
    statements   the bodies of the nests in order
    active       of a while loop, the condition that must hold for some element to continue
    has_streams  True if iterations access different slices of an array
    """

    loop: For | While
    symbols: tuple[Symbol, ...]
    extents: Shape
    state: Mapping[str, Shape]
    scratch: Mapping[str, Shape]
    written: frozenset[str]
    scalars: tuple[str, ...]
    statements: Body
    active: Expr | None
    has_streams: bool


def as_elementwise(loop: For | While) -> Elementwise | None:
    """The loop as an elementwise one; None if it is not."""
    nests = [s for s in _all_statements(loop) if isinstance(s, For)]
    shape = nest_of(nests[0]) if nests else None
    if shape is None:
        return None
    symbols, extents, _ = shape
    test = _plain(loop.test, symbols, extents, True) if isinstance(loop, While) else ()
    body = _plain(loop.body, symbols, extents, False)
    if test is None or body is None:
        return None
    if isinstance(loop, While):
        loop = replace(loop, test=test, body=body)
        is_understood, active = _exit_condition(loop)
        if not is_understood:
            return None
    else:
        loop, active = replace(loop, body=body), None
    statements = tuple(s for nest in body if isinstance(nest, For) for s in nest.body)
    changed = {name for s in statements for name in written(s)}
    elements = {name: _own_element(loop, name, symbols) for name in sorted(changed)}
    if any(index is None for index in elements.values()):
        return None
    arrays = {n: i for n, i in elements.items() if i is not None and not _is_stacked(loop, i)}
    scratch = {n: i for n, i in arrays.items() if _is_written_first(loop, n)}
    state = {n: i for n, i in arrays.items() if n not in scratch}
    if not state or any(_is_read(loop, n) for n in changed - arrays.keys()):
        return None
    has_streams = any(_is_stacked(loop, i) for s in statements for _, i in _elements(s) if i)
    return Elementwise(
        loop,
        symbols,
        extents,
        state,
        scratch,
        frozenset(changed),
        tuple(_carried_scalars(loop)),
        statements,
        active,
        has_streams,
    )


def _all_statements(loop: For | While) -> Body:
    return (*loop.test, *loop.body) if isinstance(loop, While) else loop.body


def nest_of(statement: Statement) -> tuple[tuple[Symbol, ...], Shape, Body] | None:
    """The symbols, extents and innermost body of a perfect nest whose loops start at 0; None for
    others."""
    symbols: list[Symbol] = []
    extents: list[Index] = []
    body: Body = (statement,)
    while len(body) == 1 and isinstance(body[0], For):
        loop = body[0]
        is_plain = loop.start == 0 and loop.limit is None and not (loop.ordered or loop.parallel)
        if not is_plain:
            return None
        symbols.append(loop.symbol)
        extents.append(loop.stop)
        body = loop.body
    return (tuple(symbols), tuple(extents), body) if symbols else None


def same_nest(statement: Statement, symbols: tuple[Symbol, ...], extents: Shape) -> Body | None:
    """The innermost body of a nest of the given extents, with its symbols renamed to the given
    ones."""
    nest = nest_of(statement)
    if nest is None or nest[1] != extents:
        return None
    values = {mine: Dim.of(s) for mine, s in zip(nest[0], symbols, strict=True)}
    return tuple(map_statement(s, lambda e: e, lambda i: substitute(i, values)) for s in nest[2])


def _plain(
    body: Body, symbols: tuple[Symbol, ...], extents: Shape, may_reduce: bool
) -> Body | None:
    """The statements, each a scalar one or a perfect nest of these extents, which is replaced by
    its innermost loop; None for others, and for nests with reductions unless `collects`."""
    result: list[Statement] = []
    for statement in body:
        if isinstance(statement, For):
            inner = same_nest(statement, symbols, extents)
            if inner is None or not all(isinstance(s, Declare | Store | Update) for s in inner):
                return None
            result.append(For(symbols[-1], extents[-1], inner))
        elif isinstance(statement, Declare) or (
            isinstance(statement, Update) and isinstance(statement.target, Ref)
        ):
            result.append(statement)
        else:
            return None
    reductions = {s.name for s in result if may_reduce and isinstance(s, Declare)}
    nests = (n for n in result if isinstance(n, For))
    return tuple(result) if all(_updates_only(n.body, reductions) for n in nests) else None


def _updates_only(body: Body, reductions: set[str]) -> bool:
    """True if statements update only variables that they declare or that are given."""
    own = reductions | {s.name for s in body if isinstance(s, Declare)}
    targets = (s.target for s in body if isinstance(s, Update))
    return all(t.name in own for t in targets if isinstance(t, Ref))


# --------------------------------------------------------------------------------- conditions


def _exit_condition(loop: While) -> tuple[bool, Expr | None]:
    """Whether the exit condition is understood, and its elementwise part: None if it depends on
    scalars alone, else the predicate of `any(predicate)`."""
    nests = [s for s in loop.test if isinstance(s, For)]
    if not nests:
        return True, None
    reductions = [s for s in nests[-1].body if isinstance(s, Update)]
    if len(nests) > 1 or len(reductions) != 1 or not isinstance(reductions[0].target, Ref):
        return False, None
    update = reductions[0]
    start = next((s for s in loop.test if isinstance(s, Declare) and s.name == _name(update)), None)
    parts = [p for p in _conjuncts(loop.condition) if _depends_on(p, _name(update))]
    if start is None or len(parts) != 1 or not isinstance(start.value, Literal):
        return False, None
    value = _inlined(update.value, [s for s in nests[-1].body if isinstance(s, Declare)])
    match parts[0]:
        case Ref() if update.op == "logical_or" and not start.value.value:
            return True, value
        case Apply(args=(Ref(),)) as negated if (
            is_negation(negated) and update.op == "logical_and" and start.value.value
        ):
            return True, Apply("logical_not", (value,), BOOL)
        case _:
            return False, None


def _name(update: Update) -> str:
    return update.target.name if isinstance(update.target, Ref) else ""


def _conjuncts(condition: Expr) -> Iterator[Expr]:
    if follow_all(condition, True):
        for arg in condition.args:
            yield from _conjuncts(arg)
    else:
        yield condition


def _depends_on(expr: Expr, name: str) -> bool:
    return any(isinstance(p, Ref) and p.name == name for p in subexpressions(expr))


def _inlined(expr: Expr, declared: Iterable[Declare]) -> Expr:
    values: dict[Expr, Expr] = {}
    for d in declared:
        values[Ref(d.name, d.dtype)] = map_expr(d.value, lambda e: values.get(e, e))
    return map_expr(expr, lambda e: values.get(e, e))


# ------------------------------------------------------------------------------------- arrays


def _elements(statement: Statement) -> Iterator[tuple[str, Shape]]:
    """The array elements that a statement itself reads, then those that it writes."""
    for load in loads(statement):
        yield load.buffer, load.index
    match statement:
        case Store(buffer=buffer, index=index) | Update(target=Load(buffer=buffer, index=index)):
            yield buffer, index
        case _:
            pass


def _all_elements(loop: For | While) -> Iterator[tuple[str, Shape]]:
    for statement in walk((loop,)):
        yield from _elements(statement)


def _own_element(loop: For | While, name: str, symbols: tuple[Symbol, ...]) -> Shape | None:
    """The subscript of an array if a nest accesses one element of it in each iteration, a different
    one in different iterations; else None."""
    indices = {index for buffer, index in _all_elements(loop) if buffer == name}
    if len(indices) != 1:
        return None
    (index,) = indices
    plain = [i for i in index if isinstance(i, Dim) and i in map(Dim.of, symbols)]
    rest = {s for i in index if i not in plain for s in symbols_of(i)}
    inside = {s.symbol for s in walk(_all_statements(loop)) if isinstance(s, Declare) and s.symbol}
    is_own = sorted(map(str, plain)) == sorted(map(str, symbols))
    return index if is_own and rest.isdisjoint({*symbols, *inside}) else None


def _is_stacked(loop: For | While, index: Shape) -> bool:
    """True if the subscript depends on the iteration of the user's loop: a stacked input or
    result."""
    return isinstance(loop, For) and any(loop.symbol in symbols_of(i) for i in index)


def _is_read(loop: For | While, name: str) -> bool:
    return any(load.buffer == name for s in walk((loop,)) for load in loads(s))


def _is_written_first(loop: For | While, name: str) -> bool:
    """True if every iteration writes the element of an array before it reads it."""
    inside = (loop.test, loop.body) if isinstance(loop, While) else (loop.body,)
    if isinstance(loop, While) and any(
        isinstance(p, Load) and p.buffer == name for p in subexpressions(loop.condition)
    ):
        return False
    for statement in walk(tuple(s for body in inside for s in body)):
        if any(load.buffer == name for load in loads(statement)):
            return False
        if name in written(statement):
            return True
    return False


def _carried_scalars(loop: For | While) -> Iterator[str]:
    """The scalars declared outside that a loop updates."""
    declared = {s.name for s in walk(_all_statements(loop)) if isinstance(s, Declare)}
    carried: dict[str, None] = {}
    for statement in walk(_all_statements(loop)):
        match statement:
            case Update(target=Ref(name=name)) if name not in declared:
                carried.setdefault(name)
            case _:
                pass
    yield from carried
