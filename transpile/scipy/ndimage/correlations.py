"""Correlations and convolutions of images with known weights, and what is made of them: means of
windows, first and second differences.

A sum over a small window is written out: each element is one expression over the shifted array,
which is continued beyond its edges first. The order of the additions is SciPy's, so that integers,
which are cut off, are the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Dim, Index
from transpile.ir.types import kind_letter
from transpile.lax.arrays.slicing import dynamic_slice
from transpile.lax.control.fori import fori_loop
from transpile.lax.indexed.convolution import conv_general_dilated
from transpile.numpy.core.promotion import Array, as_array, has_tracer
from transpile.numpy.core.promotion import error as located
from transpile.scipy.ndimage.edges import (
    as_stored,
    axes_of,
    axis_of,
    extended,
    for_each,
    image,
    known,
    output_dtype,
    shifted,
    surroundings,
    wide,
    window,
)
from transpile.scipy.sized_arrays import zeros
from transpile.scipy.special.operands import public

__all__ = [
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "laplace",
    "prewitt",
    "sobel",
    "sum_of_derivatives",
    "uniform_filter",
    "uniform_filter1d",
]

# Sums of more products than these are calls of the library's convolution, where nothing is cut off.
_WRITTEN_OUT = 32
_EPSILON = float(np.finfo(np.float64).eps)
_ORIGIN = (
    "Invalid origin; origin must satisfy -(len(weights) // 2) <= origin <= (len(weights)-1) // 2"
)


@public
def correlate1d(
    input: Array,
    weights: Array,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """The correlation of an array with weights along an axis.

    mode    what lies beyond the edges: "reflect" and "mirror", the array backwards, about its edge
            or about its last element; "nearest", the last element; "wrap", the array again;
            "constant", `cval`
    output  the dtype of the result, that of the array by default
    origin  by how many elements the window lies further back

    Sums are those of double precision. Raises RuntimeError unless the weights are a vector and for
    unknown modes, ValueError for an origin outside of the window.
    """
    return _of_vector(input, weights, axis, output, mode, cval, origin, False)


@public
def convolve1d(
    input: Array,
    weights: Array,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """The convolution of an array with weights along an axis: the correlation with the weights
    backwards. Arguments and errors are those of `correlate1d`."""
    return _of_vector(input, weights, axis, output, mode, cval, origin, True)


def _of_vector(
    input: Array,
    weights: Array,
    axis: int,
    output: Any,
    mode: str,
    cval: Any,
    origin: Any,
    backwards: bool,
) -> Any:
    x, w = image(input), as_array(weights)
    if np.ndim(w) != 1 or not np.size(w):
        raise located(RuntimeError, "no filter weights given")
    dtype = output_dtype(output, x, "c" in kind_letter(x.dtype) + kind_letter(w.dtype))
    axis = axis_of(axis, np.ndim(x))
    reach = surroundings(np.size(w), origin, _ORIGIN, backwards)
    if backwards:
        w = w[::-1]
    elif kind_letter(w.dtype) == "c":
        w = np.conj(w)
    return as_stored(_along_axis(x, w, axis, mode, cval, reach, dtype), dtype)


@public
def correlate(
    input: Array,
    weights: Array,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The correlation of an array with weights that have as many axes, or as many as `axes` names.

    Arguments are those of `correlate1d`, with an origin for all axes or one for each. Raises
    RuntimeError for weights of another number of axes and for unknown modes, ValueError for an
    origin outside of the window.
    """
    return _of_windows(input, weights, output, mode, cval, origin, axes, False)


@public
def convolve(
    input: Array,
    weights: Array,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The convolution of an array with weights: the correlation with the weights backwards along
    each axis. Arguments and errors are those of `correlate`."""
    return _of_windows(input, weights, output, mode, cval, origin, axes, True)


def _along_axis(
    x: Any, w: Any, axis: int, mode: str, cval: Any, reach: tuple[Index, Index], dtype: Any
) -> Any:
    """The correlation along one axis, in double precision."""
    size = np.size(w)
    long = extended(wide(x), {axis: reach}, mode, cval)
    if isinstance(size, Dim):
        sizes = [size if a == axis else 1 for a in range(np.ndim(x))]
        return _of_runtime_windows(long, w.reshape(sizes), dtype)
    if size > _WRITTEN_OUT and kind_letter(dtype) in "fc":
        return _by_library(long, w.reshape([-1 if a == axis else 1 for a in range(np.ndim(x))]))

    def at(offset: int) -> Any:
        lead = [0] * axis
        return shifted(long, [*lead, offset], [*([1] * axis), size])

    middle, sign = size // 2, _symmetry(w)
    if not sign:
        total = at(size - 1) * w[size - 1]
        for k in range(size - 1):
            total = total + at(k) * w[k]
        return total
    total = at(middle) * w[middle]
    for k in range(middle):
        mirrored = at(size - 1 - k)
        total = total + (at(k) + mirrored if sign > 0 else at(k) - mirrored) * w[k]
    return total


def _symmetry(w: Any) -> int:
    """1 for weights that are the same backwards, -1 where they change their signs, else 0."""
    if has_tracer(w) or kind_letter(w.dtype) == "c" or np.size(w) % 2 == 0:
        return 0
    below, above = w[: np.size(w) // 2], w[: np.size(w) // 2 : -1]
    if np.all(np.abs(below - above) <= _EPSILON):
        return 1
    return -1 if np.all(np.abs(below + above) <= _EPSILON) else 0


def _by_library(long: Any, w: Any) -> Any:
    """All sums of windows that lie in the array."""
    strides = (1,) * np.ndim(long)
    w = np.asarray(w, long.dtype) if not has_tracer(w) else w.astype(long.dtype)
    return conv_general_dilated(long[None, None], w[None, None], strides, "VALID")[0, 0]


def _of_windows(
    input: Array,
    weights: Array,
    output: Any,
    mode: Any,
    cval: Any,
    origin: Any,
    axes: Any,
    backwards: bool,
) -> Any:
    x, w = image(input), as_array(weights)
    dtype = output_dtype(output, x, "c" in kind_letter(x.dtype) + kind_letter(w.dtype))
    if not isinstance(mode, str):
        raise located(RuntimeError, "A sequence of modes is not supported")
    sizes, origins = window(np.shape(w), origin, axes, np.ndim(x), "weights")
    if backwards:
        w = np.flip(w)
    elif kind_letter(w.dtype) == "c":
        w = np.conj(w)
    text = (
        "Invalid origin; origin must satisfy -(weights.shape[k] // 2) <= origin[k] <= "
        "(weights.shape[k]-1) // 2"
    )
    reach = {k: surroundings(n, origins[k], text, backwards) for k, n in enumerate(sizes)}
    long = extended(wide(x), reach, mode, cval)
    return as_stored(_sum_of_products(long, w.reshape(sizes), sizes, dtype), dtype)


def _sum_of_products(long: Any, w: Any, sizes: Sequence[Index], dtype: Any) -> Any:
    """The sum over each window, in the order of its elements; weights that are 0 are left out."""
    if any(isinstance(n, Dim) for n in sizes):
        return _of_runtime_windows(long, w, dtype)
    offsets = list(itertools.product(*map(range, sizes)))
    if not has_tracer(w):
        offsets = [o for o in offsets if np.abs(w[o]) > _EPSILON]
    if len(offsets) > _WRITTEN_OUT and kind_letter(dtype) in "fc":
        return _by_library(long, w)
    total: Any = None
    for offset in offsets:
        product = shifted(long, offset, sizes) * w[offset]
        total = product if total is None else total + product
    return np.zeros_like(shifted(long, [0] * len(sizes), sizes)) if total is None else total


def _of_runtime_windows(long: Any, w: Any, dtype: Any) -> Any:
    """The same for weights of a runtime shape. Sums that are cut off are a loop, in the order of
    the elements of a window."""
    if kind_letter(dtype) in "fc":
        return _by_library(long, w)
    sizes = [m - n + 1 for m, n in zip(np.shape(long), np.shape(w), strict=True)]
    flat = as_array(np.ravel(w) + 0 * np.ravel(long)[:1])

    def add(number: Any, total: Any) -> Any:
        start: list[Any] = []
        left = number
        for size in reversed(np.shape(w)):
            start.insert(0, np.mod(left, size))
            left = np.floor_divide(left, size)
        factor = dynamic_slice(flat, (number,), (1,))[0]
        return total + dynamic_slice(long, start, sizes) * factor

    return fori_loop(0, np.size(w), add, zeros(sizes, long.dtype))


@public
def uniform_filter1d(
    input: Array,
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """The mean over windows of `size` elements along an axis. Other arguments are those of
    `correlate1d`.

    A sum of many elements is one of sums of 1, 2, 4, ... elements, which takes as many additions as
    the size has binary digits. Raises RuntimeError for sizes below 1, ValueError for an origin
    outside of the window.
    """
    x = image(input)
    size = known("size", size)
    if size < 1:
        raise located(RuntimeError, "incorrect filter size")
    dtype = output_dtype(output, x, kind_letter(x.dtype) == "c")
    axis = axis_of(axis, np.ndim(x))
    long = extended(wide(x), {axis: surroundings(size, origin)}, mode, cval)
    return as_stored(_sums_of_runs(long, axis, size) / float(size), dtype)


def _sums_of_runs(x: Any, axis: int, size: int) -> Any:
    """The sums of each `size` elements one after the other."""
    runs, length, offset, total = x, 1, 0, None
    left = size
    while left:
        if left & 1:
            part = _from(runs, axis, offset, offset + length - size)
            total = part if total is None else total + part
            offset += length
        left >>= 1
        if left:
            runs = _from(runs, axis, 0, -length) + _from(runs, axis, length, 0)
            length *= 2
    return total


def _from(x: Any, axis: int, start: int, stop: int) -> Any:
    return x[(*[slice(None)] * axis, slice(start, stop or None))]


@public
def uniform_filter(
    input: Array,
    size: Any = 3,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The mean over windows of an array: `uniform_filter1d` along each axis, with a size, a mode
    and an origin for all or one for each. Between the axes the dtype is that of the result."""
    x = image(input)
    along = axes_of(axes, np.ndim(x))
    dtype = output_dtype(output, x, kind_letter(x.dtype) == "c")
    sizes, origins = for_each(known("size", size), len(along)), for_each(origin, len(along))
    result = x
    for axis, n, m, o in zip(along, sizes, for_each(mode, len(along)), origins, strict=True):
        if n > 1:
            result = uniform_filter1d(result, int(n), axis, dtype, m, cval, o)
    return as_stored(result, dtype)


@public
def sobel(
    input: Array, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0
) -> Any:
    """Sobel's filter: differences along an axis, weighted sums (1, 2, 1) along the others. Other
    arguments are those of `correlate1d`, with a mode for all axes or one for each."""
    return _differences(input, axis, output, mode, cval, [1.0, 2.0, 1.0])


@public
def prewitt(
    input: Array, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0
) -> Any:
    """Prewitt's filter: differences along an axis, sums of three along the others. Other arguments
    are those of `correlate1d`, with a mode for all axes or one for each."""
    return _differences(input, axis, output, mode, cval, [1.0, 1.0, 1.0])


def _differences(
    input: Array, axis: int, output: Any, mode: Any, cval: Any, across: list[float]
) -> Any:
    x = image(input)
    axis = axis_of(axis, np.ndim(x))
    dtype, modes = output_dtype(output, x), for_each(mode, np.ndim(x))
    result = correlate1d(x, np.array([-1.0, 0.0, 1.0]), axis, dtype, modes[axis], cval)
    for other in range(np.ndim(x)):
        if other != axis:
            result = correlate1d(result, np.array(across), other, dtype, modes[other], cval)
    return result


@public
def laplace(
    input: Array, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None
) -> Any:
    """The sum of the second differences (1, -2, 1) along each axis. Other arguments are those of
    `correlate1d`, with a mode for all axes or one for each."""
    weights = np.array([1.0, -2.0, 1.0])
    return sum_of_derivatives(
        input,
        lambda x, axis, dtype, mode: correlate1d(x, weights, axis, dtype, mode, cval),
        output,
        mode,
        axes,
    )


def sum_of_derivatives(
    input: Array, derivative: Callable[[Any, int, Any, str], Any], output: Any, mode: Any, axes: Any
) -> Any:
    """The sum of what a function gives for each axis, in the dtype of the result."""
    x = image(input)
    along = axes_of(axes, np.ndim(x))
    dtype, total = output_dtype(output, x), None
    for axis, name in zip(along, for_each(mode, len(along)), strict=True):
        part = derivative(x, axis, dtype, name)
        total = part if total is None else total + part
    return as_stored(x, dtype) if total is None else total
