"""Arrays in the memory of other devices, as calls see them; targets have the classes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class DeviceKind:
    """The device, shape and dtype of an array: one object for equal ones, which is its part of the
    key of a call."""

    __slots__ = ("device", "dtype", "shape")

    def __init__(self, device: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.device = device
        self.shape = shape
        self.dtype = dtype


_kinds: dict[Any, DeviceKind] = {}


def kind_of(device: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> DeviceKind:
    """The one object for these."""
    key = device, shape, dtype
    known = _kinds.get(key)
    return _kinds.setdefault(key, DeviceKind(*key)) if known is None else known


class DeviceArray:
    """An array in the memory of a device: the base class of what targets have."""

    __slots__ = ("kind",)

    kind: DeviceKind

    @property
    def device(self) -> Any:
        """Where it is; hashable."""
        return self.kind.device

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of its axes."""
        return self.kind.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype of its elements."""
        return self.kind.dtype

    def copy(self) -> Any:
        """A copy on the device."""
        raise NotImplementedError

    def block_until_ready(self) -> Any:
        """Wait until its elements have been computed."""
        raise NotImplementedError

    def copy_to_host_async(self) -> None:
        """Begin to copy the elements to the host."""
        raise NotImplementedError


# Functions that make such an array of one of another library, in the same memory, and give None for
# what is none: targets add theirs.
ADOPTING: list[Callable[[Any], DeviceArray | None]] = []


def adopted(value: Any) -> Any:
    """The value; of an array of another library in the memory of a device a DeviceArray of that
    memory."""
    if isinstance(value, np.ndarray | DeviceArray):
        return value
    for adopt in ADOPTING:
        array = adopt(value)
        if array is not None:
            return array
    return value


# What arrays do by functions that are jitted, which come later: `applied(function, args, kwargs)`
# is their result, and `gathered(flat, shape, strides)` the elements of a flat array that lie so
# many apart, as an array.
EAGER: dict[str, Callable[..., Any]] = {}
