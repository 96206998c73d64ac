"""The convolutions of `lax`: the general one, and its special cases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Index, Shape
from transpile.ir.types import BOOL
from transpile.lax.arrays.enums import PrecisionLike
from transpile.lax.arrays.products import dot_general
from transpile.lax.arrays.promotion import (
    Array,
    array,
    as_value,
    dtype_argument,
    of_dtype,
    public,
    same_dtypes,
    shape_of,
)
from transpile.lax.indexed.convolution_shapes import (
    ConvGeneralDilatedDimensionNumbers,
    conv_dimension_numbers,
    explicit_padding,
    padtype_to_pads,
    transposed_padding,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.promotion import transpose_to
from transpile.primitives.convolution import conv_general_dilated as primitive
from transpile.primitives.dot import precision_asked
from transpile.primitives.windows import dilated
from transpile.trace.trace import bind
from transpile.util.settings.product_precision import of_product

__all__ = [
    "conv",
    "conv_general_dilated",
    "conv_general_dilated_local",
    "conv_general_dilated_patches",
    "conv_transpose",
    "conv_with_general_padding",
]

Pads = Sequence[tuple[int, int]]

# ------------------------------------------------------------------------------------- convolutions


@public
def conv_general_dilated(
    lhs: Array,
    rhs: Array,
    window_strides: Sequence[int],
    padding: str | Pads,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The convolution of neural networks, which is a cross-correlation: of an operand (batch,
    features, space) with weights (output features, input features, space).

    window_strides        the distances of windows along each axis of space
    padding               'SAME', 'SAME_LOWER', 'VALID', or (before, after) for each axis; negative
                          numbers crop
    lhs_dilation          the distances of elements of the operand, with zeros between
    rhs_dilation          the distances of the taps of the weights
    dimension_numbers     other orders of axes, see `conv_dimension_numbers`
    feature_group_count   features in so many groups, each of which is convolved alone
    batch_group_count     the batch in so many groups, each of which makes its own output features
    preferred_element_type  the dtype of the result, in which products accumulate

    Operands have one dtype; `precision` is that of `dot_general`. As matrix products over an
    indirection (M. Dukhan, The Indirect Convolution Algorithm, arXiv:1907.02129, 2019). Raises
    TypeError and ValueError for dtypes, shapes, groups and parameters that do not fit.
    """
    values = [as_value(v, "conv_general_dilated", k) for k, v in enumerate((lhs, rhs))]
    left, right = map(shape_of, values)
    numbers = conv_dimension_numbers(left, right, dimension_numbers)
    spec = tuple(tuple(map(int, part)) for part in numbers)
    rank = max(0, len(left) - 2)
    one = (1,) * rank
    base = one if lhs_dilation is None else tuple(map(int, lhs_dilation))
    apart = one if rhs_dilation is None else tuple(map(int, rhs_dilation))
    strides = tuple(map(int, window_strides))
    pads: tuple[tuple[Index, Index], ...]
    if isinstance(padding, str):
        pads = _pads_of_name(padding, left, right, spec, strides, base, apart)
    else:
        pads = explicit_padding("conv_general_dilated", padding)
    params = {
        "window_strides": strides,
        "padding": pads,
        "lhs_dilation": base,
        "rhs_dilation": apart,
        "dimension_numbers": spec,
        "feature_group_count": int(feature_group_count),
        "batch_group_count": int(batch_group_count),
    }
    dtype = same_dtypes("conv_general_dilated", values)
    _check(left, right, params)
    wanted = dtype
    if preferred_element_type is not None:
        wanted = dtype_argument(preferred_element_type)
        _check_preferred(dtype, wanted)
    with of_product(precision):
        return _convolved(values, wanted, params)


def _convolved(values: Sequence[Any], dtype: np.dtype[Any], params: dict[str, Any]) -> Any:
    if dtype == BOOL:  # whether any product is true
        counted = [array(of_dtype(v, np.dtype("int32")), "conv_general_dilated") for v in values]
        return np.not_equal(bind(primitive, *counted, **params), np.int32(0))
    x, w = (array(of_dtype(v, dtype), "conv_general_dilated") for v in values)
    return bind(primitive, x, w, **params, **precision_asked(dtype))


def _pads_of_name(
    padding: str,
    lhs: Shape,
    rhs: Shape,
    spec: tuple[tuple[int, ...], ...],
    strides: tuple[int, ...],
    base: tuple[int, ...],
    apart: tuple[int, ...],
) -> tuple[tuple[int, int], ...]:
    if any(d != 1 for d in base):
        raise located(
            ValueError,
            "String padding is not implemented for transposed convolution using this op. Please "
            "either exactly specify the required padding or use conv_transpose.",
        )
    size: Any = [lhs[a] for a in spec[0][2:]]
    window = [rhs[a] for a in spec[1][2:]]
    _check_lengths(len(window), strides, apart)
    reach: Any = [dilated(w, d) for w, d in zip(window, apart, strict=True)]
    return tuple(padtype_to_pads(size, reach, strides, padding))


def _check_lengths(rank: int, strides: Sequence[int], apart: Sequence[int]) -> None:
    if len(strides) != rank:
        raise located(
            ValueError,
            "conv_general_dilated window and window_strides must have the same number of "
            f"dimensions, but got {rank} and {len(strides)}",
        )
    if any(d <= 0 for d in apart):
        raise located(TypeError, f"All dilations must be positive, got {tuple(apart)}.")
    if len(apart) != rank:
        raise located(
            ValueError,
            "conv_general_dilated window and rhs_dilation must have the same number of "
            f"dimensions, but got {rank} and {len(apart)}",
        )
    if any(s <= 0 for s in strides):
        raise located(
            ValueError,
            f"conv_general_dilated window_strides must be positive, but got {tuple(strides)}",
        )


def _check(lhs: Shape, rhs: Shape, params: dict[str, Any]) -> None:
    """Raise what the shapes of operands and the parameters deserve."""
    if len(lhs) < 2 or len(lhs) != len(rhs):
        raise located(
            TypeError,
            f"convolution requires lhs and rhs ndim to be equal and at least 2, got {len(lhs)} and "
            f"{len(rhs)}.",
        )
    spec = params["dimension_numbers"]
    _check_groups(lhs, rhs, spec, params["feature_group_count"], params["batch_group_count"])
    rank = len(lhs) - 2
    _check_lengths(rank, params["window_strides"], params["rhs_dilation"])
    if any(d <= 0 for d in params["lhs_dilation"]):
        raise located(TypeError, f"All dilations must be positive, got {params['lhs_dilation']}.")
    if len(params["padding"]) != rank:
        raise located(
            TypeError,
            f"Wrong number of explicit pads for convolution: expected {rank}, got "
            f"{len(params['padding'])}.",
        )
    if any(rhs[a] == 0 for a in spec[1][2:]):
        raise located(ValueError, f"conv_general_dilated window must not be empty, got {rhs}")
    size = tuple(lhs[a] for a in spec[0][2:])
    for n, base, (low, high) in zip(size, params["lhs_dilation"], params["padding"], strict=True):
        room = dilated(n, base) + low + high
        if isinstance(room, int) and room < 0:
            raise located(
                ValueError,
                "Negative padding is larger than the size of the corresponding dimension: got "
                f"padding={params['padding']} for lhs_shape[2:]={size}",
            )


def _check_groups(
    lhs: Shape, rhs: Shape, spec: tuple[tuple[int, ...], ...], features: int, batches: int
) -> None:
    name = "conv_general_dilated"
    for word, count in (("feature_group_count", features), ("batch_group_count", batches)):
        if count <= 0:
            raise located(ValueError, f"{name} {word} must be a positive integer, got {count}.")
    depth, inputs, outputs = lhs[spec[0][1]], rhs[spec[1][1]], rhs[spec[1][0]]
    if depth // features != inputs or depth % features:
        raise located(
            ValueError,
            f"{name} lhs feature dimension size divided by feature_group_count must equal the rhs "
            f"input feature dimension size, but {depth} // {features} != {inputs}.",
        )
    batch = lhs[spec[0][0]]
    if batches > 1 and features > 1:
        raise located(
            ValueError,
            "At most one of batch_group_count and feature_group_count may be > 1, got "
            f"batch_group_count={batches} and feature_group_count={features}",
        )
    if batches > 1 and batch % batches:
        raise located(
            ValueError,
            f"{name} batch_group_count must divide lhs batch dimension size, but {batches} does "
            f"not divide {batch}.",
        )
    for word, count in (("feature_group_count", features), ("batch_group_count", batches)):
        if count > 1 and outputs % count:
            raise located(
                ValueError,
                f"{name} rhs output feature dimension size must be a multiple of {word}, but "
                f"{outputs} is not a multiple of {count}.",
            )


_ORDERS = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}


def _check_preferred(dtype: np.dtype[Any], wanted: np.dtype[Any]) -> None:
    kinds = {"u": "i", "V": "f"}
    own, other = (kinds.get(d.kind, d.kind) for d in (dtype, wanted))
    if own != other and (own, other) != ("i", "f"):
        raise located(
            TypeError,
            "Input type is incompatible with `preferred_element_type`. The compatible combinations "
            "of (input_type, preferred_element_type) are (integral, integral), (integral, "
            "floating), (floating, floating), (complex, complex.",
        )
    if own == other == "i" and dtype.kind != wanted.kind:
        raise located(
            TypeError,
            "`preferred_element_type` must have the same signedness as the original type.",
        )
    if wanted.itemsize < dtype.itemsize and own == other:
        raise located(
            TypeError, "`preferred_element_type` must not be narrower than the original type."
        )


# -------------------------------------------------------------------------------- special kinds


@public
def conv(
    lhs: Array,
    rhs: Array,
    window_strides: Sequence[int],
    padding: str,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Any:
    """The convolution of (batch, features, space) with weights (output features, input features,
    space), without dilation.

    See `conv_general_dilated`.
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides=window_strides,
        padding=padding,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


@public
def conv_with_general_padding(
    lhs: Array,
    rhs: Array,
    window_strides: Sequence[int],
    padding: str | Pads,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Any:
    """The convolution as `conv` has it, with dilations and explicit padding."""
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides=window_strides,
        padding=padding,
        lhs_dilation=lhs_dilation,
        rhs_dilation=rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


_LAST = {
    0: ("NC", "IO", "NC"),
    1: ("NHC", "HIO", "NHC"),
    2: ("NHWC", "HWIO", "NHWC"),
    3: ("NHWDC", "HWDIO", "NHWDC"),
}


@public
def conv_transpose(
    lhs: Array,
    rhs: Array,
    strides: Sequence[int],
    padding: str | Pads,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    transpose_kernel: bool = False,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    use_consistent_padding: bool = False,
) -> Any:
    """The transposed convolution, whose strides enlarge the result: a convolution of the operand
    dilated by them.

    With `transpose_kernel` it is the gradient of a forward convolution with the same weights.
    Explicit padding is that of the dilated operand, or with `use_consistent_padding` that of the
    forward convolution. By default channels are last (NHWC, HWIO). Raises ValueError for more than
    three axes of space without dimension numbers.
    """
    x, w = (array(v, "conv_transpose", k) for k, v in enumerate((lhs, rhs)))
    if dimension_numbers is None:
        if x.ndim - 2 not in _LAST:
            raise located(ValueError, "No 4+ dimensional dimension_number defaults.")
        dimension_numbers = _LAST[x.ndim - 2]
    numbers = conv_dimension_numbers(x.shape, w.shape, dimension_numbers)
    window = [w.shape[a] for a in numbers.rhs_spec[2:]]
    apart = (1,) * len(window) if rhs_dilation is None else tuple(map(int, rhs_dilation))
    reach: Any = [dilated(k, d) for k, d in zip(window, apart, strict=True)]
    pads: Any = padding
    if isinstance(padding, str) and padding in ("SAME", "VALID"):
        pads = [transposed_padding(k, s, padding) for k, s in zip(reach, strides, strict=True)]
    elif use_consistent_padding and not isinstance(padding, str):
        pads = [(k - 1 - low, k - 1 - high) for k, (low, high) in zip(reach, padding, strict=True)]
    if transpose_kernel:
        w = np.flip(w, tuple(numbers.rhs_spec[2:])) if window else w
        w = np.swapaxes(w, numbers.rhs_spec[0], numbers.rhs_spec[1])
    return conv_general_dilated(
        x,
        w,
        (1,) * len(window),
        pads,
        strides,
        rhs_dilation,
        numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


@public
def conv_general_dilated_patches(
    lhs: Array,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Pads,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Any:
    """The windows of a convolution, with their elements as features: for each feature of the
    operand all taps in row-major order.

    Computed as a convolution with unit weights. Parameters and errors as those of
    `conv_general_dilated`.
    """
    x = array(lhs, "conv_general_dilated_patches")
    filters = tuple(map(int, filter_shape))
    given: Any = dimension_numbers
    letters = given[1] if isinstance(given, list | tuple) and isinstance(given[1], str) else None
    plain = tuple(range(2 + len(filters)))
    numbers = conv_dimension_numbers(x.shape, plain, given)
    channels, size = x.shape[numbers.lhs_spec[1]], math.prod(filters)
    taps = np.eye(size, dtype=np.int64).reshape(size, 1, *filters)
    weights = np.tile(taps, (channels, *(1,) * (1 + len(filters))))
    order = numbers.rhs_spec if letters is not None or given is not None else plain
    weights = np.transpose(weights, tuple(map(list(order).index, plain)))
    return conv_general_dilated(
        x,
        weights.astype(x.dtype),
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        feature_group_count=channels,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


@public
def conv_general_dilated_local(
    lhs: Array,
    rhs: Array,
    window_strides: Sequence[int],
    padding: str | Pads,
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: PrecisionLike = None,
) -> Any:
    """A convolution with its own weights for each position of the result: the weights have the
    space of the result, and (features of the operand) * (taps) input features.

    Parameters and errors as those of `conv_general_dilated`.
    """
    w = array(rhs, "conv_general_dilated_local", 1)
    patches = conv_general_dilated_patches(
        lhs,
        filter_shape,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        dimension_numbers,
        precision,
    )
    numbers = conv_dimension_numbers(patches.shape, w.shape, dimension_numbers)
    _, right, out = (tuple(map(int, part)) for part in numbers)  # patches lie as the result does
    product = dot_general(
        patches, w, (((out[1],), (right[1],)), (out[2:], right[2:])), precision=precision
    )
    position = dict(zip((*out[2:], out[0], out[1]), range(len(out)), strict=True))
    return transpose_to(product, [position[a] for a in range(len(out))])
