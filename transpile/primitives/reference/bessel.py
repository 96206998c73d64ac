"""The modified Bessel functions of the first kind of orders 0 and 1, scaled by exp(-|x|)."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.primitives.reference.extended_precision import PI, where_true, wide

_FAR = 40


@wide
def bessel_i0e(x: Any) -> Any:
    """exp(-|x|) I0(x)."""
    return _scaled(np.abs(x), 0)


@wide
def bessel_i1e(x: Any) -> Any:
    """exp(-|x|) I1(x)."""
    return np.copysign(_scaled(np.abs(x), 1), x)


def _scaled(x: Any, order: int) -> Any:
    result = np.copy(x)
    where_true(x < _FAR, lambda v: _series(v, order), result, x)
    where_true(x >= _FAR, lambda v: _asymptotic(v, order), result, x)
    return np.where(np.isposinf(x), 0, result)


def _series(x: Any, order: int) -> Any:
    """The power series (DLMF 10.25.2), whose terms are all positive."""
    term = np.exp(-x) * (x / 2) ** order
    total = term
    for k in range(1, 110):
        term = term * np.square(x / 2) / (k * (k + order))
        total = total + term
    return total


def _asymptotic(x: Any, order: int) -> Any:
    """For large x (DLMF 10.40.1)."""
    term = total = 1 / np.sqrt(2 * PI * x)
    for k in range(1, 40):
        term = term * ((2 * k - 1) ** 2 - 4 * order**2) / (k * 8 * x)
        total = total + term
    return total
