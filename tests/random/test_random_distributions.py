"""Samples have the distributions that they are said to have: chi-square tests on fixed keys.

The samples of a case are counted in bins; the statistic is compared with a limit that it would
exceed once in ten thousand. As keys are fixed, a test that has passed passes always. Each case also
has a distribution that is a little off, and has to be told from it.
"""

import math

import mpmath
import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile import random

COUNT = 40_000
KEY = random.key(2024)


@pytest.fixture(autouse=True)
def interpreted():
    """With NumPy: tests/random/test_random.py has programs."""
    with transpile.disable_jit():
        yield


def limit(freedom):
    """What a chi-square statistic exceeds once in ten thousand (Wilson and Hilferty, 1931)."""
    spread = 2 / (9 * freedom)
    return freedom * (1 - spread + 3.719 * math.sqrt(spread)) ** 3


def statistic(counts, chances):
    """Pearson's chi-square statistic over its limit; rare bins are joined to their neighbours."""
    observed, expected = [0.0], [0.0]
    for count, chance in zip(counts, chances, strict=True):
        if expected[-1] >= 10:
            observed.append(0.0)
            expected.append(0.0)
        observed[-1] += count
        expected[-1] += chance * sum(counts)
    if expected[-1] < 10:
        observed[-2] += observed.pop()
        expected[-2] += expected.pop()
    total = sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True))
    return total / limit(len(observed) - 1)


def continuous(samples, distribution):
    """The statistic of samples for a distribution function, at 25 quantiles of the samples."""
    samples = np.sort(np.asarray(samples, np.float64).ravel())
    edges = samples[:: len(samples) // 25][1:]
    edges = edges[np.abs(edges) > 1e-200]
    levels = [0.0, *[float(distribution(mpmath.mpf(float(x)))) for x in edges], 1.0]
    counts = np.diff([0, *np.searchsorted(samples, edges), len(samples)])
    return statistic(counts, np.diff(levels))


# ------------------------------------------------------------------------------------- continuous


def normal(x, scale=1):
    return mpmath.ncdf(x / scale)


def gamma(a, scale=1):
    return lambda x: mpmath.gammainc(a, 0, x / scale, regularized=True)


def beta(a, b):
    return lambda x: mpmath.betainc(a, b, 0, x, regularized=True)


def student(df):
    tail = beta(df / 2, 0.5)
    return lambda x: 0.5 + mpmath.sign(x) * (1 - tail(df / (df + x * x))) / 2


def truncated(low, high):
    below, inside = mpmath.ncdf(low), mpmath.ncdf(high) - mpmath.ncdf(low)
    return lambda x: (mpmath.ncdf(x) - below) / inside


def triangle(left, mode, right):
    width = right - left
    return lambda x: (
        (x - left) ** 2 / (width * (mode - left))
        if x < mode
        else 1 - (right - x) ** 2 / (width * (right - mode))
    )


def inverse_normal(mean):
    def distribution(x):
        root = mpmath.sqrt(1 / x)
        return mpmath.ncdf(root * (x / mean - 1)) + mpmath.exp(2 / mpmath.mpf(mean)) * mpmath.ncdf(
            -root * (x / mean + 1)
        )

    return distribution


def symmetric(of_size):
    """The distribution function of what has a random sign, from that of its size."""
    return lambda x: (1 + mpmath.sign(x) * of_size(abs(x))) / 2


def powered(p):
    return symmetric(lambda x: gamma(1 / mpmath.mpf(p))(x**p))


def maxwell(x):
    return mpmath.gammainc(1.5, 0, x * x / 2, regularized=True)


# name: (samples of a key and a shape, distribution function, one that is a little off)
CONTINUOUS = {
    "uniform": (lambda k, s: random.uniform(k, s), lambda x: x, lambda x: x**1.05),
    "uniform -1 3": (
        lambda k, s: random.uniform(k, s, minval=-1, maxval=3),
        lambda x: (x + 1) / 4,
        lambda x: (x + 1) / 4.1,
    ),
    "uniform f32": (lambda k, s: random.uniform(k, s, "float32"), lambda x: x, lambda x: x**1.05),
    "uniform f16": (lambda k, s: random.uniform(k, s, "float16"), lambda x: x, lambda x: x**1.05),
    "normal": (lambda k, s: random.normal(k, s), normal, lambda x: normal(x, 1.03)),
    "normal f32": (lambda k, s: random.normal(k, s, "float32"), normal, lambda x: normal(x - 0.03)),
    "normal c": (
        lambda k, s: random.normal(k, s, complex).imag,
        lambda x: normal(x, mpmath.sqrt(0.5)),
        lambda x: normal(x, 0.73),
    ),
    "truncated_normal -1 2": (
        lambda k, s: random.truncated_normal(k, -1, 2, s),
        truncated(-1, 2),
        truncated(-1, 2.2),
    ),
    "truncated_normal 0.5 inf": (
        lambda k, s: random.truncated_normal(k, 0.5, np.inf, s),
        truncated(0.5, mpmath.inf),
        truncated(0.48, mpmath.inf),
    ),
    "lognormal": (
        lambda k, s: random.lognormal(k, 0.5, s),
        lambda x: normal(mpmath.log(x), 0.5),
        lambda x: normal(mpmath.log(x), 0.52),
    ),
    "exponential": (
        lambda k, s: random.exponential(k, s),
        lambda x: -mpmath.expm1(-x),
        lambda x: -mpmath.expm1(-1.04 * x),
    ),
    "laplace": (
        lambda k, s: random.laplace(k, s),
        symmetric(lambda x: -mpmath.expm1(-x)),
        symmetric(lambda x: -mpmath.expm1(-1.05 * x)),
    ),
    "logistic": (
        lambda k, s: random.logistic(k, s),
        lambda x: 1 / (1 + mpmath.exp(-x)),
        lambda x: 1 / (1 + mpmath.exp(-1.05 * x)),
    ),
    **{
        f"gumbel {mode}": (
            lambda k, s, mode=mode: random.gumbel(k, s, "float32", mode=mode),
            lambda x: mpmath.exp(-mpmath.exp(-x)),
            lambda x: mpmath.exp(-mpmath.exp(-x + 0.05)),
        )
        for mode in ("low", "high", "highest")
    },
    "cauchy": (
        lambda k, s: random.cauchy(k, s),
        lambda x: 0.5 + mpmath.atan(x) / mpmath.pi,
        lambda x: 0.5 + mpmath.atan(1.06 * x) / mpmath.pi,
    ),
    "pareto 1.5": (
        lambda k, s: random.pareto(k, 1.5, s),
        lambda x: 1 - x**-1.5,
        lambda x: 1 - x**-1.56,
    ),
    "pareto 3": (lambda k, s: random.pareto(k, 3, s), lambda x: 1 - x**-3, lambda x: 1 - x**-3.1),
    "rayleigh 2": (
        lambda k, s: random.rayleigh(k, 2.0, s),
        lambda x: -mpmath.expm1(-((x / 2) ** 2) / 2),
        lambda x: -mpmath.expm1(-((x / 2.05) ** 2) / 2),
    ),
    "weibull_min": (
        lambda k, s: random.weibull_min(k, 1.5, 2.5, s),
        lambda x: -mpmath.expm1(-((x / 1.5) ** 2.5)),
        lambda x: -mpmath.expm1(-((x / 1.5) ** 2.6)),
    ),
    "triangular": (
        lambda k, s: random.triangular(k, -1, 0.5, 3, s),
        triangle(-1, 0.5, 3),
        triangle(-1, 0.65, 3),
    ),
    "wald 1": (lambda k, s: random.wald(k, 1.0, s), inverse_normal(1), inverse_normal(1.05)),
    "wald 3": (lambda k, s: random.wald(k, 3.0, s), inverse_normal(3), inverse_normal(3.3)),
    "maxwell": (lambda k, s: random.maxwell(k, s), maxwell, lambda x: maxwell(1.02 * x)),
    "double_sided_maxwell": (
        lambda k, s: random.double_sided_maxwell(k, 1, 2, s),
        lambda x: symmetric(maxwell)((x - 1) / 2),
        lambda x: symmetric(maxwell)((x - 1.06) / 2),
    ),
    **{
        f"gamma {a}": (
            lambda k, s, a=a: random.gamma(k, a, s),
            gamma(a),
            gamma(a, 1 + 0.06 / math.sqrt(a)),
        )
        for a in (0.3, 1, 2.5, 50)
    },
    "gamma f32": (lambda k, s: random.gamma(k, 0.7, s, "float32"), gamma(0.7), gamma(0.73)),
    "loggamma": (
        lambda k, s: random.loggamma(k, 0.1, s),
        lambda x: gamma(0.1)(mpmath.exp(x)),
        lambda x: gamma(0.105)(mpmath.exp(x)),
    ),
    "beta 0.5 0.5": (lambda k, s: random.beta(k, 0.5, 0.5, s), beta(0.5, 0.5), beta(0.5, 0.53)),
    "beta 2 5": (lambda k, s: random.beta(k, 2, 5, s), beta(2, 5), beta(2.1, 5)),
    "t 3": (lambda k, s: random.t(k, 3, s), student(3), lambda x: student(3)(1.04 * x)),
    "t 10": (lambda k, s: random.t(k, 10, s), student(10), lambda x: student(10)(x - 0.05)),
    "chisquare 3": (lambda k, s: random.chisquare(k, 3, s), gamma(1.5, 2), gamma(1.55, 2)),
    "f 3 7": (
        lambda k, s: random.f(k, 3, 7, s),
        lambda x: beta(1.5, 3.5)(3 * x / (3 * x + 7)),
        lambda x: beta(1.6, 3.5)(3 * x / (3 * x + 7)),
    ),
    "generalized_normal 1": (
        lambda k, s: random.generalized_normal(k, 1, s),
        powered(1),
        powered(1.06),
    ),
    "generalized_normal 3.5": (
        lambda k, s: random.generalized_normal(k, 3.5, s),
        powered(3.5),
        powered(4),
    ),
    "ball 2": (
        lambda k, s: np.sum(random.ball(k, 3, shape=s) ** 2, -1),
        lambda x: x**1.5,
        lambda x: x**1.56,
    ),
    "ball 1": (
        lambda k, s: np.sum(np.abs(random.ball(k, 2, 1.0, s)), -1),
        lambda x: x**2,
        lambda x: x**2.1,
    ),
    "dirichlet": (  # one part of three
        lambda k, s: random.dirichlet(k, np.array([0.5, 1.0, 2.0]), s)[:, 0],
        beta(0.5, 3),
        beta(0.52, 3),
    ),
    "multivariate_normal": (
        lambda k, s: random.multivariate_normal(k, np.zeros(2), [[2.0, 0.5], [0.5, 1.0]], s).sum(1),
        lambda x: normal(x, 2),
        lambda x: normal(x, 2.06),
    ),
    "orthogonal": (  # a row of such a matrix is uniform on the circle
        lambda k, s: random.orthogonal(k, 2, s)[:, 0, 1],
        lambda x: 0.5 + mpmath.asin(x) / mpmath.pi,
        lambda x: 0.5 + mpmath.sign(x) * abs(mpmath.asin(x) / mpmath.pi * 2) ** 1.06 / 2,
    ),
}


@pytest.mark.parametrize("name", CONTINUOUS)
@one_in(3)
def test_samples_have_their_distribution(name):
    draw, distribution, other = CONTINUOUS[name]
    samples = draw(KEY, (COUNT,))
    assert samples.shape == (COUNT,)
    assert continuous(samples, distribution) < 1
    assert continuous(samples, other) > 1


# -------------------------------------------------------------------------------------- discrete


def poisson(rate):
    return lambda n: mpmath.exp(n * mpmath.log(rate) - rate - mpmath.loggamma(n + 1))


def binomial(count, chance):
    return lambda n: mpmath.binomial(count, n) * chance**n * (1 - mpmath.mpf(chance)) ** (count - n)


def listed(*chances):
    return lambda n: chances[n] / sum(chances)


WEIGHTS = np.array([0.1, 0.2, 0.3, 0.4])
# name: (samples, probabilities, those of one that is a little off, the largest outcome)
DISCRETE = {
    "poisson 0.7": (lambda k, s: random.poisson(k, 0.7, s), poisson(0.7), poisson(0.73), 20),
    "poisson 9": (lambda k, s: random.poisson(k, 9.0, s), poisson(9), poisson(9.2), 60),
    "poisson 30": (lambda k, s: random.poisson(k, 30.0, s), poisson(30), poisson(30.4), 120),
    "poisson 1000": (
        lambda k, s: random.poisson(k, 1000.0, s),
        poisson(1000),
        poisson(1003),
        1400,
    ),
    "binomial 10 0.3": (
        lambda k, s: random.binomial(k, 10, 0.3, s),
        binomial(10, 0.3),
        binomial(10, 0.305),
        10,
    ),
    "binomial 100 0.4": (
        lambda k, s: random.binomial(k, 100, 0.4, s),
        binomial(100, 0.4),
        binomial(100, 0.403),
        100,
    ),
    "binomial 50 0.9": (
        lambda k, s: random.binomial(k, 50, 0.9, s),
        binomial(50, 0.9),
        binomial(50, 0.903),
        50,
    ),
    "binomial 12 0.9": (
        lambda k, s: random.binomial(k, 120, 0.09, s),
        binomial(120, 0.09),
        binomial(120, 0.0915),
        120,
    ),
    "geometric 0.3": (
        lambda k, s: random.geometric(k, 0.3, s),
        lambda n: 0.3 * 0.7 ** (n - 1) if n else 0,
        lambda n: 0.31 * 0.69 ** (n - 1) if n else 0,
        80,
    ),
    "bernoulli": (
        lambda k, s: random.bernoulli(k, 0.3, s),
        listed(0.7, 0.3),
        listed(0.69, 0.31),
        1,
    ),
    "bernoulli high": (
        lambda k, s: random.bernoulli(k, 0.3, s, "high"),
        listed(0.7, 0.3),
        listed(0.69, 0.31),
        1,
    ),
    "rademacher": (
        lambda k, s: (random.rademacher(k, s) + 1) // 2,
        listed(1, 1),
        listed(49, 51),
        1,
    ),
    "randint 0 7": (
        lambda k, s: random.randint(k, s, 0, 7),
        listed(*[1] * 7),
        listed(*[1] * 6, 1.1),
        6,
    ),
    "randint i8": (
        lambda k, s: random.randint(k, s, -128, 128, "int8").astype(int) + 128,
        lambda n: 1 / 256,
        lambda n: (1 + 0.001 * (n - 127.5)) / 256,
        255,
    ),
    "categorical": (
        lambda k, s: random.categorical(k, np.log(WEIGHTS), shape=s),
        listed(*WEIGHTS),
        listed(0.11, 0.2, 0.3, 0.4),
        3,
    ),
    "choice p": (
        lambda k, s: random.choice(k, 4, s, p=WEIGHTS),
        listed(*WEIGHTS),
        listed(0.11, 0.2, 0.3, 0.4),
        3,
    ),
    "choice": (lambda k, s: random.choice(k, 5, s), listed(*[1] * 5), listed(1.1, 1, 1, 1, 1), 4),
    "multinomial": (  # one outcome of three
        lambda k, s: random.multinomial(k, 20, np.array([0.2, 0.3, 0.5]), shape=(*s, 3))[:, 1],
        binomial(20, 0.3),
        binomial(20, 0.305),
        20,
    ),
}


@pytest.mark.parametrize("name", DISCRETE)
@one_in(3)
def test_counts_have_their_probabilities(name):
    draw, chance, other, largest = DISCRETE[name]
    samples = np.asarray(draw(KEY, (COUNT,)))
    assert samples.shape == (COUNT,)
    assert np.array_equal(samples, np.round(samples))
    assert 0 <= samples.min() <= samples.max() <= largest
    counts = np.bincount(samples.astype(int), minlength=largest + 1)
    for probabilities, fits in ((chance, True), (other, False)):
        expected = [float(probabilities(n)) for n in range(largest + 1)]
        assert (statistic(counts, expected) < 1) == fits


# ----------------------------------------------------------------------------------- joint samples


def test_permutations_are_equally_frequent():
    keys = random.split(KEY, 12_000)
    found = transpile.vmap(lambda k: random.permutation(k, 4))(keys)
    assert np.array_equal(np.sort(found, 1), np.tile(np.arange(4), (12_000, 1)))
    numbers = found @ np.array([64, 16, 4, 1])
    _, counts = np.unique(numbers, return_counts=True)
    assert len(counts) == 24
    assert statistic(counts, [1 / 24] * 24) < 1
    assert statistic([*counts[:12] * 1.25, *counts[12:]], [1 / 24] * 24) > 1


def test_choices_without_repetition_go_by_their_weights():
    """The first of two that are drawn by weights, and the second given the first."""
    keys = random.split(KEY, 12_000)
    found = transpile.vmap(lambda k: random.choice(k, 4, (2,), replace=False, p=WEIGHTS))(keys)
    assert (found[:, 0] != found[:, 1]).all()
    counts = np.bincount(found @ np.array([4, 1]), minlength=16)
    chances = [
        0 if a == b else WEIGHTS[a] * WEIGHTS[b] / (1 - WEIGHTS[a])
        for a in range(4)
        for b in range(4)
    ]
    kept = np.array(chances) > 0
    assert counts[~kept].sum() == 0
    assert statistic(counts[kept], np.array(chances)[kept]) < 1
    plain = transpile.vmap(lambda k: random.choice(k, 4, (2,), replace=False))(keys)
    assert statistic(np.bincount(plain @ np.array([4, 1]), minlength=16)[kept], [1 / 12] * 12) < 1
    categories = transpile.vmap(
        lambda k: random.categorical(k, np.log(WEIGHTS), shape=(2,), replace=False)
    )(keys)
    assert statistic(np.bincount(categories @ [4, 1])[kept[:15]], np.array(chances)[kept]) < 1


@pytest.mark.parametrize("method", ["cholesky", "eigh", "svd"])
def test_vectors_have_their_mean_and_covariance(method):
    mean, covariance = np.array([1.0, -2.0, 0.5]), np.diag([1.0, 2.0, 3.0]) + 0.4
    found = random.multivariate_normal(KEY, mean, covariance, (COUNT,), method=method)
    np.testing.assert_allclose(found.mean(0), mean, atol=0.03)
    np.testing.assert_allclose(np.cov(found.T), covariance, atol=0.08)


@pytest.mark.parametrize(("rows", "columns"), [(3, 3), (2, 4), (4, 2)])
def test_orthogonal_matrices_are_orthogonal(rows, columns):
    found = random.orthogonal(KEY, rows, (2000,), m=columns)
    assert found.shape == (2000, rows, columns)
    product = found @ found.swapaxes(1, 2) if rows <= columns else found.swapaxes(1, 2) @ found
    np.testing.assert_allclose(
        product, np.broadcast_to(np.eye(min(rows, columns)), product.shape), atol=1e-12
    )
    np.testing.assert_allclose((found**2).mean(0), 1 / max(rows, columns), atol=0.03)
    np.testing.assert_allclose(found.mean(0), 0, atol=0.05)


def test_parts_of_a_whole_add_up_to_one():
    alpha = np.array([0.5, 1.0, 2.0])
    found = random.dirichlet(KEY, alpha, (COUNT,))
    np.testing.assert_allclose(found.sum(1), 1, rtol=1e-12)
    np.testing.assert_allclose(found.mean(0), alpha / alpha.sum(), atol=0.005)
    assert (random.dirichlet(KEY, np.full(3, 1e-3), (1000,)).sum(1) > 0.999).all()
    counts = random.multinomial(KEY, 50, np.array([0.2, 0.3, 0.5]), shape=(1000, 3))
    np.testing.assert_array_equal(counts.sum(1), 50)


def test_bits_are_balanced_and_elements_independent():
    found = random.bits(KEY, (COUNT,))
    ones = [(int(np.sum(found >> np.uint64(k) & np.uint64(1)))) for k in range(64)]
    assert max(abs(n - COUNT / 2) for n in ones) < 4.2 * math.sqrt(COUNT) / 2
    x = random.uniform(KEY, (COUNT,)) - 0.5
    for lag in (1, 2, 7, 64):
        assert abs(np.mean(x[lag:] * x[:-lag])) * 12 < 4 / math.sqrt(COUNT)
    first, second = (random.uniform(k, (COUNT,)) - 0.5 for k in random.split(KEY))
    for pair in ((x, first), (x, second), (first, second)):
        assert abs(np.mean(np.multiply(*pair))) * 12 < 4 / math.sqrt(COUNT)
