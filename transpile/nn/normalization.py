"""Softmax and its relatives, and standardization: along axes, over the elements that a mask
selects."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.functional.custom import custom_jvp, stop_gradient
from transpile.ir.indices.requirements import may_be_0
from transpile.ir.types import BOOL, FLOAT64, computed_dtype
from transpile.nn.operands import array_dtype, inexact, numbers_below, public
from transpile.numpy.core.promotion import (
    Array,
    as_array,
    axes_of,
    convert,
    is_empty,
    result_dtype,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.runtime_sizes import offset_of


def _axes(x: Any, axis: Any) -> tuple[int, ...]:
    """The axes meant by None (all), an int or a tuple."""
    axis = tuple(axis) if isinstance(axis, list) else axis
    return axes_of(axis, np.ndim(x), f"duplicate value in 'axis': {axis}")


def _chosen(where: Any) -> dict[str, Any]:
    """The argument `where` of a reduction, if there is a mask."""
    return {} if where is None else {"where": where}


def _largest(x: Any, axes: tuple[int, ...], where: Any) -> Any:
    """The maximum along axes, which stay with size 1; -inf for no elements."""
    sizes = tuple(x.shape[axis] for axis in axes)
    if where is None and not is_empty(sizes) and not any(map(may_be_0, sizes)):
        return np.max(x, axes, keepdims=True)
    return np.max(x, axes, keepdims=True, initial=-np.inf, **_chosen(where))


# ------------------------------------------------------------------------------------------ softmax


def _softmax(x: Any, where: Any, axes: tuple[int, ...]) -> Any:
    largest = _largest(x, axes, where)
    safe = x if where is None else np.where(where, x, -np.inf)
    e = np.exp(safe - largest)
    result = e / np.sum(e, axes, keepdims=True, **_chosen(where))
    return result if where is None else np.where(where, result, 0)


_differentiable_softmax = custom_jvp(_softmax, nondiff_argnums=(2,))


@_differentiable_softmax.defjvp
def _softmax_jvp(axes: tuple[int, ...], primals: Any, tangents: Any) -> tuple[Any, Any]:
    x, where = primals
    t = tangents[0]
    y = _differentiable_softmax(x, where, axes)
    return y, y * (t - np.sum(y * t, axes, keepdims=True, **_chosen(where)))


@public
def softmax(x: Array, axis: Any = -1, where: Array | None = None) -> Any:
    """exp(x) divided by its sum along axes, after subtracting the maximum, so that it does not
    overflow.

    axis   an axis, a tuple of axes, or None for all
    where  a mask of the elements that count; the others are 0

    NaN along axes where an element is inf or NaN, or all are -inf. The derivative is y (t - sum(y
    t)), of the result y.
    """
    value = inexact("max", x)
    return _differentiable_softmax(value, where, _axes(value, axis))


@public
def log_softmax(x: Array, axis: Any = -1, where: Array | None = None) -> Any:
    """The logarithm of `softmax`, x - logsumexp(x), without underflow; -inf where the mask excludes
    elements."""
    value = inexact("log_softmax", x)
    axes = _axes(value, axis)
    largest = _largest(value, axes, where)
    safe = value if where is None else np.where(where, value, -np.inf)
    shifted = safe - stop_gradient(largest)
    total = np.sum(np.exp(shifted), axes, keepdims=True, **_chosen(where))
    result = shifted - np.log(total)
    return result if where is None else np.where(where, result, -np.inf)


# --------------------------------------------------------------------------------------- logsumexp


@public
def logsumexp(
    a: Array,
    axis: Any = None,
    b: Array | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Array | None = None,
) -> Any:
    """log(sum(b exp(a))) along axes, without overflow: the maximum is subtracted first.

    axis         an axis, a tuple of axes, or None for all
    b            factors; a sum that is negative gives NaN, unless its sign is asked for
    return_sign  return (log of the sum's absolute value, its sign)
    where        a mask of the elements that count

    -inf for no elements. P. Blanchard, D. Higham and N. Higham, Accurately Computing the
    Log-Sum-Exp and Softmax Functions, 2021.
    """
    return _logsumexp(a, axis, b, keepdims, return_sign, where)


def _logsumexp(a: Any, axis: Any, b: Any, keepdims: bool, return_sign: bool, where: Any) -> Any:
    x = inexact("logsumexp", a)
    if where is not None:
        x = np.where(where, x, 0)
    if b is not None:
        factor = inexact("logsumexp", b, 1)
        x = convert(x, result_dtype(x, factor))
        x = np.where(np.not_equal(factor, 0), x, -np.inf)
    axes = _axes(x, axis)
    is_complex = array_dtype(x).kind == "c"
    real = np.real(x) if is_complex else x
    largest = _largest(real, axes, where)
    largest = stop_gradient(np.where(np.isfinite(largest), largest, 0))
    e = np.exp(x - largest)
    total = np.sum(e if b is None else e * factor, axes, keepdims=keepdims, **_chosen(where))
    size = np.absolute(total) if return_sign or not is_complex else total
    result = np.log(size) + (largest if keepdims else np.squeeze(largest, axes))
    if return_sign:
        return result, np.sign(total)
    return result if b is None or is_complex else np.where(np.less(total, 0), np.nan, result)


@public
def logmeanexp(
    x: Array, axis: Any = None, where: Array | None = None, keepdims: bool = False
) -> Any:
    """log(mean(exp(x))) along axes, without overflow, over the elements that the mask selects; NaN
    for none."""
    total = _logsumexp(x, axis, None, keepdims, False, where)
    shape = np.shape(x)
    counted = np.broadcast_to(True if where is None else where, shape)
    count = np.sum(counted, _axes(x, axis), keepdims=keepdims).astype(array_dtype(total))
    return total - np.log(count)


# ----------------------------------------------------------------------------- standardize, one_hot


@public
def standardize(
    x: Array,
    axis: Any = -1,
    mean: Array | None = None,
    variance: Array | None = None,
    epsilon: Array = 1e-5,
    where: Array | None = None,
    *,
    algorithm: str = "fast",
) -> Any:
    """x with mean 0 and variance 1 along axes: (x - mean) / sqrt(variance + epsilon).

    mean, variance  used in place of those of x
    where           a mask of the elements that they are computed from
    algorithm       of the variance: "fast", mean(x**2) - mean**2, which cancels for a large mean,
                    or "stable", mean((x - mean)**2)

    Means accumulate halves in float32. Raises ValueError for another algorithm.
    """
    value = inexact("standardize", x)
    axes = _axes(value, axis)
    if is_empty(np.shape(value)):
        return np.positive(value)
    if mean is None:
        mean = _mean(value, axes, where)
    if variance is None:
        if algorithm == "stable":
            variance = _mean(np.square(value - mean), axes, where)
        elif algorithm == "fast":
            variance = np.maximum(_mean(np.square(value), axes, where) - np.square(mean), 0)
        else:
            raise located(
                ValueError, f"Unknown algorithm '{algorithm}'. Expected 'fast' or 'stable'."
            )
    return (value - mean) * np.reciprocal(np.sqrt(variance + epsilon))


def _mean(x: Any, axes: tuple[int, ...], where: Any) -> Any:
    """The mean along axes, which stay with size 1: NaN of nothing, without a warning."""
    if where is None:
        return np.mean(x, axes, keepdims=True)
    dtype = array_dtype(x)
    total = np.sum(x, axes, computed_dtype(dtype), keepdims=True, where=where)
    count = np.sum(np.broadcast_to(where, np.shape(x)), axes, keepdims=True)
    return (total / count).astype(dtype)


@public
def one_hot(x: Array, num_classes: int, *, dtype: Any = None, axis: int = -1) -> Any:
    """1 at the index that each element of x is, along a new axis, and 0 elsewhere; zeros for
    indices out of range.

    dtype  of the result, float64 by default
    axis   the position of the new axis in the result

    Raises TypeError for bools and for a `num_classes` that is no integer or traced, ValueError for
    an axis out of range.
    """
    try:
        size = offset_of(num_classes)
    except TypeError as problem:
        raise located(TypeError, str(problem)) from problem
    value = as_array(x)
    if value.dtype == BOOL:
        raise located(
            TypeError,
            "iota does not accept dtype bool. Accepted dtypes are subtypes of integer, floating, "
            "complexfloating.",
        )
    rank = value.ndim + 1
    if not -rank <= axis < rank:
        raise located(ValueError, f"axis {axis} is out of bounds for array of dimension {rank}")
    shape = tuple(size if k == axis % rank else 1 for k in range(rank))
    hits = np.equal(np.expand_dims(value, axis), numbers_below(size).reshape(shape))
    return hits.astype(FLOAT64 if dtype is None else np.dtype(dtype))
