"""Error functions, the normal distribution, Faddeeva's function and Owen's T function."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from transpile.functional.custom import custom_jvp
from transpile.scipy.special.operands import (
    Array,
    applied,
    located,
    promoted,
    public,
    real,
    single_or_double,
)


@public
def erf(x: Array) -> Any:
    """The error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x."""
    return applied("erf", *real("erf", x))


@public
def erfc(x: Array) -> Any:
    """The complementary error function 1 - erf(x), without cancellation."""
    return applied("erfc", *real("erfc", x))


@public
def erfinv(x: Array) -> Any:
    """The inverse error function: infinite at -1 and 1, NaN outside."""
    return applied("erf_inv", *real("erfinv", x))


@public
def erfcx(x: Array) -> Any:
    """The scaled complementary error function exp(x^2) erfc(x), for real and complex numbers; inf
    below about -26.6."""
    (z,) = promoted("erfcx", x)
    return _wofz(1j * z) if z.dtype.kind == "c" else applied("erfcx", z)


@public
def dawsn(x: Array) -> Any:
    """Dawson's integral exp(-x^2) times the integral of exp(t^2) from 0 to x."""
    return applied("dawsn", *real("dawsn", x))


# ------------------------------------------------------------------------- Faddeeva's function


@public
def wofz(z: Array) -> Any:
    """The Faddeeva function exp(-z^2) erfc(-i z); the result is complex.

    J. Weideman, Computation of the Complex Error Function, SIAM Journal on Numerical Analysis 31,
    1994, with 44 terms; reflected for negative imaginary parts.
    """
    (x,) = promoted("wofz", z)
    return _wofz(x if x.dtype.kind == "c" else x + 0j)


@custom_jvp
def _wofz(z: Any) -> Any:
    above = np.imag(z) >= 0
    upper = _in_the_upper_half(np.where(above, z, -z))
    return np.where(above, upper, 2 * np.exp(-(z * z)) - upper)


_wofz.defjvps(lambda t, out, z: t * (2j / math.sqrt(math.pi) - 2 * z * out))


def _in_the_upper_half(z: Any) -> Any:
    """J. Weideman, Computation of the complex error function, SIAM Journal on Numerical Analysis
    31, 1994: a polynomial of (l + i z) / (l - i z)."""
    scale, coefficients = _weideman(44)
    under = 1 / (scale - 1j * z)
    t = (scale + 1j * z) * under
    total: Any = 0.0
    for c in coefficients:
        total = total * t + c
    return (2 * total * under + 1 / math.sqrt(math.pi)) * under


@functools.cache
def _weideman(count: int) -> tuple[float, tuple[float, ...]]:
    """The scale l, and the coefficients, of highest degree first: those of the Fourier series of
    exp(-t^2) (l^2 + t^2), t = l tan(theta / 2)."""
    size = 4 * count
    scale = math.sqrt(count / math.sqrt(2))
    theta = np.arange(1 - size // 2, size // 2) * (2 * np.pi / size)
    t = scale * np.tan(theta / 2)
    values = np.exp(-np.square(t)) * (scale**2 + np.square(t))
    weights = [2 * math.fsum(values * np.cos(n * theta)) / (2 * size) for n in range(1, count + 1)]
    return scale, tuple(weights[::-1])


# ---------------------------------------------------------------------- the normal distribution


@public
def ndtr(x: Array) -> Any:
    """The distribution function of the standard normal distribution, erfc(-x / sqrt(2)) / 2,
    without cancellation in the lower tail.

    Raises TypeError for other dtypes than float32 and float64.
    """
    return 0.5 * applied("erfc", single_or_double("ndtr", x) * -math.sqrt(0.5))


@public
def ndtri(p: Array) -> Any:
    """The quantiles of the standard normal distribution, the inverse of `ndtr`: infinite at 0 and
    1, NaN outside.

    Raises TypeError for other dtypes than float32 and float64.
    """
    return applied("ndtri", single_or_double("ndtri", p))


@custom_jvp
def _log_ndtr(x: Any) -> Any:
    """Below -1 by the scaled complementary error function, which cannot underflow."""
    low = x < -1
    w = np.where(low, x, -1) * -math.sqrt(0.5)
    left = np.log(0.5 * applied("erfcx", w)) - w * w
    above = np.where(low, 0, x) * math.sqrt(0.5)
    right = np.log1p(-0.5 * applied("erfc", above))
    return np.where(low, left, right)


_log_ndtr.defjvps(
    lambda t, out, x: t * np.exp(-0.5 * np.square(x) - 0.5 * math.log(2 * math.pi) - out)
)


@public
def log_ndtr(x: Array, series_order: int = 3) -> Any:
    """The logarithm of `ndtr`, which does not underflow: by erfcx below -1, by log1p above.

    `series_order` is checked, and without effect, as no asymptotic series is needed. Raises
    TypeError for other dtypes than float32 and float64, ValueError for an order outside 0 ... 30.
    """
    if not isinstance(series_order, int):
        raise located(TypeError, "series_order must be a Python integer.")
    if series_order < 0:
        raise located(ValueError, "series_order must be non-negative.")
    if series_order > 30:
        raise located(ValueError, "series_order must be <= 30.")
    return _log_ndtr(single_or_double("log_ndtr", x))


# ---------------------------------------------------------------------------------- Owen's T


@public
def owens_t(h: Array, a: Array) -> Any:
    """Owen's T function: the integral of exp(-h^2 (1 + x^2) / 2) / (1 + x^2) from 0 to a, over 2
    pi.

    By 28-point Gauss-Legendre quadrature for |a| <= 1, and the relation of T(h, a) and T(a h, 1 /
    a) beyond (M. Patefield and D. Tandy, Fast and Accurate Calculation of Owen's T-Function, 2000).
    """
    return _owens_t(*np.broadcast_arrays(*real("owens_t", h, a)))


@custom_jvp
def _owens_t(h: Any, a: Any) -> Any:
    """By Gauss's quadrature for |a| <= 1, and by the relation of T(h, a) and T(a h, 1 / a) beyond,
    in two forms without cancellation (M. Patefield and D. Tandy, 2000)."""
    x, slope = np.absolute(h), np.absolute(a)
    steep = slope > 1
    inner = np.where(steep, 1 / np.where(steep, slope, 1), slope)
    y = np.where(steep, np.where(np.equal(x, 0), 0, slope * x), x)
    near = _quadrature(y, inner)
    half = math.sqrt(0.5)
    upper, other = applied("erfc", x * half), applied("erfc", y * half)
    lower, before = applied("erf", x * half), applied("erf", y * half)
    far = np.where(y <= 0.67, 0.25 - 0.25 * lower * before, 0.25 * (upper + other - upper * other))
    result = np.where(steep, far - near, near)
    return np.where(np.isnan(h) | np.isnan(a), np.nan, np.sign(a) * result)


def _quadrature(h: Any, a: Any) -> Any:
    """The integral of exp(-h^2 (1 + x^2) / 2) / (1 + x^2) from 0 to a, over 2 pi. Where it is
    narrow only its part up to 9 / h."""
    limit = np.minimum(a, 9 / np.maximum(h, 1))
    total: Any = 0.0
    for node, weight in _gauss(28):
        square = np.square(limit * node) + 1
        total = total + weight * np.exp(-0.5 * np.square(h) * square) / square
    return limit * total / (2 * math.pi)


@functools.cache
def _gauss(count: int) -> tuple[tuple[float, float], ...]:
    """Nodes and weights of Gauss-Legendre quadrature over [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return tuple(
        (0.5 + 0.5 * float(x), 0.5 * float(w)) for x, w in zip(nodes, weights, strict=True)
    )


_ROOT_OF_TWO_PI = math.sqrt(2 * math.pi)
_owens_t.defjvps(
    lambda t, out, h, a: (
        t
        * (
            np.exp(-0.5 * np.square(h))
            * (applied("erf", a * h * math.sqrt(0.5)) * (-0.5 / _ROOT_OF_TWO_PI))
        )
    ),
    lambda t, out, h, a: (
        t
        * (np.exp(-0.5 * np.square(h) * (np.square(a) + 1)) / ((np.square(a) + 1) * (2 * math.pi)))
    ),
)
