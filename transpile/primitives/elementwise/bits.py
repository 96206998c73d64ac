"""Primitives of bits and integers: bitwise logic, shifts, counts of bits, bitcasts of floats, the
quotient that truncates, and subscripts."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.indices import intervals
from transpile.ir.primitive import Axis, NoRule, Primitive, register
from transpile.ir.types import ArrayType, kind_letter
from transpile.primitives.kinds import all_bits, combining, elementwise, number
from transpile.primitives.rules import ByOperand, apply, flat, permute_alike

bitwise_and = combining(
    "bitwise_and",
    np.bitwise_and,
    "x & y",
    dtypes="biu",
    neutral=all_bits,
    absorbing=number(biu=0),
    idempotent=True,
    of_bools="logical_and",
    atomic="atomicAnd",
    hlo="and",
    interval=intervals.bitwise_and,
)
bitwise_or = combining(
    "bitwise_or",
    np.bitwise_or,
    "x | y",
    dtypes="biu",
    neutral=number(biu=0),
    absorbing=all_bits,
    idempotent=True,
    of_bools="logical_or",
    atomic="atomicOr",
    hlo="or",
    interval=intervals.bitwise_or,
)
bitwise_xor = combining(
    "bitwise_xor",
    np.bitwise_xor,
    "x ^ y",
    dtypes="biu",
    neutral=number(biu=0),
    atomic="atomicXor",
    hlo="xor",
    interval=intervals.bitwise_xor,
)
invert = elementwise(
    "invert", np.invert, "invert(x)", b="not x", dtypes="biu", involution=True, hlo="not"
)
left_shift = elementwise(
    "left_shift",
    np.left_shift,
    "left_shift(x, y)",
    dtypes="iu",
    hlo="shift-left",
    interval=intervals.left_shift,
)
right_shift = elementwise(
    "right_shift",
    np.right_shift,
    "right_shift(x, y)",
    dtypes="iu",
    hlo={"u": "shift-right-logical", "i": "shift-right-arithmetic"},
    interval=intervals.right_shift,
)
bitwise_count = elementwise(
    "bitwise_count",
    np.bitwise_count,
    "bitwise_count(x)",
    dtypes="iu",
    result=lambda x: ArrayType(x.shape, np.dtype("uint8")),
)


def unsigned(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The unsigned integer dtype of a dtype's size."""
    return np.dtype(f"u{dtype.itemsize}")


# Bitcast a float to an unsigned integer.
bits = elementwise(
    "bits",
    lambda x: np.ascontiguousarray(x).view(unsigned(x.dtype)).reshape(x.shape),
    "bits(x)",
    dtypes="f",
    result=lambda x: ArrayType(x.shape, unsigned(x.dtype)),
    cost=0,
    own_format=True,
)


def _order_key(x: Any) -> Any:
    number = np.ascontiguousarray(x).view(f"i{x.dtype.itemsize}").reshape(np.shape(x))
    magnitude = number & np.iinfo(number.dtype).max
    return np.where(x != x, np.iinfo(number.dtype).max, np.where(number < 0, -magnitude, magnitude))


# An integer of a float's size in the order of floats: equal for the zeros, the largest for NaNs.
order_key = elementwise(
    "order_key",
    _order_key,
    "order_key(x)",
    dtypes="f",
    result=lambda x: ArrayType(x.shape, np.dtype(f"i{x.dtype.itemsize}")),
    own_format=True,
)


def _float_type(x: ArrayType, *, dtype: np.dtype[Any]) -> ArrayType:
    if x.dtype.kind != "u" or kind_letter(dtype) != "f" or x.dtype.itemsize != dtype.itemsize:
        raise TypeError(f"{x} cannot be bitcast to {dtype.name}")
    return ArrayType(x.shape, dtype)


def _float_batch(_: Axis, __: Any, x: Any, *, dtype: np.dtype[Any]) -> tuple[Any, bool]:
    return apply("float_from_bits", x, dtype=dtype), True


# Bitcast an unsigned integer to a float; 16 bits are a float16 or a bfloat16, which `dtype` says.
float_from_bits = register(
    Primitive(
        "float_from_bits",
        "elementwise",
        lambda x, *, dtype: np.ascontiguousarray(x).view(dtype).reshape(np.shape(x)),
        _float_type,
        c={"": "float_from_bits(x)"},
        cost=0,
        own_format=True,
        dtypes="u",
        jvp=ByOperand((flat,)),
        batch=_float_batch,
        permute=permute_alike,
        weight=0,
    )
)


def _leading_zeros(x: Any) -> Any:
    """By bisection for the highest bit."""
    width = 8 * x.dtype.itemsize
    rest = np.asarray(x).astype(np.int64).astype(np.uint64) & np.uint64(2**width - 1)
    highest = np.zeros(rest.shape, np.int64)
    for width_of_half in (32, 16, 8, 4, 2, 1):
        upper = rest >> np.uint64(width_of_half)
        highest = np.where(upper > 0, highest + width_of_half, highest)
        rest = np.where(upper > 0, upper, rest)
    return np.where(rest > 0, width - 1 - highest, width).astype(x.dtype)


count_leading_zeros = elementwise(
    "count_leading_zeros",
    _leading_zeros,
    "count_leading_zeros(x)",
    dtypes="iu",
    hlo="count-leading-zeros",
)


def _quotient(x: Any, y: Any) -> Any:
    safe = np.where(y == 0, np.ones_like(y), y)
    whole = np.floor_divide(x, safe)
    # Rounding down is one below truncation for negative quotients that are not integers.
    is_below = (np.remainder(x, safe) != 0) & ((x < 0) != (y < 0))
    return np.where(y == 0, np.asarray(-1).astype(x.dtype), whole + is_below.astype(x.dtype))


# Integer division truncated towards zero, as in C; by zero it is -1 (all bits set), as in XLA.
quotient = elementwise("quotient", _quotient, "quotient(x, y)", dtypes="iu", hlo="divide")


def _subscript(x: Any, y: Any) -> Any:
    place = np.where(x < 0, x + y, x)
    return np.minimum(np.maximum(place, 0), y - 1).astype(x.dtype)


# The place of element x among y: from the end where x is negative, else the nearest one that is
# there. The schedule makes it of a clamped choice (`predicted_subscripts`).
subscript = elementwise(
    "subscript", _subscript, "subscript(x, y)", dtypes="i", interval=intervals.subscript
)


def _checked_subscript(x: Any, y: Any) -> Any:
    place = np.where(x < 0, x + y, x)
    return np.where((place >= 0) & (place < y), place, -1).astype(x.dtype)


# The same; -1 where there is no such element.
checked_subscript = elementwise(
    "checked_subscript",
    _checked_subscript,
    "checked_subscript(x, y)",
    dtypes="i",
    interval=intervals.checked_subscript,
)


def _cell(x: Any, n: Any, m: Any) -> Any:
    return (_subscript(x // m, n) * m + x % m).astype(x.dtype)


# The number of the cell in row x // m, the place of an element among n, and column x % m, where m
# is positive: x itself where there is such a row. The schedule makes it (`cells`).
cell = elementwise("cell", _cell, "cell(x, y, z)", dtypes="i", interval=intervals.cell)

# Conditions whose second operand is computed where the first one leaves it open, behind a branch.
# The schedule makes them (`eager_conditions`).
and_then = elementwise(
    "and_then",
    np.logical_and,
    "x and y",
    dtypes="b",
    result="bool",
    hlo="and",
    interval=intervals.logical_and,
)
or_else = elementwise(
    "or_else",
    np.logical_or,
    "x or y",
    dtypes="b",
    result="bool",
    hlo="or",
    interval=intervals.logical_or,
)

# The number itself, computed where it stands: a compiler makes no choice of the branch around it.
# The schedule makes it (`scalar_choices`).
behind_branch = elementwise(
    "behind_branch",
    lambda x: np.asarray(x).copy(),
    "behind_branch(x)",
    dtypes="iu",
    interval=lambda x: x,
)

# The number itself, of which a compiler does not know that it is a constant. The schedule makes it
# (`opaque_constants`).
opaque = elementwise(
    "opaque",
    lambda x: np.asarray(x).copy(),
    "opaque(x)",
    dtypes="iuf",
    interval=lambda x: x,
    jvp=NoRule("is made of loops, behind all derivatives"),
)
