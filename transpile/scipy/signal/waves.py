"""Periodic waves."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.types import FLOAT64
from transpile.numpy.core.promotion import as_array, convert
from transpile.scipy.special.operands import Array, public

__all__ = ["sawtooth", "square"]


@public
def square(t: Array, duty: Array = 0.5) -> Any:
    """The square wave of period 2 pi: 1 for a share `duty` of each period, then -1; NaN where the
    share is not between 0 and 1. The result is float64, as in SciPy."""
    phase, share = _phase(t), as_array(duty)
    wave = np.where(phase < share * 2 * np.pi, 1.0, -1.0)
    return np.where((share > 1) | (share < 0), np.nan, wave)


def _phase(t: Array) -> Any:
    return np.mod(convert(as_array(t), FLOAT64), 2 * np.pi)


@public
def sawtooth(t: Array, width: Array = 1) -> Any:
    """The sawtooth wave of period 2 pi: from -1 to 1 in a share `width` of each period, then back
    to -1; NaN where the share is not between 0 and 1. The result is float64, as in SciPy."""
    phase, share = _phase(t), convert(as_array(width), FLOAT64)
    is_rising = phase < share * 2 * np.pi
    # The part that is not taken must not divide by 0: derivatives pass through it.
    rising = phase / (np.pi * np.where(is_rising, share, 1.0)) - 1
    falling = (np.pi * (share + 1) - phase) / (np.pi * np.where(is_rising, 1.0, 1 - share))
    wave = np.where(is_rising, rising, falling)
    return np.where((share > 1) | (share < 0), np.nan, wave)
