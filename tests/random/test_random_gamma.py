"""The rows that draw a gamma sample for each parameter and key, and derivatives of samples."""

import re

import mpmath
import numpy as np
import pytest

import transpile
from transpile import random
from transpile.ir.primitive import TABLE
from transpile.primitives.reference.threefry import threefry
from transpile.primitives.rules import apply
from transpile.test_util import check_grads

ROWS = ("random_gamma", "random_loggamma")
PARAMETERS = [1e-300, 1e-8, 0.01, 0.3, 0.99, 1.0, 1.01, 2.5, 30.0, 1e5, 1e30]
SPECIAL = [0.0, -0.0, -0.5, -1.0, -7.0, np.inf, -np.inf, np.nan]
STRICT = {"extra_cflags": ("-Wall", "-Wextra", "-Wconversion", "-Werror")}
EPS = {"float16": 1e-3, "float32": 1.2e-7, "float64": 2.2e-16}


def rows_on(alpha, keys):
    """The results of both rows in a program, and by their meaning."""
    jitted = transpile.jit(
        lambda a, k: [apply(name, a, k) for name in ROWS], compiler_options=STRICT
    )
    return jitted(alpha, keys), [TABLE[name].numpy(alpha, keys) for name in ROWS]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_c_draws_what_numpy_draws(dtype):
    with np.errstate(over="ignore"):
        alpha = np.array(PARAMETERS, dtype)
    alpha = alpha[np.isfinite(alpha)]
    alpha = np.repeat(alpha[alpha > 0], 300)
    keys = threefry(11, np.arange(alpha.size))
    found, expected = rows_on(alpha, keys)
    for got, want, least in zip(found, expected, (np.finfo(dtype).tiny, 1), strict=True):
        assert got.dtype == want.dtype == dtype
        # A last bit decides now and then whether a sample is taken; never in these.
        limit = 40 * EPS[dtype] * (1 + np.abs(np.log(np.maximum(alpha, 1e-37))))
        near = np.abs(got - want) <= limit * np.maximum(np.abs(want), least)
        assert near.all(), (alpha[~near], got[~near], want[~near])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_parameters_that_are_none_end_the_loop_too(dtype):
    alpha = np.repeat(np.array(SPECIAL, dtype), 20)
    keys = threefry(3, np.arange(alpha.size))
    found, expected = rows_on(alpha, keys)
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
        np.testing.assert_array_equal(got == 0, want == 0)
        np.testing.assert_array_equal(np.isinf(got), np.isinf(want))
    assert np.isnan(found[0][np.isnan(alpha)]).all()
    assert (found[0][(alpha == 0) & ~np.signbit(alpha)] == 0).all()
    assert np.isinf(found[0][alpha == np.inf]).all()


def test_logarithms_are_those_of_the_samples():
    alpha = np.linspace(0.05, 5, 400)
    keys = threefry(5, np.arange(400))
    (sample, logarithm), _ = rows_on(alpha, keys)
    np.testing.assert_allclose(np.exp(logarithm), sample, rtol=1e-12)
    tiny = random.loggamma(random.key(0), 1e-3, (1000,), "float32")
    assert np.isfinite(tiny).all()
    assert tiny.min() < -1000


def test_keys_are_numbers_of_64_bits():
    for name in ROWS:
        with pytest.raises(TypeError, match="uint64"):
            transpile.make_jaxpr(lambda a, name=name: apply(name, a, a))(1.0)
    graph = transpile.make_jaxpr(lambda k: random.gamma(k, 2.0, (3,)))(random.key(0))
    assert len(re.findall("random_gamma", str(graph))) == 1


# ------------------------------------------------------------------------------------- derivatives


@pytest.mark.parametrize("a", [0.2, 1.0, 3.5])
def test_the_derivative_of_a_sample_is_that_of_its_quantile(a):
    """With the distribution function F(a, x): dx/da = -(dF/da) / (dF/dx)."""
    key = random.key(17)
    for function, to_sample in ((random.gamma, lambda x: x), (random.loggamma, mpmath.exp)):
        value, slope = transpile.jvp(lambda a, f=function: f(key, a), (a,), (1.0,))
        x = to_sample(mpmath.mpf(float(value)))
        by_a = mpmath.diff(lambda b, x=x: mpmath.gammainc(b, 0, x, regularized=True), a)
        density = x ** (a - 1) * mpmath.exp(-x) / mpmath.gamma(a)
        expected = -by_a / density / (1 if function is random.gamma else x)
        assert slope == pytest.approx(float(expected), rel=1e-9)


def test_means_of_derivatives_are_derivatives_of_means():
    """The mean of gamma samples is a, of their logarithms digamma(a), of beta samples a/(a + b)."""
    key, count = random.key(4), 20_000

    @transpile.jit
    def slopes(a):
        def mean(sampler):
            return transpile.grad(lambda a: sampler(a).mean())(a)

        return [
            mean(lambda a: random.gamma(key, a, (count,))),
            mean(lambda a: random.loggamma(key, a, (count,))),
            mean(lambda a: random.beta(key, a, 3.0, (count,))),
            mean(lambda a: random.chisquare(key, 2 * a, (count,))),
            mean(lambda a: random.dirichlet(key, np.ones(3) * a, (count,))[:, 0] ** 2),
        ]

    a = 1.7
    of_square = mpmath.diff(lambda a: (1 + a) / (3 * (1 + 3 * a)), a)
    expected = [1, mpmath.psi(1, a), 3 / (a + 3) ** 2, 2, of_square]
    np.testing.assert_allclose(slopes(a), [float(e) for e in expected], rtol=0.03)


def test_samples_move_with_their_parameters():
    """What a sample is computed from by a formula has the derivative of the formula."""
    key = random.key(9)
    check_grads(lambda m, s: m + s * random.normal(key, (4,)), (0.3, 1.7), order=1)
    check_grads(lambda a, b: random.uniform(key, (4,), minval=a, maxval=b), (0.3, 1.7), order=2)
    check_grads(lambda s: random.lognormal(key, s, (4,)), (0.7,), order=1)
    check_grads(lambda b: random.pareto(key, b, (4,)), (2.5,), order=1)
    check_grads(lambda s, c: random.weibull_min(key, s, c, (4,)), (1.5, 2.5), order=1)
    check_grads(lambda a, b: random.truncated_normal(key, a, b, (4,)), (-0.5, 1.5), order=1)
    check_grads(
        lambda m, root: random.multivariate_normal(key, m, root @ root.T + np.eye(2)),
        (np.array([1.0, 2.0]), np.array([[1.0, 0.2], [0.4, 2.0]])),
        order=1,
    )
    slope = transpile.grad(lambda m: (m + random.normal(key, (1000,))).mean())(0.5)
    assert slope == pytest.approx(1)
    of_bits = transpile.grad(lambda p: random.bernoulli(key, p, (9,)).astype(float).sum())(0.5)
    assert of_bits == 0
