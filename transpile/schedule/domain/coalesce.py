"""Coalesce a nest over contiguous arrays into one loop (Polychronopoulos, Loop coalescing, 1987).

    for i in 0..m: for j in 0..n: out[i, j] = f(x[i, j])
    for i in 0..m*n: out[i] = f(x[i])

One loop has one vector remainder loop, not one per row, and divides evenly among threads. Legal
where every access merges two neighbouring subscripts that cover whole rows, or is linear in both
indices; the kernel then sees the buffer in a merged shape. So are the loops over several axes by
which each row is reduced.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import (
    COALESCED,
    LANES_BOUND,
    NO_DEAD_SCALARS,
    NO_LANES,
    OWN_SHAPES,
    THREADS_BOUND,
)
from transpile.ir.dims import Dim, Index, Shape, Symbol, symbols_of
from transpile.ir.indices.requirements import is_at_most
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
    Buffer,
    Declare,
    For,
    IndexValue,
    Kernel,
    Program,
    Ref,
    Statement,
    Update,
    Within,
)
from transpile.ir.loop_rewrite import (
    accessed,
    accesses,
    children,
    expressions,
    map_accesses,
    map_kernels,
    may_reorder,
    seen_by,
    subexpressions,
    walk,
    with_bodies,
)
from transpile.machine import Machine
from transpile.options import Options
from transpile.util.frozen_records import replace, same

Body = tuple[Statement, ...]
_Merge = tuple[For, dict[str, Shape]]


# A dead declaration between two loops would keep their nest from being perfect.
@contract(
    requires=(NO_LANES, NO_DEAD_SCALARS),
    provides=(COALESCED,),
    destroys=(OWN_SHAPES, THREADS_BOUND, LANES_BOUND),
)
def coalesce(program: Program, options: Options) -> Program:
    """The program with its contiguous nests coalesced."""
    return map_kernels(program, lambda kernel: _kernel(program, kernel, options.machine))


def _kernel(program: Program, kernel: Kernel, machine: Machine) -> Kernel:
    """A kernel with its nests coalesced, from the innermost loops outwards."""
    while True:
        merges = dict(_merges(kernel.body, seen_by(program, kernel), machine))
        merged = _compatible(kernel, merges)
        if not merged:
            return kernel
        views = {name: shape for _, shapes in merged.values() for name, shape in shapes.items()}
        kernel = replace(
            kernel,
            body=_with(kernel.body, merged),
            shapes=tuple(sorted((dict(kernel.shapes) | views).items())),
        )


def _merges(
    body: Body, buffers: Mapping[str, Buffer], machine: Machine, *, is_inside: bool = False
) -> Iterator[tuple[int, _Merge]]:
    """For each nest whose two innermost loops may be one, by its identity: the nest with that loop,
    and the shapes in which it sees buffers. A nest inside of another loop has to reduce."""
    for statement in body:
        nest = _nest(statement)
        merged = None
        if len(nest) >= 2 and (not is_inside or _may_reduce(nest[-2], nest[-1], machine)):
            may_merge = _may_merge(nest[-2], nest[-1], machine)
            merged = _merge(nest[-2], nest[-1], buffers) if may_merge else None
        if merged is not None:
            loop, views = merged
            for outer in reversed(nest[:-2]):
                loop = replace(outer, body=(loop,))
            yield id(statement), (loop, views)
        elif nest:
            yield from _merges(nest[-1].body, buffers, machine, is_inside=True)


def _may_reduce(outer: For, inner: For, machine: Machine) -> bool:
    """True for loops that only reduce, to numbers. The error of one running sum of floats grows
    with the number of elements: that is at most as many as a block of a sum has."""
    few = is_at_most(outer.stop * inner.stop, machine.sum_block)

    def is_reduction(statement: Statement) -> bool:
        match statement:
            case Declare():
                return True
            case Update(target=Ref(), primitive=primitive) if few:
                return primitive is not None
            case _:
                return may_reorder(statement)

    return all(map(is_reduction, inner.body))


def _compatible(kernel: Kernel, merges: dict[int, _Merge]) -> dict[int, _Merge]:
    """Those of the nests that can be merged together: all of a kernel sees a buffer in one
    shape."""
    used = list(_used(kernel.body, merges))
    left = merges
    while True:
        merges = left
        left = {
            nest: (loop, views)
            for nest, (loop, views) in merges.items()
            if all(
                name not in views or (n in merges and merges[n][1].get(name) == views[name])
                for n, here in used
                for name in here
            )
        }
        if len(left) == len(merges):
            return left


def _used(body: Body, merges: Container[int]) -> Iterator[tuple[int, set[str]]]:
    """The buffers of each nest, by its identity, and of all statements around them."""
    for statement in body:
        if id(statement) in merges:
            yield id(statement), {name for s in walk((statement,)) for name in accessed(s)}
        else:
            yield 0, accessed(statement)
            yield from _used(children(statement), merges)


def _with(body: Body, merged: Mapping[int, _Merge]) -> Body:
    """The statements with the merged nests."""
    return tuple(
        merged[id(s)][0]
        if id(s) in merged
        else with_bodies(s, lambda inner: same(inner, _with(inner, merged)))
        for s in body
    )


def _nest(statement: Statement) -> list[For]:
    """The loops of a perfect nest, the outermost first."""
    loops: list[For] = []
    while isinstance(statement, For) and not statement.ordered:
        loops.append(statement)
        if len(statement.body) != 1:
            break
        statement = statement.body[0]
    return loops


def _may_merge(outer: For, inner: For, machine: Machine) -> bool:
    """True if there are no loops in two others, or the inner one of these has too few columns for
    the lanes of what is inside, a reduction for each of them."""
    inside = [s for s in walk(inner.body) if isinstance(s, For)]
    own = {outer.symbol, inner.symbol}
    is_rectangle = all(own.isdisjoint(symbols_of(i)) for s in inside for i in (s.start, s.stop))
    is_short = isinstance(inner.stop, int) and inner.stop < machine.fewest_columns
    reduces = any(isinstance(s, Update) and isinstance(s.target, Ref) for s in walk(inner.body))
    return not inside or (is_short and is_rectangle and reduces)


def _merge(
    outer: For, inner: For, buffers: Mapping[str, Buffer]
) -> tuple[For, dict[str, Shape]] | None:
    """One loop for two, and the shapes in which it sees buffers; None if an access does not allow
    that."""
    if outer.start != 0 or inner.start != 0 or outer.limit or inner.limit:
        return None
    if outer.symbol in symbols_of(inner.stop):  # rows of a triangle, which have no array to tell
        return None
    if any(isinstance(s, Alloc) for s in walk(inner.body)) or not _only_subscripts(
        inner.body, {outer.symbol, inner.symbol}
    ):
        return None
    total = outer.stop * inner.stop
    merged = Symbol(outer.symbol.name, 0, total)
    axes: dict[str, int | None] = {}
    views: dict[str, Shape] = {}
    for statement in walk(inner.body):
        for name, index in accesses(statement):
            if name not in buffers:  # an array of the kernel's own, which has one shape
                return None
            axis = _pair(index, outer, inner, buffers[name].shape)
            if axis == -1 or axes.setdefault(name, axis) != axis:
                return None
            if axis is not None:
                shape = buffers[name].shape
                views[name] = (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :])

    def on_access(name: str, index: Shape) -> Shape:
        axis = axes[name]
        if axis is None:
            return tuple(_renamed(i, outer, inner, merged) for i in index)
        rest = index[axis] - Dim.of(outer.symbol)
        return (*index[:axis], Dim.of(merged) + rest * inner.stop, *index[axis + 2 :])

    body = tuple(map_accesses(s, on_access) for s in inner.body)
    return replace(inner, symbol=merged, stop=total, body=body), views


def _only_subscripts(body: tuple[Statement, ...], symbols: set[Symbol]) -> bool:
    """True if the loops' symbols occur in subscripts only, not as values."""
    for statement in walk(body):
        for expr in expressions(statement):
            for part in subexpressions(expr):
                if isinstance(part, Apply) or not isinstance(part, (IndexValue, Within)):
                    continue
                if not symbols.isdisjoint(symbols_of(part.index)):
                    return False
    return True


def _pair(index: Shape, outer: For, inner: For, shape: Shape) -> int | None:
    """The axis of two neighbouring subscripts [i + c][j] that cover whole rows; None when one
    subscript is linear in i*n + j (or has neither), -1 when the access does not allow merging."""
    i, j = Dim.of(outer.symbol), Dim.of(inner.symbol)
    used = [
        a
        for a, part in enumerate(index)
        if not {outer.symbol, inner.symbol}.isdisjoint(symbols_of(part))
    ]
    if not used:
        return None
    if len(used) == 1:
        part = index[used[0]]
        terms = dict(part.terms) if isinstance(part, Dim) else {}
        a, b = terms.pop((outer.symbol,), 0), terms.pop((inner.symbol,), 0)
        rest = Dim(tuple(terms.items()))
        linear = {outer.symbol, inner.symbol}.isdisjoint(rest.symbols())
        return None if linear and b and a == inner.stop * b else -1
    axis = used[0]
    if (
        len(used) == 2
        and {outer.symbol, inner.symbol}.isdisjoint(symbols_of(index[axis] - i))
        and index[axis + 1 : axis + 2] == (j,)
        and (shape[axis + 1] == inner.stop)
    ):
        return axis
    return -1


def _renamed(index: Index, outer: For, inner: For, merged: Symbol) -> Index:
    """The subscript with m*i + j as the merged symbol."""
    if not isinstance(index, Dim) or inner.symbol not in index.symbols():
        return index
    stride = dict(index.terms)[(inner.symbol,)]
    flat = Dim.of(outer.symbol) * inner.stop + Dim.of(inner.symbol)
    return index - flat * stride + Dim.of(merged) * stride
