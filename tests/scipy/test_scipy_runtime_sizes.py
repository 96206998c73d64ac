"""Functions of SciPy's over axes of runtime sizes: each is compared with SciPy's at several sizes,
or stands among those that are refused."""

import importlib.util
import itertools
import operator
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from scipy import (
    fft,
    integrate,
    interpolate,
    linalg,
    ndimage,
    optimize,
    signal,
    spatial,
    special,
    stats,
)
from scipy.cluster import vq
from scipy_of_runtime_sizes import REFUSED, USES
from thorough import one_in

import transpile
from transpile import ShapeDtypeStruct, errors
from transpile.scipy.calls.families import FAMILIES
from transpile.scipy.spatial.transform import Rotation

PLACES = np.linspace(0, 3, 8)
SINES = np.sin(PLACES)
NAMES = {
    "np": np,
    "distance": spatial.distance,
    "fft": fft,
    "integrate": integrate,
    "interpolate": interpolate,
    "linalg": linalg,
    "ndimage": ndimage,
    "optimize": optimize,
    "signal": signal,
    "sparse": scipy.sparse.linalg,
    "special": special,
    "stats": stats,
    "vq": vq,
    "SPARSE": scipy.sparse.csc_array(np.eye(3) + 0.3 * np.tri(3)),
    "tck": interpolate.splrep(PLACES, SINES),
    "Akima1DInterpolator": interpolate.Akima1DInterpolator(PLACES, SINES),
    "BSpline": interpolate.make_interp_spline(PLACES, SINES),
    "CubicHermiteSpline": interpolate.CubicHermiteSpline(PLACES, SINES, np.cos(PLACES)),
    "CubicSpline": interpolate.CubicSpline(PLACES, SINES),
    "InterpolatedUnivariateSpline": interpolate.InterpolatedUnivariateSpline(PLACES, SINES),
    "LSQUnivariateSpline": interpolate.LSQUnivariateSpline(PLACES, SINES, [1.5]),
    "PPoly": interpolate.PPoly(np.ones((3, 2)), [0, 1, 3.0]),
    "PchipInterpolator": interpolate.PchipInterpolator(PLACES, SINES),
    "RegularGridInterpolator": interpolate.RegularGridInterpolator(
        (PLACES, PLACES), np.outer(SINES, SINES)
    ),
    "Slerp": spatial.transform.Slerp(
        PLACES[::3], spatial.transform.Rotation.from_rotvec(np.outer(SINES[::3], [1.0, 2.0, 0.5]))
    ),
    "UnivariateSpline": interpolate.UnivariateSpline(PLACES, SINES, s=0.01),
    "interp1d": interpolate.interp1d(PLACES, SINES),
}
PLAIN = NAMES | {"Rotation": spatial.transform.Rotation}
OURS = NAMES | {"Rotation": Rotation}
# Sizes beside the least one.
SIZES = [(5, 3), (40, 41)]
# Shapes of distributions in the columns of which each is valid.
SHAPES = {
    "betabinom": "9, 1 + w, 2 - w",
    "hypergeom": "20, 7, 12",
    "nbinom": "2.5, w",
    "binom": "9, w",
    "geom": "w",
    "logser": "w",
    "bernoulli": "w",
    "randint": "-2, 2 + i",
    "loguniform": "w, w + 4",
    "reciprocal": "w, w + 4",
    "triang": "w",
    "zipf": "w + 1.2",
    "johnsonsu": "-v, 1 + w",
}


def elementwise():
    """Uses of the ufuncs of `scipy.special`, and of the densities of distributions."""
    for name in support().supported(special, "special"):
        ufunc = getattr(special, name)
        if isinstance(ufunc, np.ufunc):
            places = ["w", "w + 0.5", "w / 2", "w / 3"][: ufunc.nin]
            if ufunc.nin > 2 or name in ("expn", "bdtr", "pdtr", "pdtri", "hyp2f1"):
                places = [*("1.0 + i", "2.0 + i", "3.0 + i")[: ufunc.nin - 1], "w / 4"]
            yield f"special.{name}({', '.join(places)})"
    for name, family in FAMILIES.items():
        count = len(family._parameters) - (1 if family.is_discrete else 2)
        shapes = SHAPES.get(name, ", ".join(["w + 1"] * count))
        method, value = ("pmf", "i") if family.is_discrete else ("pdf", "v")
        yield f"stats.{name}.{method}({', '.join(filter(None, (value, shapes)))})"


def support():
    path = Path(__file__).parents[2] / "docs" / "scipy_support.py"
    spec = importlib.util.spec_from_file_location("scipy_support", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def uses():
    for least, text in USES.items():
        for line in text.strip().splitlines():
            yield least, line.strip()
    for line in elementwise():
        yield 1, line


def groups(size):
    """Uses of one least size, that many to a program."""
    for least, listed in itertools.groupby(uses(), operator.itemgetter(0)):
        texts = [text for _, text in listed]
        for k in range(0, len(texts), size):
            yield least, texts[k : k + size]


def first(value):
    """The name of a case by its least size, and the first of its uses."""
    return value[0] if isinstance(value, list) else str(value)


def function(texts, names):
    body = ", ".join(f"leaves({text})" for text in texts)
    text = f"lambda x, v, w, a, s, u, i: (lambda n: ({body},))(len(v))"
    return eval(text, names | {"leaves": leaves})


def leaves(result):
    """The arrays of a result, of which some are tuples, and SciPy's some objects."""
    if isinstance(result, tuple | list):
        return [leaf for part in result for leaf in leaves(part)]
    for names in ("slope", "intercept", "rvalue", "pvalue", "stderr"), ("statistic", "pvalue"):
        if all(hasattr(result, name) for name in names):
            return [getattr(result, name) for name in names]
    return [result]


def types(least):
    n, m = transpile.dims("n, m", f"n >= {least}")
    shapes = ((n, 4), (n,), (n,), (n, n), (n, n), (m,))
    return [*(ShapeDtypeStruct(s, np.float64) for s in shapes), ShapeDtypeStruct((n,), np.int64)]


def arguments(n, m):
    rng = np.random.default_rng(n)
    x, v, w, a = (rng.normal(size=s) for s in ((n, 4), n, n, (n, n)))
    w = 0.1 + 0.8 * rng.random(n)
    return x, v, w, a, a @ a.T / n + np.eye(n), rng.normal(size=m), rng.integers(0, 3, n)


@pytest.mark.filterwarnings("ignore")  # SciPy's, of few elements
@pytest.mark.parametrize(("least", "texts"), list(groups(12)), ids=first)
@one_in(24)
def test_functions_give_what_scipy_gives(least, texts):
    program = transpile.jit(function(texts, OURS)).lower(*types(least)).compile()
    for n, m in ((least, 2), *SIZES):
        args = arguments(n, m)
        with np.errstate(all="ignore"):
            wanted = function(texts, PLAIN)(*args)
        for text, got, want in zip(texts, program(*args), wanted, strict=True):
            for one, other in zip(got, want, strict=True):
                case = f"{text}, n = {n}"
                assert np.shape(one) == np.shape(other), case
                size = np.max(np.abs(other), initial=0, where=np.isfinite(other))
                np.testing.assert_allclose(one, other, 1e-6, 1e-8 * (1 + size), err_msg=case)


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused_says_why(text):
    expected = (errors.UndecidedSizeError, errors.UnsupportedError)
    with pytest.raises(expected, match=REFUSED[text]):
        transpile.jit(function([text], OURS)).lower(*types(1))


def test_each_function_is_used_or_refused():
    """Those of the tables of docs/scipy.md, but for classes that only hold results."""
    text = " ".join([*(use for _, use in uses()), *REFUSED])
    used = set(re.findall(r"\w+", text)) | {"RootResults"}
    names = {name for _, listed in support().title_and_names() for name in listed}
    assert names <= used, sorted(names - used)


@pytest.mark.filterwarnings("ignore")
def test_signals_longer_and_shorter_than_their_segments_and_edges():
    """One program for both sides of 256 samples, by which SciPy's segments are cut."""

    def spectra(v):
        parts = signal.welch(v), signal.stft(v), signal.spectrogram(v), signal.csd(v, v[::-1])
        return [leaf for part in parts for leaf in part]

    program = transpile.jit(spectra).lower(ShapeDtypeStruct(("n",), np.float64)).compile()
    for n in (1, 2, 255, 256, 257, 700):
        v = np.random.default_rng(n).normal(size=n)
        for got, want in zip(program(v), spectra(v), strict=True):
            assert got.shape == want.shape, n
            np.testing.assert_allclose(got, want, 1e-9, 1e-12, err_msg=str(n))


def test_a_matrix_of_as_many_distances_as_are_declared():
    rows = ShapeDtypeStruct(("n",), np.float64), ShapeDtypeStruct(("n*(n - 1)//2",), np.float64)
    product = transpile.jit(lambda v, d: spatial.distance.squareform(d) @ v)
    program = product.lower(*rows).compile()
    for n in (2, 5, 30):
        distances = np.random.default_rng(n).random(n * (n - 1) // 2)
        whole = spatial.distance.squareform(distances)
        np.testing.assert_allclose(
            program(np.arange(1.0, n + 1), distances), whole @ range(1, n + 1)
        )


def test_scipys_own_branches_are_decided_by_the_size():
    """Simpson's rule asks for the parity of the number of points, and of nothing's form."""

    def integral(v):
        return integrate.simpson(v)

    (n,) = transpile.dims("n", "n >= 3")
    program = transpile.jit(integral).lower(ShapeDtypeStruct((n,), np.float64)).compile()
    for size in (3, 4, 6, 7):
        v = np.random.default_rng(size).random(size)
        np.testing.assert_allclose(program(v), integrate.simpson(v), 1e-12)
