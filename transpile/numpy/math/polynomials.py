"""Polynomials as vectors of coefficients, the highest power first: polyadd, polymul, polyfit, ...

NumPy drops leading zeros of some results; how many there are is not known while tracing, so those
of traced coefficients stay.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.dims import Dim
from transpile.ir.graph import Const
from transpile.ir.types import FLOAT64, INT64
from transpile.numpy.core.creation import arange, eye
from transpile.numpy.core.promotion import (
    Array,
    as_array,
    as_operand,
    broadcast_in_dim,
    broadcast_to,
    concatenate_along,
    convert,
    fill,
    implements,
    is_weak,
    result_dtype,
    slice_axis,
    unsupported,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.reductions import sum
from transpile.numpy.core.runtime_sizes import exact, extent_of, larger_of, smaller_of
from transpile.numpy.core.ufuncs import call
from transpile.numpy.loops import scanned
from transpile.numpy.manipulation.shapes import atleast_1d
from transpile.numpy.manipulation.transposes import transpose
from transpile.numpy.math.convolutions import convolve
from transpile.primitives import axes as primitives
from transpile.primitives.indexing import PROMISED, gather, scatter
from transpile.trace.trace import bind
from transpile.trace.tracer import Tracer


@implements(np.polyval)
def polyval(p: Array, x: Array) -> Any:
    """The values of a polynomial at x, by Horner's rule."""
    coefficients, value = as_array(p), as_operand(x)
    shape = () if is_weak(value) else value.shape
    result = fill(0, shape, as_array(x).dtype)
    count = coefficients.shape[0]
    if isinstance(count, Dim):
        return _by_horner(coefficients, value, result)
    for k in range(count):
        result = call(np.add, call(np.multiply, result, value), coefficients[k])
    return result


def _by_horner(coefficients: Any, x: Any, start: Any) -> Any:
    """The values of a polynomial of a runtime number of coefficients."""

    def horner(carry: list[Any], xs: list[Any]) -> list[Any]:
        return [call(np.add, call(np.multiply, carry[0], x), xs[0])]

    dtype = result_dtype(start, coefficients)
    carry = [convert(start, dtype)]
    return scanned(horner, carry, [coefficients], coefficients.shape[0])[0]


def _coefficients(p: Array) -> Any:
    x = atleast_1d(p)
    if x.ndim > 1:
        raise located(ValueError, "Polynomial must be 1d only.")
    return x


def _lengthened(x: Any, size: Any) -> Any:
    """Zeros in front, up to a length."""
    missing = size - x.shape[0]
    if missing == 0:
        return x
    return bind(primitives.pad, x, Const(np.zeros((), x.dtype)), padding=((missing, 0, 0),))


def _aligned(a1: Array, a2: Array) -> tuple[Any, Any]:
    x, y = atleast_1d(a1), atleast_1d(a2)
    size = larger_of(x.shape[0], y.shape[0])
    return _lengthened(x, size), _lengthened(y, size)


@implements(np.polyadd)
def polyadd(a1: Array, a2: Array) -> Any:
    """The sum of two polynomials; leading zeros stay."""
    return call(np.add, *_aligned(a1, a2))


@implements(np.polysub)
def polysub(a1: Array, a2: Array) -> Any:
    """The difference of two polynomials; leading zeros stay."""
    return call(np.subtract, *_aligned(a1, a2))


@implements(np.polymul)
def polymul(a1: Array, a2: Array) -> Any:
    """The product of two polynomials: the convolution of their coefficients.

    Leading zeros of traced coefficients stay, NumPy drops them. Raises ValueError for more than one
    axis.
    """
    factors = []
    for given in (a1, a2):
        x = _coefficients(given)
        if not isinstance(x, Tracer):
            x = np.trim_zeros(x, "f")
            x = np.zeros(1, x.dtype) if x.size == 0 else x
        factors.append(x)
    return convolve(*factors)


@implements(np.polydiv)
def polydiv(u: Array, v: Array) -> tuple[Any, Any]:
    """The quotient and the remainder of two polynomials, by long division in floating point.

    The remainder keeps leading zeros, which NumPy drops; a leading coefficient of the divisor that
    is zero gives infinities and NaN.
    """
    x, y = (call(np.add, atleast_1d(p), 0.0) for p in (u, v))
    dtype = result_dtype(x, y)
    rest = convert(x, dtype)
    m, n = x.shape[0] - 1, y.shape[0] - 1
    if isinstance(m, int) and isinstance(n, int) and m < n:
        return fill(0, (1,), dtype), rest
    scale = call(np.divide, 1.0, y[0])
    if isinstance(m, Dim) or isinstance(n, Dim):
        return _divided(rest, convert(y, dtype), convert(scale, dtype))
    factors = []
    for k in range(m - n + 1):
        factor = call(np.multiply, scale, slice_axis(rest, 0, 0, 1))
        factors.append(factor)
        head = slice_axis(rest, 0, 0, n + 1)
        head = call(np.subtract, head, call(np.multiply, factor, y))
        tail = slice_axis(rest, 0, n + 1, m + 1 - k)
        rest = concatenate_along([slice_axis(head, 0, 1, n + 1), tail], 0)
    quotient = convert(concatenate_along(factors, 0), dtype)
    return quotient, rest if n else fill(0, (1,), dtype)


def _divided(x: Any, divisor: Any, scale: Any) -> tuple[Any, Any]:
    """The quotient and the remainder of polynomials of runtime numbers of coefficients, of which
    the divisor may have more."""
    size, width = x.shape[0], divisor.shape[0]
    count = size - smaller_of(size, width - 1)
    key = {"axes": (0,), "mode": PROMISED}

    def divided(carry: list[Any], xs: list[Any]) -> list[Any]:
        (rest,), (k,) = carry, xs
        factor = call(np.multiply, scale, bind(gather, rest, k, **key))
        places = call(np.add, arange(width), k)
        products = call(np.negative, call(np.multiply, factor, divisor))
        rest = bind(scatter, rest, products, places, combine="add", unique=True, **key)
        return [rest, factor]

    rest, factors = scanned(divided, [x], [arange(count)], count)
    zeros = larger_of(count, 1) - count  # a quotient has one coefficient at least
    quotient = np.concatenate([factors, fill(0, (zeros,), x.dtype)])
    return quotient, slice_axis(rest, 0, size - larger_of(size - count, 1), size)


@implements(np.polyder)
def polyder(p: Array, m: Any = 1) -> Any:
    """The m-th derivative of a polynomial; m must be known while tracing, or is a runtime size;
    ValueError if negative."""
    order = extent_of(m)
    if order < 0:
        raise located(ValueError, "Order of derivative must be positive (see polyint)")
    x = as_array(p)
    if isinstance(order, Dim):
        kept = larger_of(x.shape[0] - order, 0)
        powers = call(np.add, arange(kept, 0, -1), order - 1)
        powers = convert(powers, INT64 if x.dtype.kind in "biu" else FLOAT64)
        return call(np.multiply, slice_axis(x, 0, 0, kept), _falling(powers, order))
    for _ in range(order):
        degree = x.shape[0] - 1
        if isinstance(degree, int):
            degree = max(degree, 0)
        x = call(np.multiply, slice_axis(x, 0, 0, degree), arange(degree, 0, -1))
    return x


def _falling(powers: Any, count: Any) -> Any:
    """The products of so many numbers p, p - 1, ..., those below 1 left out."""

    def multiplied(carry: list[Any], xs: list[Any]) -> list[Any]:
        return [call(np.multiply, carry[0], call(np.maximum, call(np.subtract, powers, xs[0]), 1))]

    return scanned(multiplied, [fill(1, powers.shape, powers.dtype)], [arange(count)], count)[0]


@implements(np.polyint)
def polyint(p: Array, m: Any = 1, k: Any = None) -> Any:
    """The m-th antiderivative of a polynomial, with the constants of integration `k`, 0 by default.

    m must be known while tracing, or is a runtime size. Raises ValueError if it is negative and for
    too few constants.
    """
    order = extent_of(m)
    if order < 0:
        raise located(ValueError, "Order of integral must be positive (see polyder)")
    if isinstance(order, Dim):
        return _integrated(as_array(p), order, k)
    constants = np.zeros(order) if k is None else atleast_1d(k)
    if constants.shape[0] == 1 and order > 1:
        constants = call(np.multiply, constants, np.ones(order))
    if constants.shape[0] < order:
        raise located(ValueError, "k must be a scalar or a rank-1 array of length 1 or >m.")
    x = as_array(p)
    for step in range(order):
        x = call(np.divide, x, arange(x.shape[0], 0, -1))
        constant = slice_axis(constants, 0, step, step + 1)
        dtype = result_dtype(x, constant)
        x = concatenate_along([convert(x, dtype), convert(constant, dtype)], 0)
    return x


def _integrated(x: Any, order: Dim, k: Any) -> Any:
    """An antiderivative of a runtime order: each coefficient is divided by the powers that it has
    had."""
    constants = atleast_1d(0.0 if k is None else k)
    if constants.shape[0] == 1:
        constants = broadcast_to(constants, (order,))
    total = result_dtype(x, constants, 1.0)
    parts = [convert(x, total), convert(slice_axis(constants, 0, 0, order), total)]
    whole = concatenate_along(parts, 0)
    powers = convert(arange(whole.shape[0] - 1, -1, -1), FLOAT64)
    return call(np.divide, whole, _falling(powers, order))


@implements(np.poly)
def poly(seq_of_zeros: Array) -> Any:
    """The monic polynomial with the given zeros, or the characteristic polynomial of a square
    matrix.

    Complex zeros give complex coefficients, though they come in conjugate pairs; those of a matrix
    are real if it is. Raises ValueError for other shapes.
    """
    x = atleast_1d(seq_of_zeros)
    if x.ndim == 2 and x.shape[0] == x.shape[1] and x.shape[0] != 0:
        coefficients = poly(np.linalg.eigvals(x))
        return coefficients if x.dtype.kind == "c" else coefficients.real
    if x.ndim != 1:
        raise located(ValueError, "input must be 1d or non-empty square 2d array.")
    if x.dtype.kind not in "fc":
        x = convert(x, FLOAT64)
    if x.shape[0] == 0:
        return fill(1.0, (), FLOAT64)
    if isinstance(x.shape[0], Dim):
        return _monic(x)
    result = fill(1, (1,), x.dtype)
    for k in range(x.shape[0]):
        zero = np.zeros((1,), x.dtype)
        moved = call(np.multiply, result, slice_axis(x, 0, k, k + 1))
        result = call(
            np.subtract,
            np.concatenate([result, zero]),
            np.concatenate([zero, moved]),
        )
    return result


def _monic(zeros: Any) -> Any:
    """The monic polynomial with a runtime number of zeros."""
    size = zeros.shape[0]
    nothing = fill(0, (1,), zeros.dtype)

    def multiplied(carry: list[Any], xs: list[Any]) -> list[Any]:
        moved = concatenate_along([nothing, slice_axis(carry[0], 0, 0, size)], 0)
        return [call(np.subtract, carry[0], call(np.multiply, moved, xs[0]))]

    one = concatenate_along([fill(1, (1,), zeros.dtype), fill(0, (size,), zeros.dtype)], 0)
    return scanned(multiplied, [one], [zeros], size)[0]


@implements(np.roots)
def roots(p: Array) -> Any:
    """The zeros of a polynomial, always complex: the eigenvalues of its companion matrix.

    The first coefficient must not be zero, else the result is NaN: NumPy strips zeros at both ends,
    which would decide the shape. Raises ValueError for more than one axis.
    """
    x = atleast_1d(p)
    if x.ndim != 1:
        raise located(ValueError, "Input must be a rank-1 array.")
    if x.dtype.kind not in "fc":
        x = convert(x, FLOAT64)
    size = x.shape[0]
    complex_dtype = result_dtype(x, np.zeros((), "c8"))
    if size < 2:
        return fill(0, (0,), complex_dtype)
    first = call(np.negative, call(np.divide, slice_axis(x, 0, 1, size), x[0]))
    first = broadcast_in_dim(first, (1, size - 1), (1,))
    below = eye(size - 2, size - 1, dtype=x.dtype)
    return convert(np.linalg.eigvals(np.concatenate([first, below])), complex_dtype)


# Columns of a Vandermonde matrix that are written one by one.
_MOST_POWERS = 32


@implements(np.vander)
def vander(x: Array, N: Any = None, increasing: bool = False) -> Any:
    """The Vandermonde matrix of a vector: column j holds its powers N - 1 - j, or j if
    `increasing`; N may be a runtime size.

    Powers come from repeated multiplication, in the dtype promoted with int64. Raises ValueError
    unless x has one axis.
    """
    value = as_array(x)
    if value.ndim != 1:
        raise located(ValueError, "x must be a one-dimensional array or sequence.")
    count = value.shape[0] if N is None else extent_of(exact(N))
    dtype = result_dtype(value, np.zeros((), INT64))
    column = convert(value, dtype)
    if isinstance(count, Dim) or count > _MOST_POWERS:
        return _many_powers(column, count, increasing)
    powers = [fill(1, value.shape, dtype), column][: max(count, 1)]
    for _ in range(count - 2):
        powers.append(call(np.multiply, powers[-1], column))
    if count == 0:
        return fill(0, (*value.shape, 0), dtype)
    return np.stack(powers if increasing else powers[::-1], axis=1)


def _next_power(column: Any) -> Any:
    """The step from one power to the next one. A carry of two begins with the first power itself:
    1 times an infinite complex number is NaN."""

    def multiplied(carry: list[Any], xs: list[Any]) -> list[Any]:
        return [*carry[1:], call(np.multiply, carry[-1], column), carry[0]]

    return multiplied


def _many_powers(column: Any, count: Any, increasing: bool) -> Any:
    """The same in one loop, however many there are: as a cumulative product, or, where its
    derivative would have to know the number, one power after another."""
    if isinstance(count, Dim):
        begin = [fill(1, column.shape, column.dtype), column][: 1 + (column.dtype.kind == "c")]
        powers = transpose(scanned(_next_power(column), begin, [], count)[len(begin)])
        return powers if increasing else powers[:, ::-1]
    shape = (*column.shape, count)
    if column.dtype.kind == "c":
        further = np.cumprod(broadcast_in_dim(column, (*column.shape, count - 1), (0,)), axis=1)
        powers = np.concatenate([fill(1, (*column.shape, 1), column.dtype), further], axis=1)
    else:
        place = bind(primitives.iota, shape=shape, dimension=1, dtype=INT64)
        factors = np.where(place == 0, 1, broadcast_in_dim(column, shape, (0,)))
        powers = np.cumprod(factors, axis=1)
    return powers if increasing else powers[:, ::-1]


@implements(np.polyfit)
def polyfit(
    x: Array,
    y: Array,
    deg: Any,
    rcond: Any = None,
    full: bool = False,
    w: Any = None,
    cov: Any = False,
) -> Any:
    """The polynomial of degree `deg` that fits points in the least-squares sense, by singular
    values of the Vandermonde matrix with columns scaled to length 1.

    `w` weighs the residuals. `full` adds residuals, rank, singular values and rcond; `cov` the
    covariance of the coefficients. A fit of low rank gives no RankWarning. Raises TypeError for
    shapes and ValueError for a degree that do not fit.
    """
    degree = extent_of(deg)
    points, values = (call(np.add, as_array(v), 0.0) for v in (x, y))
    _check_fit(points, values, degree)
    if rcond is None:
        rcond = points.shape[0] * float(np.finfo(points.dtype).eps)
    matrix = vander(points, degree + 1)
    if w is not None:
        weights = call(np.add, as_array(w), 0.0)
        if weights.ndim != 1:
            raise located(TypeError, "expected a 1-d array for weights")
        if weights.shape[0] != values.shape[0]:
            raise located(TypeError, "expected w and y to have the same length")
        column = broadcast_in_dim(weights, (weights.shape[0], 1), (0,))
        matrix = call(np.multiply, matrix, column)
        values = call(np.multiply, values, column if values.ndim == 2 else weights)
    scale = call(np.sqrt, sum(call(np.multiply, matrix, matrix), 0))
    matrix = call(np.divide, matrix, scale)
    coefficients, residuals, rank, singular = np.linalg.lstsq(matrix, values, rcond)
    coefficients = transpose(call(np.divide, transpose(coefficients), scale))
    if full:
        return coefficients, residuals, rank, singular, rcond
    if not cov:
        return coefficients
    return coefficients, _covariance(matrix, scale, residuals, values.ndim, cov)


def _check_fit(points: Any, values: Any, degree: Any) -> None:
    if degree < 0:
        raise located(ValueError, "expected deg >= 0")
    if points.ndim != 1:
        raise located(TypeError, "expected 1D vector for x")
    if points.size == 0:
        raise located(TypeError, "expected non-empty vector for x")
    if not 1 <= values.ndim <= 2:
        raise located(TypeError, "expected 1D or 2D array for y")
    if points.shape[0] != values.shape[0]:
        raise located(TypeError, "expected x and y to have same length")


def _covariance(matrix: Any, scale: Any, residuals: Any, ndim: int, cov: Any) -> Any:
    """The covariance of the coefficients that `polyfit` gives."""
    count, order = matrix.shape
    base = np.linalg.inv(np.dot(transpose(matrix), matrix))
    base = call(np.divide, base, np.outer(scale, scale))
    if cov == "unscaled":
        return base if ndim == 1 else broadcast_in_dim(base, (*base.shape, 1), (0, 1))
    if count <= order:
        raise located(
            ValueError,
            "the number of data points must exceed order to scale the covariance matrix",
        )
    if residuals.shape[0] == 0:
        raise unsupported("numpy.polyfit with cov=True needs the residuals of the fit")
    factor = call(np.divide, residuals, count - order)
    if ndim == 1:
        return call(np.multiply, base, factor)
    return call(np.multiply, broadcast_in_dim(base, (*base.shape, 1), (0, 1)), factor)
