"""Digital filters, other sampling rates, spectra and waves, against SciPy."""

import functools

import numpy as np
import pytest
from scipy import signal
from scipy_oracle import assert_as_scipy

from transpile import grad, jit, vmap
from transpile.errors import UnsupportedError
from transpile.scipy import signal as ours

RANDOM = np.random.default_rng(0)
SIGNAL = RANDOM.normal(size=90)
ROWS = RANDOM.normal(size=(2, 40))
MATRIX = RANDOM.normal(size=(5, 6))
NUMBERS = RANDOM.integers(-9, 9, 20)
B, A = signal.butter(3, 0.3)
SECTIONS = signal.butter(3, 0.2, output="sos")


check = functools.partial(assert_as_scipy, rtol=1e-9, atol=1e-9, single=(1e-5, 1e-5))


def test_transfer_functions():
    def several(x, rows, b, a):
        return [
            signal.lfilter(B, A, x),
            signal.lfilter(B.astype("f4"), A.astype("f4"), rows.astype("f4"), axis=0),
            signal.lfilter(b, a, x[:20] * 1j),
            *signal.lfilter(B, A, rows, zi=np.array([[1.0, 2, 3]])),
            signal.lfilter([1.0], [2.0] + [0] * 20 + [0.5], x),
            *signal.lfilter([1, 0.5, 2], 2.0, rows, axis=1, zi=rows[:, :2]),
        ]

    check(several, SIGNAL, ROWS, B, A)


def test_designs_of_traced_frequencies():
    def several(x, w):
        designs = [signal.butter(n, w, kind) for n in (1, 4) for kind in ("low", "high")]
        designs += [signal.butter(2, [w, 2 * w], kind) for kind in ("band", "bandstop")]
        designs += [signal.bessel(3, w), signal.ellip(3, 1, 40, w), signal.cheby1(4, 1, w)]
        designs += [signal.butter(2, w, analog=True), signal.zpk2tf([w, 0.3], [0.1j, -0.1j], w)]
        b, a = designs[1]
        return [*(v for d in designs for v in d), signal.filtfilt(b, a, x), signal.lfilter_zi(b, a)]

    check(several, SIGNAL, 0.3)


def test_zeros_that_are_no_pairs_and_coefficients_of_0_are_errors_of_the_call():
    with pytest.raises(ValueError, match="conjugate pairs"):
        jit(lambda z: signal.zpk2tf(z, [0.1], 2))(np.array([0.5j, 0.4j]))
    with pytest.raises(ValueError, match="coefficient of a is 0"):
        jit(lambda a: signal.lfilter_zi([1.0, 2], a))(np.array([0.0, 2]))


def test_cascades_and_both_directions():
    def several(x, rows):
        return [
            signal.sosfilt(SECTIONS, x),
            *signal.sosfilt(SECTIONS, rows, axis=0, zi=np.ones((2, 2, 40))),
            signal.filtfilt(B, A, x),
            signal.sosfiltfilt(SECTIONS, rows, padtype="even"),
            signal.decimate(x, 3),
        ]

    check(several, SIGNAL, ROWS)


def test_other_sampling_rates():
    modes = ("edge", "wrap", "symmetric", "reflect", "antisymmetric", "antireflect", "line")
    modes = (*modes, "smooth", "constant")

    def several(x, rows, n):
        return [
            signal.resample_poly(x, 2, 3),
            signal.upfirdn(np.arange(7.0), rows, 3, 2, axis=0),
            signal.upfirdn([1, 2], n, 2, 30),
            *(signal.upfirdn(np.arange(9.0), x[:4], 2, 3, mode=mode) for mode in modes),
        ]

    check(several, SIGNAL, ROWS, NUMBERS)


def test_smoothing_and_waves():
    def several(x, rows, n):
        return [
            signal.savgol_filter(x, 7, 2),
            signal.savgol_filter(rows, 6, 3, deriv=2, delta=0.5, axis=1),
            signal.savgol_filter(n, 5, 2, mode="mirror"),
            signal.savgol_filter(x.astype("f4"), 5, 3, deriv=1),
            signal.medfilt(x, 5),
            signal.medfilt(n),
            signal.square(x * 9, duty=0.3),
            signal.sawtooth(n, np.abs(x[:20])),
        ]

    check(several, SIGNAL, ROWS, NUMBERS)


LONG = RANDOM.normal(size=600)


def test_spectra_with_windows_of_scipy():
    def several(x):
        return [
            *signal.welch(x),  # 256 samples a segment
            signal.csd(x, x[::-1], window=("kaiser", 3.0), nperseg=64)[1],
            *signal.spectrogram(x, fs=2.0),
            signal.spectrogram(x[:90], nperseg=32, mode="complex")[2],
            signal.spectrogram(x[:90], nperseg=32, mode="phase")[2],
            signal.stft(x, nperseg=33, window="blackmanharris", scaling="psd")[2],
        ]

    check(several, LONG)


def test_integers_and_edges_in_convolutions():
    edges = (("fill", 2.0), ("wrap", 0), ("symm", 0))

    def several(m, n):
        return [
            signal.convolve(n, n[:4], "same"),
            signal.correlate(n, n[:3]),
            signal.convolve2d(m, m[:2, :3], "full", "wrap"),
            *(signal.convolve2d(m, m[:2, :3], "same", *edge) for edge in edges),
            *(signal.correlate2d(m, m[:2, :3], "same", *edge) for edge in edges),
        ]

    check(several, MATRIX, NUMBERS)


def test_derivatives_and_batches():
    # The transpose of a filter is the filter in the other direction.
    slope = grad(lambda x: signal.lfilter(B, A, x) @ SIGNAL)(SIGNAL)
    np.testing.assert_allclose(slope, signal.lfilter(B, A, SIGNAL[::-1])[::-1], rtol=1e-9)
    batch = vmap(lambda x: signal.sosfilt(SECTIONS, x))(ROWS)
    np.testing.assert_allclose(batch, signal.sosfilt(SECTIONS, ROWS), rtol=1e-9)
    tuned = grad(lambda a: (signal.lfilter([1.0], [1.0, a], SIGNAL) ** 2).sum())(0.5)
    near = [(signal.lfilter([1.0], [1.0, 0.5 + h], SIGNAL) ** 2).sum() for h in (1e-6, -1e-6)]
    assert tuned == pytest.approx((near[0] - near[1]) / 2e-6, rel=1e-6)
    assert np.isfinite(grad(lambda t: ours.sawtooth(t, 1.0))(2.0))


@pytest.mark.parametrize(
    ("f", "error", "text"),
    [
        (lambda x: signal.lfilter(B, A, x, zi=x), ValueError, "Unexpected shape for parameter zi"),
        (lambda x: signal.lfilter([[1.0]], A, x), ValueError, "b is not a non-empty 1d array"),
        (
            lambda x: signal.lfilter([1], [2], x > 0),
            NotImplementedError,
            "'int64' is not supported",
        ),
        (lambda x: signal.lfilter(B, [0.0, 1.0], x), ValueError, "first coefficient of a"),
        (lambda x: signal.sosfilt(SECTIONS[:, :5], x), ValueError, "must be shape"),
        (lambda x: signal.sosfilt(SECTIONS * 2, x), ValueError, r"sos\[:, 3\] should be all ones"),
        (lambda x: signal.sosfilt(SECTIONS, x, zi=x), ValueError, "Invalid zi shape"),
        (lambda x: signal.upfirdn([1.0], x, 0), ValueError, "must be >= 1"),
        (lambda x: signal.upfirdn([1.0], x, mode="x"), ValueError, "Unknown mode 'x'"),
        (lambda x: signal.savgol_filter(x, 5, 5), ValueError, "polyorder must be less"),
        (lambda x: signal.savgol_filter(x, 99, 5), ValueError, "less than or equal to the size"),
        (lambda x: signal.medfilt(x, 4), ValueError, "should be odd"),
        (
            lambda x: signal.spectrogram(x, nperseg=9, mode="x"),
            ValueError,
            "unknown value for mode x",
        ),
        (
            lambda x: signal.stft(x, nperseg=9, scaling="x"),
            ValueError,
            "Parameter scaling='x' not in",
        ),
        (lambda x: signal.medfilt(x, x[0]), UnsupportedError, "a traced kernel_size"),
    ],
)
def test_what_is_refused(f, error, text):
    with pytest.raises(error, match=text) as e:
        jit(f)(SIGNAL)
    assert "test_scipy_filters.py" in str(e.value)
