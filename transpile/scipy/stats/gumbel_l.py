"""The left-skewed Gumbel distribution, of smallest values, as in `jax.scipy.stats.gumbel_l`.

All is written in z = (x - loc) / scale: P(X > x) = exp(-exp(z)). A scale that is not positive gives
NaN everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.nn import log1mexp
from transpile.scipy.special.operands import Array, promoted, public

# Below this z the distribution function is exp(z) to the last bit of a float64.
_SMALL = -37.0


def _standard(name: str, x: Array, loc: Array, scale: Array) -> tuple[Any, Any]:
    """z, which is NaN for a scale that is not positive, and the scale."""
    value, center, size = promoted(f"gumbel_l.{name}", x, loc, scale)
    return np.where(size > 0, (value - center) / size, np.nan), size


@public
def logpdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of the density of the left-skewed Gumbel distribution with mode loc, z - exp(z)
    - log(scale)."""
    z, size = _standard("logpdf", x, loc, scale)
    return np.where(z == np.inf, -np.inf, z - np.exp(z)) - np.log(size)


@public
def pdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The density of the left-skewed Gumbel distribution, exp of `logpdf`."""
    return np.exp(logpdf(x, loc, scale))


@public
def logcdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of `cdf`, which does not underflow: z far below the mode."""
    z, _ = _standard("logcdf", x, loc, scale)
    return np.where(z < _SMALL, z, log1mexp(np.exp(np.maximum(z, _SMALL))))


@public
def cdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The distribution function of the left-skewed Gumbel distribution, P(X <= x), without
    cancellation in the lower tail."""
    z, _ = _standard("cdf", x, loc, scale)
    return -np.expm1(-np.exp(z))


@public
def ppf(p: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The quantile of the left-skewed Gumbel distribution for the probability p, the inverse of
    `cdf`: infinite at 0 and 1, as SciPy has it, NaN outside [0, 1]."""
    chance, center, size = promoted("gumbel_l.ppf", p, loc, scale)
    return np.where(size > 0, center + size * np.log(-np.log1p(-chance)), np.nan)


@public
def sf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The survival function of the left-skewed Gumbel distribution, P(X > x) = exp(-exp(z))."""
    return np.exp(logsf(x, loc, scale))


@public
def logsf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of `sf`, which does not underflow: -exp(z)."""
    z, _ = _standard("logsf", x, loc, scale)
    return -np.exp(z)
