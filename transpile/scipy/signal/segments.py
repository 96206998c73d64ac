"""Segments of signals, which are last axes: cutting, windows, extensions, and adding up."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np

from transpile.ir.dims import Dim, Index
from transpile.ir.indices.lengths import lengths_of, most_of
from transpile.ir.indices.requirements import is_open, require
from transpile.ir.source_info import user_source
from transpile.ir.types import INT64
from transpile.nn.operands import operand
from transpile.numpy.core.promotion import convert, strengthen
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.runtime_sizes import offset_of, smaller_of
from transpile.numpy.subscripts.at import at
from transpile.scipy.signal.trends import detrend
from transpile.scipy.sized_arrays import arange, unless_single
from transpile.trace.lengths import measured

# Sums of cosines by their coefficients; SciPy's names of windows.
_COSINES = {
    "boxcar": (1.0,),
    "hann": (0.5, 0.5),
    "hamming": (0.54, 0.46),
    "blackman": (0.42, 0.5, 0.08),
}


def window_of_segments(
    window: Any, nperseg: Index | None, size: Index, dtype: np.dtype[Any]
) -> tuple[Any, Index]:
    """The window and the length of segments of a signal of a size."""
    if nperseg is not None and not isinstance(nperseg, Dim) and operator.index(nperseg) < 1:
        raise located(ValueError, "nperseg must be a positive integer")
    kind = np.empty(0, dtype).real.dtype
    if isinstance(window, str | tuple):
        length = size if nperseg is None else offset_of(nperseg)
        if is_open(length, size):
            length = smaller_of(length, size)
        elif length > size:
            warnings.warn(
                f"{user_source()}: nperseg={length} is greater than input_length={size}, using "
                f"nperseg={size}",
                stacklevel=2,
            )
            length = size
        return window_of(window, length, kind), length
    win = operand("window", window)
    if np.ndim(win) != 1:
        raise located(ValueError, "window must be 1-D")
    if isinstance(size - win.shape[0], Dim):
        require(win.shape[0], size, "a window of the signal")
    elif size < win.shape[0]:
        raise located(ValueError, "window is longer than input signal")
    if nperseg is not None and offset_of(nperseg) != win.shape[0]:
        raise located(ValueError, "value specified for nperseg is different from length of window")
    return win.astype(kind), win.shape[0]


def window_of(window: Any, length: Index, dtype: np.dtype[Any]) -> Any:
    """A window of a length: an array, or a periodic one by its name."""
    if isinstance(window, str):
        return _named(window, length).astype(dtype)
    if isinstance(window, tuple):
        raise located(
            ValueError, f"window {window!r} has parameters: make it an array, by scipy.signal"
        )
    win = operand("window", window)
    if np.ndim(win) != 1:
        raise located(ValueError, "window must be 1-D")
    if win.shape[0] != length:
        raise located(ValueError, f"window must have length of {length}")
    return win.astype(dtype)


def _named(name: str, length: Index) -> Any:
    place = arange(length) / length
    if name == "bartlett":
        return unless_single(length, 1 - np.abs(2 * place - 1), np.ones(1))
    if name not in _COSINES:
        known = ", ".join(sorted([*_COSINES, "bartlett"]))
        raise located(ValueError, f"unknown window {name!r}; known are {known}, and arrays")
    waves = [(-1) ** k * a * np.cos(2 * np.pi * k * place) for k, a in enumerate(_COSINES[name])]
    return unless_single(length, sum(waves[1:], waves[0]), np.ones(1))


def extended(x: Any, count: Any, boundary: str | None) -> Any:
    """Signals with so many elements more at both ends."""
    known = ("even", "odd", "constant", "zeros", None)
    if boundary not in known:
        raise located(
            ValueError, f"Unknown boundary option '{boundary}', must be one of: {list(known)}"
        )
    if boundary is None or (not isinstance(count, Dim) and count < 1):
        return x
    widths = [(0, 0)] * (x.ndim - 1) + [(count, count)]
    if boundary == "zeros":
        return np.pad(x, widths)
    if boundary == "constant":
        return np.pad(x, widths, "edge")
    if isinstance(x.shape[-1] - count, Dim):
        require(count + 1, x.shape[-1], f"an extension by {count} elements")
    elif count > x.shape[-1] - 1:
        raise located(
            ValueError,
            f"The extension length n ({count}) is too big. It must not exceed x.shape[axis]-1, "
            f"which is {x.shape[-1] - 1}.",
        )
    kind: Any = boundary
    return np.pad(x, widths, "reflect", reflect_type=kind)


def segments(x: Any, length: Index, step: Index, largest: tuple[int, Index] | None = None) -> Any:
    """Segments (..., count, length) that begin `step` apart. `largest` are the length and the step
    of a long signal, where the program finds those of a short one."""
    count = (x.shape[-1] - length) // step + 1
    if isinstance(count, Dim) and lengths_of(count):
        value = count.as_value()
        value = strengthen(convert(value, INT64))
        most = most_of(x.shape[-1]) // largest[1] + 1 if largest else None
        count = measured(value, most)
    starts = (arange(count) * step)[:, None]
    return at(x)[..., starts + arange(length)].get(mode="promise_in_bounds")


def detrended(rows: Any, how: Any) -> Any:
    """Segments less what `detrend` says: a type, a function of them, or nothing."""
    if isinstance(how, str):
        return detrend(rows, -1, how)
    if callable(how):
        return how(rows)
    if how:
        raise located(ValueError, f"Unsupported detrend type: {how}")
    return rows


def added_up(rows: Any, step: Any) -> Any:
    """The sum of segments (..., count, length) that begin `step` apart."""
    count, length = rows.shape[-2:]
    pieces = -(-length // step)
    head = rows.shape[:-2]
    wide = [(0, 0)] * len(head)
    rows = np.pad(rows, [*wide, (0, 0), (0, pieces * step - length)])
    rows = np.reshape(rows, (*head, count, pieces, step))
    total: Any = 0
    for k in range(pieces):
        total = total + np.pad(rows[..., k, :], [*wide, (k, pieces - 1 - k), (0, 0)])
    return np.reshape(total, (*head, -1))[..., : (count - 1) * step + length]
