"""Dtypes and array types: shape, dtype, and weak typing as in NEP 50."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from transpile.errors import UnsupportedError
from transpile.ir.dims import Dim, Index, Shape
from transpile.ir.indices.lengths import are_equal_later, lengths_of
from transpile.ir.indices.requirements import broadcast_hint, common_of, may_stretch
from transpile.ir.indices.row_major import product
from transpile.ir.indices.size_text import parsed
from transpile.util.frozen_records import dataclass
from transpile.util.lazy.imports import Later

# -------------------------------------------------------------------------------------- dtypes

# bfloat16 is the dtype of a package that takes 5 ms to import: where a program has none of it, that
# is not done. These three are made when they are asked for, by `__getattr__`.
if TYPE_CHECKING:
    import ml_dtypes

    from transpile import sharding

    BFLOAT16: np.dtype[Any] | None  # None where the extra `bfloat16` is not installed
    # Kept in memory; computed in FLOAT32, and rounded after each operation.
    HALVES: tuple[np.dtype[Any], ...]
    DTYPES: tuple[np.dtype[Any], ...]
else:
    ml_dtypes, sharding = Later("ml_dtypes"), Later("transpile.sharding")


def __getattr__(name: str) -> Any:
    """BFLOAT16, HALVES and DTYPES."""
    if name not in ("BFLOAT16", "HALVES", "DTYPES"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        bfloat16 = np.dtype(ml_dtypes.bfloat16)
    except ImportError:
        bfloat16 = None
    halves = (FLOAT16,) if bfloat16 is None else (FLOAT16, bfloat16)
    integers, others = [np.dtype(n) for n in _NUMBERS[:8]], [np.dtype(n) for n in _NUMBERS[9:]]
    every = (BOOL, *integers, *halves, *others)
    globals().update(BFLOAT16=bfloat16, HALVES=halves, DTYPES=every)
    return globals()[name]


def is_bfloat16(dtype: Any) -> bool:
    """True if a dtype is bfloat16."""
    return bool(dtype.char == "E" and dtype.name == "bfloat16")


def is_half(dtype: np.dtype[Any]) -> bool:
    """True if a dtype is float16 or bfloat16."""
    return dtype == FLOAT16 or is_bfloat16(dtype)


def as_dtype(dtype: Any) -> np.dtype[Any]:
    """`numpy.dtype(dtype)`, which knows the name `bfloat16` once its package is imported."""
    if isinstance(dtype, str) and dtype == "bfloat16" and __getattr__("BFLOAT16") is None:
        raise TypeError("bfloat16 needs the package ml_dtypes: pip install transpile[bfloat16]")
    result: np.dtype[Any] = np.dtype(dtype)
    return result


class _ShortNames(dict[np.dtype[Any], str]):
    """The short names of dtypes in the text of graphs; bfloat16 is added at its first use."""

    def __missing__(self, dtype: np.dtype[Any]) -> str:
        if not is_bfloat16(dtype):
            raise KeyError(dtype)
        return self.setdefault(dtype, "bf16")

    def __contains__(self, dtype: object) -> bool:
        return super().__contains__(dtype) or is_bfloat16(dtype)

    def get(self, dtype: Any, default: Any = None) -> Any:
        """The name of a dtype, or something else for one that is not supported."""
        return self[dtype] if dtype in self else default  # noqa: SIM401


FLOAT16 = np.dtype("float16")
_NUMBERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
SHORT_NAMES = _ShortNames({np.dtype(n): f"{n[0]}{int(n[1:]) * 8}" for n in _NUMBERS})
SHORT_NAMES[np.dtype("bool")] = "bool"
BOOL = np.dtype("bool")
INT32 = np.dtype("int32")
INT16 = np.dtype("int16")
INT64 = np.dtype("int64")
INT32 = np.dtype("int32")
UINT8 = np.dtype("uint8")
UINT32 = np.dtype("uint32")
FLOAT32 = np.dtype("float32")
FLOAT64 = np.dtype("float64")
COMPLEX128 = np.dtype("complex128")
# The dtype of the tangents of integers and bools: one value, no bytes. JAX's has the same fields.
FLOAT0 = np.dtype([("float0", np.void, 0)])


def check_dtype(dtype: Any, what: str = "an array") -> np.dtype[Any]:
    """The dtype in native byte order, or an UnsupportedError that names it."""
    given = as_dtype(dtype)
    dtype = given if given.isnative else given.newbyteorder("=")
    if dtype in SHORT_NAMES:
        return given if given.isnative else np.dtype(dtype.type)
    # A platform's second name for the same integers (`longlong`) is the same thing here.
    if dtype.kind in "iu" and dtype.itemsize <= 8:
        return np.dtype(f"{dtype.kind}{dtype.itemsize}")
    if dtype.names and dtype.names[0].startswith(_DELETED):
        raise RuntimeError(
            f"Array has been deleted: {what}, of dtype {dtype.names[0].removeprefix(_DELETED)}, "
            "was donated to an earlier call, whose result took its memory. Use the result, or "
            "donate a copy"
        )
    raise UnsupportedError(
        f"dtype {dtype.name!r} of {what} is not supported; the supported dtypes are "
        f"{', '.join(d.name for d in __getattr__('DTYPES'))}. {_conversion(dtype)}"
    )


def refuse_byte_order(dtype: np.dtype[Any], what: str) -> NoReturn:
    """Raise an UnsupportedError for a dtype in the byte order of other machines."""
    raise UnsupportedError(
        f"{what} has the dtype {dtype.str!r}, in the byte order of other machines, and programs "
        f"give arrays in this one's: convert by x.astype({dtype.newbyteorder('=').name!r})"
    )


_DELETED = "deleted "


def deleted_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of an array whose memory a result has taken: bytes, with the name of its own."""
    return np.dtype([(f"{_DELETED}{dtype.name}", f"V{dtype.itemsize}")])


_STRINGS = (
    "Strings become numbers by x.astype('float64') where they are digits, and codes by "
    "numpy.unique(x, return_inverse=True)."
)
# How arrays of other dtypes become numbers, by the kind of the dtype.
_CONVERSIONS = {
    "M": "Dates become counts of their unit since 1970 by x.astype('int64').",
    "m": "Durations become counts of their unit by x.astype('int64'), or seconds by "
    "x / numpy.timedelta64(1, 's').",
    "S": _STRINGS,
    "U": _STRINGS,
    "T": _STRINGS,
    "O": "Where all items are numbers, x.astype('float64') makes an array of them; arrays of "
    "several shapes are passed as a list or a tuple.",
    "V": "Bytes without a type are given one by x.view('uint8').",
    "c": "Convert it first: x.astype('complex128').",
}


def _conversion(dtype: np.dtype[Any]) -> str:
    """What to do about an array of a dtype that is not supported."""
    if dtype.names:
        fields = ", ".join(f"{name!r}: x[{name!r}]" for name in dtype.names)
        return f"It has fields; pass them as a dict: {{{fields}}}."
    return _CONVERSIONS.get(dtype.kind, "Convert it first: x.astype('float64').")


def kind_letter(dtype: np.dtype[Any]) -> str:
    """NumPy's letter for the kind of a dtype, and `f` for bfloat16, to which NumPy gives none."""
    return "f" if is_bfloat16(dtype) else dtype.kind


def computed_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which values of a dtype are computed: float32 for float16 and bfloat16."""
    return FLOAT32 if is_half(dtype) else dtype


def finfo(dtype: Any) -> Any:
    """The limits of a floating-point dtype, as `numpy.finfo` has them, for bfloat16 as well."""
    kind = dtype if isinstance(dtype, type) else getattr(dtype, "dtype", dtype)
    if getattr(kind, "name", getattr(kind, "__name__", kind)) == "bfloat16":
        return ml_dtypes.finfo(kind)  # type: ignore[no-untyped-call, unused-ignore]
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
    def sharding(self) -> Any:
        """How arrays of the type are divided over devices, as JAX asks: not at all."""
        return sharding.of_type(self)

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
    """The shape and dtype of an array without its values: an example argument, or the type of a
    result.

    An extent is an int, or a runtime size: of `transpile.dims`, or its text, `"n"` or `"2*n + 1"`.
    """

    shape: Shape
    dtype: np.dtype[Any]

    def __new__(cls, shape: Iterable[Index | str] = (), dtype: Any = None) -> ShapeDtypeStruct:
        """A dtype that is not NumPy's has structs of its own."""
        own: Any = getattr(dtype, "abstract", None)
        struct: ShapeDtypeStruct = super().__new__(cls) if own is None else own(tuple(shape))
        return struct

    def __init__(self, shape: Iterable[Index | str], dtype: Any) -> None:
        extents = (parsed(d) if isinstance(d, str) else d for d in shape)
        object.__setattr__(self, "shape", tuple(extents))
        object.__setattr__(self, "dtype", as_dtype(dtype))

    @property
    def named_shape(self) -> dict[Any, int]:
        """The sizes of named axes that the array varies along: none."""
        return {}

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> Index:
        """The number of elements."""
        return product(self.shape)

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
    kind = ArrayType(tuple(_dimension(d) for d in shape), check_dtype(dtype, what))
    if not isinstance(value, np.ndarray):
        refuse_too_large(kind, what)
    return kind


# Sizes in bytes, and numbers of elements, are numbers of 64 bits with a sign, as in NumPy.
MOST = 2**63 - 1


def refuse_too_large(kind: ArrayType, what: str) -> None:
    """Raise ValueError for an array that cannot be: of more than 2**63 - 1 bytes, or of a negative
    extent."""
    if any(isinstance(dim, int) and dim < 0 for dim in kind.shape):
        raise ValueError(f"{what} has the shape {kind.shape}: an extent is negative")
    if size_of(kind.shape, kind.dtype.itemsize) > MOST:
        raise ValueError(
            f"{what} of shape {kind.shape} and dtype {kind.dtype} has more than 2**63 - 1 bytes"
        )


def size_of(shape: Shape, size: int = 1) -> int:
    """How many elements of such a size an array has, at least. As in NumPy, an extent of 0 does not
    make up for the others; one that is not known counts as 1."""
    for dim in shape:
        if isinstance(dim, int) and dim:
            size *= dim
    return size


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
            if may_stretch(shape[axis], common):
                continue
            if (whole := common_of(common, shape[axis])) is not None:
                common = whole
                continue
            if common != 1 and not may_stretch(common, shape[axis]):
                listed = " ".join(
                    "(" + ",".join(map(str, s)) + ("," if len(s) == 1 else "") + ")" for s in shapes
                )
                text = f"operands could not be broadcast together with shapes {listed}"
                text += broadcast_hint(shape[axis], common)
                if not are_equal_later(common, shape[axis], text):
                    raise error(text)
                if not lengths_of(common):
                    continue
            common = shape[axis]
        result.append(common)
    return tuple(result)


def listed(types: Sequence[ArrayType], most: int = 8) -> str:
    """Some types in parentheses, the first ones if there are many."""
    return f"({', '.join([*map(str, types[:most]), *['...'] * (len(types) > most)])})"
