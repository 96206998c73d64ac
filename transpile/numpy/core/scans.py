"""Cumulative sums and products, and sums by position."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.dims import Index
from transpile.ir.indices.row_major import product
from transpile.ir.primitive import Primitive
from transpile.ir.types import INT64
from transpile.numpy.core.promotion import (
    Array,
    add_methods,
    as_array,
    axis_of,
    concatenate_along,
    convert,
    fill,
    implements,
    is_empty,
    refuse,
    reshape_to,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.reductions import accumulator
from transpile.numpy.core.runtime_sizes import exact
from transpile.primitives import reductions as primitives
from transpile.primitives.indexing import FILL, scatter
from transpile.trace.trace import bind

# ---------------------------------------------------------------------------------------- scans


def scan(primitive: Primitive, x: Any, axis: Any) -> Any:
    """Apply a cumulative primitive along an axis; None flattens first."""
    if axis is None:
        x, axis = reshape_to(x, (product(x.shape),)), 0
    elif x.ndim == 0:
        number = axis_of(exact(axis), 1)
        return bind(primitive, reshape_to(x, (1,)), axis=number, reverse=False)
    return bind(primitive, x, axis=axis_of(exact(axis), x.ndim), reverse=False)


@implements(np.cumsum)
def cumsum(a: Array, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Cumulative sums along an axis, or of the flattened array.

    Accumulates in the result's dtype, as NumPy does: small integers and bools in 64 bits, floats in
    their own dtype. Long sums are computed in blocks, so the last bits of floats may differ from
    NumPy's.
    """
    refuse("cumsum", out=out)
    x = as_array(a)
    return scan(primitives.cumsum, convert(x, accumulator(np.cumsum, x.dtype, dtype)), axis)


@implements(np.cumprod)
def cumprod(a: Array, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Cumulative products along an axis, or of the flattened array, in the dtype that `cumsum`
    would have."""
    refuse("cumprod", out=out)
    x = as_array(a)
    return scan(primitives.cumprod, convert(x, accumulator(np.cumprod, x.dtype, dtype)), axis)


def _cumulative(function: Any, x: Array, axis: Any, dtype: Any, initial: bool) -> Any:
    """The cumulative function of the array API standard: of several axes one must be named."""
    value = as_array(x)
    if value.ndim == 0:
        value = reshape_to(value, (1,))
    if axis is None and value.ndim != 1:
        raise located(ValueError, "axis must be specified for arrays of more than one dimension")
    number = axis_of(0 if axis is None else exact(axis), value.ndim)
    result = function(value, number, dtype)
    if not initial:
        return result
    shape = (*value.shape[:number], 1, *value.shape[number + 1 :])
    begin = fill(0 if function is cumsum else 1, shape, result.dtype)
    return concatenate_along([begin, result], number)


@implements(getattr(np, "cumulative_sum", None))  # since NumPy 2.1
def cumulative_sum(
    x: Array,
    /,
    *,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    include_initial: bool = False,
) -> Any:
    """Cumulative sums along an axis, as the array API standard has them; with `include_initial` a 0
    in front.

    Raises ValueError if `axis` is missing for more than one axis.
    """
    refuse("cumulative_sum", out=out)
    return _cumulative(cumsum, x, axis, dtype, include_initial)


@implements(getattr(np, "cumulative_prod", None))  # since NumPy 2.1
def cumulative_prod(
    x: Array,
    /,
    *,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    include_initial: bool = False,
) -> Any:
    """Cumulative products along an axis, as the array API standard has them; with `include_initial`
    a 1 in front.

    Raises ValueError if `axis` is missing for more than one axis.
    """
    refuse("cumulative_prod", out=out)
    return _cumulative(cumprod, x, axis, dtype, include_initial)


add_methods(np.cumsum, np.cumprod)


def added_at(positions: Any, values: Any, count: Index, dtype: Any, mode: str = FILL) -> Any:
    """For each of `count` positions the sum of its values; positions beyond are ignored, or known
    not to occur (`PROMISED`)."""
    start = fill(0, (count,), dtype)
    if is_empty(positions.shape) or count == 0:
        return start
    values = fill(1, positions.shape, dtype) if values is None else convert(values, dtype)
    params = {"axes": (0,), "mode": mode, "combine": "add", "unique": False}
    return bind(scatter, start, values, convert(positions, INT64), **params)
