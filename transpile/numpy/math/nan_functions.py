"""Reductions and cumulative sums that ignore NaN: nansum, nanmean, nanmax and their kin."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.numpy.core.elementwise import where as choose
from transpile.numpy.core.promotion import (
    NOTHING,
    Array,
    as_array,
    broadcast_to,
    implements,
    refuse,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.reductions import (
    all,
    argmax,
    argmin,
    divided,
    is_given,
    mean,
    prod,
    reduced_axes,
    sum,
    var,
)
from transpile.numpy.core.scans import cumprod, cumsum
from transpile.numpy.core.ufuncs import call
from transpile.numpy.masks import mask_of
from transpile.primitives.effects.failures import fail_where
from transpile.trace.tracer import UFUNC_METHODS, Tracer
from transpile.util.interrupt_safety import THREAD


def _without_nan(a: Array, other: Any) -> Any:
    """The array with another value in place of each NaN."""
    x = as_array(a)
    if x.dtype.kind not in "fc":
        return x
    return choose(call(np.isnan, x), np.asarray(other, x.dtype), x)


@implements(np.nansum)
def nansum(
    a: Array,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NOTHING,
    initial: Any = NOTHING,
    where: Any = NOTHING,
) -> Any:
    """The sum of the elements along axes that are not NaN; dtypes as those of `sum`, and 0 for
    none."""
    refuse("nansum", out=out)
    return sum(_without_nan(a, 0), axis, dtype, None, keepdims, initial, where)


@implements(np.nanprod)
def nanprod(
    a: Array,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NOTHING,
    initial: Any = NOTHING,
    where: Any = NOTHING,
) -> Any:
    """The product of the elements along axes that are not NaN; dtypes as those of `sum`, and 1 for
    none."""
    refuse("nanprod", out=out)
    return prod(_without_nan(a, 1), axis, dtype, None, keepdims, initial, where)


@implements(np.nancumsum)
def nancumsum(a: Array, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Cumulative sums along an axis, or of the flattened array, in which NaN counts as 0."""
    refuse("nancumsum", out=out)
    return cumsum(_without_nan(a, 0), axis, dtype)


@implements(np.nancumprod)
def nancumprod(a: Array, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Cumulative products along an axis, or of the flattened array, in which NaN counts as 1."""
    refuse("nancumprod", out=out)
    return cumprod(_without_nan(a, 1), axis, dtype)


def _there(x: Any, where: Any) -> Any:
    """Where an element counts: it is not NaN, and the mask holds."""
    there = call(np.logical_not, call(np.isnan, x))
    mask = mask_of(where)
    return there if mask is None else call(np.logical_and, there, broadcast_to(mask, x.shape))


def _check_inexact(dtype: Any) -> None:
    if is_given(dtype) and not np.issubdtype(dtype, np.inexact):
        raise located(TypeError, "If a is inexact, then dtype must be inexact")


@implements(np.nanmean)
def nanmean(
    a: Array,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NOTHING,
    *,
    where: Any = NOTHING,
) -> Any:
    """The mean of the elements along axes that are not NaN; NaN for none, without NumPy's
    warning."""
    refuse("nanmean", out=out)
    x = as_array(a)
    if x.dtype.kind not in "fc":
        return mean(x, reduced_axes(axis, x.ndim), dtype, None, keepdims, where=where)
    _check_inexact(dtype)
    count = sum(_there(x, where), axis, keepdims=keepdims)
    total = sum(_without_nan(x, 0), axis, dtype, None, keepdims, where=where)
    return divided(total, count)


# -------------------------------------------------------------------------------- extreme values


def _extreme(ufunc: Any, a: Array, axis: Any, keepdims: Any, initial: Any, where: Any) -> Any:
    """The extreme of the elements that are not NaN; NaN where there is none."""
    x = as_array(a)
    axes = reduced_axes(axis, x.ndim)
    kept = keepdims is not NOTHING and keepdims
    mask = True if where is NOTHING else where
    return UFUNC_METHODS["reduce"](ufunc, x, axes, None, None, kept, initial, mask)


@implements(np.nanmax)
def nanmax(
    a: Array,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NOTHING,
    initial: Any = NOTHING,
    where: Any = NOTHING,
) -> Any:
    """The largest element along axes that is not NaN; NaN where all are, without NumPy's warning.

    Raises ValueError for no elements without `initial`, and for a `where` without `initial`.
    """
    refuse("nanmax", out=out)
    return _extreme(np.fmax, a, axis, keepdims, initial, where)


@implements(np.nanmin)
def nanmin(
    a: Array,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NOTHING,
    initial: Any = NOTHING,
    where: Any = NOTHING,
) -> Any:
    """The smallest element along axes that is not NaN; NaN where all are, without NumPy's warning;
    errors as for `nanmax`."""
    refuse("nanmin", out=out)
    return _extreme(np.fmin, a, axis, keepdims, initial, where)


_ALL_NAN = "All-NaN slice encountered"


def _raise_of_nans() -> None:
    raise ValueError(_ALL_NAN)


def _position(function: Any, a: Array, axis: Any, keepdims: Any, worst: float) -> Any:
    x = as_array(a)
    if x.dtype.kind not in "fc":
        return function(x, axis, None, keepdims=keepdims)
    is_nan = call(np.isnan, x)
    index = function(choose(is_nan, np.asarray(worst, x.dtype), x), axis, None, keepdims=keepdims)
    nothing = all(is_nan, axis, keepdims=keepdims)
    if THREAD.checks_bounds and isinstance(nothing, Tracer):
        fail_where(nothing.any(), [], _raise_of_nans, f"ValueError: {_ALL_NAN}")
    return choose(nothing, np.int64(-1), index)


@implements(np.nanargmax)
def nanargmax(a: Array, axis: Any = None, out: Any = None, *, keepdims: Any = NOTHING) -> Any:
    """The index of the first maximum along an axis, or in the flattened array, among the elements
    that are not NaN; -1 where all are. Raises NumPy's ValueError for these with
    `jit(f, check_bounds=True)`."""
    refuse("nanargmax", out=out)
    return _position(argmax, a, axis, keepdims, -np.inf)


@implements(np.nanargmin)
def nanargmin(a: Array, axis: Any = None, out: Any = None, *, keepdims: Any = NOTHING) -> Any:
    """The index of the first minimum along an axis, or in the flattened array, among the elements
    that are not NaN; -1 where all are. Raises NumPy's ValueError for these with
    `jit(f, check_bounds=True)`."""
    refuse("nanargmin", out=out)
    return _position(argmin, a, axis, keepdims, np.inf)


# ------------------------------------------------------------------------------------- variances


@implements(np.nanvar)
def nanvar(
    a: Array,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = NOTHING,
    *,
    where: Any = NOTHING,
    mean: Any = NOTHING,
    correction: Any = NOTHING,
) -> Any:
    """The variance along axes of the elements that are not NaN, divided by their number less
    `ddof`; NaN where that is not positive.

    Two passes, as `var`. Raises ValueError where both `ddof` and `correction` are given.
    """
    refuse("nanvar", out=out)
    x = as_array(a)
    if x.dtype.kind not in "fc":
        given = {"where": where, "mean": mean, "correction": correction}
        return var(x, axis, dtype, None, ddof, keepdims, **given)
    if correction is not NOTHING:
        if ddof != 0:
            raise located(ValueError, "ddof and correction can't be provided simultaneously.")
        ddof = correction
    _check_inexact(dtype)
    there = _there(x, where)
    count = sum(there, axis, keepdims=keepdims)
    centre = nanmean(x, axis, dtype, None, True, where=where) if mean is NOTHING else mean
    deviation = call(np.subtract, _without_nan(x, 0), centre)
    deviation = choose(there, deviation, np.zeros((), deviation.dtype))
    if x.dtype.kind == "c":
        deviation = call(np.absolute, deviation)
    total = sum(call(np.square, deviation), axis, dtype, None, keepdims)
    freedom = call(np.subtract, count, ddof)
    result = divided(total, freedom)
    enough = call(np.greater, freedom, 0)
    return choose(enough, result, np.asarray(np.nan, total.dtype))


@implements(np.nanstd)
def nanstd(
    a: Array,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = NOTHING,
    **kwargs: Any,
) -> Any:
    """The standard deviation along axes of the elements that are not NaN: the square root of
    `nanvar`."""
    return call(np.sqrt, nanvar(a, axis, dtype, out, ddof, keepdims, **kwargs))
