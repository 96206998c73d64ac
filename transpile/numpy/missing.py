"""Reductions that leave NaN out: nansum, nanmean, nanmax and their kin."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.numpy.elementwise import where as choose
from transpile.numpy.operands import (
    NOTHING,
    Array,
    as_array,
    axes_of,
    convert,
    implements,
    refuse,
)
from transpile.numpy.reductions import all, keep_dimensions, max, min, prod, sum, var
from transpile.numpy.ufuncs import call


def _without_nan(a: Array, other: Any) -> Any:
    """The array with another value in the place of NaN."""
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
    """`numpy.nansum`: NaN counts as 0."""
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
    """`numpy.nanprod`: NaN counts as 1."""
    refuse("nanprod", out=out)
    return prod(_without_nan(a, 1), axis, dtype, None, keepdims, initial, where)


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
    """`numpy.nanmean`: over the elements that are not NaN."""
    refuse("nanmean", out=out, where=where)
    x = as_array(a)
    if x.dtype.kind not in "fc":
        return np.mean(x, axis, dtype=dtype, keepdims=keepdims)
    count = sum(call(np.logical_not, call(np.isnan, x)), axis, keepdims=keepdims)
    total = sum(_without_nan(x, 0), axis, dtype, None, keepdims)
    return convert(call(np.divide, total, count), total.dtype)


def _extreme(function: Any, a: Array, axis: Any, keepdims: Any, worst: float) -> Any:
    """The extreme of what is not NaN; NaN where nothing else is."""
    x = as_array(a)
    if x.dtype.kind != "f":
        return function(x, axis, None, keepdims)
    axes = axes_of(axis, x.ndim)
    is_nan = call(np.isnan, x)
    best = function(choose(is_nan, np.asarray(worst, x.dtype), x), axes)
    result = choose(all(is_nan, axes), np.asarray(np.nan, x.dtype), best)
    return keep_dimensions(result, x.shape, axes, keepdims)


@implements(np.nanmax)
def nanmax(
    a: Array,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NOTHING,
    initial: Any = NOTHING,
    where: Any = NOTHING,
) -> Any:
    """`numpy.nanmax`."""
    refuse("nanmax", out=out, initial=initial, where=where)
    return _extreme(max, a, axis, keepdims, -np.inf)


@implements(np.nanmin)
def nanmin(
    a: Array,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NOTHING,
    initial: Any = NOTHING,
    where: Any = NOTHING,
) -> Any:
    """`numpy.nanmin`."""
    refuse("nanmin", out=out, initial=initial, where=where)
    return _extreme(min, a, axis, keepdims, np.inf)


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
    """`numpy.nanvar`; NaN where no degree of freedom is left."""
    refuse("nanvar", out=out, where=where, mean=mean, correction=correction)
    x = as_array(a)
    if x.dtype.kind not in "fc":
        return var(x, axis, dtype, None, ddof, keepdims)
    there = call(np.logical_not, call(np.isnan, x))
    clean = _without_nan(x, 0)
    count = sum(there, axis, keepdims=keepdims)
    centre = nanmean(x, axis, dtype, None, True)
    deviation = choose(there, call(np.subtract, clean, centre), np.asarray(0, x.dtype))
    if x.dtype.kind == "c":
        deviation = call(np.absolute, deviation)
    total = sum(call(np.square, deviation), axis, None, None, keepdims)
    freedom = call(np.subtract, count, ddof)
    result = convert(call(np.divide, total, freedom), total.dtype)
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
    """`numpy.nanstd`: the square root of `nanvar`."""
    return call(np.sqrt, nanvar(a, axis, dtype, out, ddof, keepdims, **kwargs))
