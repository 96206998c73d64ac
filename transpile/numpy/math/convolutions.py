"""Discrete convolution and correlation of vectors: `numpy.convolve` and `numpy.correlate`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.ir.dims import Index, Shape
from transpile.ir.graph import Const
from transpile.ir.indices.requirements import is_at_most, is_open, require
from transpile.ir.types import BOOL, INT64, computed_dtype
from transpile.numpy.core.promotion import (
    Array,
    as_array,
    broadcast_in_dim,
    concatenate_along,
    convert,
    implements,
    index_of,
    reshape_to,
    result_dtype,
    slice_axis,
    strengthen,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.runtime_sizes import dimension_value
from transpile.numpy.core.ufuncs import call
from transpile.numpy.manipulation.transposes import flip
from transpile.primitives import axes as primitives
from transpile.primitives import elementwise, reductions
from transpile.primitives.convolution import conv_general_dilated
from transpile.primitives.indexing import PROMISED, gather
from transpile.trace.lengths import measured
from transpile.trace.trace import bind

# Up to as many terms are written out; more are a sum over windows.
WRITTEN_OUT = 16
# Where windows have elements beyond the ends, each element is another sum.
WRITTEN_OUT_AT_BORDER = 8
# One image of one channel, and one feature.
_CONVOLUTION = {
    "window_strides": (1,),
    "padding": ((0, 0),),
    "lhs_dilation": (1,),
    "rhs_dilation": (1,),
    "dimension_numbers": ((0, 1, 2),) * 3,
    "feature_group_count": 1,
    "batch_group_count": 1,
}
_MODES = ("valid", "same", "full")


def _mode(mode: Any) -> str:
    if isinstance(mode, str):
        if mode not in _MODES:
            raise located(
                ValueError, f"mode must be one of 'valid', 'same', or 'full' (got '{mode}')"
            )
        return mode
    number = index_of(mode)
    if not 0 <= number < len(_MODES):
        raise located(ValueError, f"mode must be 0, 1 or 2, not {number}")
    return _MODES[number]


def _vectors(a: Array, v: Array) -> tuple[Any, Any]:
    """Both as one-dimensional arrays of their common dtype."""
    x, y = as_array(a), as_array(v)
    x, y = (reshape_to(z, (1,)) if z.ndim == 0 else z for z in (x, y))
    for z in (x, y):
        if z.ndim > 1:
            raise located(ValueError, "object too deep for desired array")
    for z, name in ((x, "a"), (y, "v")):
        if z.shape[0] == 0:
            raise located(ValueError, f"{name} cannot be empty")
        require(1, z.shape[0], "a convolution", f"{name} cannot be empty")
    dtype = result_dtype(x, y)
    return convert(x, dtype), convert(y, dtype)


@implements(np.convolve)
def convolve(a: Array, v: Array, mode: Any = "full") -> Any:
    """The discrete convolution of two vectors: in mode "full" of n + m - 1 elements, "same" of
    max(n, m), or "valid" where they overlap completely.

    Computed directly, without Fourier transforms, in the promoted dtype; float16 accumulates in
    float32. Raises ValueError for empty operands and more than one axis.
    """
    x, y = _vectors(a, v)
    if _are_open(x, y):
        x, y = _in_order_of_length(x, y)
    elif not is_at_most(y.shape[0], x.shape[0]):
        x, y = y, x
    return _exactly_correlated(x, flip(y), _mode(mode))


@implements(np.correlate)
def correlate(a: Array, v: Array, mode: Any = "valid") -> Any:
    """The cross-correlation of two vectors, the second conjugated: c[k] = sum over n of a[n + k]
    conj(v[n]).

    Modes, dtypes and errors as those of `convolve`; "valid" by default.
    """
    x, y = _vectors(a, v)
    y = call(np.conjugate, y) if y.dtype.kind == "c" else y
    if _are_open(x, y):
        n, m = x.shape[0], y.shape[0]
        x, y = _in_order_of_length(x, flip(y))
        if _mode(mode) != "same":
            return _exactly_correlated(x, flip(y), _mode(mode))
        return _middle(_exactly_correlated(x, flip(y), "full"), n, m, x.shape[0])
    if y.shape[0] > x.shape[0]:
        return flip(_exactly_correlated(y, x, _mode(mode)))
    return _exactly_correlated(x, y, _mode(mode))


def _middle(full: Any, n: Index, m: Index, longer: Index) -> Any:
    """The part "same" of a correlation of n elements with m, as long as the longer of the two:
    around windows of the longer one the shorter one begins in front of the middle."""
    x, y = map(dimension_value, (n, m))
    start = np.where(call(np.greater_equal, x, y), (y - 1) // 2, x // 2)
    numbers = bind(primitives.iota, shape=(longer,), dimension=0, dtype=INT64)
    return bind(gather, full, strengthen(numbers + start), axes=(0,), mode=PROMISED)


def _are_open(x: Any, y: Any) -> bool:
    """True if which of two vectors is longer depends on runtime sizes."""
    return is_open(x.shape[0], y.shape[0])


def _in_order_of_length(x: Any, y: Any) -> tuple[Any, Any]:
    """The longer of two vectors, and the shorter one, which the program finds: copies take less
    time than to ask of each product whether both of its factors are there."""
    n, m = x.shape[0], y.shape[0]
    sizes = [strengthen(convert(dimension_value(k), INT64)) for k in (n, m)]
    longer = measured(
        call(np.maximum, *sizes),
        n + m,
        lambda found: (found - n, found - m, 2 * found - n - m, n + m - 1 - found),
    )
    is_first = call(np.greater_equal, *sizes)
    zero = Const(np.zeros((), x.dtype))
    whole = [
        bind(primitives.pad, z, zero, padding=((0, longer - k, 0),)) for z, k in ((x, n), (y, m))
    ]
    parts = [slice_axis(z, 0, 0, n + m - longer) for z in (y, x)]
    return tuple(
        bind(elementwise.select, broadcast_in_dim(is_first, a.shape, ()), a, b)
        for a, b in (whole, parts)
    )


def _exactly_correlated(x: Any, y: Any, mode: str) -> Any:
    """Correlate; halves are computed in float32 and rounded once, as in every inner product."""
    wide = computed_dtype(x.dtype)
    return convert(_correlated(convert(x, wide), convert(y, wide), mode), x.dtype)


def _correlated(x: Any, y: Any, mode: str) -> Any:
    """The inner products of y with the windows of x, which is not shorter, but in mode "full" it
    may be. Elements of a window beyond the ends of x are omitted: 0 times an infinity is NaN."""
    count, length = y.shape[0], x.shape[0]
    if mode == "full" and _are_open(x, y):
        return _at_border(x, y, count - 1, length + count - 1)
    low, high = {
        "valid": (0, 0),
        "same": (count // 2, count - count // 2 - 1),
        "full": (count - 1, count - 1),
    }[mode]
    parts = [_inner_products(x, y)]
    if low:
        parts.insert(0, _at_border(slice_axis(x, 0, 0, count - 1), y, low, low))
    if high:
        parts.append(_at_border(slice_axis(x, 0, length - count + 1, length), y, 0, high))
    return concatenate_along(parts, 0)


def _inner_products(x: Any, y: Any) -> Any:
    """The inner products of y with the windows that lie inside x."""
    count = y.shape[0]
    total = x.shape[0] - count + 1
    if _is_long_and_complex(y):
        if not (isinstance(count, int) and isinstance(total, int)):
            return _by_parts(_inner_products, x, y)
        images = (reshape_to(z, (1, 1, *z.shape)) for z in (x, y))
        return reshape_to(bind(conv_general_dilated, *images, **_CONVOLUTION), (total,))
    if not isinstance(count, int) or count > WRITTEN_OUT:
        return _sum_over_windows(x, broadcast_in_dim(y, (total, count), (1,)))
    return _written_out(x, y, 0, total)


def _at_border(x: Any, y: Any, missing: int, total: int) -> Any:
    """The inner products of y with `total` windows of x, the first of which begins `missing`
    elements before x."""
    if _is_long_and_complex(y):
        return _by_parts(lambda a, b: _at_border(a, b, missing, total), x, y)
    if isinstance(y.shape[0], int) and y.shape[0] <= WRITTEN_OUT_AT_BORDER:
        return _written_out(x, y, missing, total)
    zero = Const(np.zeros((), x.dtype))
    padded = bind(primitives.pad, x, zero, padding=((missing, total - missing, 0),))
    position = _diagonal_sums((total, y.shape[0]))
    inside = call(np.logical_and, position >= missing, position < missing + x.shape[0])
    weights = broadcast_in_dim(y, position.shape, (1,))
    return _sum_over_windows(padded, bind(elementwise.select, inside, weights, zero))


def _is_long_and_complex(y: Any) -> bool:
    """True for so many complex numbers that products are summed in their parts, which fill vector
    lanes."""
    return y.dtype.kind == "c" and not is_at_most(y.shape[0], WRITTEN_OUT)


def _by_parts(products: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """Sums of complex products as those of the products of real and imaginary parts."""
    (a, b), (c, d) = ([bind(part, z) for part in elementwise.COMPLEX_PARTS] for z in (x, y))
    real = call(np.subtract, products(a, c), products(b, d))
    imag = call(np.add, products(a, d), products(b, c))
    return bind(elementwise.make_complex, real, imag)


def _written_out(x: Any, y: Any, missing: int, total: int) -> Any:
    """The same as a sum of scaled slices, one for each element of y."""
    zero = np.zeros((), x.dtype)
    result: Any = zero  # a sum starts at 0.0, which -0.0 does not change
    for k in range(y.shape[0]):
        first, last = max(0, missing - k), min(total, missing - k + x.shape[0])
        if first < last:
            window = slice_axis(x, 0, first + k - missing, last + k - missing)
            term = call(np.multiply, window, slice_axis(y, 0, k, k + 1))
            if last - first < total:
                term = bind(primitives.pad, term, Const(zero), padding=((first, total - last, 0),))
            result = call(np.add, result, term)
    return result


def _sum_over_windows(x: Any, weights: Any) -> Any:
    """The sums over j of x[i + j] weights[i, j]."""
    windows = bind(gather, x, _diagonal_sums(weights.shape), axes=(0,), mode=PROMISED)
    primitive = reductions.reduce_or if x.dtype == BOOL else reductions.reduce_sum
    return bind(primitive, call(np.multiply, windows, weights), axes=(1,))


def _diagonal_sums(shape: Shape) -> Any:
    """The array [i, j] -> i + j, as a value of the trace."""
    first, second = (bind(primitives.iota, shape=shape, dimension=d, dtype=INT64) for d in (0, 1))
    return bind(elementwise.add, first, second)
