"""The padding, dimension numbers and shapes of convolutions of `lax`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from transpile.ir.dims import Dim, Index
from transpile.numpy.core.promotion import error as located
from transpile.primitives.windows import dilated, window_count, windowed_shape

__all__ = [
    "ConvDimensionNumbers",
    "ConvGeneralDilatedDimensionNumbers",
    "conv_dimension_numbers",
    "conv_general_permutations",
    "conv_general_shape_tuple",
    "conv_shape_tuple",
    "conv_transpose_shape_tuple",
    "padtype_to_pads",
]


class ConvDimensionNumbers(NamedTuple):
    """The axes of operand, weights and result of a convolution.

    lhs_spec  of the operand: batch, features, space
    rhs_spec  of the weights: output features, input features, space
    out_spec  of the result: batch, features, space
    """

    lhs_spec: Sequence[int]
    rhs_spec: Sequence[int]
    out_spec: Sequence[int]


ConvGeneralDilatedDimensionNumbers = ConvDimensionNumbers | tuple[str, str, str] | None

# -------------------------------------------------------------------------------- dimension numbers


def conv_dimension_numbers(
    lhs_shape: Sequence[Index], rhs_shape: Sequence[Index], dimension_numbers: Any
) -> ConvDimensionNumbers:
    """Dimension numbers as `ConvDimensionNumbers`: of three strings such as `NHWC`, `HWIO`, `NHWC`,
    or of None, which means `NCHW`, `OIHW`, `NCHW`.

    Raises TypeError for what is neither, and for strings whose letters do not match.
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    if len(lhs_shape) != len(rhs_shape):
        raise located(
            TypeError,
            "convolution requires lhs and rhs ndim to be equal, got "
            f"{len(lhs_shape)} and {len(rhs_shape)}.",
        )
    if dimension_numbers is None:
        plain = tuple(range(len(lhs_shape)))
        return ConvDimensionNumbers(plain, plain, plain)
    if not isinstance(dimension_numbers, list | tuple):
        raise located(
            TypeError,
            "convolution dimension_numbers must be tuple/list or None, got "
            f"{type(dimension_numbers)}.",
        )
    if len(dimension_numbers) != 3:
        raise located(
            TypeError,
            "convolution dimension_numbers list/tuple must be length 3, got "
            f"{len(dimension_numbers)}.",
        )
    if not all(isinstance(part, str) for part in dimension_numbers):
        raise located(
            TypeError,
            "convolution dimension_numbers elements must be strings, got "
            f"{tuple(map(type, dimension_numbers))}.",
        )
    for k, part in enumerate(dimension_numbers):
        if len(part) != len(lhs_shape):
            raise located(
                TypeError,
                f"convolution dimension_numbers[{k}] must have len equal to the ndim of lhs and "
                f"rhs, got {len(part)} for lhs and rhs shapes {tuple(lhs_shape)} and "
                f"{tuple(rhs_shape)}.",
            )
    return ConvDimensionNumbers(*conv_general_permutations(dimension_numbers))


def conv_general_permutations(dimension_numbers: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """For each of three strings the axes in the order of `ConvDimensionNumbers`, space in the order
    of the second string; raises TypeError for letters that do not match."""
    lhs, rhs, out = dimension_numbers
    for k, (part, a, b) in enumerate(zip((lhs, rhs, out), "NON", "CIC", strict=True)):
        if part.count(a) != 1 or part.count(b) != 1:
            raise located(
                TypeError,
                f"convolution dimension_numbers[{k}] must contain the characters '{a}' and '{b}' "
                f"exactly once, got {part}.",
            )
        if len(set(part)) != len(part):
            raise located(
                TypeError,
                f"convolution dimension_numbers[{k}] cannot have duplicate characters, got {part}.",
            )
    space = [c for c in rhs if c not in "OI"]
    if not set(lhs) - {"N", "C"} == set(out) - {"N", "C"} == set(space):
        raise located(
            TypeError,
            "convolution dimension_numbers elements must each have the same set of spatial "
            f"characters, got {dimension_numbers}.",
        )
    return tuple(
        (part.index(a), part.index(b), *(part.index(c) for c in space))
        for part, a, b in zip((lhs, rhs, out), "NON", "CIC", strict=True)
    )


# ------------------------------------------------------------------------------------------ padding


def padtype_to_pads(
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
) -> list[tuple[int, int]]:
    """The (before, after) pairs that 'VALID', 'SAME' or 'SAME_LOWER' mean: no padding, or as much
    as gives ceil(size / stride) results.

    An odd number goes after ('SAME') or before ('SAME_LOWER'). Raises RuntimeError for another
    name, TypeError for no string.
    """
    if not isinstance(padding, str):
        raise located(TypeError, f"Unknown padding type: {padding}.")
    name = padding.upper()
    if name not in ("VALID", "SAME", "SAME_LOWER"):
        raise located(
            RuntimeError,
            f"Unrecognized padding type: expected 'VALID', 'SAME', or 'SAME_LOWER', got {padding}.",
        )
    if name == "VALID":
        return [(0, 0)] * len(in_shape)
    pads = []
    for size, window, stride in zip(in_shape, window_shape, window_strides, strict=True):
        total = _same_padding(size, window, stride)
        first = (total if name == "SAME" else total + 1) // 2
        if isinstance(size, Dim):  # the last window ends there, so that the results are as many
            total = (size - 1) // stride * stride + window - size
        pads.append((first, total - first))
    return pads


def _same_padding(size: Any, window: int, stride: int) -> Any:
    """As much padding as gives ceil(size / stride) results. The last of them begins at a multiple
    of the stride, and a rest of the operand lies behind it."""
    rest = (size - 1) % stride
    if window >= stride or isinstance(size, int):
        return max(window - 1 - rest, 0)
    # Of a runtime size: a 1 for each number below window - 1 that is not less than the rest.
    return sum(1 - (rest + stride - 1 - number) // stride for number in range(window - 1))


def width_of(padding: Any) -> Index:
    """A width of padding that a user gives: a number, or a runtime size."""
    return padding if isinstance(padding, Dim) else int(padding)


def explicit_padding(function: str, padding: Any) -> tuple[tuple[Index, Index], ...]:
    """Padding that is given as pairs; JAX's ValueError for anything else."""
    try:
        return tuple((width_of(low), width_of(high)) for low, high in padding)
    except (ValueError, TypeError):
        raise located(
            ValueError,
            f"padding argument to {function} should be a string or a sequence of (low, high) "
            f"pairs, got {padding}",
        ) from None


def transposed_padding(window: int, stride: int, padding: str) -> tuple[int, int]:
    """The padding of the dilated operand, for a result of stride times its size, or of all that the
    windows reach."""
    if padding == "SAME":
        total = window + stride - 2
        first = window - 1 if stride > window - 1 else -(-total // 2)
    else:
        total = window + stride - 2 + max(window - stride, 0)
        first = window - 1
    return first, total - first


# ------------------------------------------------------------------------------------------- shapes


def conv_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    strides: Sequence[int],
    pads: Any,
    batch_group_count: int = 1,
) -> tuple[int, ...]:
    """The shape of a convolution of (batch, features, space); raises TypeError for another number
    of pads."""
    if isinstance(pads, str):
        pads = padtype_to_pads(lhs_shape[2:], rhs_shape[2:], strides, pads)
    if len(pads) != len(lhs_shape) - 2:
        raise located(
            TypeError,
            f"Wrong number of explicit pads for convolution: expected {len(lhs_shape) - 2}, got "
            f"{len(pads)}.",
        )
    rank = len(lhs_shape) - 2
    space: Any = windowed_shape(
        tuple(lhs_shape[2:]),
        tuple(rhs_shape[2:]),
        tuple(strides),
        tuple(pads),
        (1,) * rank,
        (1,) * rank,
    )
    return (lhs_shape[0] // batch_group_count, rhs_shape[0], *space)


def conv_general_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    dimension_numbers: Sequence[str],
) -> tuple[int, ...]:
    """The shape of a convolution whose axes are as `dimension_numbers` say."""
    lhs, rhs, out = conv_general_permutations(dimension_numbers)
    shape = conv_shape_tuple(
        [lhs_shape[a] for a in lhs], [rhs_shape[a] for a in rhs], window_strides, padding
    )
    return tuple(shape[out.index(a)] for a in range(len(out)))


def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    dimension_numbers: Sequence[str],
) -> tuple[int, ...]:
    """The shape of a `conv_transpose` whose axes are as `dimension_numbers` say."""
    lhs, rhs, out = conv_general_permutations(dimension_numbers)
    size, window = ([s[a] for a in spec] for s, spec in ((lhs_shape, lhs), (rhs_shape, rhs)))
    pads = padding
    if isinstance(padding, str):
        pads = [
            transposed_padding(k, s, padding)
            for k, s in zip(window[2:], window_strides, strict=True)
        ]
    space: Any = [
        window_count(dilated(n, s) + low + high, k, 1)
        for n, k, s, (low, high) in zip(size[2:], window[2:], window_strides, pads, strict=True)
    ]
    shape = (size[0], window[0], *space)
    return tuple(shape[out.index(a)] for a in range(len(out)))
