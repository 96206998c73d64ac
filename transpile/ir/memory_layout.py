"""How the elements of an argument lie in memory: in an order of axes, or with gaps between them.

The layout of an array without gaps is an order of axes, `()` where that is row-major. An array with
gaps, as `x[:, :3]` and `x[::2]` are, is a part of an array without gaps, its frame: every so many
elements along some axes of it, in the one or the other direction, and one element again and again
along others. The frame reaches behind the last element of the array, where memory need not be:
nothing reads all of a frame.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from transpile.ir.primitive import Order
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True)
class Gaps:
    """The layout of an array with gaps, in elements.

    strides  of its axes; 0 for axes of one element, and for those that repeat one
    order    its axes from the longest stride to the shortest; () is that of rows
    frame    the extents of the frame, whose axes are in this order
    repeated the axes along which one element stands again and again
    offset   from the first element of the array to that of the frame: 0, or less where an axis is
             reversed
    """

    strides: tuple[int, ...]
    order: Order
    frame: tuple[int, ...]
    repeated: tuple[int, ...]
    offset: int

    @property
    def reversed(self) -> tuple[int, ...]:
        """The axes along which the array goes from the end of the frame to its beginning."""
        return tuple(axis for axis, stride in enumerate(self.strides) if stride < 0)

    @property
    def axes(self) -> tuple[int, ...]:
        """The axis of the array for each axis of the frame."""
        return self.order or tuple(range(len(self.strides)))

    @property
    def step(self) -> int:
        """From one element to the next one in memory."""
        return min((abs(stride) for stride in self.strides if stride), default=1)

    def frame_of(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The frame around an array of this layout. Only what the array has may be read."""
        first = array[tuple(slice(None, None, -1 if s < 0 else 1) for s in self.strides)]
        strides = []
        stride = array.itemsize
        for extent in reversed(self.frame):
            strides.append(stride)
            stride *= extent
        return np.lib.stride_tricks.as_strided(first, self.frame, tuple(reversed(strides)))


Layout = Order | Gaps


@lru_cache(maxsize=1024)
def gaps(shape: tuple[int, ...], byte_strides: tuple[int, ...], itemsize: int) -> Gaps | None:
    """The layout of an array with gaps; None where it is no such part of an array without gaps:
    elements that overlap, or lie at no multiple of their size."""
    if any(stride % itemsize for stride in byte_strides):
        return None
    pairs = zip(shape, byte_strides, strict=True)
    strides = tuple(stride // itemsize if extent > 1 else 0 for extent, stride in pairs)
    wide = [axis for axis, stride in enumerate(strides) if stride]
    ordered = sorted(wide, key=lambda axis: -abs(strides[axis]))
    narrow = [axis for axis, stride in enumerate(strides) if not stride]
    order = () if ordered == wide else (*narrow, *ordered)
    extents = dict.fromkeys(narrow, 1)
    inside = 1  # elements of the frame along the axes inside
    for position in range(len(ordered) - 1, -1, -1):
        axis = ordered[position]
        step = abs(strides[axis]) // inside
        least = (shape[axis] - 1) * step + 1
        if position == 0:
            extents[axis] = least
            break
        extents[axis], rest = divmod(abs(strides[ordered[position - 1]]), inside)
        if rest or extents[axis] < least:
            return None
        inside *= extents[axis]
    frame = tuple(extents[axis] for axis in order or range(len(shape)))
    offset = sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s < 0)
    repeated = tuple(axis for axis in narrow if shape[axis] > 1)
    return Gaps(strides, order, frame, repeated, offset)
