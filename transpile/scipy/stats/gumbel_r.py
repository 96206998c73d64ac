"""The right-skewed Gumbel distribution, of largest values, as in `jax.scipy.stats.gumbel_r`: that
of -X for an X of the left-skewed one, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.scipy.special.operands import Array, promoted, public
from transpile.scipy.stats import gumbel_l


def _mirrored(name: str, x: Array, loc: Array, scale: Array) -> tuple[Any, Any, Any]:
    """The operands of the function of the left-skewed distribution."""
    value, center, size = promoted(f"gumbel_r.{name}", x, loc, scale)
    return -value, -center, size


@public
def logpdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of the density of the right-skewed Gumbel distribution with mode loc, -z -
    exp(-z) - log(scale)."""
    return gumbel_l.logpdf(*_mirrored("logpdf", x, loc, scale))


@public
def pdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The density of the right-skewed Gumbel distribution, exp of `logpdf`."""
    return np.exp(logpdf(x, loc, scale))


@public
def logcdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of `cdf`, which does not underflow: -exp(-z)."""
    return gumbel_l.logsf(*_mirrored("logcdf", x, loc, scale))


@public
def cdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The distribution function of the right-skewed Gumbel distribution, P(X <= x) =
    exp(-exp(-z))."""
    return np.exp(logcdf(x, loc, scale))


@public
def ppf(p: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The quantile of the right-skewed Gumbel distribution for the probability p, the inverse of
    `cdf`: infinite at 0 and 1, as SciPy has it, NaN outside [0, 1]."""
    chance, center, size = promoted("gumbel_r.ppf", p, loc, scale)
    return np.where(size > 0, center - size * np.log(-np.log(chance)), np.nan)


@public
def sf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The survival function of the right-skewed Gumbel distribution, P(X > x), without cancellation
    in the upper tail."""
    return gumbel_l.cdf(*_mirrored("sf", x, loc, scale))


@public
def logsf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of `sf`, which does not underflow: -z far above the mode."""
    return gumbel_l.logcdf(*_mirrored("logsf", x, loc, scale))
