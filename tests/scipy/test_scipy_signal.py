"""Convolutions, trends and spectra of signals, against SciPy."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as drawn_with
from hypothesis import strategies as st

import transpile
from transpile.scipy import signal
from transpile.test_util import check_grads

reference = pytest.importorskip("scipy.signal")
DRAW = np.random.default_rng(0)
MODES = ["full", "same", "valid"]


@drawn_with(max_examples=50)
@given(
    st.integers(1, 3),
    st.sampled_from(["f8", "f4", "c16", "i4"]),
    st.integers(0, 2**32 - 1),
    st.booleans(),
    st.sampled_from(MODES),
)
def test_convolutions_of_drawn_arrays_are_those_of_scipy(ndim, dtype, seed, swap, mode):
    draw = np.random.default_rng(seed)
    small = draw.integers(1, 5, ndim)
    x = (draw.normal(size=small + draw.integers(0, 4, ndim)) * 4).astype(dtype)
    y = (draw.normal(size=small) * 4).astype(dtype)
    if dtype == "c16":
        x, y = x + 1j * x[::-1], y * (1 - 2j)
    x, y = (y, x) if swap else (x, y)
    tolerance = 2e-4 if dtype == "f4" else 1e-11
    names = ["convolve", "correlate", "fftconvolve"]
    for name in names + (["convolve2d", "correlate2d"] if ndim == 2 else []):
        given_x, given_y = x, y
        if name == "fftconvolve" and dtype == "i4":
            given_x, given_y = x.astype("f8"), y.astype("f8")
        want = getattr(reference, name)(given_x, given_y, mode)
        found = getattr(signal, name)(x, y, mode)
        np.testing.assert_allclose(found, want, tolerance, tolerance, err_msg=name)
        assert found.dtype == (np.float64 if dtype == "i4" else dtype)
    by_transforms = signal.convolve(x, y, mode, "fft")
    np.testing.assert_allclose(by_transforms, signal.convolve(x, y, mode), tolerance, tolerance)


def test_convolutions_along_some_axes():
    x, y = DRAW.normal(size=(3, 8, 2)), DRAW.normal(size=(3, 3, 1))
    for mode in MODES:
        want = reference.fftconvolve(x, y, mode, axes=1)
        np.testing.assert_allclose(signal.fftconvolve(x, y, mode, axes=[1]), want, atol=1e-13)
    assert signal.fftconvolve(np.ones(0), np.ones(2)).shape == (0,)


def test_convolutions_in_programs_and_their_derivatives():
    x, y = DRAW.normal(size=(6, 5)), DRAW.normal(size=(3, 2))

    def every(x, y):
        return [
            function(x, y, mode)
            for function in (signal.convolve, signal.correlate, signal.fftconvolve)
            for mode in MODES
        ]

    for found, want in zip(transpile.jit(every)(x, y), every(x, y), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-11, atol=1e-12)
    check_grads(lambda x, y: signal.correlate2d(x, y, "same"), (x, y), order=1, rtol=1e-5)
    rows = transpile.vmap(lambda row: signal.convolve(row, y[0], "same"))(x)
    np.testing.assert_allclose(rows[2], np.convolve(x[2], y[0], "same"), rtol=1e-12)


def test_refused_convolutions():
    x = np.ones((2, 3))
    for name in ("convolve", "correlate", "fftconvolve"):
        function = getattr(signal, name)
        with pytest.raises(ValueError, match="mode must be one of"):
            function(x, x, "x")
        with pytest.raises(ValueError, match=r"same (number of dimensions|dimensionality)"):
            function(x, x[0])
    with pytest.raises(ValueError, match="Got method='x'"):
        signal.convolve(x, x, method="x")
    with pytest.raises(ValueError, match="zero-size arrays"):
        signal.convolve(x[:0], x)
    with pytest.raises(ValueError, match="at least as large"):
        signal.fftconvolve(x, x.T, "valid")
    with pytest.raises(ValueError, match="smaller than the other in every dimension"):
        signal.convolve(x, x.T, "valid")
    with pytest.raises(ValueError, match="mapped axes must have same shape"):
        signal.fftconvolve(x, np.ones((3, 3)), axes=1)
    with pytest.raises(NotImplementedError, match="boundary='fill'"):
        signal.convolve2d(x, x, boundary="wrap")
    with pytest.raises(ValueError, match="2-dimensional"):
        signal.correlate2d(x[0], x[0])


# ------------------------------------------------------------------------------------------ spectra

X = np.cumsum(DRAW.normal(size=(2, 50)), axis=-1)
Y = DRAW.normal(size=(2, 50))


def test_trends():
    for settings in ({}, {"type": "constant"}, {"axis": 0}, {"bp": [7, 20, 21]}, {"bp": 49}):
        np.testing.assert_allclose(
            signal.detrend(X, **settings), reference.detrend(X, **settings), atol=1e-12
        )
    assert signal.detrend(np.arange(6)).dtype == np.float64
    check_grads(lambda x: signal.detrend(x, bp=20), (X,), order=1, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="'linear' or 'constant'"):
        signal.detrend(X, type="x")
    with pytest.raises(ValueError, match="Breakpoints must be non-negative"):
        signal.detrend(X, bp=51)
    with pytest.raises(NotImplementedError, match="overwrite_data"):
        signal.detrend(X, overwrite_data=True)


SETTINGS = [
    {"nperseg": 16},
    {"nperseg": 15, "fs": 3.0, "noverlap": 9, "window": "hamming"},
    {"nperseg": 12, "nfft": 17, "scaling": "spectrum", "window": "blackman", "detrend": "linear"},
    {"nperseg": 12, "nfft": 16, "return_onesided": False, "detrend": False, "window": "boxcar"},
    {"window": np.arange(1.0, 11), "noverlap": 0},
    {"nperseg": 16, "average": "median", "window": "bartlett"},
    {"nperseg": 50},
]


@pytest.mark.parametrize("settings", SETTINGS)
def test_spectra_are_those_of_scipy(settings):
    for dtype, tolerance in (("f8", 1e-10), ("f4", 1e-3)):
        x, y = X.astype(dtype), Y.astype(dtype)
        for found, want in (
            (signal.welch(x, **settings), reference.welch(x, **settings)),
            (signal.csd(x, y[:, :40], **settings), reference.csd(x, y[:, :40], **settings)),
            (signal.welch(x.T, axis=0, **settings), reference.welch(x.T, axis=0, **settings)),
        ):
            scale = np.max(np.abs(want[1]))
            np.testing.assert_allclose(found[0], want[0], rtol=1e-6)
            np.testing.assert_allclose(found[1], want[1], rtol=tolerance, atol=tolerance * scale)
            assert found[1].dtype == want[1].dtype


STFT = [
    {"nperseg": 16},
    {"nperseg": 15, "noverlap": 10, "fs": 4.0, "boundary": "even"},
    {"nperseg": 12, "nfft": 20, "boundary": "odd", "detrend": "constant"},
    {"nperseg": 12, "boundary": "constant", "return_onesided": False, "window": "hamming"},
    {"nperseg": 10, "boundary": None, "padded": False, "noverlap": 5},
]


@pytest.mark.filterwarnings("ignore:NOLA condition")  # SciPy's, of windows that begin with 0
@pytest.mark.parametrize("settings", STFT)
def test_transforms_over_short_times_are_those_of_scipy(settings):
    for x, axis in ((X, -1), (X.T, 0), (X[0], 0)):
        found = signal.stft(x, axis=axis, **settings)
        want = reference.stft(x, axis=axis, **settings)
        for ours, theirs in zip(found, want, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)
    kept = ("fs", "nperseg", "noverlap", "nfft", "window")
    back = {name: settings[name] for name in kept if name in settings}
    back |= {"input_onesided": settings.get("return_onesided", True)}
    back |= {"boundary": settings["boundary"] is not None} if "boundary" in settings else {}
    if "detrend" not in settings:
        z = want[2]
        times, x = signal.istft(z, **back)
        wanted = reference.istft(z, **back)
        np.testing.assert_allclose(times, wanted[0], rtol=1e-12)
        np.testing.assert_allclose(x, wanted[1], rtol=1e-9, atol=1e-11)


def test_spectra_in_programs_and_their_derivatives():
    settings = {"nperseg": 16, "noverlap": 12}

    def there_and_back(x):
        _, density = signal.welch(x, **settings)
        _, _, z = signal.stft(x, **settings)
        return density, signal.istft(z, **settings)[1][..., : x.shape[-1]]

    density, back = transpile.jit(there_and_back)(X)
    np.testing.assert_allclose(density, reference.welch(X, **settings)[1], rtol=1e-10)
    np.testing.assert_allclose(back, X, rtol=1e-10, atol=1e-11)
    check_grads(lambda x: there_and_back(x)[0], (X[0],), order=1, rtol=1e-4, atol=1e-4)
    z = np.moveaxis(signal.stft(X, **settings)[2], (0, 1, 2), (1, 0, 2))
    times, x = signal.istft(z, freq_axis=0, time_axis=2, **settings)
    np.testing.assert_allclose(x[..., :50], X, rtol=1e-10, atol=1e-11)
    assert times.shape == x.shape[-1:]


def test_complex_signals_and_refused_spectra():
    z = X + 1j * Y
    with pytest.warns(UserWarning, match="switching to return_onesided=False"):
        found = signal.csd(z, z[::-1], nperseg=16)
    want = reference.csd(z, z[::-1], nperseg=16, return_onesided=False)
    np.testing.assert_allclose(found[1], want[1], rtol=1e-9, atol=1e-12)
    with pytest.warns(UserWarning, match="nperseg=99 is greater than input_length=50"):
        signal.welch(X, nperseg=99)
    for settings, text in (
        ({"nperseg": 0}, "nperseg must be a positive integer"),
        ({"nperseg": 8, "nfft": 7}, "nfft must be greater than or equal to nperseg"),
        ({"nperseg": 8, "noverlap": 8}, "noverlap must be less than nperseg"),
        ({"window": "x"}, "unknown window 'x'"),
        ({"window": ("kaiser", 2.0)}, "has parameters"),
        ({"window": np.ones((2, 2))}, "window must be 1-D"),
        ({"window": np.ones(60)}, "longer than input signal"),
        ({"window": np.ones(6), "nperseg": 7}, "different from length of window"),
        ({"scaling": "x"}, "Unknown scaling: x"),
        ({"average": "x"}, re.escape('average must be "median" or "mean", got x')),
        ({"detrend": 3}, "Unsupported detrend type: 3"),
    ):
        with pytest.raises(ValueError, match=text):
            signal.welch(X, **settings)
    with pytest.raises(ValueError, match="Unknown boundary option 'x'"):
        signal.stft(X, nperseg=8, boundary="x")
    with pytest.raises(ValueError, match="at least 2d"):
        signal.istft(z[0])
    with pytest.raises(ValueError, match="differing time and frequency axes"):
        signal.istft(z, time_axis=0, freq_axis=-2)
    with pytest.raises(ValueError, match="must be longer than nperseg"):
        signal.istft(z, nperseg=40, nfft=20)
