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
    from transpile.scipy.stats.samples.hypotheses import (
        chisquare,
        f_oneway,
        jarque_bera,
        linregress,
        pearsonr,
        spearmanr,
        ttest_1samp,
        ttest_ind,
        ttest_rel,
    )
    from transpile.scipy.stats.samples.moments import (
        describe,
        entropy,
        gmean,
        gstd,
        gzscore,
        hmean,
        iqr,
        kurtosis,
        median_abs_deviation,
        moment,
        pmean,
        skew,
        trim_mean,
        variation,
        zmap,
        zscore,
    )

_FUNCTIONS = {
    "transpile.scipy.stats.kde": "gaussian_kde",
    "transpile.scipy.stats.order_statistics": "mode rankdata sem",
    "transpile.scipy.stats.samples.hypotheses": "chisquare f_oneway jarque_bera linregress "
    "pearsonr spearmanr ttest_1samp ttest_ind ttest_rel",
    "transpile.scipy.stats.samples.moments": "describe entropy gmean gstd gzscore hmean iqr "
    "kurtosis median_abs_deviation moment pmean skew trim_mean variation zmap zscore",
}

__all__ = [
    "bernoulli",
    "beta",
    "betabinom",
    "binom",
    "cauchy",
    "chi2",
    "chisquare",
    "describe",
    "dirichlet",
    "entropy",
    "expon",
    "f_oneway",
    "gamma",
    "gaussian_kde",
    "gennorm",
    "geom",
    "gmean",
    "gstd",
    "gumbel_l",
    "gumbel_r",
    "gzscore",
    "hmean",
    "iqr",
    "jarque_bera",
    "kurtosis",
    "laplace",
    "linregress",
    "logistic",
    "median_abs_deviation",
    "mode",
    "moment",
    "multinomial",
    "multivariate_normal",
    "nbinom",
    "norm",
    "pareto",
    "pearsonr",
    "pmean",
    "poisson",
    "rankdata",
    "sem",
    "skew",
    "spearmanr",
    "t",
    "trim_mean",
    "truncnorm",
    "ttest_1samp",
    "ttest_ind",
    "ttest_rel",
    "uniform",
    "variation",
    "vonmises",
    "wrapcauchy",
    "zmap",
    "zscore",
]

__getattr__, __dir__ = on_demand(
    __name__, sorted({*__all__} - {*" ".join(_FUNCTIONS.values()).split()}), _FUNCTIONS
)
