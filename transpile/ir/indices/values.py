"""Index values: scalar expressions that are arithmetic on the indices of loops.

A subscript that is computed from loop indices is a polynomial over them and no number in memory,
and a comparison of two such numbers may be decided by their ranges.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.dims import Dim, Index, bounds
from transpile.ir.indices.estimates import greatest
from transpile.ir.loop_ir import Apply, Expr, IndexValue, Literal
from transpile.ir.types import BOOL, INT64

# Arithmetic on indices of loops stays below this in size, whatever their ranges: it has 64 bits.
LARGEST_INDEX = 1 << 62


def as_value(index: Index) -> Expr:
    """An index as an expression."""
    return Literal(index, INT64) if isinstance(index, int) else IndexValue(index)


def as_index(value: Expr) -> Index | None:
    """The value as index arithmetic, where it is a sum of multiples of loop indices and does not
    overflow its dtype."""
    index = _as_index(value)
    if index is None or value.dtype == INT64:
        return index
    low, high = bounds(index)
    limits = np.iinfo(value.dtype)
    fits = low is not None and high is not None and limits.min <= low and high <= limits.max
    return index if fits else None


def _as_index(value: Expr) -> Index | None:
    if value.dtype.kind not in "iu":
        return None
    match value:
        case Literal(value=number):
            return int(number)
        case IndexValue(index=index):
            return index
        case Apply(args=args) if value.primitive.on_indices is not None:
            indices = [as_index(arg) for arg in args]
            return None if None in indices else value.primitive.on_indices(*indices)
        case _:
            return None


def convert(expr: Expr, dtype: np.dtype[Any]) -> Expr:
    """The expression in another dtype."""
    if expr.dtype == dtype:
        return expr
    return Apply("convert_element_type", (expr,), dtype)


def of_indices(value: Apply) -> Expr:
    """The value, simpler where it is arithmetic on indices of loops, or a comparison of such that
    their ranges decide."""
    if value.op == "select" and isinstance(value.args[0], Literal):
        return value.args[1] if value.args[0].value else value.args[2]
    if value.primitive.on_indices is not None and value.dtype.kind in "iu":
        index = as_index(value)
        if isinstance(index, Dim):
            most = greatest(index)
            if most is not None and most <= LARGEST_INDEX:
                return convert(IndexValue(index), value.dtype)
    if value.primitive.signs:
        left, right = map(as_index, value.args)
        if left is not None and right is not None:
            decided = _decided(left - right, value.primitive.signs)
            if decided is not None:
                return Literal(np.bool_(decided), BOOL)
    return value


def _decided(difference: Index, signs: tuple[int, ...]) -> bool | None:
    """Whether a difference has one of these signs, where its range tells."""
    low, high = bounds(difference)
    possible = {
        -1: low is None or low < 0,
        0: (low is None or low <= 0) and (high is None or high >= 0),
        1: high is None or high > 0,
    }
    truths = {sign in signs for sign, may_be in possible.items() if may_be}
    return truths.pop() if len(truths) == 1 else None
