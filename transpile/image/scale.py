"""`resize` and `scale_and_translate`: samples of a picture as sums of its elements times weights.

Along each axis the weights are a matrix of elements by samples, and the picture is multiplied with
it. Where the scale is known the weights are, and samples depend on few elements: then each is the
sum over a window of them, which begins at an index that depends on the sample. Of runtime sizes
windows and weights are computed in the program.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.image.methods import KERNELS, RADII, ResizeMethod
from transpile.ir.dims import Dim, Index, floor_divide
from transpile.ir.indices.requirements import is_at_most, may_be_0, require
from transpile.ir.types import FLOAT32, INT64
from transpile.lax.arrays.enums import Precision
from transpile.lax.control.loops import scan
from transpile.nn.operands import operand, public
from transpile.numpy.core.creation import arange
from transpile.numpy.core.promotion import convert, has_tracer
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.runtime_sizes import extent_of
from transpile.numpy.subscripts.at import at
from transpile.scipy.special.operands import promoted
from transpile.util.settings.product_precision import of_product

# A sum of weights of at most this has no digits: JAX's limit, for any dtype.
_VANISHING = 1000 * float(np.finfo(np.float32).eps)
# Rows of elements of which so many times fewer are read than there are are read in windows.
_FEW = 4


@public
def scale_and_translate(
    image: Any,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: Any,
    translation: Any,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = Precision.HIGHEST,
) -> Any:
    """A picture of another shape, in which what was at x is at scale * x + translation.

    spatial_dims        the axes that are scaled
    scale, translation  a number for each of them; they may be traced
    method              all but "nearest", see `resize`
    antialias           kernels are as wide as a sample where the picture becomes smaller

    Samples outside of the picture are 0. Integers become float64; `precision` is that of products.
    Raises ValueError for another method and for a shape of another number of axes.
    """
    x, sizes, chosen = _arguments(image, shape, method)
    if chosen is ResizeMethod.NEAREST:
        raise located(
            ValueError,
            "Nearest neighbor resampling is not currently supported for scale_and_translate.",
        )
    (x,) = promoted("scale_and_translate", x)
    scales, shifts = promoted("scale_and_translate", scale, translation)
    with of_product(precision):
        for k, axis in enumerate(operator.index(d) % x.ndim for d in spatial_dims):
            x = _sampled(x, axis, sizes[axis], scales[k], shifts[k], chosen, antialias)
    return x


@public
def resize(
    image: Any,
    shape: Sequence[int],
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = Precision.HIGHEST,
) -> Any:
    """A picture in another size, of as many axes; those whose size stays are not touched.

    method     "nearest", "linear", "cubic", "lanczos3", "lanczos5", "area" (the mean over what a
               sample covers), "cubic-pytorch" (repeats the elements at the edges), other names of
               these, or a `ResizeMethod`
    antialias  kernels are as wide as a sample where the picture becomes smaller

    Integers become float64, but for "nearest"; `precision` is that of products. Raises
    ValueError for another method and for a shape of another number of axes.
    """
    x, sizes, chosen = _arguments(image, shape, method)
    pairs = enumerate(zip(x.shape, sizes, strict=True))
    axes = [k for k, (old, new) in pairs if not (is_at_most(old, new) and is_at_most(new, old))]
    if chosen is ResizeMethod.NEAREST:
        for axis in axes:
            x = _nearest(x, axis, sizes[axis])
        return x
    (x,) = promoted("resize", x)
    for axis in axes:
        old, new = x.shape[axis], sizes[axis]
        known = not isinstance(old, Dim) and not isinstance(new, Dim)
        scale = np.float64(new / old if new else 1.0) if known else new / old
        if not known and _has_windows(old, new, chosen):
            x = _windowed(x, axis, new, scale, chosen, antialias)
            continue
        with of_product(precision):
            x = _sampled(x, axis, new, scale, np.float64(0), chosen, antialias)
    return x


def _arguments(
    image: Any, shape: Sequence[int], method: str | ResizeMethod
) -> tuple[Any, tuple[Index, ...], ResizeMethod]:
    x = operand("resize", image)
    sizes = tuple(extent_of(n) for n in shape)
    if len(sizes) != np.ndim(x):
        raise located(
            ValueError,
            "shape must have length equal to the number of dimensions of x;  "
            f"{sizes} vs {np.shape(x)}",
        )
    return x, sizes, ResizeMethod.from_string(method) if isinstance(method, str) else method


def _range(start: Index, stop: Index) -> Any:
    """The integers from `start` to `stop`: an array of NumPy where both are known."""
    if isinstance(start, Dim) or isinstance(stop, Dim):
        return arange(start, stop, dtype=INT64)
    return np.arange(start, stop)


def _nearest(x: Any, axis: int, size: Index) -> Any:
    """The elements at the centres of the samples, which are computed in float32, as in JAX: of long
    axes the last centre may be rounded to the axis' end."""
    require(1, x.shape[axis], "the nearest of n elements")
    old, new = (
        convert(n.as_value(), FLOAT32) if isinstance(n, Dim) else np.float32(n)
        for n in (x.shape[axis], size)
    )
    numbers = convert(_range(0, size), FLOAT32)
    centres = (numbers + np.float32(0.5)) * old / new
    last = x.shape[axis] - 1
    return _taken(x, axis, np.minimum(np.floor(centres).astype(np.int64), last))


def _taken(x: Any, axis: int, index: Any) -> Any:
    """The elements at indices along an axis, all of them in range."""
    return at(x)[(slice(None),) * axis + (index,)].get(mode="promise_in_bounds")


def _sampled(
    x: Any, axis: int, size: Index, scale: Any, shift: Any, method: ResizeMethod, antialias: bool
) -> Any:
    """The picture sampled along one axis."""
    weights = _weights(x.shape[axis], size, scale, shift, method, antialias)
    weights = convert(weights, x.dtype)
    if not has_tracer(weights) and weights.size:
        starts, few = _windows(weights)
        if few.shape[0] * _FEW <= x.shape[axis]:
            wide = (slice(None), *[None] * (x.ndim - 1 - axis))
            parts = [_taken(x, axis, starts + k) * row[wide] for k, row in enumerate(few)]
            return functools.reduce(operator.add, parts)
    return np.moveaxis(np.tensordot(x, weights, axes=(axis, 0)), -1, axis)


def _radius(method: ResizeMethod) -> int:
    """The distance to the farthest element, in units of the larger of elements and samples."""
    return RADII.get(method, 1)


def _has_windows(old: Index, new: Index, method: ResizeMethod) -> bool:
    """True if samples of runtime sizes are sums over windows: unless few elements, or few samples,
    are known to be there."""
    few = _FEW * 2 * _radius(method)
    return not (may_be_0(old) or may_be_0(new) or is_at_most(old, few) or is_at_most(new, few))


def _windowed(
    x: Any, axis: int, size: Index, scale: Any, method: ResizeMethod, antialias: bool
) -> Any:
    """`_sampled` of runtime sizes: the sums over windows, in parts of as many elements as a kernel
    reaches. Those beyond the ends have no weight."""
    old, inverse = x.shape[axis], 1 / scale
    wide, taps = antialias or method is ResizeMethod.AREA, 2 * _radius(method)
    parts: Index = floor_divide(old, size) + 1 if wide else 1
    if method is ResizeMethod.AREA:
        starts = np.floor(_range(0, size) * inverse)
    else:
        width = np.maximum(inverse, 1) if antialias else 1
        starts = np.floor((_range(0, size) + 0.5) * inverse - 0.5 - _radius(method) * width) + 1
    starts = starts.astype(np.int64)
    window = starts + _range(0, taps * parts)[:, None]
    weights = _weights(old, size, scale, np.float64(0), method, antialias, window)
    weights = convert(weights, x.dtype)
    rows = (slice(None), *[None] * (x.ndim - 1 - axis))

    def sum_of(part: Any) -> Any:
        numbers = (part * taps + k for k in range(taps))
        terms = (
            _taken(x, axis, np.clip(starts + k, 0, old - 1)) * _taken(weights, 0, k)[rows]
            for k in numbers
        )
        return functools.reduce(operator.add, terms)

    if parts == 1:
        return sum_of(0)
    # One part, but where there are fewer samples than elements.
    first = sum_of(0)
    return scan(lambda total, part: (total + sum_of(part), None), first, _range(1, parts))[0]


def _windows(weights: Any) -> tuple[Any, Any]:
    """The first element of each sample's window, and the weights in the windows, all as long as the
    longest."""
    used = weights != 0
    first = np.where(used.any(axis=0), used.argmax(axis=0), 0)
    last = np.where(used.any(axis=0), len(used) - 1 - used[::-1].argmax(axis=0), 0)
    length = int(np.max(last - first)) + 1
    starts = np.minimum(first, len(used) - length)
    rows = [np.take_along_axis(weights, starts[None] + k, axis=0)[0] for k in range(length)]
    return starts, np.stack(rows)


def _weights(
    old: Index,
    new: Index,
    scale: Any,
    shift: Any,
    method: ResizeMethod,
    antialias: bool,
    window: Any = None,
) -> Any:
    """What each of `old` elements contributes to each of `new` samples, in columns that add up to
    1, or to 0 outside of the picture. A window has the numbers of the elements of each sample, some
    of which may be beyond the ends."""
    if method is ResizeMethod.CUBIC_PYTORCH and antialias:
        method = ResizeMethod.CUBIC
    inverse = 1 / scale
    if method is ResizeMethod.AREA:
        begin = _range(0, new) * inverse - shift * inverse
        element = _range(0, old)[:, None] if window is None else window
        overlap = np.minimum(begin + inverse, element + 1.0) - np.maximum(begin, element)
        weights, centre = np.maximum(0, overlap), begin + 0.5 * inverse - 0.5
        if window is not None:
            weights = np.where(element < old, weights, 0)
    else:
        centre = (_range(0, new) + 0.5) * inverse - shift * inverse - 0.5
        width = np.maximum(inverse, 1) if antialias else 1
        repeats = 2 if method is ResizeMethod.CUBIC_PYTORCH else 0
        element = _range(-repeats, old + repeats)[:, None] if window is None else window
        kernel = KERNELS[method]
        assert kernel is not None
        weights = kernel(np.abs(centre - element) / width)
        if window is not None:
            weights = np.where((element >= -repeats) & (element < old + repeats), weights, 0)
        if repeats and window is not None:
            return _normalised(weights)
        if repeats:
            return _normalised(_with_edges(weights, repeats))
    length: Any = old
    inside = (centre >= -0.5) & (centre <= length - 0.5)
    return np.where(inside, _normalised(weights), 0)


def _with_edges(weights: Any, repeats: int) -> Any:
    """The weights of the elements, to the first and last of which come those of their repeats."""
    before, after = weights[:repeats].sum(axis=0), weights[-repeats:].sum(axis=0)
    inner = weights[repeats:-repeats]
    length = inner.shape[0]
    index = _range(0, length)[:, None]
    return inner + np.where(index == 0, before, 0) + np.where(index == length - 1, after, 0)


def _normalised(weights: Any) -> Any:
    total = np.sum(weights, axis=0, keepdims=True)
    divisor = np.where(total != 0, total, 1)
    return np.where(np.abs(total) > _VANISHING, weights / divisor, 0)
