"""Functions of scipy in traced code at NaN, at the ends of their domains, and where SciPy's have
no value."""

import math

import numpy as np
import pytest
from thorough import one_in

import transpile

scipy_stats = pytest.importorskip("scipy.stats")
scipy_special = pytest.importorskip("scipy.special")

QUICK = {"opt_level": 0}
NAN, INF = np.nan, np.inf
# That of SciPy's densities at infinity is NaN for some.
X = np.array([-INF, -3, -1, 0, 0.25, 0.5, 1, 2, 20, NAN])
Q = np.array([-0.1, 0, 1e-10, 0.1, 0.5, 0.9, 1, 1.1, NAN])
SHAPES = {
    **{name: [()] for name in ("norm", "cauchy", "expon", "laplace", "logistic", "uniform")},
    "gamma": [(2.5,), (0.5,), (-0.5,), (0.0,)],
    "chi2": [(3.0,), (0.5,), (-2.0,)],
    "t": [(3.0,), (0.0,), (-1.0,)],
    "gengamma": [(3.0, -2.0), (3.0, 2.0), (0.5, -0.5), (3.0, 0.0), (-1.0, 2.0)],
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@one_in(3)
def test_distributions_are_scipys_at_the_ends(name):
    family = getattr(scipy_stats, name)

    def values(x, q, *shapes):
        of_values = [getattr(family, m)(x, *shapes) for m in ("pdf", "cdf", "sf", "logpdf")]
        return of_values + [getattr(family, m)(q, *shapes) for m in ("ppf", "isf")]

    compiled = transpile.jit(values, compiler_options=QUICK)
    for shapes in SHAPES[name]:
        x = X[1:] if name == "gengamma" else X
        shapes = [np.float64(s) for s in shapes]
        for got, want in zip(compiled(x, Q, *shapes), values(x, Q, *shapes), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-15)


def test_moments_of_a_negative_power_are_scipys():
    def moments(a, c):
        family = scipy_stats.gengamma(a, c, scale=3.0)
        return family.mean(), family.std(), *family.interval(0.9)

    got = transpile.jit(moments, compiler_options=QUICK)(3.0, -2.0)
    np.testing.assert_allclose(np.array(got), moments(3.0, -2.0), rtol=1e-9)


def test_hyp1f1_has_poles_and_polynomials():
    values = np.array([-3.0, -2, -1, 0, 0.5, 1])
    a, b, x = (v.ravel() for v in np.meshgrid(values, values, [-1.0, 0, 0.5, 30, NAN]))
    compiled = transpile.jit(lambda *v: scipy_special.hyp1f1(*v), compiler_options=QUICK)
    np.testing.assert_allclose(compiled(a, b, x), scipy_special.hyp1f1(a, b, x), rtol=1e-9)


def test_an_exact_factorial_is_refused_with_what_to_write():
    text = r"^test_scipy_ends.py:\d+: .* write factorial\(n\)"
    with pytest.raises(NotImplementedError, match=text):
        transpile.jit(lambda n: scipy_special.factorial(n, exact=True))(np.arange(3))


@pytest.mark.parametrize("name", ["rel_entr", "kl_div", "poch", "stdtr"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@one_in(2)
def test_functions_of_two_numbers_are_scipys_at_their_ends(name):
    finite = [0.0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3, -5, 7.25, -7.25, 150.5, -170.5, 200]
    others = [] if name == "poch" else [1000, 1000.1, INF, -INF, NAN]
    others += [1e-300, 1e300] * (name in ("rel_entr", "stdtr"))  # SciPy's kl_div overflows
    f = getattr(scipy_special, name)
    x, y = (v.ravel() for v in np.meshgrid(finite + others, finite + others))
    compiled = transpile.jit(lambda *v: f(*v), compiler_options=QUICK)
    np.testing.assert_allclose(compiled(x, y), f(x, y), rtol=1e-9)


@pytest.mark.parametrize("name", ["beta", "betaln", "binom"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_beta_and_binomials_are_scipys_at_poles_and_far_out(name):
    numbers = [0.0, -1, -2, 0.5, -0.5, 1.5, 2, 3, 7, -3.2, 20.5, 100, 1e3, 1e5, 1e10, NAN]
    f = getattr(scipy_special, name)
    x, y = (v.ravel() for v in np.meshgrid(numbers, numbers))
    wanted = f(x, y)
    # SciPy's series for k far beyond n loses digits.
    known = ~((name == "binom") & (x < 1e10) & (y == 1e10))
    got = transpile.jit(lambda *v: f(*v), compiler_options=QUICK)(x, y)
    np.testing.assert_allclose(got[known], wanted[known], rtol=1e-9, atol=1e-290)


def test_combinations_that_the_dtype_holds_are_whole():
    n, k = np.arange(54)[:, None], np.arange(54)
    wanted = [[math.comb(i, j) for j in range(54)] for i in range(54)]
    np.testing.assert_array_equal(transpile.jit(lambda *v: scipy_special.comb(*v))(n, k), wanted)


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("fdtr", [(1e10, 2, 0.5), (2, 1e10, 2), (1, 1e10, 3.7), (0, 1, 1), (3, 4, -1), (3, 4, 2)]),
        ("fdtrc", [(1e10, 2, 0.5), (2, 1e10, 2), (3, 0, 1), (3, 4, 2)]),
        ("betaincc", [(1, 1e10, 1e-10), (3.7, 1e10, 1e-10), (2, 3, 0.3), (2, 3, 1)]),
        ("bdtr", [(0, 0.5, 0.9), (1, 4.7, 0.3), (2, 5, 0.1), (0, -0.5, 0.1)]),
        ("bdtrc", [(0, 0.5, 0.9), (1, 4.7, 0.3), (2, 5, 0.1), (0, -0.5, 0.1)]),
        ("bdtri", [(0, 3.7, 0.5), (1, 3.7, 0.5), (0, 0.5, 0.5)]),
        ("gdtr", [(-0.5, 2, -1), (0.5, 2, 3)]),
        ("expn", [(20.5, 0), (1.5, 0.3), (0.5, 0), (0, 2)]),
        ("chdtri", [(3, 1e-300), (10, 1e-300), (4, 0.3)]),
        ("gammaincc", [(INF, INF), (2, INF), (2, 1)]),
        ("erfcx", [(x,) for x in (-26.5, -26.62, -26.63, -26.65, -26.8, -27, -28)]),
        ("digamma", [(0,), (-0.0,), (-1,), (0.5,)]),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
def test_tails_are_scipys_at_their_ends(name, rows):
    f = getattr(scipy_special, name)
    operands = np.array(rows, float).T
    got = transpile.jit(lambda *v: f(*v), compiler_options=QUICK)(*operands)
    np.testing.assert_allclose(got, f(*operands), rtol=2e-9)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_hyp2f1_ends_before_a_pole_as_scipys():
    values = np.array([0.0, -1, -2, 0.5, -0.5, 2])
    a, b, c, x = (v.ravel() for v in np.meshgrid(values, values, values, [-0.5, 0.5, 0.9]))
    wanted = scipy_special.hyp2f1(a, b, c, x)
    got = transpile.jit(lambda *v: scipy_special.hyp2f1(*v), compiler_options=QUICK)(a, b, c, x)
    known = ~np.isnan(wanted)
    np.testing.assert_allclose(got[known], wanted[known], rtol=1e-9, atol=1e-15)
