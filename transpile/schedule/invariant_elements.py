"""Loop-invariant code motion of elements: what a loop reads again and again, beside what it writes.

    for j in range(n - k):                              factor = a[i][k]
        a[i][k + j + 1] -= a[i][k] * a[k][k + j + 1]    ->  for j in range(n - k):
                                                            a[i][k + j + 1] -= factor * a[k][...]

Compilers do so for arrays that the loop does not write. Of one that it writes they cannot tell,
without the ranges of counters, that no store meets the element: it is read from memory behind each
store. An element moves if it is there, whatever the loop does, and differs in one subscript from
all that is stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeGuard

from transpile.analysis.element_bounds import OUTSIDE, Ranges, arrays_of, inside, is_in_bounds
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import NO_LANES, THREADS_BOUND
from transpile.ir.dims import Index, bounds, substitute, symbols_of
from transpile.ir.loop_ir import (
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
    loads,
    map_kernels,
    map_statement,
    names_in,
    walk,
    with_bodies,
)
from transpile.options import Options
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, dataclass, same

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
        own = {loop.symbol, *(s.symbol for s in walk(loop.body) if isinstance(s, Declare))}
        moved: dict[Expr, Ref] = {}
        for load in dict.fromkeys(x for s in walk(loop.body) for x in loads(s)):
            if (
                load.buffer in stored
                and all(own.isdisjoint(symbols_of(i)) for i in load.index)
                and all(_differ(load.index, index, within) for index in stored[load.buffer])
                and is_in_bounds(load, self.arrays, ranges)
            ):
                name = self.names.new("t")
                moved[load] = Ref(name, load.dtype)
                yield Declare(name, load)
        if moved:
            loop = changed(loop, body=_with_refs(loop.body, moved))
        yield loop


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
    for one, two in zip(index, other, strict=True):
        for known in (ranges.counted, ranges.limited):
            least, most = bounds(substitute(one - two, known))
            if (least is not None and least > 0) or (most is not None and most < 0):
                return True
    return False


def _with_refs(body: Body, moved: Mapping[Expr, Ref]) -> Body:
    def on_expr(expr: Expr) -> Expr:
        return moved.get(expr, expr)

    return tuple(map_statement(statement, on_expr) for statement in body)
