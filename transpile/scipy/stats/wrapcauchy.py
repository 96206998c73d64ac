"""The wrapped Cauchy distribution of angles, as in `jax.scipy.stats.wrapcauchy`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transpile.scipy.special.operands import Array, promoted, public


@public
def logpdf(x: Array, c: Array) -> Any:
    """The logarithm of the density of the wrapped Cauchy distribution of the concentration c, on
    [0, 2 pi].

    -inf outside, NaN unless 0 < c < 1. 1 + c² - 2 c cos(x) is computed as a sum of squares.
    """
    angle, concentration = promoted("wrapcauchy.logpdf", x, c)
    inside = (angle >= 0) & (angle <= 2 * math.pi)
    distance = np.square(1 - concentration) + 4 * concentration * np.square(np.sin(angle / 2))
    scale = (1 - concentration) * (1 + concentration) / (2 * math.pi)
    density = np.log(scale) - np.log(distance)
    density = np.where(inside | np.isnan(angle), density, -np.inf)
    return np.where((concentration > 0) & (concentration < 1), density, np.nan)


@public
def pdf(x: Array, c: Array) -> Any:
    """The density of the wrapped Cauchy distribution, exp of `logpdf`."""
    return np.exp(logpdf(x, c))
