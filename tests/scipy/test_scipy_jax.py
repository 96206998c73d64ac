"""Values and derivatives are those of the installed JAX, where there is one with 64-bit types."""

import numpy as np
import pytest

import transpile
from transpile import image, random, scipy

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)
import jax.image  # noqa: E402
import jax.scipy  # noqa: E402
import jax.scipy.cluster  # noqa: E402
import jax.scipy.integrate  # noqa: E402
import jax.scipy.interpolate  # noqa: E402
import jax.scipy.optimize  # noqa: E402
import jax.scipy.sparse.linalg  # noqa: E402
import jax.scipy.spatial.transform  # noqa: E402

DRAW = np.random.default_rng(7)
X = np.array([0.2, 0.7, 1.9])
DATA = DRAW.normal(size=(2, 9))
WEIGHTS = DRAW.uniform(size=9)
POINTS = DRAW.normal(size=(2, 4))
TIES = np.array([[3.0, 1, 2, 1], [2, 2, 5, 0]])

# Functions of one array, with the array: `scipy` is ours or JAX's.
STATS = {
    "scipy.stats.gumbel_l.%s(x, 0.5, 2.0)": "logpdf pdf logcdf cdf sf logsf",
    "scipy.stats.gumbel_r.%s(x, 0.5, 2.0)": "logpdf pdf logcdf cdf sf logsf",
    "scipy.stats.pareto.%s(x, 2.5, -3.0, 2.0)": "logpdf pdf logcdf cdf sf logsf",
    "scipy.stats.gennorm.%s(x, x + 0.5)": "logpdf pdf cdf",
    "scipy.stats.truncnorm.%s(x, -1.0, 2.0, 0.3, 1.5)": "logpdf pdf logcdf cdf sf logsf",
    "scipy.stats.truncnorm.%s(2.0, x, x + 2)": "logpdf logcdf logsf",
    "scipy.stats.vonmises.%s(x, 2 * x)": "logpdf pdf",
    "scipy.stats.wrapcauchy.%s(x, x / 2)": "logpdf pdf",
    "scipy.stats.betabinom.%s(np.arange(3), 5, x, 2 * x)": "logpmf pmf",
    "scipy.stats.nbinom.%s(np.arange(3), 5 * x, x / 2)": "logpmf pmf",
    "scipy.stats.nbinom.%s(3 * x, 5, 0.3)": "logpmf",
    "scipy.stats.multinomial.%s(np.array([1, 0, 2]), 3, x)": "logpmf pmf",
}
CASES = [(text % name, X) for text, names in STATS.items() for name in names.split()]
CASES += [
    ("scipy.stats.gaussian_kde(x, 'silverman', WEIGHTS)(POINTS)", DATA),
    ("scipy.stats.gaussian_kde(x, 0.5).logpdf(POINTS)", DATA),
    ("scipy.stats.gaussian_kde(x).integrate_gaussian(np.ones(2), np.eye(2))", DATA),
    ("scipy.stats.gaussian_kde(x[0]).integrate_box_1d(-1, 0.5)", DATA),
    ("scipy.stats.gaussian_kde(x).resample(key, (3,))", DATA),
    ("scipy.stats.mode(x, axis=1).mode", TIES),
    ("scipy.stats.mode(x, axis=None, keepdims=True).count", TIES),
    ("scipy.stats.sem(x, axis=1, ddof=0)", DATA),
    ("scipy.stats.sem(x, None, nan_policy='omit')", DATA),
]
CASES += [
    (f"scipy.stats.rankdata(x, {method!r}, axis=1)", TIES)
    for method in ("average", "min", "max", "dense", "ordinal")
]
GRID = (np.array([0.0, 0.7, 1.0, 2.5]), np.array([-1.0, 0.0, 3.0]))
CASES += [
    (f"scipy.fft.{name}(x, norm={norm!r}, n=5)", DATA)
    for name in ("dct", "idct")
    for norm in (None, "backward", "ortho")
]
CASES += [("scipy.fft.dctn(x, norm='ortho')", DATA), ("scipy.fft.idctn(x, s=(3, 8))", DATA)]
CASES += [
    (f"scipy.ndimage.map_coordinates(x, [3 * POINTS, 4 * POINTS], {order}, {mode!r}, 2.0)", DATA)
    for order in (0, 1)
    for mode in ("constant", "nearest", "wrap", "mirror", "reflect")
]
CASES += [
    ("scipy.ndimage.map_coordinates(TIES, [x[0], x[1]], 1, 'reflect')", DATA),
    ("scipy.interpolate.RegularGridInterpolator(GRID, x.reshape(4, 3))(POINTS.T)", np.ones(12)),
    (
        "scipy.interpolate.RegularGridInterpolator(GRID, x, 'nearest', fill_value=None)(POINTS.T)",
        DRAW.normal(size=(4, 3, 2)),
    ),
    ("scipy.integrate.trapezoid(x, dx=0.5, axis=0)", DATA),
    ("scipy.integrate.trapezoid(DATA, x)", DATA),
    ("scipy.cluster.vq.vq(x, POINTS.T)[0]", DATA.T),
    ("scipy.cluster.vq.vq(x, POINTS.T)[1]", DATA.T),
    ("image.scale_and_translate(DATA, (4, 5), (0, 1), x[:2], x[1:], 'cubic')", X),
    ("image.scale_and_translate(x, (4, 5), (1,), X[:1], X[1:2], 'area', False)", DATA),
]
CASES += [
    (f"image.resize(x, {shape}, {method!r}, {antialias})", DATA)
    for shape in ((3, 4), (5, 20))
    for method in ("nearest", "linear", "cubic", "lanczos3", "lanczos5", "area", "cubic-pytorch")
    for antialias in (False, True)
]
VECTORS = DRAW.normal(size=(4, 3))
QUATERNIONS = DRAW.normal(size=(4, 4))
SQUARE = DRAW.normal(size=(3, 3)) / 3 + 2 * np.eye(3)
CASES += [
    ("scipy.sparse.linalg.cg(SQUARE @ SQUARE.T, x, tol=1e-13)[0]", X),
    ("scipy.sparse.linalg.cg(SQUARE @ SQUARE.T, x, maxiter=1)[0]", X),
    ("scipy.sparse.linalg.bicgstab(x, X, tol=1e-13)[0]", SQUARE),
    ("scipy.sparse.linalg.bicgstab(SQUARE, x, maxiter=1)[0]", X),
    ("scipy.sparse.linalg.gmres(x, X, tol=1e-13)[0]", SQUARE),
    ("scipy.sparse.linalg.gmres(SQUARE, x, restart=2, maxiter=1)[0]", X),
    ("scipy.sparse.linalg.gmres(SQUARE, x, tol=1e-13, solve_method='incremental')[0]", X),
]
ROTATION = "scipy.spatial.transform.Rotation"
CASES += [
    (f"{ROTATION}.from_rotvec(x).as_quat()", VECTORS),
    (f"{ROTATION}.from_mrp(x).as_matrix()", VECTORS),
    (f"{ROTATION}.from_quat(x).as_rotvec(degrees=True)", QUATERNIONS),
    (f"{ROTATION}.from_quat(x).as_mrp()", QUATERNIONS),
    (f"{ROTATION}.from_quat(x).as_quat(True, True)", QUATERNIONS),
    (f"{ROTATION}.from_quat(x).as_euler('zyx', True)", QUATERNIONS),
    (f"{ROTATION}.from_quat(x).as_euler('XYX')", QUATERNIONS),
    (f"{ROTATION}.from_euler('XZY', x, degrees=True).as_matrix()", VECTORS),
    (f"{ROTATION}.from_quat(x).magnitude()", QUATERNIONS),
    (f"{ROTATION}.from_quat(x).mean().as_matrix()", QUATERNIONS),
    (f"({ROTATION}.from_quat(x) * {ROTATION}.from_quat(x[::-1])).inv().as_matrix()", QUATERNIONS),
    (f"{ROTATION}.from_quat(QUATERNIONS).apply(x, inverse=True)", VECTORS),
    (
        "scipy.spatial.transform.Slerp.init(np.arange(4.0), "
        f"{ROTATION}.from_quat(x))(np.array([0.5, 1.0, 2.7])).as_matrix()",
        QUATERNIONS,
    ),
]
SIGNAL = DRAW.normal(size=(2, 24))
CASES += [
    (f"scipy.signal.{name}(x, POINTS[:, :3], {mode!r})", DATA)
    for name in ("convolve", "correlate", "convolve2d", "correlate2d", "fftconvolve")
    for mode in ("full", "same", "valid")
]
CASES += [
    ("scipy.signal.correlate2d(POINTS[:, :3], x, 'valid')", DATA),
    ("scipy.signal.convolve(x, POINTS, method='fft')", DATA),
    ("scipy.signal.detrend(x, bp=10)", SIGNAL),
    ("scipy.signal.detrend(x, axis=0, type='constant')", SIGNAL),
    ("scipy.signal.csd(x, x[::-1] ** 2, 2.0, nperseg=8)[1]", SIGNAL),
    ("scipy.signal.welch(x, nperseg=7, nfft=9, noverlap=3, average='median')[1]", SIGNAL),
    ("scipy.signal.welch(x)[0]", SIGNAL),
    ("scipy.signal.stft(x, nperseg=8)[2]", SIGNAL),
    ("scipy.signal.stft(x, nperseg=8, boundary='odd', padded=False)[1]", SIGNAL),
    ("scipy.signal.istft(x[None, :, :].repeat(5, 0) * (1 + 2j), freq_axis=0)[1]", SIGNAL),
]


def function_of(text, ours):
    names = dict(globals())
    if ours:
        names |= {"scipy": scipy, "image": image, "key": random.key(3)}
    else:
        names |= {"scipy": jax.scipy, "image": jax.image, "key": jax.random.key(3)}
    return lambda x: eval(text, names, {"x": x})


def close(found, want):
    want = np.asarray(want)
    scale = np.max(np.abs(want), initial=1e-30, where=np.isfinite(want))
    np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-11 * scale)


@pytest.mark.parametrize(("text", "x"), CASES, ids=[text for text, _ in CASES])
def test_values_and_derivatives_are_those_of_jax(text, x):
    ours, theirs = function_of(text, True), function_of(text, False)
    want = theirs(jax.numpy.asarray(x))
    found = ours(x)
    close(found, want)
    assert found.dtype == want.dtype and np.shape(found) == want.shape
    if found.dtype.kind in "fc":
        weights = np.cos(np.arange(found.size)).reshape(found.shape)
        slope = jax.grad(lambda x: jax.numpy.sum(theirs(x) * weights).real)(jax.numpy.asarray(x))
        close(transpile.grad(lambda x: np.sum(ours(x) * weights).real)(x), slope)


@pytest.mark.parametrize("method", ["BFGS", "l-bfgs-experimental-do-not-rely-on-this"])
def test_minima_are_those_of_jax(method):
    def loss(x):
        return ((x - X) ** 4 + (x - X) ** 2).sum() + (x[0] * x[1] * x[2]) ** 2

    found = scipy.optimize.minimize(loss, np.zeros(3), method=method)
    want = jax.scipy.optimize.minimize(loss, jax.numpy.zeros(3), method=method)
    assert found._fields == want._fields and bool(found.success) == bool(want.success)
    np.testing.assert_allclose(found.x, want.x, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.fun, want.fun, rtol=1e-7)
    assert (found.nit, found.status) == (want.nit, want.status)
