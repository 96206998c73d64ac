"""The von Mises distribution of angles, as in `jax.scipy.stats.vonmises`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transpile.scipy import special
from transpile.scipy.special.operands import Array, promoted, public


@public
def logpdf(x: Array, kappa: Array) -> Any:
    """The logarithm of the density of the von Mises distribution about 0 of the concentration
    kappa, periodic in x.

    The uniform density at kappa = 0, as SciPy has it, where JAX has NaN; NaN below. cos(x) - 1 is
    computed by the half angle, which cancels nothing where kappa is large.
    """
    angle, concentration = promoted("vonmises.logpdf", x, kappa)
    descent = 2 * concentration * np.square(np.sin(angle / 2))
    density = -descent - np.log(2 * math.pi * special.i0e(concentration))
    return np.where(concentration >= 0, density, np.nan)


@public
def pdf(x: Array, kappa: Array) -> Any:
    """The density of the von Mises distribution, exp of `logpdf`."""
    return np.exp(logpdf(x, kappa))
