"""`jax.random`: keys, and samples that are the same as JAX's for the same key.

Every function takes a key first and returns the same samples for the same key, in a jitted function
or outside one, on any number of threads. New keys come from `split` and `fold_in`; a key that is
used twice gives the same samples twice. docs/random.md says what is equal to JAX's results, and how
far.

All samplers raise TypeError for what is no key, and ValueError for an array of keys (use `vmap`)
and for a dtype of another kind. Floats are float64 unless `dtype` says otherwise; `out_sharding`
changes nothing.
"""

from __future__ import annotations

from transpile.random.choices import categorical, choice, permutation
from transpile.random.counts import binomial, multinomial, poisson
from transpile.random.gammas import (
    ball,
    beta,
    chisquare,
    dirichlet,
    f,
    gamma,
    generalized_normal,
    loggamma,
    t,
)
from transpile.random.inverses import (
    cauchy,
    exponential,
    geometric,
    gumbel,
    laplace,
    logistic,
    pareto,
    rayleigh,
    triangular,
    weibull_min,
)
from transpile.random.keys import (
    PRNGKey,
    clone,
    fold_in,
    key,
    key_data,
    key_dtype,
    key_impl,
    split,
    wrap_key_data,
)
from transpile.random.normals import (
    double_sided_maxwell,
    lognormal,
    maxwell,
    multivariate_normal,
    normal,
    orthogonal,
    truncated_normal,
    wald,
)
from transpile.random.uniforms import bernoulli, bits, rademacher, randint, uniform

__all__ = [
    "PRNGKey",
    "ball",
    "bernoulli",
    "beta",
    "binomial",
    "bits",
    "categorical",
    "cauchy",
    "chisquare",
    "choice",
    "clone",
    "dirichlet",
    "double_sided_maxwell",
    "exponential",
    "f",
    "fold_in",
    "gamma",
    "generalized_normal",
    "geometric",
    "gumbel",
    "key",
    "key_data",
    "key_dtype",
    "key_impl",
    "laplace",
    "loggamma",
    "logistic",
    "lognormal",
    "maxwell",
    "multinomial",
    "multivariate_normal",
    "normal",
    "orthogonal",
    "pareto",
    "permutation",
    "poisson",
    "rademacher",
    "randint",
    "rayleigh",
    "split",
    "t",
    "triangular",
    "truncated_normal",
    "uniform",
    "wald",
    "weibull_min",
    "wrap_key_data",
]
