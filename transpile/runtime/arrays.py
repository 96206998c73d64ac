"""`Array`, the type of arrays, and JAX's functions that move arrays between devices.

Results are NumPy arrays in the memory of the only device, and calls are synchronous: so these
functions copy, or return their argument.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.types import PYTHON_SCALARS, type_of
from transpile.numpy.array_class import Array
from transpile.numpy.core.promotion import as_array
from transpile.pytree.extended_dtypes import flatten_arrays
from transpile.pytree.registry import EXTENDED
from transpile.runtime.devices import check_device
from transpile.trace.tracer import Tracer
from transpile.tree import leaves
from transpile.tree import map as map_leaves

__all__ = [
    "Array",
    "block_until_ready",
    "copy_to_host_async",
    "device_get",
    "device_put",
    "typeof",
]


def device_put(
    x: Any, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None
) -> Any:
    """A pytree with copies of its arrays on a device, of which there is one; numbers become arrays.

    device, src  None, the CPU, or a pytree of these
    donate       the argument's memory may be used: nothing is copied
    may_alias    nothing is copied

    Traced values stay as they are. Raises TypeError for leaves that are no arrays, ValueError for
    other devices.
    """
    for each in (*leaves(device), *leaves(src)):
        check_device(each, "device_put")
    is_shared = bool(may_alias) or donate is True
    return map_leaves(lambda leaf: _put(leaf, is_shared), x)


def _put(leaf: Any, is_shared: bool) -> Any:
    if isinstance(leaf, Tracer) or type(leaf) in EXTENDED:
        return leaf
    is_array = isinstance(leaf, np.ndarray | np.generic) or hasattr(leaf, "__array__")
    if type(leaf) not in PYTHON_SCALARS and not is_array:
        raise TypeError(f"Argument {leaf!r} of type {type(leaf)} is not a valid transpile type")
    array = as_array(leaf)
    return array if is_shared else np.array(array)


def device_get(x: Any) -> Any:
    """A pytree with its arrays as NumPy arrays; other leaves, and traced values, stay as they
    are."""
    return map_leaves(_get, x)


def _get(leaf: Any) -> Any:
    is_array = hasattr(leaf, "__array__") and type(leaf) not in EXTENDED
    return np.asarray(leaf) if is_array and not isinstance(leaf, Tracer) else leaf


def block_until_ready(x: Any) -> Any:
    """The pytree itself: calls are synchronous, so its arrays are complete."""
    return x


def copy_to_host_async(x: Any) -> Any:
    """The pytree itself: its arrays are in the memory of the host."""
    return x


def typeof(x: Any) -> Any:
    """The type of an array or number: shape, dtype, and whether it is weak; of a pytree with those
    leaves."""
    values, structure = flatten_arrays(x)
    return structure.unflatten([type_of(value) for value in values])
