"""Elliptic integrals and the zeta function against SciPy: drawn arguments, ends, and derivatives in
closed form."""

import numpy as np
from scipy import special
from scipy_oracle import assert_as_scipy

from transpile import grad, scipy

R = np.random.default_rng(0)
M = np.concatenate(
    [R.uniform(-3, 1, 40), 1 - 10 ** R.uniform(-15, 0, 40), -(10 ** R.uniform(0, 12, 40))]
)
ENDS = np.array([0.0, 1.0, 1.5, -np.inf, np.nan])
X, Y, Z = 10 ** R.uniform(-5, 5, (3, 60))


def test_complete_integrals_are_those_of_scipy():
    def several(m, p):
        return [special.ellipk(m), special.ellipe(m), special.ellipkm1(p)]

    p = np.concatenate([10 ** R.uniform(-300, 10, 60), [0.0, -1.0, np.inf, np.nan]])
    assert_as_scipy(several, np.concatenate([M, ENDS]), p, rtol=1e-14)


def test_incomplete_integrals_are_those_of_scipy():
    phi = R.uniform(-12, 12, len(M) + 7)
    phi[-7:] = [0, 1e-9, np.pi / 2, -np.pi / 2, np.inf, -np.inf, np.nan]
    m = np.append(M, R.uniform(-3, 1, 7))
    assert_as_scipy(
        lambda phi, m: [special.ellipkinc(phi, m), special.ellipeinc(phi, m)], phi, m, rtol=4e-14
    )


def test_carlsons_integrals_are_those_of_scipy():
    def several(x, y, z):
        return [special.elliprf(x, y, z), special.elliprd(x, y, z)]

    X[:3], Y[2:4], Z[3], X[5] = 0, 0, 0, -1
    assert_as_scipy(several, X, Y, Z, rtol=5e-15)


def test_derivatives_are_those_in_closed_form():
    k, e = special.ellipk(0.3), special.ellipe(0.3)
    close = np.testing.assert_allclose
    close(grad(scipy.special.ellipk)(0.3), (e / 0.7 - k) / 0.6, 1e-14)  # DLMF 19.4.1
    close(grad(scipy.special.ellipe)(0.3), (e - k) / 0.6, 1e-14)  # DLMF 19.4.2
    close(grad(scipy.special.ellipk)(0.0), np.pi / 8, 1e-14)
    delta = np.sqrt(1 - 0.3 * np.sin(2.0) ** 2)
    close(grad(scipy.special.ellipkinc)(2.0, 0.3), 1 / delta, 1e-14)
    close(grad(scipy.special.ellipeinc)(2.0, 0.3), delta, 1e-14)


def test_single_precision_stays_single():
    for name, count in (("ellipk", 1), ("ellipkinc", 2), ("ellipeinc", 2), ("elliprd", 3)):
        assert getattr(scipy.special, name)(*np.full((count, 1), 0.3, "f4")).dtype == np.float32
    np.testing.assert_allclose(
        scipy.special.ellipe(M.astype("f4")[:40]), special.ellipe(M[:40]), 3e-6
    )


def test_riemanns_zeta_function_is_that_of_scipy():
    x = np.concatenate([R.uniform(-30, 0, 30), R.uniform(0, 1, 20), 1 + 10 ** R.uniform(-9, 2, 30)])
    ends = [0, 1, -1, -2, -4, -170, 2, np.inf, np.nan]
    assert_as_scipy(
        lambda x: [special.zeta(x), special.zeta(x[50:80], 2.0)], np.append(x, ends), rtol=1e-12
    )
