"""Probability distributions, as in `jax.scipy.stats`, a module each: densities and their like.
Beside them `gaussian_kde`, and statistics of samples.

Parameters broadcast and are promoted as in `scipy.special`. Invalid parameters give NaN or what the
formula gives, without an error.
"""

from typing import TYPE_CHECKING

from transpile.util.lazy.imports import on_demand

if TYPE_CHECKING:  # each is imported when it is first used
    from transpile.scipy.stats import (
        bernoulli,
        beta,
        betabinom,
        binom,
        cauchy,
        chi2,
        dirichlet,
        expon,
        gamma,
        gennorm,
        geom,
        gumbel_l,
        gumbel_r,
        laplace,
        logistic,
        multinomial,
        multivariate_normal,
        nbinom,
        norm,
        pareto,
        poisson,
        t,
        truncnorm,
        uniform,
        vonmises,
        wrapcauchy,
    )
    from transpile.scipy.stats.kde import gaussian_kde
    from transpile.scipy.stats.order_statistics import mode, rankdata, sem

_FUNCTIONS = {
    "transpile.scipy.stats.kde": "gaussian_kde",
    "transpile.scipy.stats.order_statistics": "mode rankdata sem",
}

__all__ = [
    "bernoulli",
    "beta",
    "betabinom",
    "binom",
    "cauchy",
    "chi2",
    "dirichlet",
    "expon",
    "gamma",
    "gaussian_kde",
    "gennorm",
    "geom",
    "gumbel_l",
    "gumbel_r",
    "laplace",
    "logistic",
    "mode",
    "multinomial",
    "multivariate_normal",
    "nbinom",
    "norm",
    "pareto",
    "poisson",
    "rankdata",
    "sem",
    "t",
    "truncnorm",
    "uniform",
    "vonmises",
    "wrapcauchy",
]

__getattr__, __dir__ = on_demand(
    __name__, sorted({*__all__} - {*" ".join(_FUNCTIONS.values()).split()}), _FUNCTIONS
)
