"""`Array`, the type of arrays, and JAX's functions that move arrays between devices.

Arrays of NumPy are in the memory of the CPU, and complete: functions about the moment at which an
array is complete return those as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.types import PYTHON_SCALARS, type_of
from transpile.numpy.array_class import Array
from transpile.numpy.core.promotion import as_array
from transpile.pytree.device_arrays import DeviceArray, adopted
from transpile.pytree.extended_dtypes import flatten_arrays
from transpile.pytree.registry import EXTENDED
from transpile.runtime.devices import CPU, check_device, current_default, named
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
    """A pytree with copies of its arrays on a device; numbers become arrays.

    device, src  a device, its name ("cpu", "cuda", "cuda:1"), a pytree of these, of which each is
                 for the subtree that stands there, or None: the default device, and for an array in
                 the memory of a GPU that one
    donate       the argument's memory may be used: what is on the device already is not copied
    may_alias    what is on the device already is not copied

    The memory of a GPU is copied to by the order of its stream, and an array that is there already
    is not copied. Traced values stay as they are. Raises TypeError for leaves that are no arrays,
    ValueError for what is no device, RuntimeError for a device that is not here.
    """
    for each in (*leaves(device), *leaves(src)):
        check_device(each, "device_put")
    is_shared = bool(may_alias) or donate is True
    places = list(leaves(device))
    if len(set(places)) == 1:
        device = places[0]
    elif places:
        return map_leaves(
            lambda place, part: map_leaves(lambda leaf: _put(leaf, place, is_shared), part),
            device,
            x,
        )
    return map_leaves(lambda leaf: _put(leaf, device, is_shared), x)


def _put(leaf: Any, device: Any, is_shared: bool) -> Any:
    if isinstance(leaf, Tracer):
        return leaf
    if type(leaf) in EXTENDED:  # a container of its numbers
        parts, structure = flatten_arrays(leaf)
        on_host = device is None and current_default() is CPU
        if on_host or (device is not None and named(device).platform == CPU.platform):
            return leaf
        return structure.unflatten([_put(part, device, is_shared) for part in parts])
    leaf = leaf if type(leaf) in PYTHON_SCALARS else adopted(leaf)
    is_array = isinstance(leaf, np.ndarray | np.generic) or hasattr(leaf, "__array__")
    if type(leaf) not in PYTHON_SCALARS and not is_array:
        raise TypeError(f"Argument {leaf!r} of type {type(leaf)} is not a valid transpile type")
    if isinstance(leaf, DeviceArray):
        return leaf if device is None else named(device).put(leaf)
    place = current_default() if device is None else named(device)
    array = as_array(leaf)
    if place.platform == CPU.platform:
        return array if is_shared else np.array(array)
    return place.put(array)


def device_get(x: Any) -> Any:
    """A pytree with its arrays as NumPy arrays, in the memory of the CPU; other leaves, and traced
    values, stay as they are."""
    return map_leaves(_get, x)


def _get(leaf: Any) -> Any:
    if isinstance(leaf, Tracer):
        return leaf
    if type(leaf) in EXTENDED:
        parts, structure = flatten_arrays(leaf)
        return structure.unflatten(parts if _on_host(parts) else [np.asarray(p) for p in parts])
    return np.asarray(leaf) if hasattr(leaf, "__array__") else leaf


def _on_host(parts: list[Any]) -> bool:
    return not any(isinstance(part, DeviceArray) for part in parts)


def _on_devices(x: Any) -> list[Any]:
    """The arrays of a pytree that are in the memory of devices."""
    return [part for part in flatten_arrays(x)[0] if isinstance(part, DeviceArray)]


def block_until_ready(x: Any) -> Any:
    """The pytree itself, once its arrays have been computed: those in the memory of the CPU have
    been when the call returned that gave them."""
    for array in _on_devices(x):
        array.block_until_ready()
    return x


def copy_to_host_async(x: Any) -> Any:
    """The pytree itself. Copies of its arrays to the memory of the CPU have begun, and
    `numpy.asarray` waits for their end."""
    for array in _on_devices(x):
        array.copy_to_host_async()
    return x


def typeof(x: Any) -> Any:
    """The type of an array or number: shape, dtype, and whether it is weak; of a pytree with those
    leaves."""
    values, structure = flatten_arrays(x)
    return structure.unflatten([type_of(value) for value in values])
