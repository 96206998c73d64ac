"""Weighted means, covariances and correlations."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.types import FLOAT64, check_dtype
from transpile.numpy.core.elementwise import clip
from transpile.numpy.core.promotion import (
    NOTHING,
    Array,
    NumpyErrors,
    as_array,
    axes_of,
    broadcast_in_dim,
    broadcast_to,
    convert,
    dtype_argument,
    fill,
    implements,
    reshape_to,
    result_dtype,
    transpose_to,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.reductions import mean, sum
from transpile.numpy.core.runtime_sizes import dimension_value
from transpile.numpy.core.ufuncs import call
from transpile.numpy.manipulation.shapes import imag, real, squeeze
from transpile.numpy.manipulation.transposes import transpose
from transpile.numpy.manipulation.views import diagonal
from transpile.numpy.math.products import dot
from transpile.numpy.subscripts.bounds import fail_outside
from transpile.primitives import elementwise
from transpile.trace.trace import bind
from transpile.trace.tracer import Tracer


@implements(np.average)
def average(
    a: Array,
    axis: Any = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: Any = NOTHING,
) -> Any:
    """The weighted mean along axes, with weights for all elements or for the positions along the
    axes; float64 for integers.

    Raises ZeroDivisionError for weights whose sum is zero, TypeError and ValueError for those of
    another shape.
    """
    x = as_array(a)
    axes = axes_of(axis, x.ndim)
    if weights is None:
        result = mean(x, axes, keepdims=keepdims)
        if not returned:
            return result
        count = 1
        for i in axes:
            count = count * x.shape[i]
        return result, fill(count, result.shape, result.dtype)
    given = as_array(weights)
    w = _weights(given, x, axis, axes)
    with NumpyErrors():
        wanted = [x.dtype, w.dtype] + ([FLOAT64] if x.dtype.kind in "biu" else [])
        dtype = check_dtype(np.result_type(*wanted))
    total = sum(w, axes, dtype, keepdims=keepdims)
    if isinstance(given, Tracer):
        _check_total(total)
    else:
        _check_total(np.sum(given, axes if w is given else None))
    scaled = sum(call(np.multiply, x, w, dtype=dtype), axes, keepdims=keepdims)
    result = call(np.divide, scaled, total)
    return (result, broadcast_to(total, result.shape)) if returned else result


def _check_total(total: Any) -> None:
    """Raise NumPy's error, in a trace or in the program, where a sum of weights is zero."""
    _refuse_where(total == 0, ZeroDivisionError, "Weights sum to zero, can't be normalized")


def _refuse_where(refused: Any, error: type[Exception], text: str) -> None:
    if isinstance(refused, Tracer):
        fail_outside(refused, refused, error, text)
    elif np.any(refused):
        raise located(error, text)


def _weights(w: Any, x: Any, axis: Any, axes: tuple[int, ...]) -> Any:
    """The weights in the array's shape: they may be given for the averaged axes only."""
    if tuple(w.shape) == tuple(x.shape):
        return w
    if axis is None:
        raise located(TypeError, "Axis must be specified when shapes of a and weights differ.")
    if tuple(w.shape) != tuple(x.shape[i] for i in axes):
        raise located(
            ValueError, "Shape of weights must be consistent with shape of a along specified axis."
        )
    order = sorted(range(len(axes)), key=lambda k: axes[k])
    return broadcast_in_dim(transpose_to(w, order), x.shape, sorted(axes))


# ------------------------------------------------------------------------------------ covariances


# A matrix of one row is turned since NumPy 2.2.
_TURNS_ONE_ROW = np.cov(np.ones((1, 2)), rowvar=False, ddof=0).ndim == 2


@implements(np.cov)
def cov(
    m: Array,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """The covariance matrix of variables in rows (`rowvar`) over observations in columns, in at
    least float64.

    Normalised by N - ddof, N - 1 by default, N with `bias`. With `fweights` and `aweights` N is the
    sum of weights, reduced as NumPy does. Raises ValueError for more than two axes and for weights
    below zero, TypeError for frequencies that are not whole, ZeroDivisionError for weights whose
    sum is zero, RuntimeError for those of another length.
    """
    if ddof is not None and ddof != int(ddof):
        raise located(ValueError, "ddof must be integer")
    x = as_array(m)
    second = None if y is None else as_array(y)
    for name, value in (("m", x), ("y", second)):
        if value is not None and value.ndim > 2:
            raise located(ValueError, f"{name} has more than 2 dimensions")
    values = [x] if second is None else [x, second]
    promoted = result_dtype(*values, np.zeros(())) if dtype is None else dtype_argument(dtype)
    rows = _variables(x, rowvar, x.ndim != 1 and (_TURNS_ONE_ROW or x.shape[0] != 1), promoted)
    if rows.shape[0] == 0:
        return fill(0, (0, 0), FLOAT64)
    if second is not None:
        more = _variables(second, rowvar, second.ndim == 2 and second.shape[0] != 1, promoted)
        rows = np.concatenate([rows, more], axis=0)
    lost = (0 if bias else 1) if ddof is None else int(ddof)
    frequencies = _observation_weights(fweights, rows.shape[1], "fweights", whole=True)
    reliabilities = _observation_weights(aweights, rows.shape[1], "aweights", whole=False)
    return _covariance(rows, frequencies, reliabilities, lost)


def _variables(x: Any, rowvar: bool, may_turn: bool, dtype: Any) -> Any:
    """A row for each variable."""
    x = convert(x, dtype)
    if x.ndim < 2:
        x = reshape_to(x, (1, x.size))
    return transpose(x) if not rowvar and may_turn else x


def _observation_weights(given: Any, count: Any, name: str, whole: bool) -> Any:
    """The weights of the observations as floats, checked as NumPy does, with its errors."""
    if given is None:
        return None
    w = convert(as_array(given), FLOAT64)
    if whole and as_array(given).dtype.kind not in "biu":
        _refuse_where(w != np.rint(w), TypeError, f"{name} must be integer")
    if w.ndim > 1:
        raise located(RuntimeError, f"cannot handle multidimensional {name}")
    if w.shape[0] != count:
        raise located(RuntimeError, f"incompatible numbers of samples and {name}")
    if as_array(given).dtype.kind not in "bu":
        _refuse_where(w < 0, ValueError, f"{name} cannot be negative")
    return w


def _covariance(x: Any, frequencies: Any, reliabilities: Any, ddof: int) -> Any:
    """The covariance of the rows of x."""
    given = [w for w in (frequencies, reliabilities) if w is not None]
    weights = None if not given else given[0] if len(given) == 1 else np.multiply(*given)
    if weights is None:
        centre, freedom = mean(x, 1, keepdims=True), _less(x.shape[1], ddof)
    else:
        total = sum(weights)
        _check_total(total if isinstance(weights, Tracer) else np.sum(weights))
        weighted = call(np.multiply, x, weights)
        centre = call(np.divide, sum(weighted, 1, keepdims=True), total)
        freedom = _freedom(total, weights, reliabilities, ddof)
    x = call(np.subtract, x, centre)
    other = x if weights is None else call(np.multiply, x, weights)
    other = transpose(other)
    product = dot(x, call(np.conjugate, other) if other.dtype.kind == "c" else other)
    return squeeze(convert(call(np.divide, product, freedom), product.dtype))


def _less(count: Any, ddof: int) -> Any:
    """A number of observations less the degrees of freedom that are lost, at least 0."""
    if isinstance(count, int):
        return max(count - ddof, 0)
    return call(np.maximum, call(np.subtract, dimension_value(count), ddof), 0)


def _freedom(total: Any, weights: Any, reliabilities: Any, ddof: int) -> Any:
    if ddof == 0:
        return total
    if reliabilities is None:
        lost: Any = ddof
    else:
        squares = sum(call(np.multiply, weights, reliabilities))
        lost = call(np.divide, call(np.multiply, ddof, squares), total)
    return call(np.maximum, call(np.subtract, total, lost), 0)


@implements(np.corrcoef)
def corrcoef(x: Array, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """The matrix of Pearson correlation coefficients of variables in rows: covariances over
    standard deviations, clipped to [-1, 1] part by part."""
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return call(np.divide, c, c)
    deviation = call(np.sqrt, real(diagonal(c)))
    size = deviation.shape[0]
    c = call(np.divide, c, broadcast_in_dim(deviation, (size, 1), (0,)))
    c = call(np.divide, c, broadcast_in_dim(deviation, (1, size), (1,)))
    if c.dtype.kind != "c":
        return clip(c, -1, 1)
    return bind(elementwise.make_complex, clip(real(c), -1, 1), clip(imag(c), -1, 1))
