"""The exponential, sine and cosine integrals, and the dilogarithm."""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np

from transpile.primitives.reference.extended_precision import (
    EULER,
    LONG,
    PI,
    bernoulli_numbers,
    long_of,
    polynomial,
    where_true,
    wide,
)

# The zero of Ei, in two parts.
ROOT, ROOT_REST = LONG(0.37250741078136663), LONG("1.3140183414386028201e-17")


@wide
def expn(n: Any, x: Any) -> Any:
    """The integral of exp(-x t) / t^n from 1 on; NaN for negative x or n, and n not whole."""
    result = np.full_like(x, np.nan)
    allowed = (n >= 0) & (x >= 0) & (np.floor(n) == n) & np.isfinite(n)
    plain = allowed & (x > 0) & np.isfinite(x) & (n > 0)
    where_true(allowed & (n == 0), lambda x: np.exp(-x) / x, result, x)
    where_true(plain & (x <= 1), _expn_series, result, n, x)
    where_true(plain & (x > 1), _expn_fraction, result, n, x)
    result[allowed & np.isposinf(x)] = 0
    at_zero = np.where(n < 2, np.inf, 1 / (n - 1))
    return np.where(allowed & (x == 0), at_zero, result)


def _expn_series(n: Any, x: Any) -> Any:
    """The power series (DLMF 8.19.8), for n >= 1 and 0 < x <= 1."""
    power, total, psi = np.ones_like(x), np.zeros_like(x), -EULER
    for m in range(60):
        distance = n - 1 - m
        here = distance == 0
        total = total + np.where(here, power * (psi - np.log(x)), 0)
        total = total + power / np.where(here, np.inf, distance)
        power = power * (-x / (m + 1))
        psi = psi + LONG(1) / (m + 1)
    return total


def _expn_fraction(n: Any, x: Any) -> Any:
    """A continued fraction from its end (DLMF 8.19.17), for x > 1."""
    tail = np.zeros_like(x)
    for k in range(180, 0, -1):
        tail = -k * (n + (k - 1)) / (x + n + 2 * k + tail)
    return np.exp(-x) / (x + n + tail)


@wide
def expi(x: Any) -> Any:
    """The exponential integral Ei."""
    result = np.copy(x)
    one = np.ones_like(x)
    where_true((x < 0) & (x >= -1), lambda n, x: -_expn_series(n, -x), result, one, x)
    where_true((x < -1) & np.isfinite(x), lambda n, x: -_expn_fraction(n, -x), result, one, x)
    where_true((x > 0) & (x <= 50), _expi_series, result, x)
    where_true((x > 50) & np.isfinite(x), _expi_asymptotic, result, x)
    near = (x - ROOT) - ROOT_REST
    where_true(np.abs(near) < 0.125, _expi_at_root, result, x, near)
    result[x == 0] = -np.inf
    return np.where(np.isneginf(x), -0.0, result)


def _expi_series(x: Any) -> Any:
    """The power series (DLMF 6.6.2)."""
    term, total = np.ones_like(x), np.zeros_like(x)
    for k in range(1, 260):
        term = term * (x / k)
        total = total + term / k
    return EULER + np.log(x) + total


def _expi_at_root(x: Any, distance: Any) -> Any:
    """The difference of that series to its zero."""
    inner, power, total = np.ones_like(x), LONG(1), np.zeros_like(x)
    for k in range(1, 30):
        total = total + inner / LONG(k * factorial(k))
        power = power * ROOT
        inner = x * inner + power
    return np.log1p(distance / ROOT) + distance * total


def _expi_asymptotic(x: Any) -> Any:
    """For large x (DLMF 6.12.2), up to the smallest term."""
    term, total = np.ones_like(x), np.zeros_like(x)
    for k in range(1, 52):
        total = total + term
        term = term * (k / x)
    half = np.exp(x / 2)
    return half / x * total * half


# ---------------------------------------------------------------------------- sine and cosine


@wide
def sine_integral(x: Any) -> Any:
    """The sine integral Si."""
    size = np.abs(x)
    result = np.full_like(x, PI / 2)
    where_true(size <= 4, _sine_series, result, size)
    where_true((size > 4) & (size <= 2.0**60), lambda v: PI / 2 + _far(v).imag, result, size)
    return np.where(np.isnan(x), x, np.copysign(result, x))


@wide
def cosine_integral(x: Any) -> Any:
    """The cosine integral Ci, for negative x that of |x|."""
    size = np.abs(x)
    result = np.zeros_like(x)
    where_true(size <= 4, _cosine_series, result, size)
    where_true((size > 4) & (size <= 2.0**60), lambda v: -_far(v).real, result, size)
    where_true((size > 2.0**60) & np.isfinite(size), lambda v: np.sin(v) / v, result, size)
    return np.where(np.isnan(x) | np.isneginf(x), np.nan, result)


def _sine_series(x: Any) -> Any:
    """The power series (DLMF 6.6.5)."""
    term = total = x
    for k in range(1, 25):
        term = term * (-np.square(x) / (2 * k * (2 * k + 1)))
        total = total + term / (2 * k + 1)
    return total


def _cosine_series(x: Any) -> Any:
    """The power series (DLMF 6.6.6)."""
    term, total = np.ones_like(x), np.zeros_like(x)
    for k in range(1, 25):
        term = term * (-np.square(x) / ((2 * k - 1) * 2 * k))
        total = total + term / (2 * k)
    return EULER + np.log(x) + total


def _far(x: Any) -> Any:
    """E_1(i x), by a continued fraction from its end (DLMF 6.9.1)."""
    z = np.zeros(x.shape, np.clongdouble)
    z.imag = x
    tail = np.zeros_like(z)
    for k in range(120, 0, -1):
        tail = -LONG(k) * k / (2 * k + 1 + z + tail)
    return (np.cos(x) - 1j * np.sin(x)) / (1 + z + tail)


# -------------------------------------------------------------------------- Fresnel's integrals


@wide
def fresnel_sine(x: Any) -> Any:
    """Fresnel's integral S, of sin(pi t^2 / 2)."""
    return np.copysign(_fresnel(np.abs(x)).imag, x)


@wide
def fresnel_cosine(x: Any) -> Any:
    """Fresnel's integral C, of cos(pi t^2 / 2)."""
    return np.copysign(_fresnel(np.abs(x)).real, x)


def _fresnel(x: Any) -> Any:
    """C + i S for x >= 0."""
    result = np.full(x.shape, 0.5 + 0.5j, np.clongdouble)
    result[np.isnan(x)] = complex(np.nan, np.nan)
    where_true(x <= 1.6, _fresnel_series, result, x)
    where_true((x > 1.6) & (x < 2.0**52), _fresnel_fraction, result, x)
    return result


def _fresnel_series(x: Any) -> Any:
    """The power series (DLMF 7.6.4, 7.6.6): that of x exp(i q) term by term."""
    q = PI / 2 * np.square(x)
    term = x.astype(np.clongdouble)
    total = np.zeros_like(term)
    for k in range(50):
        total = total + term / (2 * k + 1)
        term = term * (1j * q) / (k + 1)
    return total


def _fresnel_fraction(x: Any) -> Any:
    """By a continued fraction of the complementary error function (DLMF 7.9.2)."""
    square = np.square(x)
    z = np.zeros(x.shape, np.clongdouble)
    z.imag = -PI * square
    tail = np.zeros_like(z)
    for k in range(140, 0, -1):
        tail = -LONG((2 * k - 1) * 2 * k) / (4 * k + 1 + z + tail)
    angle = PI / 2 * (square - 4 * np.rint(square / 4))
    return LONG(0.5) + 0.5j - (np.cos(angle) + 1j * np.sin(angle)) * x / (1 + z + tail)


# ---------------------------------------------------------------------------------- dilogarithm


@wide
def spence(x: Any) -> Any:
    """The dilogarithm of 1 - x."""
    y = np.where(x > 2, 1 / x, x)
    below = y < 0.5
    logarithm = np.log(y)
    other = np.where(below, np.log1p(-y), 0)
    series = _dilogarithm(np.where(below, -other, -logarithm))
    product = np.where(y == 0, 0, logarithm * other)
    inner = np.where(below, np.square(PI) / 6 - product - series, series)
    result = np.where(x > 2, -0.5 * np.square(logarithm) - inner, inner)
    return np.where(x < 0, np.nan, np.where(np.isposinf(x), -np.inf, result))


def _dilogarithm(w: Any) -> Any:
    """Li2(1 - exp(-w)): the integral of t / (exp(t) - 1) (DLMF 24.2.1)."""
    weights = [long_of(b / factorial(2 * k + 1)) for k, b in enumerate(bernoulli_numbers(16), 1)]
    return w * (1 + w * (w * polynomial(weights, np.square(w)) - 0.25))
