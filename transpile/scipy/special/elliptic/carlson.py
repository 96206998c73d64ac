"""Carlson's symmetric elliptic integrals, by duplication (DLMF 19.26(iii), 19.36(i)).

Each duplication divides the distances of the arguments from their mean by four. The number of them
is fixed, so that a call is straight-line code with derivatives of all orders.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.scipy.special.operands import Array, public, real

__all__ = ["elliprd", "elliprf", "rd", "rf"]

_DUPLICATIONS = 12


def rf(x: Any, y: Any, z: Any) -> Any:
    """Half of the integral of 1 / sqrt((t + x) (t + y) (t + z)) over t > 0."""
    for _ in range(_DUPLICATIONS):
        a, b, c = np.sqrt(x), np.sqrt(y), np.sqrt(z)
        shift = a * b + a * c + b * c
        x, y, z = (x + shift) / 4, (y + shift) / 4, (z + shift) / 4
    mean = (x + y + z) / 3
    u, v = 1 - x / mean, 1 - y / mean
    w = -u - v
    e2, e3 = u * v - w * w, u * v * w
    series = 1 - e2 / 10 + e3 / 14 + e2 * e2 / 24 - 3 / 44 * e2 * e3
    return series / np.sqrt(mean)


def rd(x: Any, y: Any, z: Any) -> Any:
    """3/2 of the integral of 1 / (sqrt((t + x) (t + y)) (t + z)^(3/2)) over t > 0."""
    total: Any = 0.0
    power = 1.0
    for _ in range(_DUPLICATIONS):
        a, b, c = np.sqrt(x), np.sqrt(y), np.sqrt(z)
        shift = a * b + a * c + b * c
        total = total + power / (c * (z + shift))
        x, y, z = (x + shift) / 4, (y + shift) / 4, (z + shift) / 4
        power /= 4
    mean = (x + y + 3 * z) / 5
    u, v = 1 - x / mean, 1 - y / mean
    w = -(u + v) / 3
    e2, e3 = u * v - 6 * w * w, (3 * u * v - 8 * w * w) * w
    e4, e5 = 3 * (u * v - w * w) * w * w, u * v * w * w * w
    series = 1 - 3 / 14 * e2 + e3 / 6 + 9 / 88 * e2 * e2 - 3 / 22 * e4 - 9 / 52 * e2 * e3
    series = series + 3 / 26 * e5
    return power * series / (mean * np.sqrt(mean)) + 3 * total


@public
def elliprf(x: Array, y: Array, z: Array) -> Any:
    """Carlson's integral R_F of numbers >= 0; NaN for negative ones, inf where two are 0."""
    a, b, c = real("elliprf", x, y, z)
    valid = (a >= 0) & (b >= 0) & (c >= 0)
    inside = valid & (a + b > 0) & (a + c > 0) & (b + c > 0)
    value = rf(*(np.where(inside, v, 1) for v in (a, b, c)))
    return np.where(inside, value, np.where(valid, np.inf, np.nan)).astype(a.dtype)


@public
def elliprd(x: Array, y: Array, z: Array) -> Any:
    """Carlson's integral R_D of numbers x, y >= 0 and z > 0; NaN for negative ones, inf where z or
    both others are 0."""
    a, b, c = real("elliprd", x, y, z)
    valid = (a >= 0) & (b >= 0) & (c >= 0)
    inside = valid & (a + b > 0) & (c > 0)
    value = rd(*(np.where(inside, v, 1) for v in (a, b, c)))
    return np.where(inside, value, np.where(valid, np.inf, np.nan)).astype(a.dtype)
