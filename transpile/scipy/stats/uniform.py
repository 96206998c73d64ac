"""The uniform distribution over [loc, loc + scale], as in `jax.scipy.stats.uniform`."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.scipy.special.operands import Array, promoted, public


@public
def logpdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of the density of the uniform distribution on [loc, loc + scale].

    -inf outside the interval.
    """
    y, start, size = promoted("uniform.logpdf", x, loc, scale)
    return np.where((y > start + size) | (y < start), -np.inf, -np.log(size))


@public
def pdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The density of the uniform distribution, exp of `logpdf`."""
    return np.exp(logpdf(x, loc, scale))


@public
def cdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The distribution function of the uniform distribution, (x - loc) / scale clipped to [0,
    1]."""
    y, start, size = promoted("uniform.cdf", x, loc, scale)
    return np.clip((y - start) / size, 0, 1)


@public
def ppf(q: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The quantile of the uniform distribution for the probability q, loc + scale q; NaN outside
    [0, 1]."""
    p, start, size = promoted("uniform.ppf", q, loc, scale)
    return np.where((p >= 0) & (p <= 1), start + size * p, np.nan)
