"""Tangles: where a chain of views is cut, because its subscripts would grow without bounds.

Each reshape that does not come apart again puts all subscripts so far into a quotient and into a
remainder: after n of them the text is 2**n times as long, and so is the time to compute it.

One is cut, too, that merges axes between which memory has a gap, or which are in another order
there, and of which parts are read: a loop over a part begins within a row, so that no nest over
rows and columns does without quotients.
An array that is repeated as a whole is such a one where several parts are read together, as by a
convolution: two still come apart into loops over whole copies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from transpile.ir.graph import Atom, Equation, Graph, Var
from transpile.ir.indices.requirements import is_at_most
from transpile.ir.indices.row_major import product
from transpile.primitives.axes import broadcast_in_dim, reshape, slice_, transpose

# A chain of more reshapes than this is cut: 64 times the text is as much as it may grow.
MOST_RESHAPES = 6
FEWEST_PARTS = 3  # of a repeated array, for which it is put into memory
FEWEST_PARTS_OF_TRANSPOSE = 2


def tangled(graph: Graph) -> set[Var]:
    """The reshaped values that are put into memory."""
    depths: dict[Var, int] = {}
    cut = _merged_across_gaps(graph)
    for equation in graph.equations:
        depth = max((depths.get(a, 0) for a in equation.inputs if isinstance(a, Var)), default=0)
        if equation.primitive is reshape:
            before, after = (
                [d for d in v.type.shape if d != 1] for v in (equation.inputs[0], equation.output)
            )
            depth += before != after and min(len(before), len(after)) > 0
            if depth > MOST_RESHAPES:
                cut.add(equation.output)
                depth = 0
        elif equation.primitive.kind in ("reduce", "scan", "contract", "routine"):
            depth = 0
        depths.update(dict.fromkeys(equation.outputs, depth))
    return cut


def _merged_across_gaps(graph: Graph) -> set[Var]:
    """The reshaped slices and transposes, merged across a gap, and repeated arrays, of which large
    parts are read."""
    producers: dict[Atom, Equation] = {}
    parts: Counter[Var] = Counter()
    for equation in graph.equations:
        producers.update(dict.fromkeys(equation.outputs, equation))
        if equation.primitive is slice_:
            (x,) = equation.inputs
            if isinstance(x, Var) and is_at_most(x.type.size, 2 * equation.output.type.size):
                parts[x] += 1
    return {
        x
        for x, count in parts.items()
        if _is_merged_across_gap(x, producers, count)
        or (count >= FEWEST_PARTS and _is_repeated(x, producers))
    }


def _is_repeated(x: Var, producers: Mapping[Atom, Equation]) -> bool:
    """True for an array of which several copies lie behind one another."""
    merged = producers.get(x)
    copies = producers.get(merged.inputs[0]) if merged and merged.primitive is reshape else None
    if merged is None or copies is None or copies.primitive is not broadcast_in_dim:
        return False
    kept = copies.params["broadcast_dimensions"]
    shape, rows = copies.output.type.shape, {product(x.type.shape[k:]) for k in range(x.type.ndim)}
    return any(
        shape[axis] != 1 and axis not in kept and product(shape[axis + 1 :]) not in {1, *rows}
        for axis in range(len(shape) - 1)
    )


def _is_merged_across_gap(x: Var, producers: Mapping[Atom, Equation], parts: int) -> bool:
    """True for a reshaped slice, or a transpose of which several parts are read, two of whose axes
    are merged, though the stride of the outer one is not the extent of the inner one in memory."""
    merged = producers.get(x)
    part = producers.get(merged.inputs[0]) if merged and merged.primitive is reshape else None
    if merged is None or part is None:
        return False
    is_transpose = part.primitive is transpose and parts >= FEWEST_PARTS_OF_TRANSPOSE
    if not (is_transpose or part.primitive is slice_):
        return False
    shape = part.output.type.shape
    rows = {product(x.type.shape[axis:]) for axis in range(x.type.ndim + 1)}
    return any(
        product(shape[:axis]) != 1 and _has_gap(part, axis) and product(shape[axis:]) not in rows
        for axis in range(1, len(shape))
    )


def _has_gap(part: Equation, axis: int) -> bool:
    """True if the stride of the axis before this one is not this one's extent in memory."""
    whole, shape = part.inputs[0].type.shape, part.output.type.shape
    if part.primitive is transpose:
        order = part.params["permutation"]
        return shape[axis] != 1 and shape[axis - 1] != 1 and order[axis] != order[axis - 1] + 1
    strides = part.params["strides"]
    return bool(shape[axis] * strides[axis] != whole[axis] * strides[axis - 1])
