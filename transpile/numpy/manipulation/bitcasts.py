"""The bits of numbers as numbers of another dtype, for `lax.bitcast_convert_type` and
`ndarray.view`. Numbers that are made of several have the lowest bits first, as in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.graph import Const
from transpile.ir.types import kind_letter
from transpile.numpy.core.promotion import DType, broadcast_in_dim, reshape_to, slice_axis
from transpile.primitives import elementwise as primitives
from transpile.primitives.elementwise import bits
from transpile.trace.trace import bind


def as_unsigned(x: Any) -> Any:
    """The bits of numbers, which are not complex, as unsigned integers of the same size."""
    if kind_letter(x.dtype) == "f":
        return bind(bits.bits, x)
    raw = bits.unsigned(x.dtype)
    return x if x.dtype == raw else bind(primitives.convert, x, dtype=raw)


def from_unsigned(raw: Any, wanted: DType) -> Any:
    """The numbers of a dtype, which is not complex, that have these bits."""
    if kind_letter(wanted) == "f":
        return bind(bits.float_from_bits, raw, dtype=wanted)
    return raw if raw.dtype == wanted else bind(primitives.convert, raw, dtype=wanted)


def cut(raw: Any, wanted: DType) -> Any:
    """Each unsigned integer as several narrower ones, along a new last axis."""
    count = raw.dtype.itemsize // wanted.itemsize
    shape = (*raw.shape, count)
    wide = broadcast_in_dim(raw, shape, range(raw.ndim))
    offsets = np.arange(count, dtype=raw.dtype) * raw.dtype.type(8 * wanted.itemsize)
    shifts = broadcast_in_dim(offsets, shape, (raw.ndim,))
    return bind(primitives.convert, bind(bits.right_shift, wide, shifts), dtype=wanted)


def joined(raw: Any, wanted: DType) -> Any:
    """The unsigned integers along the last axis, as many as it takes, as one wider one."""
    width = raw.dtype.itemsize
    total = None
    for number in range(wanted.itemsize // width):
        part = slice_axis(raw, raw.ndim - 1, number, number + 1)
        part = bind(primitives.convert, reshape_to(part, raw.shape[:-1]), dtype=wanted)
        if number:
            shift = Const(np.asarray(8 * width * number, wanted))
            part = bind(bits.left_shift, part, shift)
        total = part if total is None else bind(bits.bitwise_or, total, part)
    return total
