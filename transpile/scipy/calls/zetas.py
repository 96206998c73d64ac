"""Functions of `scipy.special` where JAX's of the same name mean less: Riemann's zeta function, and
spherical harmonics of degrees and orders that broadcast."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transpile.numpy.core.promotion import has_tracer, unsupported
from transpile.primitives.reference.extended_precision import bernoulli_numbers
from transpile.scipy import special
from transpile.scipy.special.operands import Array, promoted, public, real

__all__ = ["sph_harm_y", "zeta"]

_COUNT = 12


@public
def sph_harm_y(n: Array, m: Array, theta: Array, phi: Array, *, diff_n: int = 0) -> Any:
    """The spherical harmonics of known degrees n and orders m, which broadcast with the angles; 0
    for an order above the degree."""
    if diff_n:
        raise unsupported("derivatives of scipy.special.sph_harm_y by diff_n=, of a traced value")
    if has_tracer((n, m)):
        raise unsupported("scipy.special.sph_harm_y of degrees or orders that are traced")
    degree, order = np.asarray(n), np.asarray(m)
    most = int(np.max(degree, initial=0))
    parts = np.broadcast_arrays(*promoted("sph_harm_y", theta, phi), degree, order)
    polar, azimuth, degrees, orders = (np.reshape(part, -1) for part in parts)
    if degree.ndim == order.ndim == 0:
        degrees, orders = degree, order  # one column of the recurrences
    value = special.sph_harm_y(degrees, orders, polar, azimuth, n_max=most)
    value = np.where(np.less_equal(np.absolute(orders), degrees), value, 0)
    return np.reshape(value, np.shape(parts[0]))


@public
def zeta(x: Array, q: Array | None = None) -> Any:
    """Hurwitz' zeta function, Riemann's without q: of all real numbers, inf at 1."""
    if q is not None:
        return special.zeta(x, q)
    (value,) = real("zeta", x)
    above, below = value > 1, value < 0
    # Riemann's functional equation (DLMF 25.4.1) leads from negative numbers to those above 1.
    mirror = np.where(above, value, np.where(below, 1 - value, 2))
    direct = special.zeta(mirror, np.ones_like(mirror))
    turn = np.remainder(np.where(below, value, 1), 4)
    sine = np.where(np.equal(np.remainder(turn, 2), 0), 0, np.sin(turn * (math.pi / 2)))
    size = special.gammaln(mirror) - mirror * math.log(math.tau)
    reflected = np.where(np.equal(sine, 0), 0, 2 * sine * np.exp(size) * direct)
    between = _between(np.where((value >= 0) & (value < 1), value, 0))
    result = np.where(above, direct, np.where(below, reflected, between))
    result = np.where(np.equal(value, 1), np.inf, result)
    return np.where(np.isnan(value) | np.equal(value, -np.inf), np.nan, result).astype(value.dtype)


def _between(s: Any) -> Any:
    """For 0 <= s < 1, by Euler and Maclaurin's formula (DLMF 25.2.9)."""
    total: Any = 1.0
    for k in range(2, _COUNT):
        total = total + np.power(float(k), -s)
    power = np.power(float(_COUNT), -s)
    total = total + power * (_COUNT / (s - 1) + 0.5)
    factor = power * s / _COUNT
    for k, number in enumerate(bernoulli_numbers(10), 1):
        total = total + float(number / math.factorial(2 * k)) * factor
        factor = factor * (s + 2 * k - 1) * (s + 2 * k) / _COUNT**2
    return total
