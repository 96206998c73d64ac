"""Reductions and statistics along axes.

All take `axis` (None, an int, or a tuple), `keepdims`, and where they have it a mask `where`. What
NumPy decides by dtypes alone (dtype and kind of error) the installed NumPy is asked for.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from transpile.ir.dims import Shape
from transpile.ir.graph import Const
from transpile.ir.indices.requirements import may_be_0
from transpile.ir.indices.row_major import product
from transpile.ir.primitive import BY_UFUNC, TABLE, Primitive
from transpile.ir.types import (
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT64,
    check_dtype,
    computed_dtype,
    kind_letter,
    real_dtype,
)
from transpile.numpy.core.promotion import (
    NOTHING,
    Array,
    DType,
    NumpyErrors,
    add_methods,
    as_array,
    axes_of,
    axis_of,
    broadcast_in_dim,
    cast,
    convert,
    fill,
    fit,
    implements,
    is_empty,
    refuse,
    reshape_to,
    strengthen,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.runtime_sizes import dimension_value, exact
from transpile.numpy.core.ufuncs import call
from transpile.numpy.masks import mask_of, masked
from transpile.primitives import elementwise
from transpile.primitives import reductions as primitives
from transpile.primitives.axes import concatenate
from transpile.primitives.kinds import reduction_by
from transpile.trace.trace import bind
from transpile.trace.tracer import Tracer


@lru_cache(maxsize=256)
def _accumulator(function: Any, dtype: DType, asked: Any) -> DType:
    """The dtype in which NumPy accumulates the elements of an array of a dtype: it is asked."""
    accumulated: DType = function(np.ones(1, dtype), dtype=asked).dtype
    return accumulated


def accumulator(function: Any, dtype: DType, asked: Any) -> DType:
    """The supported dtype of a reduction's result."""
    with NumpyErrors():
        asked = None if asked is None or asked is NOTHING else np.dtype(asked)
        accumulated: DType = _accumulator(function, dtype, asked)
    with NumpyErrors():
        return check_dtype(accumulated, "the result")


def is_given(value: Any) -> bool:
    """Tell whether an optional argument was given."""
    return value is not None and value is not NOTHING


def reduced_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes of a reduction; the only one of an array without axes is none."""
    return () if is_of_scalar(axis, ndim) else axes_of(exact(axis), ndim)


def is_of_scalar(axis: Any, ndim: int) -> bool:
    """True for the axis that NumPy takes an array without axes to have."""
    return ndim == 0 and isinstance(axis, int | np.integer) and axis in (0, -1)


def keep_dimensions(result: Any, shape: Shape, axes: tuple[int, ...], keepdims: Any) -> Any:
    """The result of a reduction over axes of shape, with axes of size 1 where they are kept."""
    if not keepdims or keepdims is NOTHING:
        return result
    kept = tuple(1 if a in axes else d for a, d in enumerate(shape))
    return broadcast_in_dim(result, kept, [a for a in range(len(shape)) if a not in axes])


def reduce_axes(primitive: Primitive, x: Any, axes: tuple[int, ...]) -> Any:
    """Apply a reduction primitive; over no axes it is the array itself."""
    return bind(primitive, x, axes=tuple(sorted(axes))) if axes else x


# ----------------------------------------------------------------------------- sum, prod, any, all


def _fold(
    function: Any, a: Array, axis: Any, dtype: DType, keepdims: Any, initial: Any, where: Any
) -> Any:
    """A reduction that has an identity. Halves are rounded behind the initial value, from which
    NumPy starts: only then is it known whether the result overflows."""
    combine = _FOLDS[function]
    identity = combine.identity
    within = computed_dtype(dtype) if is_given(initial) else dtype
    x = convert(convert(as_array(a), dtype), within)
    axes = reduced_axes(axis, x.ndim)
    starts_negative = combine is np.add and _is_negative_zero(initial)
    x = masked(x, where, -0.0 if starts_negative else identity)
    result = reduce_axes(_reducing(combine, within), x, axes)
    if not axes and _is_changed_by_identity(function, within):
        result = call(combine, identity, result)
    if is_given(initial):
        first = convert(convert(as_array(initial), dtype), within)
        result = convert(call(combine, result, first), dtype)
        if starts_negative and within.kind == "f":
            zeros = call(np.logical_and, call(np.equal, x, 0), call(np.signbit, x))
            pair = fit(np.asarray(-0.0), result.shape, dtype), result
            result = bind(elementwise.select, all(zeros, axes), *pair)
    return strengthen(keep_dimensions(result, x.shape, axes, keepdims))


def _is_negative_zero(value: Any) -> bool:
    """True for -0.0 that is known while tracing: sums that start from it may be -0.0."""
    is_known = is_given(value) and not isinstance(value, Tracer) and not np.ndim(value)
    return bool(is_known and value == 0 and np.signbit(np.real(value)))


def _reducing(ufunc: np.ufunc, dtype: DType) -> Primitive:
    """The primitive that reduces by a ufunc."""
    primitive = reduction_by(BY_UFUNC[ufunc], dtype)
    assert primitive is not None, ufunc
    return primitive


def _is_changed_by_identity(function: Any, dtype: DType) -> bool:
    """Tell whether an element may be other than the fold of it alone, which starts at the identity:
    0.0 + -0.0 is 0.0, and 1 times a complex infinity has NaNs."""
    kinds = {np.sum: "fc", np.prod: "c"}.get(function, "")
    return kind_letter(dtype) in kinds


_FOLDS: dict[Any, np.ufunc] = {
    np.sum: np.add,
    np.prod: np.multiply,
    np.any: np.logical_or,
    np.all: np.logical_and,
}


@implements(np.sum)
def sum(
    a: Array,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NOTHING,
    initial: Any = NOTHING,
    where: Any = NOTHING,
) -> Any:
    """The sum of elements along axes, in the accumulator's dtype.

    As NumPy's: bools and small integers accumulate in 64 bits, floats in their own dtype, float16
    in float32 with one rounding at the end. Floats are added in another order than NumPy's, so the
    last bits may differ. `where` masks elements out, and `initial` is added.
    """
    refuse("sum", out=out)
    x = as_array(a)
    accumulated = accumulator(np.sum, x.dtype, dtype)
    return _fold(np.sum, x, axis, accumulated, keepdims, initial, where)


@implements(np.prod)
def prod(
    a: Array,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NOTHING,
    initial: Any = NOTHING,
    where: Any = NOTHING,
) -> Any:
    """The product of elements along axes; dtypes and arguments as those of `sum`."""
    refuse("prod", out=out)
    x = as_array(a)
    accumulated = accumulator(np.prod, x.dtype, dtype)
    return _fold(np.prod, x, axis, accumulated, keepdims, initial, where)


@implements(np.any)
def any(
    a: Array,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NOTHING,
    *,
    where: Any = NOTHING,
) -> Any:
    """Whether an element along axes is true (not zero; NaN is true), as bools; False for no
    elements."""
    refuse("any", out=out)
    return _fold(np.any, a, axis, BOOL, keepdims, None, where)


@implements(np.all)
def all(
    a: Array,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NOTHING,
    *,
    where: Any = NOTHING,
) -> Any:
    """Whether all elements along axes are true (not zero; NaN is true), as bools; True for no
    elements."""
    refuse("all", out=out)
    return _fold(np.all, a, axis, BOOL, keepdims, None, where)


@implements(np.count_nonzero)
def count_nonzero(a: Array, axis: Any = None, *, keepdims: Any = False) -> Any:
    """The number of elements along axes that are not zero, as int64."""
    return sum(convert(as_array(a), BOOL), axis, keepdims=keepdims)


# -------------------------------------------------------------------------------- extreme values


def _extreme(name: str, a: Array, axis: Any, keepdims: Any, initial: Any, where: Any) -> Any:
    x = as_array(a)
    axes = reduced_axes(axis, x.ndim)
    ufunc = TABLE[name].ufunc
    chosen = mask_of(where) is not None
    if chosen and not is_given(initial):
        raise located(
            ValueError,
            f"reduction operation '{name}' does not have an identity, so to "
            "use a where mask one has to specify 'initial'",
        )
    left = tuple(d for i, d in enumerate(x.shape) if i not in axes)
    if is_empty(x.shape):
        if not is_given(initial) and 0 in [x.shape[i] for i in axes]:
            raise located(
                ValueError, f"zero-size array to reduction operation {name} which has no identity"
            )
        result = fill(initial if is_given(initial) else 0, left, x.dtype)
    else:
        if chosen:
            x = masked(x, where, convert(as_array(initial), x.dtype))
        if is_given(initial):
            nothing = TABLE[name].neutral(x.dtype)
            x = _with_element(
                x, axes, convert(as_array(initial if nothing is None else nothing), x.dtype)
            )
        result = reduce_axes(_reducing(ufunc, x.dtype), x, axes)
        if is_given(initial):
            pair = result, convert(as_array(initial), x.dtype)
            result = call(ufunc, *(pair[::-1] if x.dtype.kind == "c" else pair))  # ties are NumPy's
    return strengthen(keep_dimensions(result, x.shape, axes, keepdims))


def _with_element(x: Any, axes: tuple[int, ...], element: Any) -> Any:
    """The array with one more element along axes whose runtime sizes may be 0: the neutral one, as
    an initial value would share derivatives with elements that are equal to it."""
    for axis in axes:
        if may_be_0(x.shape[axis]):
            shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
            more = broadcast_in_dim(element, shape, ())
            x = bind(concatenate, x, more, dimension=axis)
    return x


@implements(np.max, np.amax)
def max(
    a: Array,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NOTHING,
    initial: Any = NOTHING,
    where: Any = NOTHING,
) -> Any:
    """The largest element along axes; NaN where there is one.

    Complex numbers compare by real, then imaginary part. Raises ValueError for no elements without
    `initial`, and for a `where` without `initial`.
    """
    refuse("max", out=out)
    return _extreme("maximum", a, axis, keepdims, initial, where)


@implements(np.min, np.amin)
def min(
    a: Array,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NOTHING,
    initial: Any = NOTHING,
    where: Any = NOTHING,
) -> Any:
    """The smallest element along axes; NaN where there is one; otherwise as `max`."""
    refuse("min", out=out)
    return _extreme("minimum", a, axis, keepdims, initial, where)


@implements(np.ptp)
def ptp(a: Array, axis: Any = None, out: Any = None, keepdims: Any = NOTHING) -> Any:
    """The largest element minus the smallest along axes; integers wrap around in their dtype."""
    refuse("ptp", out=out)
    return call(np.subtract, max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims))


def _position(primitive: Primitive, a: Array, axis: Any, out: Any, keepdims: Any) -> Any:
    refuse(primitive.name, out=out)
    x = as_array(a)
    shape = x.shape
    if axis is None or is_of_scalar(axis, x.ndim):
        axes = tuple(range(x.ndim))
        x, axis = reshape_to(x, (product(shape),)), 0
    else:
        axes = (axis_of(exact(axis), x.ndim),)
        (axis,) = axes
    left = x.shape[:axis] + x.shape[axis + 1 :]
    if x.shape[axis] == 0:
        raise located(ValueError, f"attempt to get {primitive.name} of an empty sequence")
    result = fill(0, left, INT64) if is_empty(left) else bind(primitive, x, axis=axis)
    return keep_dimensions(result, shape, axes, keepdims)


@implements(np.argmax)
def argmax(a: Array, axis: Any = None, out: Any = None, *, keepdims: Any = NOTHING) -> Any:
    """The index of the first maximum along an axis, or in the flattened array, as int64; a NaN
    counts as the maximum.

    Raises ValueError for an axis without elements.
    """
    return _position(primitives.argmax, a, axis, out, keepdims)


@implements(np.argmin)
def argmin(a: Array, axis: Any = None, out: Any = None, *, keepdims: Any = NOTHING) -> Any:
    """The index of the first minimum along an axis, or in the flattened array, as int64; a NaN
    counts as the minimum.

    Raises ValueError for an axis without elements.
    """
    return _position(primitives.argmin, a, axis, out, keepdims)


# ----------------------------------------------------------------------------------- statistics


def _count(shape: Shape, axes: tuple[int, ...], where: Any) -> Any:
    """How many elements go into each result: an int, or an array where a mask decides."""
    if where is None:
        raise located(TypeError, "where=None is no mask of which elements to count")
    mask = mask_of(where)
    if mask is not None:
        mask = fit(mask, shape, BOOL)
        mask = fill(mask.value, shape, BOOL) if isinstance(mask, Const) else mask
        return sum(mask, axes)
    return dimension_value(product(shape[a] for a in axes))


def divided(total: Any, count: Any) -> Any:
    """The total divided by a number of elements, in the total's dtype. NumPy divides by an int64,
    which is more exact than a number that the dtype does not hold; where it holds it the bits are
    the same."""
    if type(count) is int and np.real(cast(count, total.dtype)).item() == count:
        return convert(call(np.divide, total, count), total.dtype)
    return convert(call(np.divide, total, strengthen(count)), total.dtype)


def _mean_dtype(dtype: DType, asked: Any) -> DType:
    if is_given(asked):
        return accumulator(np.sum, dtype, asked)
    return FLOAT64 if dtype.kind in "biu" else dtype


@implements(np.mean)
def mean(
    a: Array,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NOTHING,
    *,
    where: Any = NOTHING,
) -> Any:
    """The arithmetic mean along axes: float64 for integers and bools, else in the dtype of the
    array.

    float16 accumulates in float32. The mean of no elements is NaN, without NumPy's warning.
    """
    refuse("mean", out=out)
    x = as_array(a)
    axes = axes_of(exact(axis), x.ndim)
    computed = _mean_dtype(x.dtype, dtype)
    # NumPy divides the sum of float16 before it is rounded, which the sum may be too large for.
    wide = FLOAT32 if x.dtype == computed == FLOAT16 and not is_given(dtype) else computed
    total = _fold(np.sum, x, axes, wide, False, None, where)
    result = convert(divided(total, _count(x.shape, axes, where)), computed)
    return keep_dimensions(result, x.shape, axes, keepdims)


@implements(np.var)
def var(
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
    """The mean squared deviation along axes, divided by the number of elements less `ddof`.

    Two passes: the mean first, which `mean` can supply, then the squares of the deviations; complex
    numbers give real variances. Too few elements give NaN or infinity, without NumPy's warning.
    Raises ValueError where both `ddof` and `correction` are given.
    """
    refuse("var", out=out)
    if correction is not NOTHING:
        if ddof != 0:
            raise located(ValueError, "ddof and correction can't be provided simultaneously.")
        ddof = correction
    x = as_array(a)
    axes = axes_of(exact(axis), x.ndim)
    computed = _mean_dtype(x.dtype, dtype)
    count = _count(x.shape, axes, where)
    if mean is NOTHING:
        total = _fold(np.sum, x, axes, computed, False, None, where)
        mean = keep_dimensions(divided(total, count), x.shape, axes, True)
    deviation = call(np.subtract, x, mean)
    if deviation.dtype.kind == "c":
        parts = [bind(part, deviation) for part in elementwise.COMPLEX_PARTS]
        squares = call(np.add, *[bind(elementwise.square, p) for p in parts])
    else:
        squares = bind(elementwise.square, deviation)
    total = _fold(np.sum, squares, axes, real_dtype(computed), False, None, where)
    result = divided(total, _degrees_of_freedom(count, ddof))
    result = convert(result, computed) if is_given(dtype) else result
    return keep_dimensions(result, x.shape, axes, keepdims)


def _degrees_of_freedom(count: Any, ddof: Any) -> Any:
    if isinstance(count, int):
        return count - ddof if count > ddof else 0
    return call(np.maximum, call(np.subtract, count, ddof), 0)


@implements(np.std)
def std(
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
    """The standard deviation along axes: the square root of `var`, with its arguments."""
    refuse("std", out=out)
    variance = var(
        a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction
    )
    return call(np.sqrt, variance)


add_methods(np.sum, np.prod, np.any, np.all, np.max, np.min, np.argmax, np.argmin, np.mean, np.var)
add_methods(np.std)
