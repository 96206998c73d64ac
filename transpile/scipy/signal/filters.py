"""Digital filters along an axis, as difference equations: rational transfer functions and cascades
of second-order sections.

The state of the transposed direct form II (A. V. Oppenheim and R. W. Schafer, Discrete-Time Signal
Processing, section 6.4) is what a scan carries from one sample to the next, a scalar or, for more
axes, an array for each delay. Operations are in SciPy's order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Dim
from transpile.ir.indices.requirements import require
from transpile.ir.types import kind_letter
from transpile.lax.control.loops import scan
from transpile.lax.indexed.convolution import conv_general_dilated
from transpile.numpy.core.promotion import as_array, convert, has_tracer, result_dtype
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.runtime_sizes import larger_of
from transpile.scipy.sized_arrays import zeros
from transpile.scipy.special.operands import Array, public

__all__ = ["lfilter", "sosfilt"]

# Filters with more delays carry them in one array.
_DELAYS = 16


@public
def lfilter(b: Array, a: Array, x: Array, axis: int = -1, zi: Array | None = None) -> Any:
    """The filter with the transfer function b / a, vectors of coefficients, along an axis.

    With `zi`, the delays at the beginning, which have `max(len(a), len(b)) - 1` elements along that
    axis and x's shape else, the result is a pair: the values, and the delays at the end. The dtype
    is the common one. Raises ValueError for coefficients that are no vectors and for delays of
    another shape, NotImplementedError where no argument is of a floating-point dtype.
    """
    numerator, denominator = np.atleast_1d(as_array(b)), np.atleast_1d(as_array(a))
    for name, values in (("b", numerator), ("a", denominator)):
        if np.ndim(values) != 1 or not np.size(values):
            raise located(
                ValueError,
                f"Parameter {name} is not a non-empty 1d array, since "
                f"{name}.shape={np.shape(values)!r}!",
            )
    values, state = _signal(x), None if zi is None else as_array(zi)
    dtype = _common("lfilter", numerator, denominator, values, state)
    order = larger_of(np.size(numerator), np.size(denominator)) - 1
    is_fir = not has_tracer(denominator) and not np.any(denominator[1:])
    if isinstance(order, Dim):
        if zi is None and not is_fir:
            order = larger_of(order, 1)
        elif not is_fir:
            require(1, order, "a filter with feedback")
    axis = range(np.ndim(values))[axis]
    rows = np.moveaxis(convert(values, dtype), axis, 0)
    delays = _delays(state, values, axis, order, dtype)
    numerator, denominator = _monic(numerator, denominator, order, dtype)
    if is_fir:
        result, last = _without_feedback(numerator, rows, delays)
    elif isinstance(order, Dim) or order > _DELAYS:
        result, last = _with_an_array(numerator, denominator, rows, delays)
    else:
        parts = [delays[k] for k in range(order)]
        result, left = _with_scalars(numerator, denominator, rows, parts)
        last = np.stack(left) if zi is not None else delays
    result = np.moveaxis(result, 0, axis)
    return result if zi is None else (result, np.moveaxis(last, 0, axis))


def _signal(x: Array) -> Any:
    values = as_array(x)
    if not np.ndim(values):
        raise located(ValueError, "x must be at least 1-D")
    return values


def _common(name: str, *operands: Any) -> Any:
    dtype = result_dtype(*(v for v in operands if v is not None))
    if kind_letter(dtype) not in "fc" or dtype.itemsize < 4:
        raise located(NotImplementedError, f"{name}: input type '{dtype}' is not supported")
    return dtype


def _delays(state: Any, x: Any, axis: int, order: Any, dtype: Any) -> Any:
    """The delays at the beginning, with their axis in front: zeros by default."""
    wanted = [order if k == axis else n for k, n in enumerate(np.shape(x))]
    if state is None:
        return zeros([order, *(n for k, n in enumerate(np.shape(x)) if k != axis)], dtype)
    given = np.shape(state)
    fits = len(given) == len(wanted) and all(
        g == w or (g == 1 and k != axis) for k, (g, w) in enumerate(zip(given, wanted, strict=True))
    )
    if not fits:
        raise located(
            ValueError,
            f"Unexpected shape for parameter zi: expected {tuple(wanted)}, found {given}.",
        )
    return np.moveaxis(np.broadcast_to(convert(state, dtype), wanted), axis, 0)


def _monic(b: Any, a: Any, order: Any, dtype: Any) -> tuple[Any, Any]:
    """Coefficients over the first of the denominator, filled up with zeros to the same length."""
    if not has_tracer(a) and a[0] == 0:
        raise located(ValueError, "the first coefficient of a must not be 0")
    b, a = convert(b, dtype), convert(a, dtype)
    first = a[0]
    return tuple(  # type: ignore[return-value]
        np.concatenate([v / first, zeros((order + 1 - np.size(v),), dtype)]) for v in (b, a)
    )


def _with_scalars(b: Any, a: Any, rows: Any, delays: Sequence[Any]) -> tuple[Any, tuple[Any, ...]]:
    order = len(delays)

    def step(z: tuple[Any, ...], value: Any) -> tuple[tuple[Any, ...], Any]:
        result = z[0] + b[0] * value
        later = [z[k + 1] + value * b[k + 1] - result * a[k + 1] for k in range(order - 1)]
        return (*later, value * b[order] - result * a[order]), result

    last, result = scan(step, tuple(delays), rows)
    return result, last


def _with_an_array(b: Any, a: Any, rows: Any, delays: Any) -> tuple[Any, Any]:
    shape = (-1,) + (1,) * (np.ndim(rows) - 1)
    forward, back = b[1:].reshape(shape), a[1:].reshape(shape)

    def step(z: Any, value: Any) -> tuple[Any, Any]:
        result = z[0] + b[0] * value
        shifted = np.concatenate([z[1:], np.zeros_like(z[:1])])
        return shifted + value * forward - result * back, result

    last, result = scan(step, delays, rows)
    return result, last


def _without_feedback(b: Any, rows: Any, delays: Any) -> tuple[Any, Any]:
    """A convolution with the numerator: its middle is the result, and what follows are delays."""
    order, size = np.size(b) - 1, np.shape(rows)[0]
    flat = np.reshape(np.moveaxis(rows, 0, -1), (-1, 1, size))
    whole = conv_general_dilated(flat, np.flip(b)[None, None], (1,), [(order, order)])
    whole = np.moveaxis(whole.reshape(*np.shape(rows)[1:], size + order), -1, 0)
    early = np.pad(delays, [(0, size)] + [(0, 0)] * (np.ndim(rows) - 1))
    whole = whole + early
    return whole[:size], whole[size:]


@public
def sosfilt(sos: Array, x: Array, axis: int = -1, zi: Array | None = None) -> Any:
    """The filter of a cascade of second-order sections along an axis: of each a row
    (b0, b1, b2, 1, a1, a2).

    With `zi`, the two delays of each section at the beginning, of the shape (sections, *x.shape)
    with 2 along the axis, the result is a pair: the values, and the delays at the end. The dtype is
    the common one. Raises ValueError for rows of another length, for known ones whose fourth
    coefficient is not 1, and for delays of another shape, NotImplementedError where no argument is
    of a floating-point dtype.
    """
    rows, values = as_array(sos), _signal(x)
    if np.ndim(rows) != 2:
        raise located(ValueError, "sos array must be 2D")
    if np.shape(rows)[1] != 6:
        raise located(ValueError, "sos array must be shape (n_sections, 6)")
    if not has_tracer(rows) and not np.all(rows[:, 3] == 1):
        raise located(ValueError, "sos[:, 3] should be all ones")
    state = None if zi is None else as_array(zi)
    dtype = _common("sosfilt", rows, values, state)
    count, axis = np.shape(rows)[0], range(np.ndim(values))[axis]
    wanted = (count, *(2 if k == axis else n for k, n in enumerate(np.shape(values))))
    if state is None:
        state = zeros(wanted, dtype)
    elif np.shape(state) != wanted:
        raise located(
            ValueError,
            f"Invalid zi shape. With axis={axis!r}, an input with shape {np.shape(values)!r}, and "
            f"an sos array with {count} sections, zi must have shape {wanted!r}, got "
            f"{np.shape(state)!r}.",
        )
    state = np.moveaxis(convert(state, dtype), axis + 1, 1)
    rows, samples = convert(rows, dtype), np.moveaxis(convert(values, dtype), axis, 0)
    start = tuple((state[k, 0], state[k, 1]) for k in range(count))

    def step(delays: Any, value: Any) -> tuple[Any, Any]:
        later = []
        for section, (first, second) in zip(rows, delays, strict=True):
            result = section[0] * value + first
            later.append(
                (
                    section[1] * value - section[4] * result + second,
                    section[2] * value - section[5] * result,
                )
            )
            value = result
        return tuple(later), value

    last, result = scan(step, start, samples)
    result = np.moveaxis(result, 0, axis)
    if zi is None:
        return result
    left = np.stack([np.stack(pair) for pair in last])
    return result, np.moveaxis(left, 1, axis + 1)
