"""The names of `jax.dlpack`: arrays of other libraries, in the same memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.types import BOOL, SHORT_NAMES, is_bfloat16
from transpile.runtime.devices import check_device

__all__ = ["from_dlpack", "is_supported_dtype"]


def from_dlpack(external_array: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """The array that offers the DLPack protocol as NumPy's, in the same memory unless `copy`.

    Raises ValueError for a device that is not the CPU, BufferError or TypeError where the array
    cannot be read from here, and AttributeError for what has no `__dlpack__`.
    """
    check_device(device, "from_dlpack")
    array = np.from_dlpack(external_array)
    return np.array(array) if copy else array


def is_supported_dtype(dtype: Any) -> bool:
    """Whether arrays of a dtype can be exchanged: bool, integers, floats and complex numbers."""
    known = np.dtype(dtype)
    return known in SHORT_NAMES and (known == BOOL or not is_bfloat16(known))
