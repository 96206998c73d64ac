"""Matrix products and Fourier transforms of `lax`.

On a CPU products are as precise as their dtype, whatever `precision` is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Shape
from transpile.ir.types import INT64
from transpile.lax.arrays.enums import FftType, PrecisionLike, RaggedDotDimensionNumbers
from transpile.lax.arrays.promotion import (
    Array,
    array,
    as_value,
    dtype_argument,
    ints,
    of_dtype,
    public,
    same_dtypes,
    shape_of,
    spelled,
)
from transpile.numpy.core.promotion import (
    broadcast_in_dim,
    fill,
    is_empty,
    reshape_to,
    result_dtype,
)
from transpile.numpy.core.promotion import error as located
from transpile.primitives import axes as axis_primitives
from transpile.primitives import dot as linalg
from transpile.trace.trace import bind
from transpile.util.settings.product_precision import of_product

__all__ = [
    "batch_matmul",
    "dot",
    "dot_general",
    "fft",
    "ragged_dot",
    "ragged_dot_general",
    "scaled_dot",
]

Axes = tuple[int, ...]
Numbers = tuple[tuple[Axes, Axes], tuple[Axes, Axes]]
_SIMPLE = {(1, 1), (2, 1), (1, 2), (2, 2)}


@public
def dot_general(
    lhs: Array,
    rhs: Array,
    dimension_numbers: Any,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """The sum of products over contracting axes of two arrays, element by element over batch axes.

    `dimension_numbers` are ((contracting of lhs, of rhs), (batch of lhs, of rhs)). The result has
    the batch axes, then the other axes of lhs, then those of rhs. Operands are promoted to one
    dtype, in which the sum accumulates (halves in float32), or cast to `preferred_element_type`. On
    a GPU `precision` may let tensor cores round float32 (docs/cuda.md). Raises TypeError for axes
    that do not match, and for a narrower preferred dtype, ValueError for another precision.
    """
    values = [as_value(v, "dot_general", k) for k, v in enumerate((lhs, rhs))]
    dtype = result_dtype(*values)  # here lax promotes
    x, y = (array(of_dtype(v, dtype), "dot_general") for v in values)
    return _product(x, y, _numbers(dimension_numbers), preferred_element_type, precision)


def _numbers(given: Any) -> Numbers:
    (cx, cy), (bx, by) = given
    return (ints(cx), ints(cy)), (ints(bx), ints(by))


def _product(x: Any, y: Any, numbers: Numbers, preferred: Any, precision: Any = None) -> Any:
    _check_numbers(x.shape, y.shape, numbers)
    dtype = x.dtype
    if preferred is not None:
        wanted = dtype_argument(preferred)
        _check_preferred(dtype, wanted)
        x, y, dtype = of_dtype(x, wanted), of_dtype(y, wanted), wanted
    (cx, cy), (bx, by) = numbers
    shape = (
        *(x.shape[a] for a in bx),
        *(x.shape[a] for a in linalg.free_axes(x.ndim, cx, bx)),
        *(y.shape[a] for a in linalg.free_axes(y.ndim, cy, by)),
    )
    if is_empty(shape) or any(x.shape[a] == 0 for a in cx):
        return fill(0, shape, dtype)
    with of_product(precision):
        return linalg.bind_product(x, y, numbers)


def _check_preferred(dtype: np.dtype[Any], wanted: np.dtype[Any]) -> None:
    if wanted.itemsize < dtype.itemsize and wanted.kind == dtype.kind:
        raise located(
            TypeError,
            "`preferred_element_type` must not be narrower than the original type, got "
            f"preferred_element_type of {wanted.name} for result type of {dtype.name}.",
        )


def _check_numbers(x: Shape, y: Shape, numbers: Numbers) -> None:
    """Raise the TypeError that dimension numbers deserve."""
    (cx, cy), (bx, by) = numbers
    for side, shape, contracting, batch in (("lhs", x, cx, bx), ("rhs", y, cy, by)):
        _check_side(side, len(shape), contracting, batch)
    if len(bx) != len(by):
        raise located(
            TypeError,
            "dot_general requires equal numbers of lhs_batch and rhs_batch dimensions, got "
            f"lhs_batch {bx} and rhs_batch {by}.",
        )
    for words, left, right in (
        ("lhs batch dimensions and rhs batch dimensions", bx, by),
        ("contracting dimensions", cx, cy),
    ):
        sizes = tuple(x[a] for a in left), tuple(y[a] for a in right)
        if sizes[0] != sizes[1]:
            raise located(
                TypeError,
                f"dot_general requires {words} to have the same shape, got {spelled(sizes[0])} and "
                f"{spelled(sizes[1])}.",
            )


def _check_side(side: str, ndim: int, contracting: Axes, batch: Axes) -> None:
    if not all(0 <= a < ndim for a in (*contracting, *batch)):
        raise located(
            TypeError,
            f"dot_general requires {side} dimension numbers to be nonnegative and less than the "
            f"number of axes of the {side} value, got {side}_batch of {batch} and "
            f"{side}_contracting of {contracting} for {side} of rank {ndim}",
        )
    for name, word, axes in (
        ("batch", "batch", batch),
        ("contracting", "contracting", contracting),
    ):
        if len(set(axes)) != len(axes):
            raise located(
                TypeError,
                f"dot_general requires {side} {word} dimensions to be distinct, got "
                f"{side}_{name} {axes}.",
            )
    if set(batch) & set(contracting):
        raise located(
            TypeError,
            f"dot_general requires {side} batch dimensions to be disjoint from contracting "
            f"dimensions, got {side}_batch {batch} and {side}_contracting {contracting}.",
        )


@public
def dot(
    lhs: Array,
    rhs: Array,
    *,
    dimension_numbers: Any = None,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The product of two matrices, a matrix and a vector, or two vectors; of other arrays over
    `dimension_numbers`.

    See `dot_general`. Raises ValueError for other ranks without `dimension_numbers`.
    """
    values = [as_value(v, "dot_general", k) for k, v in enumerate((lhs, rhs))]
    left, right = map(shape_of, values)
    if dimension_numbers is None:
        ranks = (len(left), len(right))
        if ranks not in _SIMPLE or left[-1] != right[0]:
            raise located(
                ValueError,
                "jax.lax.dot: dimension_numbers must be specified when not performing simple "
                "un-batched matrix-matrix, matrix-vector, or vector-vector products; got "
                f"lhs_shape={spelled(left)} rhs_shape={spelled(right)}",
            )
        dimension_numbers = (((len(left) - 1,), (0,)), ((), ()))
    return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)


@public
def batch_matmul(lhs: Array, rhs: Array, precision: PrecisionLike = None) -> Any:
    """The products of the matrices of two stacks of one shape; raises ValueError for fewer than two
    or different numbers of axes."""
    values = [as_value(v, "dot_general", k) for k, v in enumerate((lhs, rhs))]
    ranks = [len(shape_of(v)) for v in values]
    if min(ranks) < 2:
        raise located(
            ValueError,
            f"Arguments to batch_matmul must be at least 2D, got {ranks[0]}, {ranks[1]}",
        )
    if ranks[0] != ranks[1]:
        raise located(
            ValueError, f"Arguments to batch_matmul must have same ndim, got {ranks[0]}, {ranks[1]}"
        )
    batch = tuple(range(ranks[0] - 2))
    return dot_general(lhs, rhs, (((ranks[0] - 1,), (ranks[0] - 2,)), (batch, batch)), precision)


@public
def scaled_dot(
    lhs: Array,
    rhs: Array,
    *,
    lhs_scale: Array | None = None,
    rhs_scale: Array | None = None,
    dimension_numbers: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """The product of two arrays, each multiplied by scales first: one for each block of neighbours
    along the contracting axis.

    By default the last axis of lhs and the second to last of rhs, with one batch axis where both
    have three. Computed in `preferred_element_type`, bfloat16 by default. Raises TypeError for
    scales that do not fit.
    """
    x, y = array(lhs, "scaled_dot"), array(rhs, "scaled_dot", 1)
    if dimension_numbers is None:
        if (x.ndim, y.ndim) not in ((2, 2), (3, 3)):
            raise located(
                ValueError,
                "scaled_dot needs dimension_numbers for operands that are not both of 2 or 3 "
                f"dimensions, got {x.ndim} and {y.ndim}",
            )
        batch = (0,) * (x.ndim - 2)
        dimension_numbers = (((x.ndim - 1,), (x.ndim - 2,)), (batch, batch))
    numbers = _numbers(dimension_numbers)
    dtype = dtype_argument("bfloat16" if preferred_element_type is None else preferred_element_type)
    (cx, cy), _ = numbers
    left = _scaled(of_dtype(x, dtype), lhs_scale, cx)
    right = _scaled(of_dtype(y, dtype), rhs_scale, cy)
    return _product(left, right, numbers, None)


def _scaled(x: Any, scale: Any, contracting: Axes) -> Any:
    """The array times its scales, which are repeated along the contracting axes."""
    if scale is None:
        return x
    factors = of_dtype(array(scale, "scaled_dot"), x.dtype)
    for axis, size in enumerate(x.shape):
        count = factors.shape[axis]
        if count == size:
            continue
        if axis not in contracting or size % count:
            raise located(
                TypeError,
                f"the scales of shape {spelled(factors.shape)} do not fit an operand of shape "
                f"{spelled(x.shape)} in scaled_dot",
            )
        wide = (*factors.shape[: axis + 1], size // count, *factors.shape[axis + 1 :])
        spread = [a for a in range(len(wide)) if a != axis + 1]
        repeated = broadcast_in_dim(factors, wide, spread)
        factors = reshape_to(repeated, (*factors.shape[:axis], size, *factors.shape[axis + 1 :]))
    return x * factors


# ------------------------------------------------------------------------------- ragged products


@public
def ragged_dot(
    lhs: Array,
    rhs: Array,
    group_sizes: Array,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    group_offset: Array | None = None,
    out_sharding: Any = None,
) -> Any:
    """Rows (m, k) in consecutive groups, each multiplied by its matrix of (groups, k, n); zeros for
    rows after the last group.

    Computed as one product with masked copies of the rows, so the work grows with the number of
    groups. Raises NotImplementedError for `group_offset`.
    """
    numbers = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))
    return ragged_dot_general(
        lhs,
        rhs,
        group_sizes,
        numbers,
        precision,
        preferred_element_type,
        group_offset,
    )


@public
def ragged_dot_general(
    lhs: Array,
    rhs: Array,
    group_sizes: Array,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    group_offset: Array | None = None,
    out_sharding: Any = None,
) -> Any:
    """A product in which an axis of the left array consists of consecutive groups of the given
    sizes.

    Where that axis is free, each group is multiplied by its own part of the right array, along
    `rhs_group_dimensions`. Where it is contracted, each group is contracted alone, and the groups
    are the first axis of the result. Along a batch axis groups change nothing. Elements in no group
    count as zero. Raises TypeError for dtypes that differ, NotImplementedError for `group_offset`.
    """
    if group_offset is not None:
        raise located(NotImplementedError, "Unimplemented group_offset support.")
    values = [as_value(v, "ragged_dot", k) for k, v in enumerate((lhs, rhs))]
    dtype = same_dtypes("ragged_dot_general", values)
    x, y = (array(of_dtype(v, dtype), "ragged_dot") for v in values)
    sizes = array(group_sizes, "ragged_dot", 2)
    if sizes.ndim != 1:
        raise located(TypeError, f"expected rank 1 group_sizes, got shape {spelled(sizes.shape)}")
    numbers = _numbers(ragged_dot_dimension_numbers.dot_dimension_numbers)
    (ragged,) = ints(ragged_dot_dimension_numbers.lhs_ragged_dimensions)
    groups = ints(ragged_dot_dimension_numbers.rhs_group_dimensions)
    (cx, cy), (bx, by) = numbers
    masked = _in_groups(x, sizes, ragged)
    # The groups are the first axis of the masked left array.
    left_c, left_b = tuple(a + 1 for a in cx), tuple(a + 1 for a in bx)
    given = preferred_element_type, precision
    if ragged in cx:
        return _product(masked, y, ((left_c, cy), (left_b, by)), *given)
    if ragged in bx:
        return _product(x, y, numbers, *given)
    (group,) = groups
    return _product(masked, y, (((0, *left_c), (group, *cy)), (left_b, by)), *given)


def _in_groups(x: Any, sizes: Any, axis: int) -> Any:
    """The array once for each group, zero outside the group, the groups along a new first axis."""
    count, size = sizes.shape[0], x.shape[axis]
    ends = np.cumsum(of_dtype(sizes, INT64))
    starts = np.subtract(ends, of_dtype(sizes, INT64))
    shape = (count, size)
    position = bind(axis_primitives.iota, shape=shape, dimension=1, dtype=INT64)
    first, last = (broadcast_in_dim(v, shape, (0,)) for v in (starts, ends))
    mask = np.logical_and(np.greater_equal(position, first), np.less(position, last))
    whole = (count, *x.shape)
    mask = broadcast_in_dim(mask, whole, (0, axis + 1))
    wide = broadcast_in_dim(x, whole, range(1, x.ndim + 1))
    return np.where(mask, wide, np.zeros((), x.dtype))


# ----------------------------------------------------------------------------- Fourier transforms

_TRANSFORMS: dict[FftType, Any] = {
    FftType.FFT: np.fft.fftn,
    FftType.IFFT: np.fft.ifftn,
    FftType.RFFT: np.fft.rfftn,
    FftType.IRFFT: np.fft.irfftn,
}


@public
def fft(x: Array, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Any:
    """The Fourier transform along the last axes, of the lengths that these have: FFT, IFFT, RFFT or
    IRFFT.

    Inverse ones are scaled by 1 / n; methods as those of `numpy.fft.fft`. Raises ValueError for
    lengths that differ from the shape, an unknown type, and complex numbers in RFFT.
    """
    value = array(x, "fft")
    kind = _fft_kind(fft_type)
    lengths = ints(fft_lengths)
    if kind is FftType.RFFT:
        if value.dtype.kind == "c":
            raise located(ValueError, "RFFT input must be float32 or float64")
    elif value.dtype.kind != "c":
        value = of_dtype(value, np.result_type(value.dtype, np.complex64))
    if not lengths:
        return value
    if len(lengths) > value.ndim:
        raise located(
            ValueError,
            f"fft input shape {spelled(value.shape)} has fewer axes than there are fft_lengths "
            f"{spelled(lengths)}",
        )
    _check_lengths(kind, value.shape, lengths)
    axes = tuple(range(value.ndim - len(lengths), value.ndim))
    return _TRANSFORMS[kind](value, s=lengths, axes=axes)


def _fft_kind(given: FftType | str) -> FftType:
    if isinstance(given, str):
        if given.upper() not in FftType.__members__:
            raise located(ValueError, f"Unknown FFT type '{given}'")
        return FftType[given.upper()]
    return FftType(given)


def _check_lengths(kind: FftType, shape: Shape, lengths: Shape) -> None:
    last = shape[-len(lengths) :]
    wanted = lengths if kind is not FftType.IRFFT else (*lengths[:-1], lengths[-1] // 2 + 1)
    if tuple(last) != tuple(wanted):
        words = "minor dimensions must be equal to"
        if kind is FftType.IRFFT:
            words = "minor dimensions must be equal to all except the last of, and half of the last"
        raise located(
            ValueError,
            f"{kind.name} input shape {spelled(shape)} {words} fft_lengths {spelled(lengths)}",
        )
