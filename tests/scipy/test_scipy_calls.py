"""SciPy's own functions in traced code, against SciPy."""

import functools

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.sparse.linalg
from hypothesis import given
from hypothesis import strategies as st
from scipy import fft, integrate, interpolate, linalg, optimize, signal, special, stats
from scipy.special import erf, logsumexp
from scipy_oracle import assert_as_scipy

from transpile import grad, jit, vmap
from transpile.errors import UnsupportedError

X = np.linspace(0.1, 2, 12)
SIGNAL = np.random.default_rng(0).random(64)
SQUARE = np.random.default_rng(1).random((4, 4)) + 4 * np.eye(4)
SYMMETRIC = SQUARE @ SQUARE.T


check = functools.partial(assert_as_scipy, rtol=1e-9, atol=1e-12)


def test_ufuncs_of_one_argument():
    names = (
        *("entr", "erf", "erfc", "erfcx", "erfinv", "exp1", "expi", "expit", "gamma", "gammaln"),
        *("i0", "i0e", "i1", "i1e", "log_ndtr", "logit", "ndtr", "ndtri", "psi", "digamma"),
        *("dawsn", "spence"),
    )
    check(lambda x: [getattr(special, n)(x) for n in names], X / 3)


def test_ufuncs_of_more_arguments():
    def several(x, k):
        return [
            special.beta(x, 2.0),
            special.betaln(2, x),
            special.betainc(2.0, 3.0, x / 3),
            special.gammainc(k, x),
            special.gammaincc(x, k),
            special.hyp2f1(1.0, 2.0, 3.0, x / 4),
            special.kl_div(x, k + 1),
            special.rel_entr(x, 2.0),
            special.xlogy(k, x),
            special.xlog1py(x, [0.5] * 12),
            special.poch(x, 2),
            special.zeta(x + 2, k + 1),
            special.boxcox(x, 0.5),
        ]

    check(several, X, np.arange(12))


POINTS = np.array([-np.inf, -750.0, -90.0, -1.5, -1e-9, 0.0, 1e-300, 0.3, 1.0, 90.0, 700.0, np.inf])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_exponentials_losses_and_angles():
    def several(x, y):
        return [
            *(getattr(special, n)(x) for n in ("cbrt", "exp2", "exp10", "expm1", "cosm1")),
            *(getattr(special, n)(x) for n in ("exprel", "log_expit")),
            *(getattr(special, n)(y) for n in ("sindg", "cosdg", "log1p", "rgamma")),
            special.tandg(y[1:]),
            special.huber(1.0, x),
            special.huber([0.0, -1.0], y[:2]),
            special.pseudo_huber(2.0, y),
            special.inv_boxcox(y / 1000, 0.5),
            special.inv_boxcox1p(y / 1000, [0.0] * 13),
            special.radian(y, 30, y),
            special.erfcinv(x[6:9] / 2),
        ]

    check(several, POINTS, np.arange(-90.0, 300, 30.0))


def test_distribution_functions():
    def several(x, k):
        return [
            special.bdtr(k, 7, x),
            special.bdtrc(k, 7, x),
            special.pdtr(k, 2.5),
            special.pdtrc(k, 2.5),
            special.gdtr(2.0, 3.0, x),
            special.gdtrc(2.0, 3.0, x),
            special.chdtr(3, x),
            special.chdtrc(3, x),
            special.fdtr(3, 4, x),
            special.fdtrc(3, 4, x),
            special.stdtr(3, x - 0.5),
            special.betaincc(2.0, 3.0, x),
            special.binom(x * 9, 2.0),
            special.binom(9, k),
            stats.t.cdf(x, 5),
            stats.t.sf(x - 0.5, 5, loc=1),
            stats.binom.cdf(k, 7, 0.3),
            stats.binom(7, 0.3).sf(k - 1.5),
        ]

    check(several, np.linspace(0.05, 0.95, 9), np.arange(9.0))


def test_ufuncs_of_single_precision_and_of_integers():
    check(lambda x, k: [special.expit(x), special.gammaln(k), special.erf(k > 3)], *INPUTS)


INPUTS = (X.astype("f4"), np.arange(1, 6))


def test_functions_of_special():
    def several(x, n):
        return [
            logsumexp(x),
            logsumexp(x.reshape(3, 4), axis=1, keepdims=True),
            special.softmax(x),
            special.log_softmax(x.reshape(3, 4), axis=0),
            special.comb(n + 5, 2),
            special.factorial(n),
            special.polygamma(1, x),
            special.multigammaln(x + 2, 2),
            special.comb(5, 2, exact=True) * x,
        ]

    check(several, X, np.arange(5))


def test_names_bound_before_and_helpers():
    def helper(v):
        return erf(v) if v > 0.5 else special.erfc(v)

    check(lambda x: [np.array([helper(v) for v in x]), erf([x[0], 0.5])], X)


def test_linear_algebra():
    def several(a, b):
        return [
            linalg.solve(a, b),
            linalg.solve(a, b, assume_a="pos", check_finite=False),
            linalg.inv(a, overwrite_a=True),
            linalg.det(a),
            linalg.norm(a),
            linalg.cholesky(a, lower=True),
            linalg.cho_solve(linalg.cho_factor(a), b),
            linalg.lu_solve(linalg.lu_factor(a), b),
            linalg.lu(a)[2],
            abs(linalg.qr(a, mode="economic")[1]),
            linalg.eigvalsh(a),
            linalg.eigh(a, np.eye(4) * 2, eigvals_only=True),
            linalg.svd(a, compute_uv=False),
            linalg.solve_triangular(a, b, lower=True),
            linalg.expm(a / 20),
            np.real(linalg.sqrtm(a)),  # of a real matrix SciPy returns real numbers where it can
            linalg.block_diag(a, [[1.0, 2.0]]),
            linalg.toeplitz(b),
            linalg.solve_sylvester(a, a.T, a),
            scipy.sparse.linalg.cg(a, b, rtol=1e-13)[0],
        ]

    check(several, SYMMETRIC, SYMMETRIC[0])


BANDS = np.random.default_rng(5).random((4, 9)) - 0.5
POSITIVE = np.concatenate([np.full((1, 9), 4.0), BANDS[:2]])


def test_banded_systems_eigenvalues_and_least_squares():
    def several(bands, positive, rhs, a):
        values, vectors = linalg.eig(a)
        return [
            linalg.solve_banded((2, 1), bands, rhs),
            linalg.solve_banded((0, 3), bands, rhs[:, 0]),
            linalg.solve_banded((1, 1), bands[:3], rhs),
            linalg.solveh_banded(positive, rhs, lower=True),
            linalg.solveh_banded(positive[::-1] * UPPER, rhs),
            np.sort_complex(linalg.eigvals(a)),
            np.sort_complex(values),
            abs(a @ vectors - values * vectors) < 1e-12,
            *linalg.lstsq(a[:, :2], a[0]),
            *linalg.lstsq(a[:2], a[:2, :3])[:2],
        ]

    check(several, BANDS + np.array([[0], [3.0], [0], [0]]), POSITIVE, BANDS.T, SQUARE - 3)


UPPER = np.array([1.0, 1.0, 1.0])[:, None]


def test_transforms():
    def several(x, a):
        return [
            fft.fft(x),
            fft.rfft(x, n=16, norm="ortho"),
            fft.irfft(fft.rfft(x), workers=2),
            fft.ifft(fft.fft(x, fft.next_fast_len(67))),
            fft.fft2(a),
            fft.fftn(a, axes=(0,)),
            fft.fftshift(fft.fftfreq(64) * x),
            fft.dct(x),
            fft.idct(x, norm="ortho"),
            fft.dctn(a, s=[4, 4], axes=[0, 1]),
            signal.hilbert(x),
        ]

    check(several, SIGNAL, SQUARE)


def test_signals():
    def several(x, a):
        return [
            signal.convolve(x, [1.0, 2.0, 1.0], mode="same"),
            signal.fftconvolve(x, x[:5]),
            signal.oaconvolve(x, x[:5]),
            signal.correlate(x, x[:5]),
            signal.convolve2d(a, np.ones((3, 3)), mode="same", boundary="fill"),
            signal.detrend(x),
            *signal.welch(x, nperseg=16),
            signal.stft(x, nperseg=16)[2],
            signal.csd(x, x**2, nperseg=16)[1],
            signal.windows.hann(64) * x,
            integrate.trapezoid(x, dx=0.1),
            integrate.simpson(x),
            integrate.cumulative_trapezoid(x, initial=0),
        ]

    check(several, SIGNAL, SQUARE)


def test_distributions():
    def several(x, k):
        return [
            stats.norm.pdf(x),
            stats.norm.logcdf(x, 1.0, scale=2.0),
            stats.norm(1.0, 2.0).cdf(x),
            stats.norm(loc=x.mean(), scale=x.std()).logpdf(x),
            stats.gamma.sf(x, 2.0),
            stats.beta.cdf(x / 3, 2, 3),
            stats.t(5, loc=1).pdf(x),
            stats.expon.ppf(x / 3),
            stats.poisson.pmf(k, 2.5),
            stats.multivariate_normal.logpdf(x, np.zeros(12), np.eye(12)),
            stats.multivariate_normal(np.zeros(12), np.eye(12)).pdf(x),
            stats.rankdata(x),
            stats.sem(x),
            stats.gaussian_kde(X)(x),
            stats.norm.ppf(0.975) * x,
        ]

    check(several, X, np.arange(5))


def test_minima_and_codes():
    def several(x, p):
        found = optimize.minimize(lambda v: ((v - x) ** 2).sum(), x * 0)
        return [found.x.round(5), scipy.cluster.vq.vq(p, p[:2])[1]]

    check(several, X.round(3), SQUARE)


Y = np.sin(X) + X**2
CURVES = (
    interpolate.CubicSpline(X, Y),
    interpolate.CubicSpline(X, Y, bc_type="natural", extrapolate=False),
    interpolate.CubicSpline(X, np.append(Y[:-1], Y[0]), bc_type="periodic"),
    interpolate.CubicSpline(X, np.stack([Y, 2 * Y], axis=1)),
    interpolate.CubicSpline(X, np.stack([Y, 2 * Y]), axis=1),
    interpolate.PchipInterpolator(X, Y),
    interpolate.Akima1DInterpolator(X, Y),
    interpolate.CubicSpline(X, Y).derivative(),
    interpolate.make_interp_spline(X, Y, k=3),
    interpolate.make_interp_spline(X, np.stack([Y, Y**2], axis=1), k=2),
    interpolate.BSpline(*interpolate.splrep(X, Y), extrapolate=False),
    interpolate.UnivariateSpline(X, Y, s=0.1),
    interpolate.InterpolatedUnivariateSpline(X, Y, ext="const"),
    interpolate.UnivariateSpline(X, Y, s=0, ext=1),
    *(
        interpolate.interp1d(X, Y, kind=kind, fill_value="extrapolate")
        for kind in ("linear", "cubic", "nearest", "nearest-up", "previous", "next", "quadratic")
    ),
    interpolate.interp1d(X, np.stack([Y, 2 * Y]), bounds_error=False, fill_value=(-1, 5)),
    functools.partial(interpolate.splev, tck=interpolate.splrep(X, Y), der=1),
    functools.partial(interpolate.splev, tck=interpolate.splrep(X, Y), ext=3),
)
_curves = jit(lambda x: [curve(x) for curve in CURVES])


@given(
    st.lists(st.floats(-1, 3) | st.sampled_from([*X, (X[0] + X[1]) / 2]), min_size=5, max_size=5)
)
def test_curves_through_known_points(x):
    for curve, got in zip(CURVES, _curves(np.array(x)), strict=True):
        np.testing.assert_allclose(got, curve(np.array(x)), rtol=1e-8, atol=1e-8)


def test_curves_of_numbers_of_grids_and_their_derivatives():
    values = np.random.default_rng(2).random((5, 6))
    grid = interpolate.RegularGridInterpolator((np.arange(5.0), np.arange(6.0)), values)
    check(lambda p: [grid(p), CURVES[0](p[0, 0]), CURVES[0](p, 1), CURVES[3](p)], SQUARE[:, :2] / 2)
    np.testing.assert_allclose(grad(CURVES[0])(1.05), CURVES[0](1.05, 1))


def test_derivatives_and_batches():
    np.testing.assert_allclose(vmap(grad(erf))(X), 2 / np.sqrt(np.pi) * np.exp(-(X**2)))


def test_what_is_known_is_scipys():
    def known(x):
        assert type(special.comb(5, 2, exact=True)) is int
        assert stats.norm.ppf(0.975) == QUANTILE
        return x

    jit(known)(1.0)


QUANTILE = stats.norm.ppf(0.975)


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda x: stats.norm.fit(x), "scipy.stats.norm.fit is not supported for traced values"),
        (
            lambda x: linalg.eigh(np.outer(x, x), subset_by_index=[0, 1]),
            "the argument subset_by_index= of scipy's eigh is not supported for traced values",
        ),
        (lambda x: special.jv(1, x), "'jv' is a ufunc of another package than NumPy"),
    ],
)
def test_what_is_not_supported(f, text):
    with pytest.raises(UnsupportedError, match=text) as e:
        jit(f)(X)
    assert "test_scipy_calls.py" in str(e.value)


def test_arguments_that_a_function_has_not():
    with pytest.raises(TypeError, match=r"solve\(\): missing a required argument: 'b'"):
        jit(lambda a: linalg.solve(a))(SQUARE)


def test_spherical_harmonics_broadcast_their_known_degrees_and_orders():
    degrees, orders = [1, 2, 3, 4], [1, 0, -2, -5]

    def harmonics(x):
        angles = x.reshape(3, 4)
        return [
            special.sph_harm_y(2, -1, angles, 2 * angles),
            special.sph_harm_y(degrees, orders, angles, 0.3),
            special.sph_harm_y(np.arange(3)[:, None], 0, angles, angles),
            special.sph_harm_y(5, 4, x[0], x[1]),
        ]

    check(harmonics, X)
    with pytest.raises(UnsupportedError, match="degrees or orders that are traced"):
        jit(lambda n: special.sph_harm_y(n, 0, 0.1, 0.2))(2)
