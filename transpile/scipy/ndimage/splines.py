"""B-splines through the elements of an array: their coefficients, and the weights at a coordinate.

Coefficients come from a recursive filter forwards and one backwards for each pole, whose first
values sum the whole line, continued as a mode has it (M. Unser, A. Aldroubi and M. Eden, B-spline
signal processing, 1993). Each filter is a scan along the axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np

from transpile.ir.dims import Dim
from transpile.lax.control.loops import scan
from transpile.numpy.core.promotion import Array
from transpile.numpy.core.promotion import error as located
from transpile.scipy.ndimage.edges import as_stored, axis_of, image, output_dtype, wide
from transpile.scipy.sized_arrays import arange, unless_single
from transpile.scipy.special.operands import public

__all__ = ["spline_filter", "spline_filter1d", "spline_weights"]

# By order: the poles of the filter.
_POLES: dict[int, Sequence[float]] = {
    0: (),
    1: (),
    2: (sqrt(8) - 3,),
    3: (sqrt(3) - 2,),
    4: (
        sqrt(664 - sqrt(438976)) + sqrt(304) - 19,
        sqrt(664 + sqrt(438976)) - sqrt(304) - 19,
    ),
    5: (
        sqrt(67.5 - sqrt(4436.25)) + sqrt(26.25) - 6.5,
        sqrt(67.5 + sqrt(4436.25)) - sqrt(26.25) - 6.5,
    ),
}
# By mode: how the line goes on, about its last elements, about its edges, or from the start.
_LINES = {
    "constant": "mirror",
    "grid-constant": "mirror",
    "grid-mirror": "reflect",
    "grid-wrap": "wrap",
    "mirror": "mirror",
    "nearest": "reflect",
    "reflect": "reflect",
    "wrap": "mirror",
}


@public
def spline_filter1d(
    input: Array, order: int = 3, axis: int = -1, output: Any = np.float64, mode: str = "mirror"
) -> Any:
    """The coefficients of the B-spline of an order through the elements of an array, along an axis.

    Modes are those of `zoom`. Raises RuntimeError for orders that are not 0, 1, 2, 3, 4 or 5 and
    for unknown modes.
    """
    x = image(input)
    dtype = output_dtype(output, x, x.dtype.kind == "c")
    if order not in _POLES:
        raise located(RuntimeError, "spline order not supported")
    if mode not in _LINES:
        raise located(RuntimeError, "boundary mode not supported")
    axis = axis_of(axis, np.ndim(x))
    size: Any = np.shape(x)[axis]
    if order < 2 or (not isinstance(size, Dim) and size < 2):
        return as_stored(x, dtype)
    line = np.moveaxis(wide(x), axis, 0)
    for pole in _POLES[order]:
        line = line * ((1 - pole) * (1 - 1 / pole))
    for pole in _POLES[order]:
        line = _filtered(line, pole, _LINES[mode])
    return as_stored(unless_single(size, np.moveaxis(line, 0, axis), wide(x)), dtype)


def _filtered(line: Any, pole: float, mode: str) -> Any:
    """Both recursions, forwards and backwards along the first axis."""
    size: Any = np.shape(line)[0]
    first = np.tensordot(_sum_before(size, pole, mode), line, 1)
    _, later = scan(lambda c, x: (x + pole * c,) * 2, first, line[1:])
    forwards = np.concatenate([first[None], later])
    if mode == "mirror":
        place = np.maximum(size.as_value() - 2, 0) if isinstance(size, Dim) else -2
        before = forwards[place]
        last = (pole * before + forwards[-1]) * (pole / (pole * pole - 1))
    elif mode == "reflect":
        last = forwards[-1] * (pole / (pole - 1))
    else:
        place = arange(size)
        weights = np.where(place < size - 1, pole ** (place + 1.0), 1.0)
        last = np.tensordot(weights * (pole / (pole**size - 1)), forwards, 1)
    _, earlier = scan(lambda c, x: (pole * (c - x),) * 2, last, forwards[:-1], reverse=True)
    return np.concatenate([earlier, last[None]])


def _sum_before(size: Any, pole: float, mode: str) -> Any:
    """The weights of the elements in the first value: the sum of all before it, each with the pole
    to the power of its distance."""
    place = arange(size)
    powers = pole ** (1.0 * place)
    at_start, at_end = np.equal(place, 0), np.equal(place, size - 1)
    if mode == "wrap":
        return np.where(at_start, 1.0, pole ** (1.0 * (size - place))) / (1 - pole**size)
    if mode == "reflect":
        weights = powers + pole ** (2.0 * size - 1 - place)
        # SciPy adds to the first element while it reads it: the sum of the others before is in it.
        far = pole ** (2.0 * size - 1)
        weights = np.where(at_start, weights - far, weights)
        before = np.where(at_end, pole ** (1.0 * size), weights)
        weights = (weights + far * before) * (pole / (1 - pole ** (2.0 * size)))
        return np.where(at_start, weights + 1, weights)
    weights = np.where(at_start | at_end, powers, powers + pole ** (2.0 * size - 2 - place))
    return weights / (1 - pole ** (2.0 * size - 2))


@public
def spline_filter(
    input: Array, order: int = 3, output: Any = np.float64, mode: str = "mirror"
) -> Any:
    """The coefficients of the B-spline of an order through the elements of an array:
    `spline_filter1d` along each axis. Raises RuntimeError for other orders than 2 to 5."""
    if order not in _POLES or order < 2:
        raise located(RuntimeError, "spline order not supported")
    x = image(input)
    dtype = output_dtype(output, x, x.dtype.kind == "c")
    for axis in range(np.ndim(x)):
        x = spline_filter1d(x, order, axis, dtype, mode)
    return as_stored(x, dtype)


def spline_weights(place: Any, order: int) -> list[Any]:
    """The weights of the order + 1 coefficients around a place between 0 and 1 in the middle
    interval, from those of the order before (C. de Boor, On calculating with B-splines, 1972)."""
    weights: list[Any] = [1.0]
    for d in range(1, order + 1):
        lower, upper = [0.0, *weights], [*weights, 0.0]
        weights = [
            _sum((d - j + place, lower[j]), (j + 1 - place, upper[j]), 1 / d) for j in range(d + 1)
        ]
    return weights


def _sum(first: tuple[Any, Any], second: tuple[Any, Any], factor: float) -> Any:
    """The sum of two products, times a factor; those with a number that is 0 are left out."""
    parts = [a * b for a, b in (first, second) if not (isinstance(b, float) and b == 0.0)]
    total = parts[0] + parts[1] if len(parts) == 2 else parts[0]
    return total if factor == 1 else total * factor
