"""Distributions of `scipy.stats` in traced code, as rows of a table, against SciPy: values inside
and outside of the support, at its ends and of NaN, quantiles, moments and invalid parameters."""

import functools

import numpy as np
import pytest
from scipy import special, stats
from scipy_oracle import assert_as_scipy
from thorough import one_in

from transpile import grad, jit, vmap
from transpile.errors import UnsupportedError
from transpile.scipy.calls.families import FAMILIES
from transpile.scipy.special import betaincinv, gammaincinv

# Parameters of shape that are of one kind alone; others are drawn from the positive numbers.
SHAPES = {
    "bernoulli": [(0.3,)],
    "betabinom": [(9, 1.5, 0.7)],
    "binom": [(12, 0.3), (5, 0.9)],
    "genextreme": [(0.0,), (0.4,), (-0.6,)],
    "genpareto": [(0.0,), (0.4,), (-0.6,), (-1.0,)],
    "geom": [(0.2,)],
    "hypergeom": [(20, 7, 12), (9, 5, 6)],
    "invweibull": [(3.5,)],  # SciPy's moments are those of the formula also where there are none
    "johnsonsu": [(-0.7, 1.3)],
    "logser": [(0.6,)],
    "loguniform": [(0.3, 4.0)],
    "nbinom": [(2.5, 0.3), (20.0, 0.8)],
    "randint": [(-2, 5)],
    "reciprocal": [(0.3, 4.0)],
    "triang": [(0.0,), (0.3,), (1.0,)],
    "zipf": [(1.7,), (4.5,)],
}
CHANCES = np.array([1e-6, 1e-4, 0.03, 0.4, 0.5, 0.77, 0.999])
EDGES = np.array([0.0, 1.0, -0.1, 1.1, np.nan])
MOMENTS = ("mean", "var", "std", "median", "entropy")


def shapes_of(name):
    count = len(FAMILIES[name]._parameters) - (1 if FAMILIES[name].is_discrete else 2)
    drawn = np.random.default_rng(len(name)).integers(3, 36, (2, count)) / 8
    return SHAPES.get(name, [tuple(row) for row in (drawn[:1] if count == 0 else drawn)])


def points(theirs, shapes, where):
    inside = theirs.ppf(CHANCES, *shapes, **where)
    low, high = theirs.support(*shapes, **where)
    return np.concatenate(
        [inside, inside + 0.5, [low, high, low - 1, high + 1, np.nan, -np.inf, np.inf]]
    )


def is_close(got, want, absolute=1e-13):
    np.testing.assert_allclose(got, want, rtol=2e-9, atol=absolute)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # SciPy's, at ends
@pytest.mark.parametrize("name", FAMILIES)
@one_in(3)
def test_values_quantiles_and_moments_are_those_of_scipy(name):
    family, theirs = FAMILIES[name], getattr(stats, name)
    where = {"loc": 1} if family.is_discrete else {"loc": 0.25, "scale": 1.5}
    density = ("pmf", "logpmf") if family.is_discrete else ("pdf", "logpdf")
    assert family.method(density[0]) is not None
    for shapes in shapes_of(name):
        x = points(theirs, shapes, where)
        for method in (*density, "cdf", "sf", "logcdf", "logsf"):
            if (function := family.method(method)) is not None:
                wanted = getattr(theirs, method)(x, *shapes, **where)
                if method in density:  # where SciPy subtracts infinities
                    none = 0 if method == density[0] else -np.inf
                    wanted = np.where(np.isinf(x), none, wanted)
                is_close(function(x, *shapes, **where), wanted)
        for method in ("ppf", "isf"):
            if (function := family.method(method)) is not None:
                # Near 1 SciPy's `isf` is often that of a rounded 1 - q.
                q = np.concatenate([CHANCES[2 if method == "isf" else 0 :], EDGES])
                is_close(
                    function(q, *shapes, **where), getattr(theirs, method)(q, *shapes, **where)
                )
        for method in MOMENTS:
            if (function := family.method(method)) is not None:
                is_close(
                    function(*shapes, **where), getattr(theirs, method)(*shapes, **where), 1e-9
                )
        assert family.method("support")(*shapes, **where) == theirs.support(*shapes, **where)


@pytest.mark.parametrize("name", FAMILIES)
@one_in(3)
def test_invalid_parameters_give_nan(name):
    family = FAMILIES[name]
    shapes = shapes_of(name)[0]
    methods = [m for m in ("pmf", "pdf", "cdf", "logsf", "ppf") if family.method(m) is not None]
    invalid = [] if family.is_discrete else [(*shapes, 0.0, -1.0), (*shapes, 0.0, 0.0)]
    if shapes:
        bad = np.nan if name in ("genextreme", "genpareto") else -1.5  # of these all are valid
        invalid.append((bad,) * len(shapes))
    for method in methods:
        for parameters in invalid:
            assert np.isnan(family.method(method)(0.5, *parameters)), (method, parameters)


X = np.linspace(0.1, 2.5, 9)


def test_calls_in_traced_code():
    def several(x, k, s):
        frozen = stats.weibull_min(s, loc=-1.0, scale=2.0)
        return [
            stats.lognorm.pdf(x, s),
            stats.lognorm(s, scale=2.0).logcdf(x),
            frozen.sf(x),
            frozen.mean(),
            *frozen.stats("mv"),
            *stats.gamma.stats(s, moments="mvsk"),
            stats.genextreme.logpdf(x, -0.2, loc=s),
            stats.triang(0.3).cdf(x / 3),
            stats.gennorm.logpdf(x, 1.5, 0.5, s),
            stats.norm(s, 2.0).entropy(),
            stats.norm(s, 2.0).std(),
            stats.nbinom.pmf(k, 2.5, 0.3),
            stats.poisson(s).mean(),
            stats.rayleigh.isf(x / 3),
        ]

    assert_as_scipy(several, X, np.arange(4.0) / 2, 1.7, rtol=1e-9, atol=1e-12)


def test_quantiles_of_gamma_beta_and_counts_in_traced_code():
    def several(q, s):
        return [
            stats.gamma.ppf(q, s),
            stats.beta(s, 0.7).isf(q),
            stats.t.ppf(q, s),
            stats.f.ppf(q, 3.0, s),
            stats.poisson.ppf(q, s),
            special.gammainccinv(s, q),
            special.bdtri(3.0, 7, q),
            special.pdtri(3, q),
        ]

    assert_as_scipy(several, np.array([1e-9, 0.2, 0.5, 0.9]), 2.3, rtol=1e-11, atol=1e-13)


def test_inverses_over_drawn_parameters():
    r = np.random.default_rng(3)
    a, b = 10 ** r.uniform(-2, 3, (2, 80))
    p = np.where(np.arange(80) % 2, r.random(80), 10 ** r.uniform(-100, 0, 80))
    close = functools.partial(np.testing.assert_allclose, rtol=2e-11, atol=1e-290)
    close(gammaincinv(a, p), special.gammaincinv(a, p))
    wanted = special.betaincinv(a, b, p)
    known = np.isfinite(wanted) & (wanted > 1e-290)
    close(betaincinv(a, b, p)[known], wanted[known])


def test_derivatives_are_one_over_the_density_and_finite_outside_of_the_support():
    by_q = vmap(grad(lambda q: stats.gamma.ppf(q, 2.5, 0.5, 2.0)))(CHANCES[2:])
    x = stats.gamma.ppf(CHANCES[2:], 2.5, 0.5, 2.0)
    np.testing.assert_allclose(by_q, 1 / stats.gamma.pdf(x, 2.5, 0.5, 2.0), rtol=1e-10)
    by_q = vmap(grad(lambda q: stats.t.ppf(q, 3.0)))(CHANCES[2:4])
    x = stats.t.ppf(CHANCES[2:4], 3.0)
    np.testing.assert_allclose(by_q, 1 / stats.t.pdf(x, 3.0), rtol=1e-10)
    assert grad(lambda x: stats.lognorm.pdf(x, 0.5))(-1.0) == 0
    step = 1e-6
    ends = [special.gammaincinv(2 + k * step, 0.4) for k in (1, -1)]
    np.testing.assert_allclose(
        grad(lambda a: special.gammaincinv(a, 0.4))(2.0), (ends[0] - ends[1]) / (2 * step), 1e-8
    )


@pytest.mark.parametrize(
    ("f", "kind", "text"),
    [
        (lambda x: stats.invgauss.ppf(x, 2.0), UnsupportedError, "stats.invgauss.ppf is not supp"),
        (lambda x: stats.lognorm.pdf(x), TypeError, "missing the parameter 's'"),
        (lambda x: stats.lognorm.pdf(x, 1, 2, 3, 4), TypeError, "no more parameters than s, loc, "),
        (lambda x: stats.lognorm.pdf(x, 1, c=3), TypeError, "unexpected parameter 'c'"),
        (lambda x: stats.lomax.stats(x, moments="s"), UnsupportedError, "has no skewness"),
        (
            lambda x: grad(lambda a: special.betaincinv(a, 2.0, 0.3))(x[0]),
            NotImplementedError,
            "gradient with respect to a and b",
        ),
    ],
)
def test_what_is_not_supported(f, kind, text):
    with pytest.raises(kind, match=text):
        jit(f)(X)


def test_single_precision_stays_single():
    x = X.astype("f4")
    for method in ("pdf", "logcdf", "sf", "ppf", "isf"):
        for name, shapes in (("lognorm", (0.5,)), ("gamma", (2.5,)), ("beta", (2.0, 0.7))):
            found = FAMILIES[name].method(method)(x / 3, *shapes)
            assert found.dtype == np.float32
            wanted = getattr(getattr(stats, name), method)(x / np.float32(3), *shapes)
            np.testing.assert_allclose(found, wanted, 2e-5, 1e-6)
