"""Gather and scatter.

Index operands are arrays of one shape, one for each indexed axis; XLA reads them as one array whose
last axis has a whole index.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transpile.hlo.builder import Builder, Rules
from transpile.hlo.module import Instruction
from transpile.hlo.rules.shapes import stacked
from transpile.hlo.traced import combined, computation
from transpile.ir.graph import Equation
from transpile.ir.types import BOOL, ArrayType
from transpile.primitives.indexing import CLIP, FILL, fill_value


def gather(b: Builder, equation: Equation, x: Instruction, *indices: Instruction) -> Instruction:
    """XLA clamps indices out of range; mode `fill` selects what they read."""
    axes, kind = tuple(equation.params["axes"]), equation.output.type.strong
    if not all(isinstance(d, int) and d for d in (*kind.shape, *(x.shape[a] for a in axes))):
        return b.splat(fill_value(x.dtype), kind)
    rank = len(indices[0].shape)
    elements = b.add(
        "gather",
        kind,
        x,
        stacked(b, indices),
        offset_dims=tuple(range(rank, len(kind.shape))),
        collapsed_slice_dims=tuple(sorted(axes)),
        start_index_map=axes,
        index_vector_dim=rank,
        slice_sizes=tuple(1 if a in axes else d for a, d in enumerate(x.shape)),
    )
    if equation.params["mode"] != FILL:
        return elements
    valid = b.broadcast(_in_range(b, x, indices, axes), kind.shape, range(rank))
    return b.select(valid, elements, b.splat(fill_value(x.dtype), kind))


def _in_range(
    b: Builder, x: Instruction, indices: Sequence[Instruction], axes: Sequence[int]
) -> Instruction:
    """The mask of whole indices that are in range."""
    mask = None
    for index, axis in zip(indices, axes, strict=True):
        low = b.compare("GE", index, b.splat(0, index.array))
        high = b.compare("LT", index, b.splat(x.shape[axis], index.array))
        inside = b.add("and", ArrayType(index.shape, BOOL), low, high)
        mask = inside if mask is None else b.same("and", mask, inside)
    assert mask is not None
    return mask


def scatter(
    b: Builder, equation: Equation, x: Instruction, updates: Instruction, *indices: Instruction
) -> Instruction:
    """XLA leaves out updates out of range; mode `clip` clamps their indices."""
    params, axes = equation.params, tuple(equation.params["axes"])
    if 0 in x.shape or 0 in updates.shape:
        return x
    if params["mode"] == CLIP:
        indices = tuple(_clamped(b, i, x.shape[a]) for i, a in zip(indices, axes, strict=True))
    rank, number = len(indices[0].shape), ArrayType((), x.dtype)
    combine = params["combine"]
    return b.add(
        "scatter",
        x.array.strong,
        x,
        stacked(b, indices),
        updates,
        update_window_dims=tuple(range(rank, len(updates.shape))),
        inserted_window_dims=tuple(sorted(axes)),
        scatter_dims_to_operand_dims=axes,
        index_vector_dim=rank,
        unique_indices=bool(params["unique"]),
        to_apply=computation(b, "replace", lambda _, y: [y], [number, number])
        if combine == "set"
        else combined(b, combine, x.dtype),
    )


def _clamped(b: Builder, index: Instruction, size: int) -> Instruction:
    low, high = b.constant(np.int64(0)), b.constant(np.int64(size - 1))
    return b.add("clamp", index.array, low, index, high)


RULES: Rules = {"gather": gather, "scatter": scatter}
