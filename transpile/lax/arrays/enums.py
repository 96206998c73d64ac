"""What the functions of `lax` are told in words: modes, precisions, dimension numbers."""

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
    """Which axes of a gather are what; see `gather`.

    offset_dims                   axes of the result along which a slice goes
    collapsed_slice_dims          axes of the operand whose slices have size 1 and vanish
    start_index_map               the axis of the operand that each component of an index is for
    operand_batching_dims         axes of the operand that go together with ...
    start_indices_batching_dims   ... these axes of the indices
    """

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


class ScatterDimensionNumbers(NamedTuple):
    """Which axes of a scatter are what; see `scatter`.

    update_window_dims             axes of the updates along which a window goes
    inserted_window_dims           axes of the operand along which windows have size 1, and no axis
    scatter_dims_to_operand_dims   the axis of the operand that each component of an index is for
    operand_batching_dims          axes of the operand that go together with ...
    scatter_indices_batching_dims  ... these axes of the indices
    """

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()


class GatherScatterMode(enum.Enum):
    """What becomes of slices that do not lie inside the array.

    CLIP               they are moved inside
    FILL_OR_DROP       what they read is a fill value, what they write is dropped
    PROMISE_IN_BOUNDS  the caller's word that there are none
    ONE_HOT            as FILL_OR_DROP: a hint how to compute
    """

    CLIP = 1
    FILL_OR_DROP = 2
    PROMISE_IN_BOUNDS = 3
    ONE_HOT = 4

    @staticmethod
    def from_any(s: str | GatherScatterMode | None) -> GatherScatterMode:
        """The mode of a name; None is FILL_OR_DROP."""
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
    """Where halves are rounded to."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


class FftType(enum.IntEnum):
    """The kinds of Fourier transforms."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


class RandomAlgorithm(enum.IntEnum):
    """The generators of `rng_bit_generator`."""

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
    """Of matrix products on accelerators; here all are as precise as the dtype."""

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
    """How accurate elementary functions are asked to be; here they always are."""

    HIGHEST = 1
    DEFAULT = 2


class Tolerance(NamedTuple):
    """How accurate an elementary function is asked to be; here they always are."""

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0


class RaggedDotDimensionNumbers(NamedTuple):
    """Which axes of a ragged product are what; see `ragged_dot_general`."""

    dot_dimension_numbers: DotDimensionNumbers
    lhs_ragged_dimensions: tuple[int, ...]
    rhs_group_dimensions: tuple[int, ...]


class DotAlgorithm(NamedTuple):
    """How accelerators are asked to compute a matrix product; here it changes nothing."""

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


class DotAlgorithmPreset(enum.Enum):
    """How accelerators are asked to compute a matrix product, by name; it changes nothing here."""

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
