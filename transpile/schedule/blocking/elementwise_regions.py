"""Elementwise loops: those of the user's that treat each element of their arrays by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from transpile.ir.dims import Dim, Shape, Symbol, substitute, symbols_of
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
    """A loop whose iterations consist of numbers of their own and of nests over all elements.

    loop         the loop; of each nest there is only the innermost loop, over symbols[-1]
    symbols      the loops of the nests, the same for all, and how long they are
    state        the arrays that it changes, with the subscripts of the element that a nest is at
    scratch      those of them of which each iteration writes the elements before it reads them
    written      all that it writes; also results that are stacked
    numbers      the variables from outside that it changes
    steps        what the nests do, one after the other
    going_on     of a while, what must hold for any element so that it goes on; else None
    has_streams  whether each iteration reads or writes arrays of its own
    """

    loop: For | While
    symbols: tuple[Symbol, ...]
    extents: tuple[int, ...]
    state: Mapping[str, Shape]
    scratch: Mapping[str, Shape]
    written: frozenset[str]
    numbers: tuple[str, ...]
    steps: Body
    going_on: Expr | None
    has_streams: bool


def as_elementwise(loop: For | While) -> Elementwise | None:
    """What there is to know of such a loop; None for any other."""
    nests = [s for s in _statements(loop) if isinstance(s, For)]
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
        decided, going_on = _going_on(loop)
        if not decided:
            return None
    else:
        loop, going_on = replace(loop, body=body), None
    steps = tuple(s for nest in body if isinstance(nest, For) for s in nest.body)
    changed = {name for s in steps for name in written(s)}
    places = {name: _place(loop, name, symbols) for name in sorted(changed)}
    if any(index is None for index in places.values()):
        return None
    arrays = {n: i for n, i in places.items() if i is not None and not _is_stacked(loop, i)}
    scratch = {n: i for n, i in arrays.items() if _is_written_first(loop, n)}
    state = {n: i for n, i in arrays.items() if n not in scratch}
    if not state or any(_is_read(loop, n) for n in changed - arrays.keys()):
        return None
    has_streams = any(_is_stacked(loop, i) for s in steps for _, i in _elements(s) if i)
    return Elementwise(
        loop,
        symbols,
        extents,
        state,
        scratch,
        frozenset(changed),
        tuple(_numbers(loop)),
        steps,
        going_on,
        has_streams,
    )


def _statements(loop: For | While) -> Body:
    return (*loop.test, *loop.body) if isinstance(loop, While) else loop.body


def nest_of(statement: Statement) -> tuple[tuple[Symbol, ...], tuple[int, ...], Body] | None:
    """The symbols and the extents of a nest of loops, each alone in the next one and from 0 on, and
    what the innermost one does."""
    symbols: list[Symbol] = []
    extents: list[int] = []
    body: Body = (statement,)
    while len(body) == 1 and isinstance(body[0], For):
        loop = body[0]
        is_plain = loop.start == 0 and loop.limit is None and not (loop.ordered or loop.parallel)
        if not is_plain or not isinstance(loop.stop, int):
            return None
        symbols.append(loop.symbol)
        extents.append(loop.stop)
        body = loop.body
    return (tuple(symbols), tuple(extents), body) if symbols else None


def same_nest(
    statement: Statement, symbols: tuple[Symbol, ...], extents: tuple[int, ...]
) -> Body | None:
    """What the innermost loop of a nest does, in terms of the symbols of another nest of the same
    extents."""
    found = nest_of(statement)
    if found is None or found[1] != extents:
        return None
    values = {mine: Dim.of(s) for mine, s in zip(found[0], symbols, strict=True)}
    return tuple(map_statement(s, lambda e: e, lambda i: substitute(i, values)) for s in found[2])


def _plain(
    body: Body, symbols: tuple[Symbol, ...], extents: tuple[int, ...], collects: bool
) -> Body | None:
    """Statements of which each is about a number, or a nest of these extents; a nest as its
    innermost loop alone. None for others, and for nests that collect numbers if they may not."""
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
    collected = {s.name for s in result if collects and isinstance(s, Declare)}
    nests = (n for n in result if isinstance(n, For))
    return tuple(result) if all(_changes_only(n.body, collected) for n in nests) else None


def _changes_only(body: Body, collected: set[str]) -> bool:
    """Tell whether the variables that statements change are theirs or among these."""
    own = collected | {s.name for s in body if isinstance(s, Declare)}
    targets = (s.target for s in body if isinstance(s, Update))
    return all(t.name in own for t in targets if isinstance(t, Ref))


# --------------------------------------------------------------------------------- conditions


def _going_on(loop: While) -> tuple[bool, Expr | None]:
    """Whether it is clear when a loop ends: by numbers alone, or when nothing holds for any element
    any more; and what that is."""
    nests = [s for s in loop.test if isinstance(s, For)]
    if not nests:
        return True, None
    collected = [s for s in nests[-1].body if isinstance(s, Update)]
    if len(nests) > 1 or len(collected) != 1 or not isinstance(collected[0].target, Ref):
        return False, None
    update = collected[0]
    start = next((s for s in loop.test if isinstance(s, Declare) and s.name == _name(update)), None)
    parts = [p for p in _conjuncts(loop.condition) if _asks(p, _name(update))]
    if start is None or len(parts) != 1 or not isinstance(start.value, Literal):
        return False, None
    value = _inlined(update.value, [s for s in nests[-1].body if isinstance(s, Declare)])
    match parts[0]:
        case Ref() if update.op == "logical_or" and not start.value.value:
            return True, value
        case Apply(args=(Ref(),)) as asked if (
            is_negation(asked) and update.op == "logical_and" and start.value.value
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


def _asks(expr: Expr, name: str) -> bool:
    return any(isinstance(p, Ref) and p.name == name for p in subexpressions(expr))


def _inlined(expr: Expr, declared: Iterable[Declare]) -> Expr:
    values: dict[Expr, Expr] = {}
    for d in declared:
        values[Ref(d.name, d.dtype)] = map_expr(d.value, lambda e: values.get(e, e))
    return map_expr(expr, lambda e: values.get(e, e))


# ------------------------------------------------------------------------------------- arrays


def _elements(statement: Statement) -> Iterator[tuple[str, Shape]]:
    """What a statement itself reads and writes of arrays, in this order."""
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


def _place(loop: For | While, name: str, symbols: tuple[Symbol, ...]) -> Shape | None:
    """The subscripts of the only element of an array that a nest reads and writes in an iteration;
    None where there are others, or where different iterations of the nest may meet there."""
    found = {index for buffer, index in _all_elements(loop) if buffer == name}
    if len(found) != 1:
        return None
    (index,) = found
    plain = [i for i in index if isinstance(i, Dim) and i in map(Dim.of, symbols)]
    rest = {s for i in index if i not in plain for s in symbols_of(i)}
    inside = {s.symbol for s in walk(_statements(loop)) if isinstance(s, Declare) and s.symbol}
    is_own = sorted(map(str, plain)) == sorted(map(str, symbols))
    return index if is_own and rest.isdisjoint({*symbols, *inside}) else None


def _is_stacked(loop: For | While, index: Shape) -> bool:
    """Tell whether an element is another one in each iteration."""
    return isinstance(loop, For) and any(loop.symbol in symbols_of(i) for i in index)


def _is_read(loop: For | While, name: str) -> bool:
    return any(load.buffer == name for s in walk((loop,)) for load in loads(s))


def _is_written_first(loop: For | While, name: str) -> bool:
    """Tell whether the first thing that an iteration does with an array is to write it."""
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


def _numbers(loop: For | While) -> Iterator[str]:
    """The variables from outside that a loop changes."""
    declared = {s.name for s in walk(_statements(loop)) if isinstance(s, Declare)}
    found: dict[str, None] = {}
    for statement in walk(_statements(loop)):
        match statement:
            case Update(target=Ref(name=name)) if name not in declared:
                found.setdefault(name)
            case _:
                pass
    yield from found
