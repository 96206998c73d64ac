"""Functions that make arrays; NumPy's own where no value is traced and no size a runtime one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from transpile.ir.dims import Dim, Index, bounds
from transpile.ir.indices.requirements import is_at_most, require
from transpile.ir.indices.row_major import blocks_of
from transpile.ir.types import BOOL, FLOAT64, INT64
from transpile.numpy.core.memory import copied, dtype_like, in_order, with_own_memory
from transpile.numpy.core.promotion import (
    EXPORTS,
    Array,
    Function,
    as_array,
    as_operand,
    broadcast_in_dim,
    broadcast_to,
    cast,
    convert,
    device_argument,
    dispatching,
    dtype_argument,
    fill,
    fit,
    implements,
    in_numpys_words,
    index_of,
    is_weak,
    result_dtype,
    slice_axis,
    strengthen,
    warn_if_imaginary_is_lost,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.runtime_sizes import (
    extent_of,
    is_float_found_later,
    is_found_later,
    larger_of,
    offset_of,
    range_of,
    range_of_floats,
    size_of,
)
from transpile.numpy.core.ufuncs import apply, call
from transpile.numpy.manipulation.shapes import shape_argument
from transpile.numpy.manipulation.transposes import moveaxis
from transpile.numpy.manipulation.views import broadcast_to_shape, diagonal_view
from transpile.primitives import axes as primitives
from transpile.primitives import elementwise
from transpile.trace.trace import bind, current_trace
from transpile.trace.tracer import FUNCTIONS, Tracer
from transpile.trace.views.results import equations_so_far
from transpile.util.lazy.imports import Later

if TYPE_CHECKING:
    from transpile.numpy.subscripts import bounds as subscripts
else:
    subscripts = Later("transpile.numpy.subscripts.bounds")


def makes(function: Any, in_trace: bool = False) -> Callable[[Function], Function]:
    """Register a function that NumPy dispatches by its argument `like=` only.

    `in_trace`: the function of our namespace gives a traced array in every traced function, so that
    traced values can be assigned to it, and traced numbers can index it.
    """

    def decorate(implementation: Function) -> Function:
        @functools.wraps(implementation)
        def without_device(*args: Any, **kwargs: Any) -> Any:
            device_argument(kwargs.pop("device", None))
            return implementation(*args, **kwargs)

        FUNCTIONS[function] = in_numpys_words(function, without_device)  # for like=
        EXPORTS[function.__name__] = dispatching(function, FUNCTIONS[function], in_trace)
        return implementation

    return decorate


# ------------------------------------------------------------------------------------ one value


@makes(np.zeros, in_trace=True)
def zeros(shape: Any, dtype: Any = float, order: str = "C", **kwargs: Any) -> Any:
    """An array of zeros, float64 by default.

    A size may be a runtime size. Programs store arrays row-major: `order` only decides which
    views of it share its memory, as in NumPy. In a traced function the result is traced, so that
    elements can be assigned to it. Raises UnsupportedError for a dtype that C has not.
    """
    return fill(0, shape_argument(shape), dtype_argument(dtype))


@makes(np.ones, in_trace=True)
def ones(shape: Any, dtype: Any = None, order: str = "C", **kwargs: Any) -> Any:
    """An array of ones, float64 by default; sizes, `order` and errors as for `zeros`."""
    return fill(1, shape_argument(shape), dtype_argument(dtype or FLOAT64))


@makes(np.empty, in_trace=True)
def empty(shape: Any, dtype: Any = float, order: str = "C", **kwargs: Any) -> Any:
    """An array whose elements are to be assigned later: zeros, as a program has no undefined
    values."""
    return zeros(shape, dtype)


@makes(np.full, in_trace=True)
def full(shape: Any, fill_value: Array, dtype: Any = None, order: str = "C", **kwargs: Any) -> Any:
    """An array of which every element is `fill_value`, broadcast to `shape`, in its dtype by
    default.

    Raises ValueError where the value does not broadcast to the shape.
    """
    value = as_array(fill_value)
    dtype = value.dtype if dtype is None else dtype_argument(dtype)
    return broadcast_to_shape(_constant(convert(value, dtype)), shape_argument(shape))


def _constant(value: Any) -> Any:
    if isinstance(value, Tracer):
        return value
    params = {"shape": value.shape, "broadcast_dimensions": tuple(range(value.ndim))}
    return bind(primitives.broadcast_in_dim, value, **params)


def _like(a: Array, dtype: Any, shape: Any) -> tuple[Any, Any]:
    x = as_array(a)
    return (
        x.shape if shape is None else shape_argument(shape),
        dtype_like(x) if dtype is None else dtype_argument(dtype),
    )


@implements(np.zeros_like)
def zeros_like(
    a: Array, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, **kw: Any
) -> Any:
    """Zeros in the shape and dtype of `a`, or in those that are given."""
    device_argument(kw.pop("device", None))
    return fill(0, *_like(a, dtype, shape))


@implements(np.ones_like)
def ones_like(
    a: Array, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, **kw: Any
) -> Any:
    """Ones in the shape and dtype of `a`, or in those that are given."""
    device_argument(kw.pop("device", None))
    return fill(1, *_like(a, dtype, shape))


@implements(np.empty_like)
def empty_like(
    prototype: Array,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    **kw: Any,
) -> Any:
    """An array like `prototype`, of zeros, as a program has no undefined values."""
    device_argument(kw.pop("device", None))
    return fill(0, *_like(prototype, dtype, shape))


@implements(np.full_like)
def full_like(
    a: Array,
    fill_value: Array,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    **kw: Any,
) -> Any:
    """`fill_value` broadcast to the shape of `a` and cast to its dtype, or to those that are
    given."""
    device_argument(kw.pop("device", None))
    wanted_shape, wanted_dtype = _like(a, dtype, shape)
    filling = convert(as_operand(fill_value), wanted_dtype)  # OverflowError of a Python int
    return broadcast_to_shape(_constant(filling), wanted_shape)


# ------------------------------------------------------------------------------ from other values


@makes(np.asarray, in_trace=True)
def asarray(a: Array, dtype: Any = None, order: Any = None, **kwargs: Any) -> Any:
    """The argument as a traced array: an array, a scalar, or nested lists, which may hold traced
    values.

    The dtype of lists is that which their elements promote to. `copy` is as in NumPy.
    Warns with ComplexWarning where `dtype` loses an imaginary part. Raises ValueError for lists of
    uneven lengths, and UnsupportedError for strings, objects and other dtypes that C has not.
    """
    since, x = equations_so_far(), as_array(a)
    if not isinstance(x, Tracer):  # known, but an array of our namespace in a traced function
        return bind(elementwise.copy, x if dtype is None else cast(x, dtype_argument(dtype)))
    if dtype is not None:
        wanted = dtype_argument(dtype)
        warn_if_imaginary_is_lost(x, wanted)
        x = convert(x, wanted)
    x = strengthen(x) if isinstance(a, Tracer) else with_own_memory(strengthen(x), since)
    return copied(a, in_order(x, order), kwargs.get("copy"))


@makes(np.array, in_trace=True)
def array(object: Array, dtype: Any = None, *, ndmin: int = 0, **kwargs: Any) -> Any:
    """A new array of an array, a scalar, or nested lists, which may hold traced values.

    As `asarray`, but a copy unless `copy` is None or False, and with axes of size 1 in front up to
    `ndmin` axes.
    """
    x = asarray(object, dtype, kwargs.get("order"), copy=kwargs.get("copy", True))
    missing = ndmin - x.ndim
    if missing <= 0:
        return x
    return broadcast_in_dim(x, (*[1] * missing, *x.shape), range(missing, ndmin))


def _ordered(order: str) -> Any:
    @functools.wraps(asarray)
    def with_axis(a: Any, dtype: Any = None, **_: Any) -> Any:
        x = asarray(a, dtype, order)
        return x if x.ndim else broadcast_in_dim(x, (1,), ())

    return with_axis


makes(np.asanyarray)(asarray)
makes(np.ascontiguousarray)(_ordered("C"))
makes(np.asfortranarray)(_ordered("F"))


@makes(np.asarray_chkfinite)
def asarray_chkfinite(a: Array, dtype: Any = None, order: Any = None) -> Any:
    """The array as by `asarray`. The call raises NumPy's ValueError where an element is infinite or
    NaN."""
    x = asarray(a, dtype, order)
    if isinstance(x, Tracer) and x.dtype.kind in "fc":
        text = "array must not contain infs or NaNs"
        subscripts.fail_outside(x, np.logical_not(np.isfinite(x)), ValueError, text)
    return x


# ---------------------------------------------------------------------------------------- ranges


@makes(np.arange, in_trace=True)
def arange(
    start: Any = None, stop: Any = None, step: Any = None, dtype: Any = None, **kwargs: Any
) -> Any:
    """start, start + step, ... below stop.

    The bounds decide a shape, so they are numbers known while tracing, or runtime sizes, of which
    the result is int64 by default; in functions that are converted from source they may be traced
    numbers, too. Raises a TracerError for other traced bounds, and UndecidedSizeError where it is
    not known of runtime sizes that `stop` does not lie before `start`.
    """
    if start is None or stop is None:
        start, stop = 0, start if stop is None else stop
    step = 1 if step is None else step
    if all(map(_is_whole, (start, stop, step))) and (is_found_later(start) or is_found_later(stop)):
        first, last = (size_of(v) if is_found_later(v) else v for v in (start, stop))
        by = index_of(step)
        if first is None or last is None or by <= 0 or not is_at_most(first, last):
            return range_of(start, stop, by, None if dtype is None else dtype_argument(dtype))
        start, stop = first, last
    if any(map(is_float_found_later, (start, stop, step))):
        return range_of_floats(start, stop, step, None if dtype is None else dtype_argument(dtype))
    start, stop, step = (v if isinstance(v, Dim) else _known(v) for v in (start, stop, step))
    if not any(isinstance(v, Dim) for v in (start, stop, step)):
        numbers: list[Any] = [start, stop, step]
        return bind(elementwise.copy, np.arange(*numbers, dtype=dtype))
    if any(isinstance(v, float) for v in (start, stop, step)):
        return range_of_floats(start, stop, step, None if dtype is None else dtype_argument(dtype))
    wanted = INT64 if dtype is None else dtype_argument(dtype)
    span, ahead = (stop - start, step) if step > 0 else (start - stop, -step)
    require(0, span, f"the range from {start} to {stop} in steps of {step}")
    count = blocks_of(span, ahead)
    result = bind(primitives.iota, shape=(count,), dimension=0, dtype=wanted)
    if step != 1:
        result = call(np.multiply, result, step)
    return result if start == 0 else call(np.add, result, start)


def _is_whole(value: Any) -> bool:
    """True for a runtime size, and for an integer, known or traced."""
    return isinstance(value, int | Dim) or getattr(value, "dtype", FLOAT64).kind in "iub"


def _known(value: Any) -> Any:
    """A number that decides a shape: traced values raise their error."""
    if not isinstance(value, Tracer):
        return value
    return index_of(value) if value.dtype.kind in "iu" else float(value)


@implements(np.linspace)
def linspace(
    start: Array,
    stop: Array,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """`num` samples with equal distances from start to stop, whose bounds may be traced arrays that
    broadcast; computed in the floating-point dtype that they promote to.

    An integer `dtype` rounds the samples down. With `retstep` also the distance, NaN of one sample.
    `num` must be known while tracing, or is a runtime size. Raises ValueError where it is negative.
    """
    number = extent_of(num)
    if not isinstance(number, Dim) and number < 0:
        raise located(ValueError, f"Number of samples, {number}, must be non-negative.")
    low, high = as_array(start), as_array(stop)
    # Python's numbers are weak beside arrays.
    computed = result_dtype(*(x if is_weak(x) else a for x, a in ((start, low), (stop, high))), 1.0)
    low, high = convert(low, computed), convert(high, computed)
    parts = number - 1 if endpoint else number
    span = call(np.subtract, high, low)
    ndim = span.ndim
    counts = arange(number, dtype=computed).reshape(number, *[1] * ndim)
    if isinstance(parts, Dim) and (bounds(parts)[0] or 0) <= 0:  # perhaps one sample, the first
        step = call(np.divide, span, call(np.maximum, parts, 1))
        result = call(np.multiply, counts, step)
        step = np.where(call(np.greater, parts, 0), step, np.nan)
    elif parts > 0:
        step = call(np.divide, span, parts)
        result = call(np.multiply, counts, step)
    else:
        step = np.nan
        result = call(np.multiply, counts, span)
    result = call(np.add, result, low)
    if endpoint and isinstance(parts, Dim):
        is_last = call(np.equal, counts, parts) & (call(np.greater, parts, 0))
        result = np.where(is_last, high, result)
    elif endpoint and number > 1:
        last = broadcast_to(high, (1, *span.shape))
        result = np.concatenate([slice_axis(result, 0, 0, number - 1), last])
    wanted = computed if dtype is None else dtype_argument(dtype)
    if wanted.kind in "iu":
        result = call(np.floor, result)
    result = convert(moveaxis(result, 0, axis) if axis != 0 else result, wanted)
    return (result, step) if retstep else result


def _traced_in_traces(function: Any) -> Callable[..., Any]:
    """The function of our namespace, whose known results are traced in a traced function."""
    known_or_traced = EXPORTS[function.__name__]

    @functools.wraps(function)
    def public(*args: Any, **kwargs: Any) -> Any:
        result = known_or_traced(*args, **kwargs)
        return result if current_trace() is None else _all_traced(result)

    public.__doc__ = known_or_traced.__doc__
    return public


def _all_traced(result: Any) -> Any:
    if isinstance(result, tuple):
        return tuple(map(_all_traced, result))
    return result if isinstance(result, Tracer) else bind(elementwise.copy, np.asarray(result))


EXPORTS["linspace"] = _traced_in_traces(np.linspace)


# ------------------------------------------------------------------------------------- triangles


def _triangle(shape: Any, k: Index) -> Any:
    """Where the column is at most the row plus k: known while tracing, unless a size is not."""
    n, m = shape
    if isinstance(n, int) and isinstance(m, int) and isinstance(k, int):
        return np.tri(n, m, k, dtype=bool)
    i, j = (bind(primitives.iota, shape=(n, m), dimension=d, dtype=INT64) for d in (0, 1))
    return apply(elementwise.greater_equal, (call(np.add, i, k) if k else i, j), (INT64, INT64))


@makes(np.tri, in_trace=True)
def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, **kwargs: Any) -> Any:
    """An (N, M) matrix of ones on and below the k-th diagonal and zeros above, float64 by
    default."""
    shape = shape_argument((N, N if M is None else M))
    triangle = _triangle(shape, offset_of(k))
    return bind(elementwise.convert, triangle, dtype=dtype_argument(dtype))


@makes(np.eye, in_trace=True)
def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, **kwargs: Any) -> Any:
    """An (N, M) matrix of zeros with ones on the k-th diagonal, float64 by default; N and M may be
    runtime sizes."""
    shape = shape_argument((N, N if M is None else M))
    i, j = (bind(primitives.iota, shape=shape, dimension=d, dtype=INT64) for d in (0, 1))
    return convert(
        call(np.equal, call(np.add, i, k) if isinstance(k, Tracer) or k else i, j),
        dtype_argument(dtype),
    )


@makes(np.indices, in_trace=True)
def indices(dimensions: Any, dtype: Any = int, sparse: Any = False) -> Any:
    """The subscripts of an array of these dimensions, which may be runtime sizes: for each axis one
    array, stacked along a first axis; or with `sparse` a tuple of arrays of length 1 along the
    other axes."""
    shape, dtype = shape_argument(dimensions), dtype_argument(dtype)
    ranges = []
    for axis, size in enumerate(shape):
        own: list[Any] = [1] * len(shape)
        own[axis] = size
        ranges.append(bind(primitives.iota, shape=tuple(own), dimension=axis, dtype=dtype))
    if sparse:
        return tuple(ranges)
    if not ranges:
        return fill(0, (0,), dtype)
    return np.stack([broadcast_to_shape(r, shape) for r in ranges])


@makes(np.identity, in_trace=True)
def identity(n: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """The n by n identity matrix, float64 by default."""
    return eye(n, dtype=dtype or float)


def _masked_triangle(m: Array, k: Any, lower: bool) -> Any:
    x = as_array(m)
    if x.ndim == 1:
        x = broadcast_to(x, (x.shape[0], x.shape[0]))
    if x.ndim == 0:
        raise located(IndexError, "tuple index out of range")
    mask = _triangle(x.shape[-2:], offset_of(k) if lower else offset_of(k) - 1)
    test = fit(mask, x.shape, BOOL)
    zero = np.zeros((), x.dtype)
    return bind(elementwise.select, test, *((x, zero) if lower else (zero, x)))


@implements(np.tril)
def tril(m: Array, k: Any = 0) -> Any:
    """The lower triangle of each matrix of a stack: zeros above the k-th diagonal.

    A vector is first broadcast to the rows of a square matrix, as in NumPy. Raises TypeError for a
    scalar.
    """
    return _masked_triangle(m, k, True)


@implements(np.triu)
def triu(m: Array, k: Any = 0) -> Any:
    """The upper triangle of each matrix of a stack: zeros below the k-th diagonal; otherwise as
    `tril`."""
    return _masked_triangle(m, k, False)


@implements(np.diag)
def diag(v: Array, k: Any = 0) -> Any:
    """The square matrix with a vector on its k-th diagonal, or the k-th diagonal of a matrix.

    Raises ValueError for other numbers of axes.
    """
    x = as_array(v)
    if x.ndim == 2:
        return diagonal_view(x, k)
    if x.ndim != 1:
        raise located(ValueError, "Input must be 1- or 2-d.")
    offset = offset_of(k)
    before, after = larger_of(-offset, 0), larger_of(offset, 0)
    n = x.shape[0]
    padded = (
        x
        if offset == 0
        else bind(primitives.pad, x, np.zeros((), x.dtype), padding=((after, before, 0),))
    )
    size = n + before + after
    columns = broadcast_to(padded, (size, size))
    rows = bind(primitives.iota, shape=(size, size), dimension=0, dtype=INT64)
    diagonal_of = bind(primitives.iota, shape=(size, size), dimension=1, dtype=INT64)
    mask = diagonal_of == rows + offset
    if isinstance(size, int) and isinstance(offset, int):
        mask = np.eye(size, size, offset, dtype=bool)
    return bind(elementwise.select, fit(mask, (size, size), BOOL), columns, np.zeros((), x.dtype))


@implements(np.diagflat)
def diagflat(v: Array, k: Any = 0) -> Any:
    """The square matrix with the flattened array on its k-th diagonal."""
    return diag(np.ravel(v), k)
