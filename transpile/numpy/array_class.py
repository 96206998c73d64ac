"""`Array`, the type of arrays, which `transpile.numpy` calls `ndarray`, as JAX does."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.pytree.device_arrays import DeviceArray
from transpile.pytree.registry import EXTENDED
from transpile.trace.tracer import Tracer

_CLASSES = (np.ndarray, np.generic, Tracer, DeviceArray)


class _ArrayMeta(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return cls.__subclasscheck__(type(value))

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, _CLASSES) or kind in EXTENDED


class Array(metaclass=_ArrayMeta):
    """The type of arrays, for annotations and `isinstance`: NumPy's arrays and scalars, traced
    arrays, those in the memory of other devices, and arrays of random keys.

    Python numbers are no arrays. It has no instances of its own: calling it raises TypeError.
    """

    def __new__(cls) -> Any:
        """Raise TypeError: the class has no instances of its own."""
        raise TypeError("Array is a type for annotations and isinstance; make arrays by numpy")
