"""Coalesce a nest over contiguous arrays into one loop (Polychronopoulos, Loop coalescing, 1987).

    for i in 0..m: for j in 0..n: out[i, j] = f(x[i, j])
    for i in 0..m*n: out[i] = f(x[i])

One loop has one vector remainder loop, not one per row, and divides evenly among threads. Legal
where every access merges two neighbouring subscripts that cover whole rows, or is linear in both
indices; the kernel then sees the buffer in a merged shape.
"""

from __future__ import annotations

from collections.abc import Mapping

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
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
    Buffer,
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
    expressions,
    map_accesses,
    map_kernels,
    seen_by,
    subexpressions,
    walk,
)
from transpile.machine import Machine
from transpile.options import Options
from transpile.util.frozen_records import replace


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
        merged = _compatible(kernel, _merges(program, kernel, machine))
        if not merged:
            return kernel
        views = {name: shape for _, shapes in merged.values() for name, shape in shapes.items()}
        kernel = replace(
            kernel,
            body=tuple(merged[p][0] if p in merged else s for p, s in enumerate(kernel.body)),
            shapes=tuple(sorted((dict(kernel.shapes) | views).items())),
        )


def _merges(
    program: Program, kernel: Kernel, machine: Machine
) -> dict[int, tuple[For, dict[str, Shape]]]:
    """For each nest of the kernel whose two innermost loops may be one: the nest with that loop,
    and the shapes in which it sees buffers."""
    merges = {}
    for position, statement in enumerate(kernel.body):
        nest = _nest(statement)
        if len(nest) < 2 or not _may_merge(nest[-2], nest[-1], machine):
            continue
        merged = _merge(nest[-2], nest[-1], seen_by(program, kernel))
        if merged is not None:
            loop, views = merged
            for outer in reversed(nest[:-2]):
                loop = replace(outer, body=(loop,))
            merges[position] = loop, views
    return merges


def _compatible(
    kernel: Kernel, merges: dict[int, tuple[For, dict[str, Shape]]]
) -> dict[int, tuple[For, dict[str, Shape]]]:
    """Those of the nests that can be merged together: all of a kernel sees a buffer in one
    shape."""
    names = [{name for s in walk((top,)) for name in accessed(s)} for top in kernel.body]
    left = merges
    while True:
        merges = left
        left = {
            position: (loop, views)
            for position, (loop, views) in merges.items()
            if all(
                name not in views or (p in merges and merges[p][1].get(name) == views[name])
                for p, here in enumerate(names)
                for name in here
            )
        }
        if len(left) == len(merges):
            return left


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
