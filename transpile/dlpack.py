"""The names of `jax.dlpack`: arrays of other libraries, in the same memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.types import BOOL, SHORT_NAMES, is_bfloat16
from transpile.pytree.device_arrays import DeviceArray, adopted
from transpile.runtime.devices import CPU, check_device, named

__all__ = ["from_dlpack", "is_supported_dtype"]


def from_dlpack(external_array: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """The array that offers the DLPack protocol as NumPy's, in the same memory unless `copy`; one
    in the memory of a GPU as an array there.

    Raises ValueError for what is no device, BufferError or TypeError where the array
    cannot be read from here, and AttributeError for what has no `__dlpack__`.
    """
    check_device(device, "from_dlpack")
    held = adopted(external_array)
    if isinstance(held, DeviceArray):
        place = held.device if device is None else named(device)
        return held.copy() if copy and place is held.device else place.put(held)
    array = np.from_dlpack(external_array)
    if device is not None and named(device).platform != CPU.platform:
        return named(device).put(array)
    return np.array(array) if copy else array


def is_supported_dtype(dtype: Any) -> bool:
    """Whether arrays of a dtype can be exchanged: bool, integers, floats and complex numbers."""
    known = np.dtype(dtype)
    return known in SHORT_NAMES and (known == BOOL or not is_bfloat16(known))
