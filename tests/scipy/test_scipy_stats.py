"""scipy.stats: densities integrate to distribution functions, values are SciPy's and JAX's."""

import inspect
import re

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile.scipy import stats
from transpile.test_util import check_grads

INF, NAN = np.inf, np.nan
X = np.array([-1.5, 0.2, 0.7, 3.5])
UNIT = np.array([0.05, 0.3, 0.7, 0.95])
COUNTS = np.array([0, 1, 2, 5])

# distribution: (parameters, points, values of the first function there as JAX 0.10.2 has them)
CONTINUOUS = {
    "norm": ((0.5, 2.0), X),
    "gamma": ((2.5, 0.1, 2.0), X + 2),
    "beta": ((2.0, 3.5), UNIT),
    "expon": ((0.5, 2.0), X + 3),
    "uniform": ((0.0, 1.5), UNIT),
    "laplace": ((0.5, 2.0), X),
    "logistic": ((0.5, 2.0), X),
    "cauchy": ((0.5, 2.0), X),
    "chi2": ((3.0,), X + 2),
    "t": ((4.0, 0.5, 2.0), X),
}
DISCRETE = {
    "poisson": ((2.5,), COUNTS),
    "bernoulli": ((0.3,), COUNTS[:2]),
    "binom": ((6, 0.3), COUNTS),
    "geom": ((0.3,), COUNTS[1:]),
}
EVERY = {
    f"{name}.{function}": (parameters, points)
    for name, (parameters, points) in (CONTINUOUS | DISCRETE).items()
    for function in dir(getattr(stats, name))
    if function in ("logpdf", "pdf", "cdf", "logcdf", "sf", "logsf", "logpmf", "pmf")
}
INVERSES = ["norm", "expon", "uniform", "logistic", "cauchy"]


def function_of(full):
    name, _, function = full.partition(".")
    return getattr(getattr(stats, name), function)


@pytest.mark.parametrize("full", EVERY)
def test_values_are_those_of_scipy(full):
    scipy_stats = pytest.importorskip("scipy.stats")
    name, _, function = full.partition(".")
    parameters, points = EVERY[full]
    want = getattr(getattr(scipy_stats, name), function)(points, *parameters)
    np.testing.assert_allclose(function_of(full)(points, *parameters), want, rtol=1e-12)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_the_density_is_the_slope_of_the_distribution_function(name):
    parameters, points = CONTINUOUS[name]
    module = getattr(stats, name)
    slopes = transpile.grad(lambda x: module.cdf(x, *parameters).sum())(points)
    np.testing.assert_allclose(slopes, module.pdf(points, *parameters), rtol=1e-12)


@pytest.mark.parametrize("name", DISCRETE)
def test_probabilities_add_up_to_one(name):
    parameters, _ = DISCRETE[name]
    total = getattr(stats, name).pmf(np.arange(200), *parameters).sum()
    np.testing.assert_allclose(total, 1, rtol=1e-13)


def everything(points):
    return {full: function_of(full)(points[full], *EVERY[full][0]) for full in EVERY}


def test_programs_give_what_numpy_gives():
    points = {full: case[1] for full, case in EVERY.items()}
    found = transpile.jit(everything, compiler_options={"opt_level": 1})(points)
    for full, want in everything(points).items():
        np.testing.assert_allclose(found[full], want, rtol=1e-12, err_msg=full)


@pytest.mark.parametrize("full", [f for f in EVERY if ".log" in f])
@one_in(3)
def test_derivatives_in_all_parameters(full):
    parameters, points = EVERY[full]
    function = function_of(full)
    if full.startswith(("beta.logcdf", "beta.logsf", "t.logcdf", "t.logsf")):  # none in shapes
        fixed = parameters[: 2 if full.startswith("beta") else 1]
        function, parameters = (lambda x: function_of(full)(x, *fixed)), ()
    if full.startswith(("binom", "poisson", "bernoulli", "geom")):
        *given, p = parameters
        check_grads(lambda q: function(points, *given, q), (np.float64(p),), order=1, rtol=1e-5)
        return
    arguments = (points, *map(np.float64, parameters))
    check_grads(function, arguments, order=1, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", INVERSES)
def test_quantiles_are_the_inverse(name):
    parameters, _ = CONTINUOUS[name]
    module = getattr(stats, name)
    np.testing.assert_allclose(module.cdf(module.ppf(UNIT, *parameters), *parameters), UNIT, 1e-12)
    if hasattr(module, "isf"):
        found = module.sf(module.isf(UNIT, *parameters), *parameters)
        np.testing.assert_allclose(found, UNIT, rtol=1e-12)


def test_values_outside_of_the_support():
    assert stats.gamma.logpdf(-1.0, 2.0) == -INF and stats.gamma.cdf(-1.0, 2.0) == 0
    assert stats.gamma.sf(-1.0, 2.0) == 1
    assert stats.beta.logpdf(1.5, 2.0, 2.0) == -INF and np.isnan(stats.beta.logpdf(0.5, -1.0, 2.0))
    assert stats.expon.logpdf(-1.0) == -INF and stats.expon.cdf(-1.0) == 0
    assert stats.uniform.logpdf(2.0) == -INF and stats.uniform.cdf(2.0) == 1
    assert stats.poisson.logpmf(1.5, 2.0) == -INF and stats.poisson.logpmf(-1, 2.0) == -INF
    assert stats.binom.logpmf(7, 6, 0.5) == -INF
    np.testing.assert_array_equal(stats.bernoulli.cdf(np.array([-1, 0.5, 1]), 0.25), [0, 0.75, 1])
    assert np.isnan(stats.bernoulli.cdf(1, 1.5)) and stats.bernoulli.ppf(0.8, 0.25) == 1
    assert np.isnan(stats.expon.ppf(1.5))
    assert transpile.grad(stats.gamma.logpdf)(-1.0, 2.0) == 0


def test_single_precision_stays_single():
    for full, (parameters, points) in EVERY.items():
        x = points.astype(np.float32)
        found = function_of(full)(x, *parameters)
        assert found.dtype == np.float32, full
        want = function_of(full)(x.astype(np.float64), *parameters)
        np.testing.assert_allclose(found, want, rtol=2e-4, atol=1e-5, err_msg=full)


def test_entropies_of_poisson():
    means = np.array([0.0, 0.5, 5.0, 50.0, 99.0, 1000.0])
    chances = stats.poisson.pmf(np.arange(2000), means[1:, None])
    want = -np.sum(chances * np.log(np.maximum(chances, 1e-300)), axis=-1)
    np.testing.assert_allclose(stats.poisson.entropy(means), [0, *want], rtol=1e-8)


def test_the_normal_distribution_of_vectors():
    random = np.random.default_rng(0)
    root = random.normal(size=(3, 3))
    cov, mean, x = root @ root.T + np.eye(3), random.normal(size=3), random.normal(size=(5, 3))
    moved = x - mean
    distance = np.einsum("ki,ij,kj->k", moved, np.linalg.inv(cov), moved)
    want = -0.5 * (distance + np.log(np.linalg.det(2 * np.pi * cov)))
    logpdf = stats.multivariate_normal.logpdf
    for function in (logpdf, transpile.jit(logpdf)):
        np.testing.assert_allclose(function(x, mean, cov), want, rtol=1e-12)
    np.testing.assert_allclose(stats.multivariate_normal.pdf(x, mean, cov), np.exp(want), 1e-12)
    np.testing.assert_allclose(logpdf(x, mean, 2.0), stats.norm.logpdf(x, mean, 2**0.5).sum(-1))
    np.testing.assert_allclose(logpdf(x, 1.0, 2.0), stats.norm.logpdf(x, 1.0, 2**0.5))
    check_grads(lambda m, c: logpdf(x, m, c), (mean, cov), order=1, modes=("rev",), rtol=1e-4)
    batched = transpile.vmap(logpdf, in_axes=(0, None, None))(x, mean, cov)
    np.testing.assert_allclose(batched, want, rtol=1e-12)
    with pytest.raises(ValueError, match="incompatible shapes"):
        logpdf(x, mean, np.eye(2))
    with pytest.raises(NotImplementedError, match="allow_singular"):
        logpdf(x, mean, cov, True)


def test_the_dirichlet_distribution():
    alpha, x = np.array([2.0, 3.0, 1.5]), np.array([[0.2, 0.1], [0.3, 0.6], [0.5, 0.3]])
    found = stats.dirichlet.logpdf(x, alpha)
    np.testing.assert_allclose(stats.dirichlet.logpdf(x[:2], alpha), found)
    two = stats.dirichlet.logpdf(np.array([0.2, 0.8]), np.array([2.0, 3.0]))
    np.testing.assert_allclose(two, stats.beta.logpdf(0.2, 2.0, 3.0))
    assert stats.dirichlet.pdf(np.array([0.5, 0.6]), np.array([2.0, 3.0])) == 0
    with pytest.raises(ValueError, match=re.escape("`alpha` must be one-dimensional")):
        stats.dirichlet.logpdf(x, alpha[None])


def test_every_function_is_documented():
    for name in stats.__all__:
        module = getattr(stats, name)
        if not inspect.ismodule(module):
            continue
        assert module.__doc__
        own = [v for v in vars(module).values() if getattr(v, "__module__", "") == module.__name__]
        undocumented = [f.__name__ for f in own if len((f.__doc__ or "").split()) < 4]
        assert own and not undocumented, name
