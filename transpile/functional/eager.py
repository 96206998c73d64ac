"""Functions of arrays in the memory of a device, applied by themselves: `x + y`, `x.sum(axis=0)`,
`numpy.exp(x)`.

Each is a jitted function of the arrays; what else it is given, such as an axis or a slice, is part
of the program. Operands of operators and ufuncs that are numbers are arguments. So the first use
with other shapes compiles, as for any jitted function, and results are arrays on the device.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile import tree
from transpile.dispatch.jitted import Wrapped
from transpile.dispatch.tracing import Config
from transpile.ir.types import PYTHON_SCALARS
from transpile.pytree.device_arrays import DeviceArray
from transpile.trace.call_arguments import parameters
from transpile.trace.call_key import static_key

# Jitted functions that are kept.
_MOST = 1024
_ARRAYS = (DeviceArray, np.ndarray, np.generic)
_known: dict[Any, Wrapped] = {}
_OPERATORS = frozenset(map(vars(operator).get, operator.__all__)) - {operator.getitem}


def applied(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The result of a function for arguments of which some are arrays on a device."""
    leaves, structure = tree.flatten((tuple(args), kwargs))
    takes_numbers = isinstance(function, np.ufunc) or function in _OPERATORS
    is_array = tuple(
        isinstance(leaf, _ARRAYS)
        or hasattr(leaf, "__cuda_array_interface__")
        or (takes_numbers and type(leaf) in PYTHON_SCALARS)
        for leaf in leaves
    )
    fixed = [None if a else leaf for a, leaf in zip(is_array, leaves, strict=True)]
    key = function, structure, is_array, tuple(map(_key, fixed))
    known = _known.get(key)
    if known is None:
        if len(_known) >= _MOST:
            _known.clear()
        known = _known[key] = _jitted(_with_fixed(function, structure, is_array, fixed))
    return known(*(leaf for a, leaf in zip(is_array, leaves, strict=True) if a))


def _key(value: Any) -> Any:
    if isinstance(value, slice):  # which has no hash before Python 3.12
        return slice, static_key(value.start), static_key(value.stop), static_key(value.step)
    return static_key(value)


def _with_fixed(
    function: Callable[..., Any],
    structure: tree.TreeDef,
    is_array: Sequence[bool],
    fixed: list[Any],
) -> Callable[..., Any]:
    """The function of the arrays alone."""

    def call(*arrays: Any) -> Any:
        given = iter(arrays)
        values = [next(given) if a else x for a, x in zip(is_array, fixed, strict=True)]
        args, kwargs = structure.unflatten(values)
        return function(*args, **kwargs)

    name = getattr(function, "__name__", "function")
    call.__name__ = call.__qualname__ = name if name.isidentifier() else "function"
    return call


def _jitted(function: Callable[..., Any]) -> Wrapped:
    return Wrapped(function, Config(parameters(function)))


def gathered(flat: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """The elements of a flat array on a device that lie so many elements apart, as an array."""
    key = gathered, shape, strides
    known = _known.get(key)
    if known is None:
        known = _known[key] = _jitted(_gathering(shape, strides))
    return known(flat)


def _gathering(shape: tuple[int, ...], strides: tuple[int, ...]) -> Callable[[Any], Any]:
    def strided(flat: Any) -> Any:
        index = np.zeros_like(flat, np.int64, shape=(1,) * len(shape))
        for axis, (extent, stride) in enumerate(zip(shape, strides, strict=True)):
            ones = np.ones_like(flat, np.int64, shape=(extent,))
            place = (np.cumsum(ones) - 1) * stride
            index = index + place.reshape([extent if k == axis else 1 for k in range(len(shape))])
        return flat[index]

    return strided
