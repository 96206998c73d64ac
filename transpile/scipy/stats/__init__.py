"""Probability distributions, as in `jax.scipy.stats`, a module each: densities and their like.

Parameters broadcast and are promoted as in `scipy.special`. Invalid parameters give NaN or what the
formula gives, without an error.
"""

from typing import TYPE_CHECKING

from transpile.util.lazy.imports import on_demand

if TYPE_CHECKING:  # each is imported when it is first used
    from transpile.scipy.stats import (
        bernoulli,
        beta,
        binom,
        cauchy,
        chi2,
        dirichlet,
        expon,
        gamma,
        geom,
        laplace,
        logistic,
        multivariate_normal,
        norm,
        poisson,
        t,
        uniform,
    )

__all__ = [
    "bernoulli",
    "beta",
    "binom",
    "cauchy",
    "chi2",
    "dirichlet",
    "expon",
    "gamma",
    "geom",
    "laplace",
    "logistic",
    "multivariate_normal",
    "norm",
    "poisson",
    "t",
    "uniform",
]

__getattr__, __dir__ = on_demand(__name__, __all__, {})
