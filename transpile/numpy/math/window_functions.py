"""Window functions of a runtime number of points: those of a known one are NumPy's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.types import FLOAT64
from transpile.numpy.core.creation import arange, makes
from transpile.numpy.core.ufuncs import call


def _angles(M: Any) -> tuple[Any, Any]:
    """1 - M, 3 - M, ... M - 1 and what they are divided by, which is not 0 for one point."""
    return arange(M, dtype=FLOAT64) * 2.0 - (M - 1), call(np.maximum, M - 1, 1)


def _cosines(M: Any, constant: float, *weights: float) -> Any:
    """A sum of cosines over the window (Harris, On the use of windows for harmonic analysis with
    the discrete Fourier transform, 1978)."""
    points, span = _angles(M)
    for number, weight in enumerate(weights, 1):
        constant = constant + weight * np.cos(np.pi * number * points / span)
    return constant


@makes(np.bartlett)
def bartlett(M: Any) -> Any:
    """The triangular window of M points, which may be a runtime size: float64, its ends 0."""
    points, span = _angles(M)
    return 1.0 - abs(points) / span


@makes(np.blackman)
def blackman(M: Any) -> Any:
    """The Blackman window of M points, which may be a runtime size: float64, three cosines."""
    return _cosines(M, 0.42, 0.5, 0.08)


@makes(np.hamming)
def hamming(M: Any) -> Any:
    """The Hamming window of M points, which may be a runtime size: float64."""
    return _cosines(M, 0.54, 0.46)


@makes(np.hanning)
def hanning(M: Any) -> Any:
    """The Hann window of M points, which may be a runtime size: float64."""
    return _cosines(M, 0.5, 0.5)


@makes(np.kaiser)
def kaiser(M: Any, beta: Any) -> Any:
    """The Kaiser window of M points, which may be a runtime size, of shape `beta`: float64, by the
    modified Bessel function of order 0."""
    points, span = _angles(M)
    return np.i0(beta * np.sqrt(1.0 - (points / span) ** 2)) / np.i0(beta)
