"""Dtypes and array types."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

try:
    import ml_dtypes
except ImportError:  # the extra `bfloat16` is not installed; then no array has that dtype
    ml_dtypes = None  # type: ignore[assignment, unused-ignore]

from transpile.dims import Dim, Index, Shape, product
from transpile.errors import UnsupportedError
from transpile.records import dataclass

# -------------------------------------------------------------------------------------- dtypes

FLOAT16 = np.dtype("float16")
BFLOAT16: np.dtype[Any] | None = None if ml_dtypes is None else np.dtype(ml_dtypes.bfloat16)
# Kept in memory; computed in FLOAT32, and rounded after each operation.
HALVES = (FLOAT16,) if BFLOAT16 is None else (FLOAT16, BFLOAT16)
DTYPES = tuple(
    np.dtype(name)
    for name in (
        "bool",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        *HALVES,
        "float32",
        "float64",
        "complex64",
        "complex128",
    )
)
SHORT_NAMES = {
    d: "bf16" if d == BFLOAT16 else d.name if d.kind == "b" else f"{d.kind}{d.itemsize * 8}"
    for d in DTYPES
}
BOOL = np.dtype("bool")
INT64 = np.dtype("int64")
FLOAT32 = np.dtype("float32")
FLOAT64 = np.dtype("float64")
COMPLEX128 = np.dtype("complex128")
# The dtype of the tangents of integers and bools: one value, no bytes. JAX's has the same fields.
FLOAT0 = np.dtype([("float0", np.void, 0)])


def check_dtype(dtype: Any, what: str = "an array") -> np.dtype[Any]:
    """The dtype in native byte order, or an UnsupportedError that names it."""
    found: np.dtype[Any] = np.dtype(dtype)
    dtype = found if found.isnative else found.newbyteorder("=")
    if dtype in SHORT_NAMES:
        return found if found.isnative else np.dtype(dtype.type)
    # A platform's second name for the same integers (`longlong`) is the same thing here.
    if dtype.kind in "iu" and dtype.itemsize <= 8:
        return np.dtype(f"{dtype.kind}{dtype.itemsize}")
    raise UnsupportedError(
        f"dtype {dtype.name!r} of {what} is not supported; the supported dtypes are "
        f"{', '.join(d.name for d in DTYPES)}. Convert it first, for example with "
        f".astype('float64')."
    )


def kind_letter(dtype: np.dtype[Any]) -> str:
    """NumPy's letter for the kind of a dtype, and `f` for bfloat16, to which NumPy gives none."""
    return "f" if dtype == BFLOAT16 else dtype.kind


def computed_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which values of a dtype are computed: float32 for float16 and bfloat16."""
    return FLOAT32 if dtype in HALVES else dtype


def finfo(dtype: Any) -> Any:
    """`numpy.finfo`, for bfloat16 as well."""
    found = dtype if isinstance(dtype, type) else getattr(dtype, "dtype", dtype)
    if BFLOAT16 is not None and found in (BFLOAT16, BFLOAT16.type, BFLOAT16.name):
        return ml_dtypes.finfo(found)  # type: ignore[no-untyped-call, unused-ignore]
    return np.finfo(dtype)


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the real part: float32 for complex64, float64 for complex128, else itself."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


# --------------------------------------------------------------------------------- array types


@dataclass(frozen=True)
class ArrayType:
    """Shape and dtype of an array; `weak` marks a Python scalar's type (NEP 50)."""

    shape: Shape
    dtype: np.dtype[Any]
    weak: bool = False

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> Index:
        """The number of elements."""
        return product(self.shape)

    @property
    def strong(self) -> ArrayType:
        """The same type, not weak."""
        return ArrayType(self.shape, self.dtype) if self.weak else self

    def with_shape(self, shape: Shape) -> ArrayType:
        """The same dtype with another shape."""
        return ArrayType(tuple(shape), self.dtype)

    def static_shape(self) -> tuple[int, ...]:
        """The shape when every dimension is an int; a TypeError otherwise."""
        for dim in self.shape:
            if not isinstance(dim, int):
                raise TypeError(f"the shape of {self} has the runtime size {dim}")
        return self.shape  # type: ignore[return-value]  # checked just above

    def __str__(self) -> str:
        return f"{SHORT_NAMES[self.dtype]}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class ShapeDtypeStruct:
    """The shape and dtype of an array without its values: an example argument, a result's type."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __init__(self, shape: Iterable[int], dtype: Any) -> None:
        object.__setattr__(self, "shape", tuple(shape))
        object.__setattr__(self, "dtype", np.dtype(dtype))

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    def __repr__(self) -> str:
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name})"


PYTHON_SCALARS: dict[type, np.dtype[Any]] = {
    bool: BOOL,
    int: INT64,
    float: FLOAT64,
    complex: COMPLEX128,
}


def type_of(value: Any, what: str = "an argument") -> ArrayType:
    """The array type of an array, a scalar, or any object with `shape` and `dtype`."""
    scalar = PYTHON_SCALARS.get(type(value))
    if scalar is not None:
        return ArrayType((), scalar, weak=True)
    if isinstance(value, ArrayType):
        return value
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is None or dtype is None:
        raise TypeError(
            f"{what} is a {type(value).__name__}, which is neither an array nor a number: {value!r}"
        )
    return ArrayType(tuple(_dimension(d) for d in shape), check_dtype(dtype, what))


def _dimension(dim: Any) -> Index:
    return dim if isinstance(dim, Dim) else int(dim)


def broadcast_shapes(
    shapes: Iterable[Shape], error: Callable[[str], Exception] = ValueError
) -> Shape:
    """The common shape by NumPy's broadcasting rules, or NumPy's ValueError."""
    shapes = list(shapes)
    rank = max((len(s) for s in shapes), default=0)
    result: list[Index] = []
    for axis in range(-rank, 0):
        common: Index = 1
        for shape in shapes:
            if len(shape) < -axis or shape[axis] == 1 or shape[axis] == common:
                continue
            if common != 1:
                listed = " ".join(
                    "(" + ",".join(map(str, s)) + ("," if len(s) == 1 else "") + ")" for s in shapes
                )
                raise error(f"operands could not be broadcast together with shapes {listed}")
            common = shape[axis]
        result.append(common)
    return tuple(result)
