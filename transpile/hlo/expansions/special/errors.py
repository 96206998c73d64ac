"""The complements and inverses of the error function, and Dawson's integral."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.hlo.builder import Rules
from transpile.hlo.expansions.special.series import halves, in_double, interpolated
from transpile.primitives.reference import errors

_FAR = 28.0  # exp(-x^2) is zero from here on


def _exp_of_square(x: Any, sign: int) -> Any:
    """exp(x^2) or exp(-x^2) for finite x; the square is exact, in two parts."""
    high, low = halves(x)
    return np.exp(sign * high * high) * np.exp(sign * low * (x + high))


def _smooth(t: Any) -> Any:
    x = 4 * (1 + t) / (1 - t)
    return (1 + 2 * x) * errors.scaled_erfc(x)


def erfcx_of_positive(x: Any) -> Any:
    """exp(x^2) erfc(x) for x >= 0: (1 + 2 x) times that is smooth in (x - 4) / (x + 4) (M. Shepherd
    and J. Laframboise, Mathematics of Computation 36, 1981)."""
    t = np.where(x < 2.0**60, (x - 4) / (x + 4), 1.0)
    scaled = 0.5 * interpolated(_smooth, -1, 1, 30, t) / (0.5 + x)
    return np.where(np.isnan(x), x, scaled)


@in_double
def erfc(x: Any) -> Any:
    """1 - erf(x), without the difference."""
    size = np.minimum(np.absolute(x), _FAR)
    tail = _exp_of_square(size, -1) * erfcx_of_positive(size)
    return np.where(x < 0, 2 - tail, tail)


@in_double
def erfcx(x: Any) -> Any:
    """exp(x^2) erfc(x)."""
    size = np.absolute(x)
    right = erfcx_of_positive(size)
    growth = _exp_of_square(np.minimum(size, _FAR), 1)
    return np.where(x < 0, 2 * growth - right, right)


def _dawson(z: Any) -> Any:
    x = np.sqrt(z)
    return errors.dawsn(x) * (1 + 2 * z) / x


def _dawson_far(v: Any) -> Any:
    x = 1 / np.sqrt(v)
    return 2 * x * errors.dawsn(x)


@in_double
def dawsn(x: Any) -> Any:
    """Dawson's integral, over x / (1 + 2 x^2) a function of x^2, beyond 5 one of 1 / x^2."""
    size = np.absolute(x)
    square = np.minimum(size, 5) ** 2
    near = interpolated(_dawson, 0, 9, 28, np.minimum(square, 9))
    middle = interpolated(_dawson, 9, 25, 28, np.maximum(square, 9))
    inside = size * np.where(square < 9, near, middle) / (1 + 2 * square)
    inverse = 1 / np.maximum(size, 5)
    far = interpolated(_dawson_far, 0, 0.04, 24, inverse * inverse) * inverse / 2
    return np.copysign(np.where(size > 5, far, inside), x)


EXPANSIONS: Rules = {
    "dawsn": dawsn,
    "erf_inv": in_double(errors.erf_inv_by_polynomials),
    "erfc": erfc,
    "erfcx": erfcx,
    "ndtri": in_double(errors.ndtri_by_polynomials),
}
