"""Enumerations and records that arguments of `lax` are: modes, precisions, dimension numbers."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

from transpile.ir.source_info import user_source

__all__ = [
    "AccuracyMode",
    "DotAlgorithm",
    "DotAlgorithmPreset",
    "DotDimensionNumbers",
    "FftType",
    "GatherDimensionNumbers",
    "GatherScatterMode",
    "Precision",
    "PrecisionLike",
    "RaggedDotDimensionNumbers",
    "RandomAlgorithm",
    "RoundingMethod",
    "ScatterDimensionNumbers",
    "Tolerance",
]

# ((contracting axes of left, of right), (batch axes of left, of right))
DotDimensionNumbers = tuple[tuple[Any, Any], tuple[Any, Any]]


class GatherDimensionNumbers(NamedTuple):
    """What the axes of a `gather` stand for.

    offset_dims                   axes of the result along which a slice extends
    collapsed_slice_dims          axes of the operand along which slices have size 1, and which are
                                  dropped
    start_index_map               the axis of the operand that each component of an index is for
    operand_batching_dims         batch axes of the operand, paired with ...
    start_indices_batching_dims   ... these axes of the indices
    """

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


class ScatterDimensionNumbers(NamedTuple):
    """What the axes of a `scatter` stand for.

    update_window_dims             axes of the updates along which a window extends
    inserted_window_dims           axes of the operand along which windows have size 1, and no axis
    scatter_dims_to_operand_dims   the axis of the operand that each component of an index is for
    operand_batching_dims          batch axes of the operand, paired with ...
    scatter_indices_batching_dims  ... these axes of the indices
    """

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()


class GatherScatterMode(enum.Enum):
    """What happens to slices that do not lie inside the array.

    CLIP               they are moved inside
    FILL_OR_DROP       reading gives a fill value, writing is dropped
    PROMISE_IN_BOUNDS  there are none, says the caller; else the behaviour is undefined
    ONE_HOT            as FILL_OR_DROP: a hint how to compute
    """

    CLIP = 1
    FILL_OR_DROP = 2
    PROMISE_IN_BOUNDS = 3
    ONE_HOT = 4

    @staticmethod
    def from_any(s: str | GatherScatterMode | None) -> GatherScatterMode:
        """The mode of a name ("clip", "fill", "drop", "promise_in_bounds"); None is FILL_OR_DROP,
        another name a ValueError."""
        if isinstance(s, GatherScatterMode):
            return s
        if s == "clip":
            return GatherScatterMode.CLIP
        if s is None or s in ("fill", "drop"):
            return GatherScatterMode.FILL_OR_DROP
        if s == "promise_in_bounds":
            return GatherScatterMode.PROMISE_IN_BOUNDS
        raise ValueError(f'{user_source()}: Unknown gather mode "{s}"')


class RoundingMethod(enum.IntEnum):
    """How `round` treats halves: away from zero, or to the nearest even number."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


class FftType(enum.IntEnum):
    """The kinds of Fourier transforms: of complex numbers, their inverse, of real numbers, their
    inverse."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


class RandomAlgorithm(enum.IntEnum):
    """The generators of JAX's `rng_bit_generator`: Threefry and Philox (J. Salmon et al., 2011)."""

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2


_PRECISIONS = {
    None: "DEFAULT",
    "default": "DEFAULT",
    "fastest": "DEFAULT",
    "bfloat16": "DEFAULT",
    "high": "HIGH",
    "bfloat16_3x": "HIGH",
    "tensorfloat32": "HIGH",
    "highest": "HIGHEST",
    "float32": "HIGHEST",
}


class Precision(enum.Enum):
    """The precision of matrix products of float32 on a GPU: HIGHEST is that of the dtype, with the
    others tensor cores may round them (docs/cuda.md). A CPU's products have that of their dtype."""

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value: object) -> Precision | None:
        name = _PRECISIONS.get(value)  # type: ignore[call-overload]  # any object may be asked for
        return None if name is None else cls[name]

    def __repr__(self) -> str:
        return f"Precision.{self.name}"


PrecisionLike = str | Precision | tuple[str | Precision, str | Precision] | None


class AccuracyMode(enum.Enum):
    """The accuracy of elementary functions that is asked for; it changes nothing, see
    `runtime_c/elementary/`."""

    HIGHEST = 1
    DEFAULT = 2


class Tolerance(NamedTuple):
    """The error of elementary functions that is accepted; it changes nothing, see
    `runtime_c/elementary/`."""

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0


class RaggedDotDimensionNumbers(NamedTuple):
    """What the axes of a ragged product stand for; see `ragged_dot_general`."""

    dot_dimension_numbers: DotDimensionNumbers
    lhs_ragged_dimensions: tuple[int, ...]
    rhs_group_dimensions: tuple[int, ...]


class DotAlgorithm(NamedTuple):
    """How accelerators are to compute a matrix product: here in the precision of its dtype."""

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


class DotAlgorithmPreset(enum.Enum):
    """How accelerators are to compute a matrix product, by name: with TF32_TF32_F32 and
    DEFAULT tensor cores of a GPU may round float32, all others have the precision of the dtype."""

    DEFAULT = 1
    ANY_F8_ANY_F8_F32 = 2
    ANY_F8_ANY_F8_F32_FAST_ACCUM = 3
    ANY_F8_ANY_F8_ANY = 4
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = 5
    F16_F16_F16 = 6
    F16_F16_F32 = 7
    BF16_BF16_BF16 = 8
    BF16_BF16_F32 = 9
    BF16_BF16_F32_X3 = 10
    BF16_BF16_F32_X6 = 11
    BF16_BF16_F32_X9 = 12
    TF32_TF32_F32 = 13
    TF32_TF32_F32_X3 = 14
    F32_F32_F32 = 15
    F64_F64_F64 = 16
