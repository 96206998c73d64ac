"""Cumulative sums: which of them the helper in `runtime_c/arrays/cumsum.h` computes."""

from __future__ import annotations

from transpile.ir.dims import product
from transpile.ir.graph import Equation
from transpile.primitives.reductions import cumsum

# Rows of fewer elements are a loop like any other, which fuses with what is around it.
SHORTEST = 8192


def is_library_sum(equation: Equation) -> bool:
    """Tell whether an equation is a cumulative sum of floats along long rows."""
    if equation.primitive is not cumsum:
        return False
    kind, axis = equation.output.type, equation.params["axis"]
    if kind.dtype.kind != "f" or kind.dtype.itemsize < 4:
        return False
    if not all(isinstance(length, int) for length in kind.shape):
        return False
    length, after = kind.shape[axis], kind.shape[axis + 1 :]
    return isinstance(length, int) and length >= SHORTEST and product(after) == 1
