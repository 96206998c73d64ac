"""The modified Bessel functions of orders 0 and 1, scaled by exp(-|x|)."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.hlo.builder import Rules
from transpile.hlo.expansions.special.series import in_double, interpolated
from transpile.primitives.reference import bessel

_NEAR = 8.0


def _first(x: Any) -> Any:
    return bessel.bessel_i1e(x) / x


def _far_zeroth(u: Any) -> Any:
    x = 2 * _NEAR / (u + 1)
    return np.sqrt(x) * bessel.bessel_i0e(x)


def _far_first(u: Any) -> Any:
    x = 2 * _NEAR / (u + 1)
    return np.sqrt(x) * bessel.bessel_i1e(x)


@in_double
def bessel_i0e(x: Any) -> Any:
    """exp(-|x|) I0(x)."""
    size = np.absolute(x)
    near = interpolated(bessel.bessel_i0e, 0, _NEAR, 32, np.minimum(size, _NEAR))
    return np.where(size < _NEAR, near, _far(_far_zeroth, size))


@in_double
def bessel_i1e(x: Any) -> Any:
    """exp(-|x|) I1(x)."""
    size = np.absolute(x)
    near = size * interpolated(_first, 0, _NEAR, 32, np.minimum(size, _NEAR))
    return np.copysign(np.where(size < _NEAR, near, _far(_far_first, size)), x)


def _far(function: Any, x: Any) -> Any:
    """Over sqrt(x) both are smooth functions of 1 / x (DLMF 10.40.1)."""
    inverse = 2 * _NEAR / np.maximum(x, _NEAR) - 1
    return interpolated(function, -1, 1, 30, inverse) / np.sqrt(x)


EXPANSIONS: Rules = {"bessel_i0e": bessel_i0e, "bessel_i1e": bessel_i1e}
