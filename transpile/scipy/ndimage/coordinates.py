"""`scipy.ndimage` for traced functions: the function of `jax.scipy.ndimage`.

Each coordinate gives one or two indices along its axis, with a weight and, in the mode "constant",
a mask; the mode maps indices outside of the array into it. A sample is then a weighted sum of the
2^ndim elements at the corners, one expression in one loop. Indices stay floating-point numbers
until they are in range: these have quick roundings and quotients in vector registers.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.ir.indices.requirements import is_at_most
from transpile.ir.types import INT32, INT64, kind_letter
from transpile.nn.operands import array_dtype, operand
from transpile.numpy.core.promotion import convert
from transpile.numpy.core.promotion import error as located
from transpile.numpy.subscripts.at import at
from transpile.scipy.sized_arrays import unless_single
from transpile.scipy.special.operands import Array, public

__all__ = ["map_coordinates", "mirrored", "reflected", "wrapped"]


@public
def map_coordinates(
    input: Array,
    coordinates: Sequence[Array],
    order: int,
    mode: str = "constant",
    cval: Array = 0.0,
) -> Any:
    """The array at coordinates between its elements, one array of coordinates for each axis.

    order  0 for the nearest element (halves away from 0), 1 for linear interpolation
    mode   what lies beyond the elements: "constant", `cval` from one step outside on; "nearest",
           the last element; "wrap", the array again; "mirror" and "reflect", the array backwards,
           about the last element or about its outer edge

    The modes are JAX's: SciPy calls three of them "grid-constant", "grid-wrap" and "grid-mirror",
    names that are known here, too. The result has the dtype of the array; that of integers is
    rounded. Raises NotImplementedError for other orders and modes, ValueError for coordinates of
    another number of axes.
    """
    x = operand("map_coordinates", input)
    points = [operand("map_coordinates", c) for c in coordinates]
    if len(points) != np.ndim(x):
        raise located(
            ValueError,
            "coordinates must be a sequence of length input.ndim, but "
            f"{len(points)} != {np.ndim(x)}",
        )
    if mode not in _MODES:
        raise located(
            NotImplementedError,
            f"scipy.ndimage.map_coordinates does not yet support mode {mode}. Currently supported "
            f"modes are {', '.join(_MODES)}.",
        )
    if order not in (0, 1):
        raise located(
            NotImplementedError, "scipy.ndimage.map_coordinates currently requires order<=1"
        )
    kind = INT32 if is_at_most(np.size(x), 2**31 - 1) else INT64
    nodes = [
        [_Node(index, weight, size, mode, kind) for index, weight in _NODES[order](point)]
        for point, size in zip(points, np.shape(x), strict=True)
    ]
    outside = convert(operand("map_coordinates", cval), array_dtype(x))
    parts = [_corner(x, corner, outside) for corner in itertools.product(*nodes)]
    result = functools.reduce(operator.add, parts)
    if kind_letter(array_dtype(x)) in "iub":
        result = _rounded(result)
    return convert(result, array_dtype(x))


def _rounded(x: Any) -> Any:
    """The nearest whole numbers, halves away from 0."""
    if kind_letter(array_dtype(x)) in "iub":
        return x
    whole = np.trunc(x)
    return whole + np.where(np.abs(x - whole) >= 0.5, np.sign(x), 0)


def _nearest(point: Any) -> list[tuple[Any, Any]]:
    return [(_rounded(point), array_dtype(point).type(1))]


def _linear(point: Any) -> list[tuple[Any, Any]]:
    lower = np.floor(point)
    upper_weight = point - lower
    return [(lower, 1 - upper_weight), (lower + 1, upper_weight)]


_NODES = {0: _nearest, 1: _linear}


def _modulo(index: Any, period: int) -> Any:
    """The index modulo a period, for whole numbers of any dtype. A quotient that rounding took to
    the next number is off by one."""
    if kind_letter(array_dtype(index)) in "iub":
        return index % period
    inside = index - period * np.floor(index * (1 / period))
    inside = np.where(inside < 0, inside + period, inside)
    return np.where(inside >= period, inside - period, inside)


def mirrored(index: Any, size: int) -> Any:
    """The index in an array that is followed by itself backwards, about its last element."""
    last = size - 1
    if last == 0:
        return 0 * index
    return unless_single(size, np.abs(_modulo(index + last, 2 * last) - last), 0 * index)


def reflected(index: Any, size: int) -> Any:
    """The index in an array that is followed by itself backwards, about its edge."""
    inside = _modulo(index, 2 * size)
    return np.minimum(inside, 2 * size - 1 - inside)


def _clipped(index: Any, size: int) -> Any:
    return np.clip(index, 0, size - 1)


def wrapped(index: Any, size: int) -> Any:
    """The index in an array that is followed by itself."""
    return _modulo(index, size)


_MODES: dict[str, Callable[[Any, int], Any]] = {
    "constant": _clipped,
    "nearest": _clipped,
    "wrap": wrapped,
    "mirror": mirrored,
    "reflect": reflected,
    "grid-constant": _clipped,
    "grid-wrap": wrapped,
    "grid-mirror": reflected,
}


class _Node:
    """An index along an axis, in range, with its weight, and whether it was in range before; None
    where the mode gives every index an element."""

    def __init__(self, index: Any, weight: Any, size: int, mode: str, kind: Any) -> None:
        self.index = convert(_MODES[mode](index, size), kind)
        self.weight = weight
        self.is_inside = (index >= 0) & (index < size) if mode.endswith("constant") else None


def _corner(x: Any, nodes: Sequence[_Node], outside: Any) -> Any:
    """The elements at one corner, times their weights. One subscript of the flattened array: C
    compilers vectorise reads with one, and not with several."""
    index = nodes[0].index
    for node, size in zip(nodes[1:], np.shape(x)[1:], strict=True):
        index = index * size + node.index
    value = at(np.reshape(x, -1))[index].get(mode="promise_in_bounds")
    masks = [n.is_inside for n in nodes if n.is_inside is not None]
    if masks:
        value = np.where(functools.reduce(operator.and_, masks), value, outside)
    return functools.reduce(operator.mul, [n.weight for n in nodes]) * value
