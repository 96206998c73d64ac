"""Scans (cumsum, cumprod) and the methods of ufuncs: reduce, accumulate, outer."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.dims import product
from transpile.numpy.operands import (
    NOTHING,
    Array,
    add_methods,
    as_array,
    axis_of,
    broadcast_in_dim,
    concatenate_along,
    convert,
    fill,
    implements,
    refuse,
    reshape_to,
    unsupported,
)
from transpile.numpy.operands import error as located
from transpile.numpy.reductions import accumulator, all, any, max, min, prod, sum
from transpile.numpy.ufuncs import call
from transpile.primitive import Primitive
from transpile.primitives import reductions as rows
from transpile.trace import bind
from transpile.tracer import UFUNC_METHODS

# ---------------------------------------------------------------------------------------- scans


def scan(row: Primitive, x: Any, axis: Any) -> Any:
    """Apply a scan's row along an axis; None flattens first."""
    if axis is None:
        x, axis = reshape_to(x, (product(x.shape),)), 0
    elif x.ndim == 0:
        number = axis_of(axis, 1)
        return bind(row, reshape_to(x, (1,)), axis=number, reverse=False)
    return bind(row, x, axis=axis_of(axis, x.ndim), reverse=False)


@implements(np.cumsum)
def cumsum(a: Array, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """`numpy.cumsum`."""
    refuse("cumsum", out=out)
    x = as_array(a)
    return scan(rows.cumsum, convert(x, accumulator(np.cumsum, x.dtype, dtype)), axis)


@implements(np.cumprod)
def cumprod(a: Array, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """`numpy.cumprod`."""
    refuse("cumprod", out=out)
    x = as_array(a)
    return scan(rows.cumprod, convert(x, accumulator(np.cumprod, x.dtype, dtype)), axis)


def _cumulative(function: Any, x: Array, axis: Any, dtype: Any, initial: bool) -> Any:
    """The scan of the array API: of several axes one must be named."""
    value = as_array(x)
    if value.ndim == 0:
        value = reshape_to(value, (1,))
    if axis is None and value.ndim != 1:
        raise located(ValueError, "axis must be specified for arrays of more than one dimension")
    number = axis_of(0 if axis is None else axis, value.ndim)
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
    """`numpy.cumulative_sum`."""
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
    """`numpy.cumulative_prod`."""
    refuse("cumulative_prod", out=out)
    return _cumulative(cumprod, x, axis, dtype, include_initial)


# --------------------------------------------------------------------- reduce, accumulate, outer

_REDUCE: dict[Any, Any] = {
    np.add: sum,
    np.multiply: prod,
    np.maximum: max,
    np.minimum: min,
    np.logical_and: all,
    np.logical_or: any,
}
_ACCUMULATE: dict[Any, Any] = {
    np.add: cumsum,
    np.multiply: cumprod,
    np.maximum: rows.cummax,
    np.minimum: rows.cummin,
}


def _reduce(
    ufunc: Any,
    array: Array,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = NOTHING,
    where: Any = True,
) -> Any:
    given = out[0] if isinstance(out, tuple) else out
    refuse(f"{ufunc.__name__}.reduce", out=given)
    if ufunc not in _REDUCE:
        raise unsupported(f"numpy.{ufunc.__name__}.reduce is not supported on traced arrays yet")
    if ufunc in (np.add, np.multiply):
        return _REDUCE[ufunc](array, axis, dtype, None, keepdims, initial, where)
    refuse(f"{ufunc.__name__}.reduce", dtype=dtype)
    if ufunc in (np.maximum, np.minimum):
        return _REDUCE[ufunc](array, axis, None, keepdims, initial, where)
    refuse(f"{ufunc.__name__}.reduce", initial=initial)
    return _REDUCE[ufunc](array, axis, None, keepdims, where=where)


def _accumulate(ufunc: Any, array: Array, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    given = out[0] if isinstance(out, tuple) else out
    refuse(f"{ufunc.__name__}.accumulate", out=given)
    x = as_array(array)
    if ufunc not in _ACCUMULATE or (x.dtype.kind == "c" and ufunc in (np.maximum, np.minimum)):
        raise unsupported(
            f"numpy.{ufunc.__name__}.accumulate is not supported on {x.dtype.name} arrays yet"
        )
    if x.ndim == 0:
        raise located(TypeError, "cannot accumulate on a scalar")
    if ufunc in (np.add, np.multiply):
        return _ACCUMULATE[ufunc](x, axis, dtype)
    refuse(f"{ufunc.__name__}.accumulate", dtype=dtype)
    return scan(_ACCUMULATE[ufunc], x, axis)


def _outer(ufunc: Any, a: Array, b: Array, **kwargs: Any) -> Any:
    x, y = as_array(a), as_array(b)
    shape = (*x.shape, *(1 for _ in y.shape))
    return call(ufunc, broadcast_in_dim(x, shape, range(x.ndim)), y, **kwargs)


UFUNC_METHODS["reduce"] = _reduce
UFUNC_METHODS["accumulate"] = _accumulate
UFUNC_METHODS["outer"] = _outer


add_methods(np.cumsum, np.cumprod)
