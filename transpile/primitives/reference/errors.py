"""The error function, its complements and inverses, and Dawson's integral."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.types import is_bfloat16
from transpile.primitives.reference.extended_precision import (
    LONG,
    SQRT_PI,
    polynomial,
    where_true,
    wide,
)
from transpile.primitives.reference.inverse_error import CENTRAL, FAR, NEAR


@wide
def erf(x: Any) -> Any:
    """The error function."""
    return _erf(x)


def _erf(x: Any) -> Any:
    result = 1 - erfc_of(np.abs(x))
    where_true(np.abs(x) < 2.5, lambda v: _erf_series(np.abs(v)), result, x)
    return np.copysign(result, x)


def _erf_series(x: Any) -> Any:
    """For x >= 0, by a series of positive terms (DLMF 7.6.2)."""
    term = 2 / SQRT_PI * x * np.exp(-np.square(x))
    total = term
    for n in range(1, 70):
        term = term * (2 * np.square(x) / (2 * n + 1))
        total = total + term
    return total


@wide
def erfc(x: Any) -> Any:
    """1 - erf(x)."""
    return np.where(x < 0, 1 + _erf(-x), erfc_of(np.abs(x)))


def erfc_of(x: Any) -> Any:
    """erfc of a vector of long doubles, x >= 0."""
    result = 1 - _erf_series(np.minimum(x, 2.5))
    where_true(x >= 2, lambda v: _fraction(v) * np.exp(-np.square(v)), result, x)
    return result


def _fraction(x: Any) -> Any:
    """exp(x^2) erfc(x) for x >= 2, by a continued fraction (DLMF 7.9.1)."""
    below = x
    for k in range(140, 0, -1):
        below = x + LONG(k) / 2 / below
    return np.where(np.isposinf(x), 0, 1 / (SQRT_PI * below))


@wide
def erfcx(x: Any) -> Any:
    """exp(x^2) erfc(x)."""
    return scaled_erfc(x)


def scaled_erfc(x: Any) -> Any:
    """exp(x^2) erfc(x) of a vector of long doubles."""
    size = np.abs(x)
    growth = np.exp(np.square(x))
    result = growth * (1 - _erf_series(np.minimum(size, 2.5)))
    where_true(size >= 2, _fraction, result, size)
    return np.where(x < 0, 2 * growth - result, result)


@wide
def dawsn(x: Any) -> Any:
    """Dawson's integral: exp(-x^2) times the integral of exp(t^2) from 0 to x."""
    y = np.abs(x)
    result = np.copy(y)
    where_true(y < 8, _dawson_series, result, y)
    where_true(y >= 8, _dawson_asymptotic, result, y)
    return np.copysign(result, x)


def _dawson_series(x: Any) -> Any:
    """exp(-x^2) times the sum of x^(2 n + 1) / (n! (2 n + 1))."""
    power = x * np.exp(-np.square(x))
    total = power
    for n in range(1, 260):
        power = power * (np.square(x) / n)
        total = total + power / (2 * n + 1)
    return total


def _dawson_asymptotic(x: Any) -> Any:
    """The sum of (2 k - 1)!! / (2^(k + 1) x^(2 k + 1)), up to its smallest terms."""
    term = 1 / (2 * x)
    total = term
    for k in range(1, 60):
        ratio = (2 * k - 1) / (2 * np.square(x))
        term = np.where(ratio < 1, term * ratio, 0)
        total = total + term
    return total


# ------------------------------------------------------------------------------------ inverses


def erf_inv(x: Any) -> Any:
    """The inverse of erf: polynomials, for long doubles improved by a step of Newton's method."""
    return _inverted(np.asarray(x), erf_inv_by_polynomials, _improve_erf_inv)


def ndtri(p: Any) -> Any:
    """The inverse of the distribution function of the normal distribution."""
    return _inverted(np.asarray(p), ndtri_by_polynomials, _improve_ndtri)


def _inverted(x: Any, approximate: Any, improve: Any) -> Any:
    wide_one = x.dtype == LONG and np.finfo(LONG).nmant > 52
    with np.errstate(all="ignore"):
        y = (x.astype(np.float32) if is_bfloat16(x.dtype) else x).astype(LONG if wide_one else "f8")
        inverse = approximate(y)
        if wide_one:
            better = improve(y, inverse)
            inverse = np.where(np.isfinite(better), better, inverse)
        if is_bfloat16(x.dtype):
            inverse = inverse.astype(np.float32)
        return inverse.astype(x.dtype)


def erf_inv_by_polynomials(x: Any) -> Any:
    """The inverse of erf to double precision, of arrays of floats or of tracers."""
    a = np.abs(x)
    square = np.where(a < 0.5, np.square(a), 0.25)
    large = np.where(a == 1, np.inf, _erfc_inv_near(np.sqrt(-np.log(1 - a))))
    return np.where(a < 0.5, polynomial(CENTRAL, square) * x, np.copysign(large, x))


def _erfc_inv_near(w: Any) -> Any:
    return w * polynomial(NEAR, (w - 1.5) / (w + 1.5))


def _improve_erf_inv(x: Any, y: Any) -> Any:
    tail = np.asarray(erfc(np.abs(y)) - (1 - np.abs(x)))
    missing = np.where(np.abs(x) < 0.5, erf(y) - x, tail * -np.sign(x))
    return y - missing * np.exp(np.square(y)) * (SQRT_PI / 2)


def ndtri_by_polynomials(p: Any) -> Any:
    """The quantile of the normal distribution to double precision, of floats or of tracers."""
    q = np.where(p > 0.5, 1 - p, p)
    w = np.sqrt(-np.log(2 * q))
    far = w * polynomial(FAR, (w - 3) / (w + 3) - 0.5625)
    tail = np.where(q == 0, np.inf, np.where(w < 6, _erfc_inv_near(w), far))
    tail = np.where(p > 0.5, tail, -tail)
    return np.sqrt(p.dtype.type(2)) * np.where(q > 0.25, erf_inv_by_polynomials(2 * p - 1), tail)


def _improve_ndtri(p: Any, y: Any) -> Any:
    size = np.abs(y) / np.sqrt(LONG(2))
    q = np.where(p > 0.5, 1 - p, p)
    # In logarithms, which change slowly in the tails.
    scaled = scaled_erfc(size.ravel()).reshape(size.shape)
    step = (np.log(scaled / 2) - np.square(size) - np.log(q)) * scaled * (SQRT_PI / 2)
    return np.where(p == 0.5, 0, np.copysign(size + step, y) * np.sqrt(LONG(2)))
