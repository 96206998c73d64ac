"""Spherical harmonics, by recurrences of the associated Legendre functions."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from transpile.ir.dims import Dim
from transpile.numpy.core.creation import arange
from transpile.numpy.core.promotion import has_tracer
from transpile.scipy.special.operands import Array, promoted, public


@public
def sph_harm_y(
    n: Array,
    m: Array,
    theta: Array,
    phi: Array,
    diff_n: int | None = None,
    n_max: int | None = None,
) -> Any:
    """The spherical harmonic of degree n and order m, complex, with the sign of Condon and
    Shortley.

    n, m    vectors of integers, as long as theta, |m| <= n
    theta   the polar angle, from 0 to pi, or its negative; phi the azimuth
    n_max   the largest degree, which has to be known while tracing

    By recurrences of normalised Legendre functions (DLMF 14.10.3, 14.30.1). Raises
    NotImplementedError for `diff_n`.
    """
    if diff_n is not None:
        raise NotImplementedError(
            "The 'diff_n' argument to transpile.scipy.special.sph_harm_y is not supported."
        )
    if n_max is None:
        if has_tracer((n,)):
            raise ValueError(
                "The `n_max` argument of `sph_harm_y` must be statically specified to use "
                "`sph_harm_y` within transformations."
            )
        n_max = np.max(n)
    polar, azimuth = promoted("sph_harm_y", theta, phi)
    polar = np.reshape(polar, (1,)) if np.ndim(polar) == 0 else polar
    order = np.absolute(m)
    values = np.stack(_legendre(operator.index(n_max), polar))
    number = n * (n + 1) // 2 + order
    points = polar.shape[0]
    count = arange(points) if isinstance(points, Dim) else np.arange(points)
    legendre = values[np.clip(number, 0, values.shape[0] - 1), count]
    angle = order * azimuth
    harmonics = legendre * np.cos(angle) + 1j * (legendre * np.sin(angle))
    sign = np.where(np.equal(np.remainder(order, 2), 0), 1, -1)
    return np.where(np.less(m, 0), sign * np.conjugate(harmonics), harmonics)


def _legendre(largest: int, theta: Any) -> list[Any]:
    """The normalized associated Legendre functions of cos(theta), with the sign of Condon and
    Shortley: degree by degree, in each the orders from 0 on (DLMF 14.10.3, 14.30.1)."""
    x, s = np.cos(theta), np.absolute(np.sin(theta))
    diagonal = np.zeros_like(x) + 0.5 / math.sqrt(math.pi)
    columns: list[list[Any]] = []
    for m in range(largest + 1):
        if m:
            diagonal = diagonal * s * -math.sqrt(1 + 0.5 / m)
        column = [diagonal]
        for n in range(m + 1, largest + 1):
            value = x * column[-1] * math.sqrt((4 * n * n - 1) / (n * n - m * m))
            if n > m + 1:
                over = (2 * n + 1) * ((n - 1) ** 2 - m * m)
                value = value - column[-2] * math.sqrt(over / ((2 * n - 3) * (n * n - m * m)))
            column.append(value)
        columns.append(column)
    return [columns[m][n - m] for n in range(largest + 1) for m in range(n + 1)]
