"""Views, joins and ranges: axes, subscripts, padding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transpile.hlo.builder import Builder, Rules
from transpile.hlo.module import Instruction
from transpile.ir.graph import Equation


def broadcast(b: Builder, equation: Equation, x: Instruction) -> Instruction:
    """Axes of one element are repeated too."""
    params = equation.params
    return b.broadcast(x, params["shape"], params["broadcast_dimensions"])


def reshape(b: Builder, equation: Equation, x: Instruction) -> Instruction:
    """The elements in row-major order."""
    return b.reshape(x, equation.output.type.shape)


def reverse(b: Builder, equation: Equation, x: Instruction) -> Instruction:
    """The other way along axes."""
    return b.same("reverse", x, dimensions=tuple(equation.params["dimensions"]))


def transpose(b: Builder, equation: Equation, x: Instruction) -> Instruction:
    """The axes in another order."""
    return b.transpose(x, equation.params["permutation"])


def part(b: Builder, equation: Equation, x: Instruction) -> Instruction:
    """A strided slice."""
    params = equation.params
    bounds = tuple(zip(params["start"], params["limit"], params["strides"], strict=True))
    return b.add("slice", equation.output.type.strong, x, slice=bounds)


def pad(b: Builder, equation: Equation, x: Instruction, value: Instruction) -> Instruction:
    """Elements before, after and between; negative padding leaves elements out."""
    padding = tuple(tuple(p) for p in equation.params["padding"])
    return b.add("pad", equation.output.type.strong, x, value, padding=padding)


def concatenate(b: Builder, equation: Equation, *parts: Instruction) -> Instruction:
    """One after the other."""
    return b.concatenate(parts, equation.params["dimension"])


def iota(b: Builder, equation: Equation) -> Instruction:
    """The index along an axis."""
    return b.iota(equation.output.type, equation.params["dimension"])


def dynamic_slice(
    b: Builder, equation: Equation, x: Instruction, *starts: Instruction
) -> Instruction:
    """A slice whose starts are values, and are clamped.

    XLA clamps them, too, but adds the starts of a slice of a slice as they are.
    """
    sizes = tuple(equation.params["sizes"])
    if not sizes:  # StableHLO has no slices of scalars
        return x
    inside = [
        _clamped(b, start, length - size)
        for start, length, size in zip(starts, x.shape, sizes, strict=True)
    ]
    return b.add(
        "dynamic-slice", equation.output.type.strong, x, *inside, dynamic_slice_sizes=sizes
    )


def _clamped(b: Builder, start: Instruction, last: int) -> Instruction:
    """A start from 0 to the last one at which there is a slice, as far as its dtype goes."""
    last = min(last, int(np.iinfo(start.dtype).max))
    if start.literal is not None:
        return b.constant(np.asarray(min(max(int(start.literal), 0), last), start.dtype))
    low, high = (b.constant(np.asarray(bound, start.dtype)) for bound in (0, last))
    return b.add("clamp", start.array.strong, low, start, high)


def dynamic_update(
    b: Builder, equation: Equation, x: Instruction, update: Instruction, *starts: Instruction
) -> Instruction:
    """An array with such a slice replaced."""
    if not starts:
        return update
    return b.add("dynamic-update-slice", equation.output.type.strong, x, update, *starts)


def stacked(b: Builder, arrays: Sequence[Instruction]) -> Instruction:
    """Arrays of one shape along a new last axis."""
    last = len(arrays[0].shape)
    parts = [b.reshape(x, (*x.shape, 1)) for x in arrays]
    return b.concatenate(parts, last)


RULES: Rules = {
    "broadcast_in_dim": broadcast,
    "concatenate": concatenate,
    "dynamic_slice": dynamic_slice,
    "dynamic_update_slice": dynamic_update,
    "iota": iota,
    "pad": pad,
    "reshape": reshape,
    "rev": reverse,
    "slice": part,
    "transpose": transpose,
}
