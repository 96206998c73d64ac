"""Scalar replacement of elements in loops: what a loop reads again and again beside what it writes,
and the element that it adds to.

    for j in range(n - k):                              factor = a[i][k]
        a[i][k + j + 1] -= a[i][k] * a[k][k + j + 1]    ->  for j in range(n - k):
                                                            a[i][k + j + 1] -= factor * a[k][...]

    for j in range(n):                                  t = out[i]
        out[i] += a[i][j] * x[j]                    ->  for j in range(n):
                                                            t += a[i][j] * x[j]
                                                        out[i] = t

Compilers do so for arrays that the loop does not write. Of one that it writes they cannot tell,
without the ranges of counters, that no store meets the element: it is read from memory behind each
store. An element moves if it is there, whatever the loop does, and differs in one subscript from
all else that is stored. One that is stored is read before, so that it has a value.
After D. Callahan, S. Carr and K. Kennedy, Improving register allocation for subscripted variables,
1990.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeGuard

from transpile.analysis.elements.bounds import (
    OUTSIDE,
    Ranges,
    arrays_of,
    inside,
    is_in_bounds,
    is_never_0,
)
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import NO_LANES, THREADS_BOUND
from transpile.ir.dims import Index, substitute, symbols_of
from transpile.ir.graph import Source
from transpile.ir.loop_ir import (
    Apply,
    Buffer,
    Declare,
    Expr,
    For,
    If,
    Kernel,
    Load,
    Program,
    Ref,
    Statement,
    Store,
    Update,
)
from transpile.ir.loop_rewrite import (
    accesses,
    loads,
    map_kernels,
    map_statement,
    names_in,
    walk,
    with_bodies,
)
from transpile.options import Options
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, dataclass, replace, same

Body = tuple[Statement, ...]


# An element in a variable is in no lane of its own.
@contract(requires=(NO_LANES, THREADS_BOUND))
def hoist_elements(program: Program, options: Options) -> Program:
    """The program whose innermost loops of the user's read such elements once."""
    names = Names(names_in(program))

    def hoisted(kernel: Kernel) -> Kernel:
        hoister = _Hoister(arrays_of(program, kernel), names.inner())
        return changed(kernel, body=hoister.body(kernel.body, OUTSIDE))

    return map_kernels(program, hoisted)


@dataclass(frozen=True)
class _Hoister:
    """Hoists the elements of a kernel. `ranges` has those of the loops around."""

    arrays: Mapping[str, Buffer]
    names: Names

    def body(self, body: Body, ranges: Ranges) -> Body:
        """The statements, with elements before the loops that read them."""
        result: list[Statement] = []
        for statement in body:
            if _is_innermost(statement):
                result += self._loop(statement, ranges)
            elif isinstance(statement, For):
                result.append(self._around(statement, inside(statement, ranges)))
            else:
                result.append(with_bodies(statement, lambda inner: self.body(inner, ranges)))
        return same(body, tuple(result))

    def _around(self, loop: For, ranges: Ranges) -> For:
        if loop.collapse > 1:  # collapsed loops must stay a perfect nest
            return loop
        return changed(loop, body=self.body(loop.body, ranges))

    def _loop(self, loop: For, ranges: Ranges) -> Iterator[Statement]:
        stored: dict[str, list[tuple[Index, ...]]] = {}
        for buffer, index in _stores(loop.body):
            stored.setdefault(buffer, []).append(index)
        within = inside(loop, ranges)
        own = {loop.symbol.name, *_assigned(loop.body)}
        accessed, read_first = _accessed(loop.body), _read_first(loop.body)
        moved: dict[Expr, Ref] = {}
        kept: list[Store] = []  # the last values of those that the loop changes
        for load in dict.fromkeys(x for s in walk(loop.body) for x in loads(s)):
            if (
                load.buffer not in stored
                or not own.isdisjoint(s.name for i in load.index for s in symbols_of(i))
                or not is_in_bounds(load, self.arrays, ranges)
            ):
                continue
            changes = load.index in stored[load.buffer]
            others = accessed[load.buffer] if changes else stored[load.buffer]
            if (changes and load not in read_first) or not all(
                _differ(load.index, index, within) for index in others if index != load.index
            ):
                continue
            name = self.names.new("t")
            moved[load] = Ref(name, load.dtype)
            yield Declare(name, load, constant=not changes)
            if changes:
                kept.append(Store(load.buffer, load.index, moved[load]))
        if moved:
            loop = changed(loop, body=_with_refs(loop.body, moved))
        yield loop
        yield from kept


def _is_innermost(statement: Statement) -> TypeGuard[For]:
    """True for a loop of the user's, on one thread, without anything inside but branches."""
    return (
        isinstance(statement, For)
        and statement.ordered
        and not statement.parallel
        and not statement.simd
        and all(isinstance(s, Declare | Store | Update | If) for s in walk(statement.body))
    )


def _stores(body: Body) -> Iterator[tuple[str, tuple[Index, ...]]]:
    for statement in walk(body):
        match statement:
            case Store(buffer=name, index=index) | Update(target=Load(buffer=name, index=index)):
                yield name, index


def _differ(index: tuple[Index, ...], other: tuple[Index, ...], ranges: Ranges) -> bool:
    """True if two elements are never the same one."""
    return any(
        is_never_0(substitute(one - two, known))
        for one, two in zip(index, other, strict=True)
        for known in (ranges.counted, ranges.limited)
    )


def _assigned(body: Body) -> Iterator[str]:
    """The variables that statements declare or update."""
    for statement in walk(body):
        match statement:
            case Declare(name=name) | Update(target=Ref(name=name)):
                yield name
            case _:
                pass


def _accessed(body: Body) -> Mapping[str, list[tuple[Index, ...]]]:
    """The subscripts by which statements read or store elements, by array."""
    found: dict[str, list[tuple[Index, ...]]] = {}
    for statement in walk(body):
        for buffer, index in accesses(statement):
            found.setdefault(buffer, []).append(index)
    return found


def _read_first(body: Body) -> set[Load]:
    """The elements that statements read before they store them."""
    found: set[Load] = set()
    stored: set[tuple[str, tuple[Index, ...]]] = set()
    for statement in walk(body):
        found |= {load for load in loads(statement) if (load.buffer, load.index) not in stored}
        stored |= {*_stores((statement,))} if isinstance(statement, Store | Update) else set()
    return found


def _with_refs(body: Body, moved: Mapping[Expr, Ref]) -> Body:
    """Statements with variables for elements, also for those that they change."""

    def changing(statement: Statement) -> Statement:
        inside = with_bodies(statement, lambda inner: tuple(map(changing, inner)))
        match inside:
            case Store(buffer=buffer, index=index, value=value, source=source):
                target = moved.get(Load(buffer, index, value.dtype))
                if target is not None:
                    return _update(target, value, source)
            case Update(target=Load() as load) if load in moved:
                return replace(inside, target=moved[load])
            case _:
                pass
        return inside

    def on_expr(expr: Expr) -> Expr:
        return moved.get(expr, expr)

    return tuple(changing(map_statement(statement, on_expr)) for statement in body)


def _update(target: Ref, value: Expr, source: Source) -> Update:
    """The assignment of a value to a variable: an update by an operation, if it is one."""
    match value:
        case Apply(op=op, args=(first, second)) if first == target and second.dtype == target.dtype:
            return Update(target, op, second, source)
        case _:
            return Update(target, "set", value, source)
