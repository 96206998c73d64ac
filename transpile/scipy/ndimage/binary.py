"""The morphology of binary images: erosions and dilations by a known structure, and what is made of
them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.ir.types import BOOL
from transpile.lax.control.fori import fori_loop
from transpile.lax.control.loops import while_loop
from transpile.numpy.core.promotion import Array, as_array
from transpile.numpy.core.promotion import error as located
from transpile.scipy.ndimage.edges import (
    as_stored,
    axes_of,
    extended,
    for_each,
    image,
    known,
    output_dtype,
    window,
)
from transpile.scipy.ndimage.extremes import folded
from transpile.scipy.special.operands import public

__all__ = ["binary_closing", "binary_dilation", "binary_erosion", "binary_opening"]


@public
def binary_erosion(
    input: Array,
    structure: Any = None,
    iterations: int = 1,
    mask: Any = None,
    output: Any = None,
    border_value: int = 0,
    origin: Any = 0,
    brute_force: bool = False,
    *,
    axes: Any = None,
) -> Any:
    """Where all elements under the structure are not 0.

    structure     a known array of bools; by default an element and those beside it along each axis
    iterations    how many times; below 1, until nothing changes
    mask          elements outside of it stay as they are
    border_value  what lies beyond the edges
    origin        by how many elements the structure lies further back, for all axes or for each

    The result is bool; `brute_force` changes nothing. Raises RuntimeError for a structure of
    another number of axes, TypeError for complex arrays and for iterations that are no integer.
    """
    x = image(input, is_real=True)
    shape, count = _structure(structure, axes, np.ndim(x))
    origins = for_each(origin, count)
    result = _iterated(np.logical_and, x, shape, iterations, mask, border_value, origins, axes)
    return as_stored(result, output_dtype(BOOL if output is None else output, x))


@public
def binary_dilation(
    input: Array,
    structure: Any = None,
    iterations: int = 1,
    mask: Any = None,
    output: Any = None,
    border_value: int = 0,
    origin: Any = 0,
    brute_force: bool = False,
    *,
    axes: Any = None,
) -> Any:
    """Where any element under the structure, which lies the other way round, is not 0. Arguments
    and errors are those of `binary_erosion`."""
    x = image(input, is_real=True)
    shape, count = _structure(structure, axes, np.ndim(x))
    origins = [
        -o - (n % 2 == 0) for o, n in zip(for_each(origin, count), np.shape(shape), strict=True)
    ]
    turned = np.flip(shape)
    result = _iterated(np.logical_or, x, turned, iterations, mask, border_value, origins, axes)
    return as_stored(result, output_dtype(BOOL if output is None else output, x))


@public
def binary_opening(
    input: Array,
    structure: Any = None,
    iterations: int = 1,
    output: Any = None,
    origin: Any = 0,
    mask: Any = None,
    border_value: int = 0,
    brute_force: bool = False,
    *,
    axes: Any = None,
) -> Any:
    """The dilation of the erosion: what the structure does not fit in is gone. Arguments and errors
    are those of `binary_erosion`."""
    inner = binary_erosion(
        input, structure, iterations, mask, None, border_value, origin, axes=axes
    )
    return binary_dilation(
        inner, structure, iterations, mask, output, border_value, origin, axes=axes
    )


@public
def binary_closing(
    input: Array,
    structure: Any = None,
    iterations: int = 1,
    output: Any = None,
    origin: Any = 0,
    mask: Any = None,
    border_value: int = 0,
    brute_force: bool = False,
    *,
    axes: Any = None,
) -> Any:
    """The erosion of the dilation: holes that the structure does not fit in are filled. Arguments
    and errors are those of `binary_erosion`."""
    inner = binary_dilation(
        input, structure, iterations, mask, None, border_value, origin, axes=axes
    )
    return binary_erosion(
        inner, structure, iterations, mask, output, border_value, origin, axes=axes
    )


def _structure(structure: Any, axes: Any, ndim: int) -> tuple[Any, int]:
    """The structure, and the number of axes that it has to have."""
    count = len(axes_of(axes, ndim))
    if structure is None:  # an element and those that differ from it by 1 along one axis
        away = np.abs(np.indices([3] * count) - 1).sum(axis=0)
        return away <= 1, count
    shape = np.asarray(known("structure", structure), bool)
    if shape.ndim != count:
        raise located(RuntimeError, "structure and input must have same dimensionality")
    if shape.size < 1:
        raise located(RuntimeError, "structure must not be empty")
    return shape, count


def _iterated(
    fold: Callable[[Any, Any], Any],
    x: Any,
    structure: Any,
    iterations: Any,
    mask: Any,
    border: Any,
    origin: Any,
    axes: Any,
) -> Any:
    try:
        times = operator.index(known("number of iterations", iterations))
    except TypeError:
        raise located(TypeError, "iterations parameter should be an integer") from None
    sizes, origins = window(np.shape(structure), origin, axes, np.ndim(x), "structure")
    reach = {
        k: (n // 2 + o, n - 1 - n // 2 - o)
        for k, (n, o) in enumerate(zip(sizes, origins, strict=True))
    }
    if any(min(pair) < 0 for pair in reach.values()):
        raise located(ValueError, "invalid origin")
    inside = None if mask is None else as_array(mask) != 0
    if inside is not None and np.shape(inside) != np.shape(x):
        raise located(RuntimeError, "mask and input must have equal sizes")
    start = x != 0
    shape = structure.reshape(sizes)

    def once(current: Any) -> Any:
        result = folded(extended(current, reach, "constant", bool(border)), shape, fold)
        return result if inside is None else np.where(inside, result, current)

    if not shape.any():
        nothing = np.full_like(start, fold is np.logical_and)
        return nothing if inside is None else np.where(inside, nothing, start)
    if times < 1:
        return while_loop(
            lambda pair: np.any(pair[0] != pair[1]),
            lambda pair: (pair[1], once(pair[1])),
            (start, once(start)),
        )[1]
    current = once(start)
    return current if times == 1 else fori_loop(1, times, lambda _, value: once(value), current)
