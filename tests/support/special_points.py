"""Where special functions are tried, their exact values by mpmath, and how far off they may be."""

from __future__ import annotations

import numpy as np
from mpmath import mp, mpf

INF, NAN = np.inf, np.nan


def spread(low, high, count, seed=0):
    """Points over an interval: evenly, and by their exponents."""
    random = np.random.default_rng(seed)
    even = random.uniform(low, high, count)
    if low <= 0:
        return even
    return np.concatenate([even, low * (high / low) ** random.random(count)])


def near(point, count=40, seed=1):
    """Points on both sides of one, at all distances."""
    random = np.random.default_rng(seed)
    return point + random.choice([-1, 1], count) * 10.0 ** -random.uniform(1, 15, count)


def tiny(count=40, seed=2):
    """Small positive numbers."""
    return 10.0 ** -np.random.default_rng(seed).uniform(1, 290, count)


def inverse_of_erfc(logarithm):
    """The y at which log erfc(y) is this."""
    y = mp.sqrt(-logarithm) if logarithm < -4 else mpf(1)
    for _ in range(100):
        size = mp.erfc(y)
        step = (mp.log(size) - logarithm) * size * mp.exp(y * y) * mp.sqrt(mp.pi) / 2
        y += step
        if abs(step) < mpf(10) ** -30:
            break
    return y


def erf_inv(x):
    if abs(x) < mpf("1e-20"):
        return x * mp.sqrt(mp.pi) / 2
    return mp.erfinv(x) if abs(x) < 0.5 else mp.sign(x) * inverse_of_erfc(mp.log1p(-abs(x)))


def ndtri(p):
    if p > 0.25 and p < 0.75:
        return mp.sqrt(2) * erf_inv(2 * p - 1)
    size = mp.sqrt(2) * inverse_of_erfc(mp.log(2 * min(p, 1 - p)))
    return -size if p < 0.5 else size


def bessel(order):
    return lambda x: mp.besseli(order, x) * mp.exp(-abs(x))


def erfcx(x):
    return mp.exp(x * x) * mp.erfc(x)


def dawsn(x):
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def spence(x):
    return mp.re(mp.polylog(2, 1 - x))


def digamma(x):
    return mp.psi(0, x)


# row: (exact, points, limit in ulp of float64)
ONE = {
    "erf": (mp.erf, spread(-6, 6, 150), 1.8),
    "erfc": (mp.erfc, spread(-6, 26, 150), 3.6),
    "erf_inv": (erf_inv, np.concatenate([spread(-1, 1, 150), 1 - tiny()[:9], tiny()]), 3.0),
    "ndtri": (ndtri, np.concatenate([spread(1e-3, 1, 100), tiny()]), 4.0),
    "erfcx": (erfcx, spread(-20, 90, 150), 4.0),
    "dawsn": (dawsn, np.concatenate([spread(0.01, 12, 100), -spread(0.01, 12, 20)]), 8.0),
    "lgamma": (
        mp.loggamma,
        np.concatenate([spread(0.01, 30, 100), spread(1, 1e9, 30), near(1), near(2), tiny()]),
        3.0,
    ),
    "digamma": (
        digamma,
        np.concatenate([spread(0.01, 30, 100), spread(1, 1e9, 30), near(1.4616321449683623)]),
        3.5,
    ),
    "gamma": (mp.gamma, np.concatenate([spread(0.01, 171, 150), -spread(0.1, 150, 50)]), 6.0),
    "bessel_i0e": (bessel(0), np.concatenate([spread(0.01, 900, 100), -spread(0.1, 20, 40)]), 3.0),
    "bessel_i1e": (bessel(1), np.concatenate([spread(1e-5, 900, 100), -spread(0.1, 20, 40)]), 3.0),
    "expi": (
        mp.ei,
        np.concatenate([spread(0.01, 60, 80), -spread(0.01, 60, 40), near(0.3725)]),
        11,
    ),
    "sine_integral": (mp.si, spread(0.01, 300, 80), 4.0),
    "spence": (spence, np.concatenate([spread(1e-6, 2, 80), spread(2, 1e6, 30)]), 4.0),
}


def pairs(count, seed=3):
    """Parameters from 1e-6 to 1e5, and arguments near them and far away."""
    random = np.random.default_rng(seed)
    a = 10.0 ** random.uniform(-6, 5, count)
    near_a = np.maximum(a + np.sqrt(a) * random.normal(0, 5, count), 1e-3)
    far = a * 10.0 ** random.uniform(-2.5, 1, count)
    return a, np.where(random.random(count) < 0.6, near_a, far)


def triples(count, seed=4):
    """Parameters of a beta distribution, and arguments in its bulk and its tails."""
    random = np.random.default_rng(seed)
    a, b = 10.0 ** random.uniform(-1, 3.3, (2, count))
    mean = a / (a + b)
    width = np.sqrt(mean * (1 - mean) / (a + b + 1))
    x = np.clip(mean + width * random.normal(0, 5, count), 1e-9, 1 - 1e-9)
    return a, b, np.where(random.random(count) < 0.3, random.random(count), x)


def lower(a, x):
    return mp.gammainc(a, 0, x, regularized=True)


def upper(a, x):
    return mp.gammainc(a, x, regularized=True)


def polygamma(n, x):
    return mp.psi(int(n), x)


def zeta(s, q):
    """The formula of Euler and Maclaurin: mpmath's own loses digits for large q."""
    total = mp.fsum((q + k) ** -s for k in range(30))
    a = q + 30
    total += a ** (1 - s) / (s - 1) + a**-s / 2
    factor = s / a
    for k in range(1, 25):
        total += mp.bernoulli(2 * k) / mp.factorial(2 * k) * factor * a**-s
        factor *= (s + 2 * k - 1) * (s + 2 * k) / a**2
    return total


def grad_a(a, x):
    return mp.diff(lambda t: lower(t, x), a, h=mpf(10) ** -12)


def expn(n, x):
    return mp.expint(int(n), x)


def whole(low, high, count, seed=5):
    return np.random.default_rng(seed).integers(low, high, count).astype(float)


# row: (exact, operands, relative limit in float64)
SEVERAL = {
    "igamma": (lower, pairs(150), 3e-13),
    "igammac": (upper, pairs(150, 6), 3e-13),
    "betainc": (lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True), triples(40), 1e-13),
    "zeta": (zeta, (spread(1.01, 60, 60), spread(0.01, 1e4, 60)), 3e-15),
    "polygamma": (polygamma, (whole(0, 15, 100), spread(0.02, 300, 50)), 3e-15),
    "expn": (expn, (whole(0, 20, 100), spread(1e-3, 200, 50)), 2e-15),
    "igamma_grad_a": (grad_a, (spread(0.3, 60, 15), spread(0.5, 70, 15, 9)), 1e-12),
}

# row: [(operands, result)], as in JAX, except where a comment says why another number is right
EDGES = {
    "erf": [((0.0,), 0.0), ((INF,), 1), ((-INF,), -1), ((NAN,), NAN)],
    "erfc": [((0.0,), 1), ((INF,), 0), ((-INF,), 2), ((NAN,), NAN)],
    "erf_inv": [((0.0,), 0.0), ((1,), INF), ((-1,), -INF), ((1.5,), NAN), ((NAN,), NAN)],
    "ndtri": [((0.5,), 0), ((0,), -INF), ((1,), INF), ((-0.1,), NAN), ((1.1,), NAN), ((NAN,), NAN)],
    "erfcx": [((0,), 1), ((INF,), 0), ((-INF,), INF), ((-30,), INF), ((NAN,), NAN)],
    "dawsn": [((0.0,), 0.0), ((INF,), 0), ((-INF,), -0.0), ((NAN,), NAN)],
    "lgamma": [
        *((((x,), INF)) for x in (0, -0.0, -1, -2, -1e308, INF, -INF, 1e308)),
        ((1,), 0),
        ((2,), 0),
        ((NAN,), NAN),
    ],
    "digamma": [((x,), NAN) for x in (0, -0.0, -1, -2, -INF, NAN)] + [((INF,), INF)],
    "gamma": [
        ((0.0,), INF),
        ((-0.0,), -INF),
        ((-1,), NAN),
        ((-INF,), NAN),
        ((INF,), INF),
        ((5,), 24),
        ((172,), INF),
        ((-171.5,), 1.9316265431712e-310),
        ((NAN,), NAN),
    ],
    "bessel_i0e": [((0,), 1), ((INF,), 0), ((-INF,), 0), ((NAN,), NAN)],
    "bessel_i1e": [((0.0,), 0.0), ((INF,), 0), ((-INF,), -0.0), ((NAN,), NAN)],
    # SciPy's; JAX gives NaN for infinite q
    "zeta": [
        ((1, 2), INF),
        ((0.5, 2), NAN),
        ((2, 0), INF),
        ((2, -3), INF),
        ((3, -3), NAN),
        ((2.5, -0.5), NAN),
        ((2, -0.5), float(np.pi**2 / 2 + 4)),
        ((2, INF), 0),
        ((INF, 2), 0),
        ((NAN, 1), NAN),
        ((2, NAN), NAN),
    ],
    "polygamma": [
        ((1, 0), INF),
        ((1, -1), INF),
        ((2, -1), NAN),
        ((2, 0), NAN),
        ((-1, 2), NAN),
        ((0.5, 2), NAN),
        ((1, -2.5), 9.539246643891),
        ((2, -2.5), -0.10820405164172797),
        ((0, 2), 0.4227843350984671),
        ((1, NAN), NAN),
    ],
    "igamma": [
        ((1, 0), 0),
        ((0, 1), 1),
        ((0, 0), NAN),
        ((1, INF), 1),
        ((INF, 1), 0),  # the limit; NaN in JAX
        ((-1, 1), NAN),
        ((1, -1), NAN),
        ((NAN, 1), NAN),
        ((1, NAN), NAN),
    ],
    "igammac": [((1, 0), 1), ((0, 1), 0), ((0, 0), NAN), ((1, INF), 0), ((-1, 1), NAN)],
    "igamma_grad_a": [((1, 0), 0), ((0, 1), NAN), ((1, -1), NAN), ((NAN, 1), NAN)],
    "random_gamma_grad": [((1, 0), 0), ((0, 1), NAN), ((1, -1), NAN), ((NAN, 1), NAN)],
    "betainc": [
        ((0, 1, 0.5), 1),
        ((1, 0, 0.5), 0),
        ((0, 0, 0.5), NAN),
        ((INF, 1, 0.5), 0),
        ((1, INF, 0.5), 1),
        ((INF, INF, 0.5), NAN),
        ((0, 1, 0), 0),
        ((0, 1, 1), 1),
        ((1, 0, 0), 0),
        ((1, 0, 1), 1),
        ((2, 3, 0), 0),
        ((2, 3, 1), 1),
        ((2, 3, -1), NAN),
        ((2, 3, 2), NAN),
        ((-1, 1, 0.5), NAN),
        ((NAN, 1, 0.5), NAN),
    ],
    "expn": [
        ((1, 0), INF),
        ((0, 0), INF),
        ((3, 0), 0.5),
        ((2, INF), 0),
        ((-1, 1), NAN),
        ((1, -1), NAN),
        ((1.5, 1), NAN),
        ((0, 2), float(np.exp(-2) / 2)),
        ((2, NAN), NAN),
    ],
    "expi": [((0,), -INF), ((INF,), INF), ((-INF,), -0.0), ((NAN,), NAN)],
    "sine_integral": [((0.0,), 0.0), ((INF,), np.pi / 2), ((-INF,), -np.pi / 2), ((NAN,), NAN)],
    "cosine_integral": [((0,), -INF), ((INF,), 0), ((-INF,), NAN), ((NAN,), NAN)],
    "spence": [((0,), np.pi**2 / 6), ((1,), 0), ((-1,), NAN), ((INF,), -INF), ((NAN,), NAN)],
}
