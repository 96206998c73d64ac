"""Random bits of any generator, keys derived from keys, and floats between 0 and 1.

A key is given here as the 64 bits of one of Threefry, or as a `KeyArray` of another generator's, in
a trace.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.dims import Shape
from transpile.ir.types import finfo
from transpile.numpy.core.promotion import convert
from transpile.primitives.reference.threefry import UINT64
from transpile.primitives.rules import apply
from transpile.random.generators import others, threefry
from transpile.random.key_arrays import KeyArray

DType = np.dtype[Any]


def bits_64(key: Any, shape: Shape) -> Any:
    """64 random bits for each element."""
    return bits_of(key, shape, 64)


def bits_of(key: Any, shape: Shape, width: int) -> Any:
    """Unsigned integers of 8, 16, 32 or 64 random bits."""
    generator = others if isinstance(key, KeyArray) else threefry
    return generator.bits_of(key, shape, width)


def unit_floats(key: Any, shape: Shape, dtype: DType) -> Any:
    """Floats from [0, 1), all equally far apart: random fractions beside the exponent of 1."""
    info = finfo(dtype)
    own = 8 * dtype.itemsize
    width = 8 if info.nmant < 8 else own  # bfloat16 takes no more
    unsigned = np.dtype(f"u{dtype.itemsize}")
    fraction = convert(bits_of(key, shape, width), unsigned) >> unsigned.type(width - info.nmant)
    one = np.ones((), dtype).view(unsigned)[()]
    return apply("float_from_bits", fraction | one, dtype=dtype) - np.ones((), dtype)


# ------------------------------------------------------------------------------- keys out of keys


def split_keys(key: Any, shape: Shape) -> Any:
    """An array of keys derived from one."""
    generator = others if isinstance(key, KeyArray) else threefry
    return generator.split_keys(key, shape)


def split(key: Any, count: int = 2) -> list[Any]:
    """Several keys derived from one, for the samplers."""
    if isinstance(key, KeyArray):
        return list(others.split_keys(key, (count,)))
    return [threefry.derived(key, np.array(k, UINT64)) for k in range(count)]
