"""Legendre's elliptic integrals of the first and second kind, of the parameter m = k^2."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transpile.scipy.special.elliptic.carlson import rd, rf
from transpile.scipy.special.operands import Array, public, real

__all__ = ["ellipe", "ellipeinc", "ellipk", "ellipkinc", "ellipkm1"]

_MEANS = 12  # enough for parameters from 1e-300 on; the distance is squared in each


def _means(p: Any) -> tuple[Any, Any]:
    """K and E / K of 1 - m = p > 0, by arithmetic and geometric means (DLMF 19.8(i)). Those of
    p > 1 by m / (m - 1), where nothing cancels (DLMF 19.7.2)."""
    large = p > 1
    rest = np.where(large, 1 / np.where(large, p, 1), p)
    a, b = np.ones_like(rest), np.sqrt(rest)
    share = (1 - rest) / 2
    weight = 1.0
    for _ in range(_MEANS):
        half = (a - b) / 2
        a, b = (a + b) / 2, np.sqrt(a * b)
        share = share + weight * np.square(half)
        weight *= 2
    first = (math.pi / 2) / a
    first = np.where(large, first / np.sqrt(np.where(large, p, 1)), first)
    ratio = 1 - share
    return first, np.where(large, p * ratio, ratio)


def _first(p: Any) -> Any:
    inside = (p > 0) & (p < np.inf)
    value = _means(np.where(inside, p, 1))[0]
    value = np.where(inside, value, np.nan)
    return np.where(np.equal(p, 0), np.inf, np.where(np.equal(p, np.inf), 0, value))


@public
def ellipk(m: Array) -> Any:
    """The complete elliptic integral of the first kind K(m); inf at 1, NaN beyond."""
    (parameter,) = real("ellipk", m)
    return _first(1 - parameter)


@public
def ellipkm1(p: Array) -> Any:
    """The complete elliptic integral of the first kind K(1 - p), without cancellation near m =
    1."""
    return _first(*real("ellipkm1", p))


@public
def ellipe(m: Array) -> Any:
    """The complete elliptic integral of the second kind E(m), 1 at 1; NaN beyond."""
    (parameter,) = real("ellipe", m)
    p = 1 - parameter
    inside = (p > 0) & (p < np.inf)
    first, ratio = _means(np.where(inside, p, 1))
    value = np.where(inside, first * ratio, np.nan)
    return np.where(np.equal(p, 0), 1, np.where(np.equal(p, np.inf), np.inf, value))


def _periods(phi: Any) -> tuple[Any, Any]:
    """The nearest multiple of pi, and what is left."""
    turns = np.round(phi / math.pi)
    # pi in two parts: the first product is exact for moderate numbers of turns.
    rest = (phi - turns * 3.140625) - turns * 9.67653589793238462643e-4
    return turns, rest


def _arguments(phi: Any, parameter: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Turns, sine, the squares of cosine and of 1 - m sin^2, and whether there is a value."""
    turns, rest = _periods(phi)
    sine, cosine = np.sin(rest), np.cos(rest)
    delta = 1 - parameter * np.square(sine)
    delta = np.where(parameter > 0.5, np.square(cosine) + (1 - parameter) * np.square(sine), delta)
    valid = (parameter <= 1) & np.isfinite(phi) & (parameter > -np.inf)
    valid = valid & (np.square(cosine) + delta > 0)
    return turns, sine, np.square(cosine), delta, valid


def _with_ends(phi: Any, parameter: Any, value: Any) -> Any:
    """Infinite angles have infinite integrals."""
    return np.where(np.isinf(phi) & (parameter <= 1), phi, value)


@public
def ellipkinc(phi: Array, m: Array) -> Any:
    """The incomplete elliptic integral of the first kind F(phi, m), for m <= 1 (DLMF 19.25.5)."""
    angle, parameter = real("ellipkinc", phi, m)
    turns, sine, square, delta, valid = _arguments(angle, parameter)
    value = sine * rf(np.where(valid, square, 1), np.where(valid, delta, 1), np.ones_like(delta))
    whole = np.where(np.equal(turns, 0), 0, 2 * turns * _first(1 - parameter))
    return _with_ends(angle, parameter, np.where(valid, value + whole, np.nan))


@public
def ellipeinc(phi: Array, m: Array) -> Any:
    """The incomplete elliptic integral of the second kind E(phi, m), for m <= 1 (DLMF 19.25.9)."""
    angle, parameter = real("ellipeinc", phi, m)
    turns, sine, square, delta, valid = _arguments(angle, parameter)
    square, delta = np.where(valid, square, 1), np.where(valid, delta, 1)
    one = np.ones_like(delta)
    value = sine * rf(square, delta, one) - parameter / 3 * sine**3 * rd(square, delta, one)
    result = np.where(valid, value + 2 * turns * ellipe(parameter), np.nan)
    return _with_ends(angle, parameter, result)
