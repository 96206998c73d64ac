"""Bits packed into bytes, and unpacked; bits of numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.ir.dims import Dim
from transpile.ir.graph import Const
from transpile.ir.indices.requirements import is_at_most, require
from transpile.ir.types import BOOL, INT64
from transpile.numpy.core import elementwise
from transpile.numpy.core.promotion import (
    Array,
    as_array,
    axis_of,
    broadcast_in_dim,
    concatenate_along,
    convert,
    fill,
    implements,
    reshape_to,
    slice_axis,
    weaken,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.reductions import sum
from transpile.numpy.core.runtime_sizes import exact, larger_of, offset_of, smaller_of
from transpile.numpy.core.ufuncs import call
from transpile.numpy.manipulation.shapes import ravel
from transpile.primitives.elementwise.bits import bitwise_count, count_leading_zeros
from transpile.primitives.indexing import PROMISED, gather
from transpile.trace.trace import bind
from transpile.trace.tracer import Tracer, add_method

UINT8 = np.dtype("uint8")
_ORDERS = {"big": np.arange(7, -1, -1, dtype=UINT8), "little": np.arange(8, dtype=UINT8)}


def _shifts(bitorder: str) -> Any:
    """The shift of each of eight bits of a byte."""
    if bitorder not in _ORDERS:
        raise located(ValueError, "'order' must be either 'little' or 'big'")
    return _ORDERS[bitorder]


def _masks(shifts: Any, behind: int) -> Any:
    """The bits of a byte along an axis, with so many axes behind it."""
    return broadcast_in_dim(np.left_shift(np.uint8(1), shifts), (8, *[1] * behind), (0,))


@implements(np.packbits)
def packbits(a: Array, /, axis: Any = None, bitorder: str = "big") -> Any:
    """Eight truth values of an axis, or of the flattened array, as the bits of a uint8; zeros pad
    the last byte.

    Raises TypeError for floats, and ValueError for a bit order other than "big" and "little".
    """
    x = as_array(a)
    shifts = _shifts(bitorder)
    if x.dtype.kind not in "biu":
        raise located(TypeError, "Expected an input array of integer or boolean data type")
    if axis is None:
        x, axis = ravel(x), 0
    elif x.ndim == 0:
        x = ravel(x)
    number = axis_of(exact(axis), x.ndim)
    shape, size = x.shape, x.shape[number]
    count = -(-size // 8)
    if number == x.ndim - 1 and isinstance(size, int) and size % 8 == 0:
        x, number = ravel(x), 0  # rows of whole bytes are one long row
        size, count = x.shape[0], x.shape[0] // 8
    bits = convert(x, BOOL)
    if 8 * count != size:
        rest = (*x.shape[:number], 8 * count - size, *x.shape[number + 1 :])
        bits = concatenate_along([bits, fill(False, rest, BOOL)], number)
    bits = reshape_to(bits, (*x.shape[:number], count, 8, *x.shape[number + 1 :]))
    packed = sum(
        elementwise.where(bits, _masks(shifts, x.ndim - number - 1), np.uint8(0)), number + 1, UINT8
    )
    return packed if x.ndim == len(shape) else reshape_to(packed, (*shape[:-1], shape[-1] // 8))


@implements(np.unpackbits)
def unpackbits(a: Array, /, axis: Any = None, count: Any = None, bitorder: str = "big") -> Any:
    """The bits of uint8 elements along an axis, or of the flattened array, as uint8 zeros and ones.

    `count` limits their number, or pads with zeros; negative, it drops that many. Raises TypeError
    for another dtype.
    """
    x = as_array(a)
    shifts = _shifts(bitorder)
    if x.dtype != UINT8:
        raise located(TypeError, "Expected an input array of unsigned byte data type")
    if axis is None:
        x, axis = ravel(x), 0
    elif x.ndim == 0:
        x = ravel(x)
    number = axis_of(exact(axis), x.ndim)
    before, after = x.shape[:number], x.shape[number + 1 :]
    size = x.shape[number]
    bits = _bits_in_columns(x, number, shifts) if after else _bits_in_rows(x, bitorder)
    bits = reshape_to(bits, (*before, 8 * size, *after))
    if count is None:
        return bits
    wanted = offset_of(count)
    if isinstance(wanted, Dim) or isinstance(size, Dim):
        return _first(bits, number, wanted)
    if wanted < 0:
        wanted += 8 * size
        if wanted < 0:
            raise located(
                ValueError, f"-ve count {count} is too large for an array of {8 * size} bits"
            )
    if wanted <= 8 * size:
        return slice_axis(bits, number, 0, wanted)
    return concatenate_along([bits, fill(0, (*before, wanted - 8 * size, *after), UINT8)], number)


def _bits_in_rows(x: Any, bitorder: Any) -> Any:
    """The bits of bytes as rows of eight, from a table: one load takes a row, where compilers have
    several operations for vectors of eight bytes."""
    table = np.unpackbits(np.arange(256, dtype=UINT8), bitorder=bitorder).reshape(256, 8)
    return bind(gather, Const(table), convert(x, INT64), axes=(0,), mode=PROMISED)


def _bits_in_columns(x: Any, axis: int, shifts: Any) -> Any:
    """The bits of bytes along an axis behind that of the bytes, with further axes behind it."""
    before, after = x.shape[: axis + 1], x.shape[axis + 1 :]
    axes = [k for k in range(x.ndim + 1) if k != axis + 1]
    wide = broadcast_in_dim(x, (*before, 1, *after), axes)
    bits = call(np.bitwise_and, wide, _masks(shifts, len(after)))
    return convert(call(np.not_equal, bits, np.uint8(0)), UINT8)


def _first(bits: Any, axis: int, count: Any) -> Any:
    """So many bits, which are some of those or have zeros behind them; a number below 0 is how many
    are left out."""
    size = bits.shape[axis]
    if not is_at_most(0, count):
        require(count, 0, f"a count of {count} bits")
        return slice_axis(bits, axis, 0, larger_of(size + count, 0))
    kept = slice_axis(bits, axis, 0, smaller_of(size, count))
    missing = (*bits.shape[:axis], count - kept.shape[axis], *bits.shape[axis + 1 :])
    return concatenate_along([kept, fill(0, missing, UINT8)], axis)


# ------------------------------------------------------------------- methods of Python's numbers


def _of_number(kinds: str, name: str, method: Callable[[Tracer], Any]) -> None:
    """A method that numbers have, and arrays do not."""

    def called(x: Tracer) -> Any:
        if x.ndim or x.dtype.kind not in kinds:
            kind = f"an array of {x.ndim} axes" if x.ndim else f"a number of {x.dtype}"
            raise located(AttributeError, f"{kind} has no attribute {name!r}")
        return method(x)

    called.__doc__ = method.__doc__
    add_method(name, called)


def _magnitude(x: Any) -> Any:
    """|x|, without a sign: that of the least integer is no signed one."""
    unsigned = convert(x, np.dtype("uint64"))
    return unsigned if x.dtype.kind == "u" else np.where(x < 0, ~unsigned + np.uint64(1), unsigned)


def _bit_length(x: Any) -> Any:
    """How many bits the absolute value of an integer has, without leading zeros."""
    zeros = bind(count_leading_zeros, _magnitude(x))
    return weaken(64 - convert(zeros, INT64))


def _bit_count(x: Any) -> Any:
    """How many bits are set in the absolute value of an integer."""
    return weaken(convert(bind(bitwise_count, _magnitude(x)), INT64))


def _is_integer(x: Any) -> Any:
    """True for a finite number without a fraction."""
    if x.dtype.kind != "f":
        return np.isfinite(x)
    return np.logical_and(np.isfinite(x), np.floor(x) == x)


_of_number("iu", "bit_length", _bit_length)
_of_number("iu", "bit_count", _bit_count)
_of_number("iuf", "is_integer", _is_integer)
