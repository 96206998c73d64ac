"""Greatest and least elements of windows, and the morphology of grey images that they make.

The extreme of a run of elements is that of two runs that overlap, whose length is a power of 2. So
a window of n elements costs about log2(n) comparisons. A footprint is taken apart into the runs of
its rows.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from transpile.ir.types import UINT8, kind_letter
from transpile.numpy.core.promotion import Array, convert
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
    stored_edge,
    surroundings,
    wide,
    window,
    with_edge,
)
from transpile.scipy.special.operands import public

__all__ = [
    "folded",
    "grey_closing",
    "grey_dilation",
    "grey_erosion",
    "grey_opening",
    "maximum_filter",
    "maximum_filter1d",
    "minimum_filter",
    "minimum_filter1d",
    "morphological_gradient",
]

Fold = Callable[[Any, Any], Any]


@public
def maximum_filter1d(
    input: Array,
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """The greatest of `size` elements around each along an axis.

    Arguments are those of `correlate1d`. Raises RuntimeError for sizes below 1, ValueError for an
    origin outside of the window, TypeError for complex arrays.
    """
    return _of_lines(np.maximum, input, size, axis, output, mode, cval, origin)


@public
def minimum_filter1d(
    input: Array,
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """The least of `size` elements around each along an axis. Arguments and errors are those of
    `maximum_filter1d`."""
    return _of_lines(np.minimum, input, size, axis, output, mode, cval, origin)


def _of_lines(
    fold: Fold, input: Array, size: Any, axis: int, output: Any, mode: str, cval: Any, origin: Any
) -> Any:
    x = image(input, is_real=True)
    if known("size", size) < 1:
        raise located(RuntimeError, "incorrect filter size")
    dtype, axis = output_dtype(output, x), axis_of(axis, np.ndim(x))
    long = extended(with_edge(x, mode, cval), {axis: surroundings(size, origin)}, mode, cval)
    sizes = [size if k == axis else 1 for k in range(np.ndim(x))]
    return as_stored(folded(long, np.ones(sizes, bool), fold), dtype)


def folded(long: Any, footprint: Any, fold: Fold) -> Any:
    """What an associative and idempotent function makes of the elements of each window under a
    footprint, which has as many axes as the array."""
    sizes = np.shape(footprint)
    axis = int(np.argmax(sizes))
    powers = [long]
    result: Any = None
    for offset, length in _runs(footprint, axis):
        step = length.bit_length() - 1
        while len(powers) <= step:
            reach = 1 << (len(powers) - 1)
            lead = (slice(None),) * axis
            behind, ahead = (*lead, slice(None, -reach)), (*lead, slice(reach, None))
            powers.append(fold(powers[-1][behind], powers[-1][ahead]))
        # An array of extremes of runs is shorter: so is the window in it.
        inner = [n - (1 << step) + 1 if k == axis else n for k, n in enumerate(sizes)]
        for start in {offset[axis], offset[axis] + length - (1 << step)}:
            at = [start if k == axis else o for k, o in enumerate(offset)]
            part = shifted(powers[step], at, inner)
            result = part if result is None else fold(result, part)
    return result


def _runs(footprint: Any, axis: int) -> list[tuple[tuple[int, ...], int]]:
    """Where the runs of true elements along an axis begin, and how long they are."""
    edges = np.diff(
        np.pad(footprint.astype(np.int8), [(int(k == axis),) * 2 for k in range(footprint.ndim)]),
        axis=axis,
    )
    found = []
    for line in itertools.product(
        *(range(1 if k == axis else n) for k, n in enumerate(footprint.shape))
    ):
        along = edges[tuple(slice(None) if k == axis else o for k, o in enumerate(line))]
        for start, stop in zip(np.flatnonzero(along > 0), np.flatnonzero(along < 0), strict=True):
            offset = tuple(int(start) if k == axis else o for k, o in enumerate(line))
            found.append((offset, int(stop - start)))
    return found


@public
def maximum_filter(
    input: Array,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The greatest element of the window around each: of a `size` for all axes or one for each, or
    under a `footprint`, a known array of bools.

    Other arguments are those of `correlate`; with a size each axis may have a mode of its own.
    Raises RuntimeError without a size and a footprint, and for unknown modes, ValueError for an
    origin outside of the window, TypeError for complex arrays.
    """
    return _of_windows(np.maximum, input, size, footprint, None, output, mode, cval, origin, axes)


@public
def minimum_filter(
    input: Array,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The least element of the window around each. Arguments and errors are those of
    `maximum_filter`."""
    return _of_windows(np.minimum, input, size, footprint, None, output, mode, cval, origin, axes)


def _of_windows(
    fold: Fold,
    input: Array,
    size: Any,
    footprint: Any,
    structure: Any,
    output: Any,
    mode: Any,
    cval: Any,
    origin: Any,
    axes: Any,
) -> Any:
    x = image(input, is_real=True)
    dtype = output_dtype(output, x)
    if size is not None and footprint is not None:
        warnings.warn("ignoring size because footprint is set", UserWarning, stacklevel=5)
    if footprint is not None:
        footprint = np.asarray(known("footprint", footprint), bool)
        if not footprint.any():
            raise located(ValueError, "All-zero footprint is not supported.")
        if footprint.all() and structure is None:
            size, footprint = footprint.shape, None
    elif structure is not None:
        footprint = np.ones(np.shape(structure), bool)
    elif size is None:
        raise located(RuntimeError, "no footprint provided")
    if footprint is None:
        return _along_axes(fold, x, size, dtype, mode, cval, origin, axes)
    if not isinstance(mode, str):
        raise located(
            RuntimeError, "A sequence of modes is not supported for non-separable footprints"
        )
    sizes, origins = window(footprint.shape, origin, axes, np.ndim(x), "footprint")
    reach = {k: surroundings(n, origins[k]) for k, n in enumerate(sizes)}
    if structure is not None:
        return as_stored(_raised(fold, x, footprint, structure, (sizes, reach), mode, cval), dtype)
    long = extended(x, reach, mode, stored_edge(cval, x.dtype))
    return as_stored(folded(long, footprint.reshape(sizes), fold), dtype)


def _along_axes(
    fold: Fold, x: Any, size: Any, dtype: Any, mode: Any, cval: Any, origin: Any, axes: Any
) -> Any:
    along = axes_of(axes, np.ndim(x))
    count = len(along)
    rows = zip(
        along,
        for_each(known("size", size), count),
        for_each(mode, count),
        for_each(origin, count),
        strict=True,
    )
    for axis, n, name, shift in rows:
        if n > 1:
            x = _of_lines(fold, x, int(n), axis, dtype, name, cval, shift)
    return as_stored(x, dtype)


def _raised(
    fold: Fold,
    x: Any,
    footprint: Any,
    structure: Any,
    place: tuple[Sequence[Any], Mapping[int, tuple[Any, Any]]],
    mode: str,
    cval: Any,
) -> Any:
    """The extreme of the elements of each window, with the structure added for greatest ones and
    subtracted for least ones. As in SciPy the first sum is one of double precision, the others are
    in the dtype of the array, to which the structure is cast."""
    sizes, reach = place
    heights = np.asarray(known("structure", structure), np.float64)
    if heights.shape != footprint.shape:
        raise located(RuntimeError, "structure array has incorrect shape")
    kind = UINT8 if kind_letter(x.dtype) == "b" else x.dtype
    heights = (heights if fold is np.maximum else -heights).reshape(sizes)
    long = extended(convert(x, kind), reach, mode, stored_edge(cval, kind))
    result: Any = None
    for offset in zip(*np.nonzero(footprint.reshape(sizes)), strict=True):
        value = shifted(long, [int(o) for o in offset], sizes)
        if result is None:
            result = wide(value) + heights[offset]
        else:
            result = fold(result, wide(value + as_stored(heights[offset], kind)))
    return result


@public
def grey_erosion(
    input: Array,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The least element of the window around each, less the `structure`, a known array, where that
    is given. Other arguments and errors are those of `maximum_filter`, ValueError without a size, a
    footprint and a structure."""
    _check_window(size, footprint, structure)
    return _of_windows(
        np.minimum, input, size, footprint, structure, output, mode, cval, origin, axes
    )


def _check_window(size: Any, footprint: Any, structure: Any) -> None:
    if size is None and footprint is None and structure is None:
        raise located(ValueError, "size, footprint, or structure must be specified")


@public
def grey_dilation(
    input: Array,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The greatest element of the window around each, which lies the other way round than that of
    `grey_erosion`, whose arguments and errors it has; a `structure` is added."""
    _check_window(size, footprint, structure)
    along = axes_of(axes, np.ndim(image(input)))
    origins = for_each(origin, len(along))
    if structure is not None:
        structure = np.flip(np.asarray(known("structure", structure)))
    if footprint is not None:
        footprint = np.flip(np.asarray(known("footprint", footprint)))
    given = structure if footprint is None else footprint
    shape = for_each(size if given is None else np.shape(given), len(along))
    origins = [-o - (n % 2 == 0) for o, n in zip(origins, shape, strict=True)]
    return _of_windows(
        np.maximum, input, size, footprint, structure, output, mode, cval, origins, axes
    )


@public
def grey_opening(
    input: Array,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The dilation of the erosion: bright details that are smaller than the window are gone.
    Arguments and errors are those of `grey_erosion`."""
    inner = grey_erosion(input, size, footprint, structure, None, mode, cval, origin, axes=axes)
    return grey_dilation(inner, size, footprint, structure, output, mode, cval, origin, axes=axes)


@public
def grey_closing(
    input: Array,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The erosion of the dilation: dark details that are smaller than the window are gone.
    Arguments and errors are those of `grey_erosion`."""
    inner = grey_dilation(input, size, footprint, structure, None, mode, cval, origin, axes=axes)
    return grey_erosion(inner, size, footprint, structure, output, mode, cval, origin, axes=axes)


@public
def morphological_gradient(
    input: Array,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The dilation less the erosion, in the dtype of the array. Arguments and errors are those of
    `grey_erosion`."""
    image(input)
    above = grey_dilation(input, size, footprint, structure, None, mode, cval, origin, axes=axes)
    below = grey_erosion(input, size, footprint, structure, None, mode, cval, origin, axes=axes)
    return convert(above - below, above.dtype)
