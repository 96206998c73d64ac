"""The names of `jax.dtypes`: extended dtypes, bfloat16, and functions of dtypes.

An extended dtype is that of arrays whose elements are not numbers, such as PRNG keys.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from transpile.ir import types
from transpile.ir.types import FLOAT0, as_dtype, finfo, kind_letter

__all__ = [
    "KeyType",
    "TypePromotionError",
    "canonicalize_dtype",
    "extended",
    "finfo",
    "float0",
    "iinfo",
    "issubdtype",
    "itemsize_bits",
    "prng_key",
    "result_type",
    "scalar_type_of",
]

float0 = FLOAT0
iinfo = np.iinfo


def __getattr__(name: str) -> Any:
    """bfloat16, if `ml_dtypes` is installed."""
    if name == "bfloat16" and types.BFLOAT16 is not None:
        return types.BFLOAT16.type
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class TypePromotionError(ValueError):
    """A value cannot be converted to a dtype without loss."""


class extended(np.generic):
    """The abstract type of all extended dtypes: for `issubdtype` only."""


class prng_key(extended):
    """The abstract type of the dtypes of PRNG keys: for `issubdtype` only."""


class KeyType:
    """The dtype of the PRNG keys of a generator, such as `key<fry>` for Threefry; arrays of it are
    `random.KeyArray`."""

    type = prng_key
    abstract: ClassVar[Callable[[KeyType, tuple[int, ...]], Any]]  # set by `random.key_arrays`

    def __init__(self, implementation: str, tag: str, words: int) -> None:
        self.implementation = implementation
        self.name = f"key<{tag}>"
        self.words = words
        self.itemsize = 4 * words

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeyType) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Whether a dtype is a subtype of another or of an abstract type, as `numpy.issubdtype`;
    also for extended dtypes and bfloat16."""
    first, second = _scalar_type(arg1), _scalar_type(arg2)
    if first.__name__ == "bfloat16":
        return issubclass(np.floating, second) or second is first
    return issubclass(first, second)


def _scalar_type(dtype: Any) -> Any:
    """The scalar type of a dtype; a scalar or abstract type itself."""
    if isinstance(dtype, KeyType):
        return dtype.type
    is_scalar_type = isinstance(dtype, type) and issubclass(dtype, np.generic)
    return dtype if is_scalar_type else as_dtype(dtype).type


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> Any:
    """The dtype in which values of a dtype are stored: itself, as 64 bits are always enabled.

    Raises ValueError for an extended dtype without `allow_extended_dtype`.
    """
    if isinstance(dtype, KeyType):
        if not allow_extended_dtype:
            raise ValueError(
                "Internal: canonicalize_dtype called on extended dtype "
                f"{dtype} with allow_extended_dtype=False"
            )
        return dtype
    return as_dtype(dtype)


def result_type(*args: Any) -> Any:
    """The dtype that arrays, dtypes and Python numbers promote to by NEP 50, as
    `numpy.result_type`."""
    return np.result_type(*args)


def itemsize_bits(dtype: Any) -> int:
    """The width of an element in bits."""
    return 8 * int((dtype if isinstance(dtype, KeyType) else as_dtype(dtype)).itemsize)


def scalar_type_of(x: Any) -> type:
    """The Python scalar type of a value's kind: bool, int, float or complex."""
    return _SCALARS[kind_letter(np.result_type(x))]


_SCALARS: dict[str, type] = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
