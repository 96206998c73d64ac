"""Compute the key of a call: the avals and structure of its arguments, as one flat tuple.

In prefix order, an array contributes its dtype and shape, a Python number its type, a container its
type and length or keys, a static argument its type and value. Instead of a shape it is the layout
and the shape where an array lies in memory otherwise than by rows. Calls with equal keys share one
executable, and those whose keys are equal but for such layouts one trace.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from transpile.ir.memory_layout import Layout, gaps
from transpile.ir.number_text import number_bytes
from transpile.ir.types import PYTHON_SCALARS
from transpile.pytree.device_arrays import DeviceArray, adopted
from transpile.pytree.extended_dtypes import one_level
from transpile.trace.tracer import Tracer

ndarray = np.ndarray


class Rejected(Exception):
    """A leaf of a call is neither an array nor a number; the caller names it in its error."""


def is_masked(value: Any) -> bool:
    """True for a masked array. Asks only if `numpy.ma` is imported, which takes 15 ms."""
    return "numpy.ma" in sys.modules and isinstance(value, np.ma.MaskedArray)


KEYWORDS = object()  # in a key, before the keyword arguments


def concrete(value: Any) -> Any:
    """Convert a leaf that is neither an ndarray nor a Python number; Rejected without values. What
    is in the memory of a device stays there."""
    if isinstance(value, DeviceArray):
        return value
    if isinstance(value, Tracer) or is_masked(value):
        raise Rejected
    held = adopted(value)
    if isinstance(held, DeviceArray):
        return held
    if not has_values(value):
        raise Rejected
    try:
        array = values_of(value)
    except _UNREADABLE:
        raise Rejected from None
    if array.dtype.hasobject:
        raise Rejected
    return array


# What arrays of other libraries raise where NumPy cannot read their values: on another device, or
# because a derivative would be lost.
_UNREADABLE = (TypeError, ValueError, RuntimeError, BufferError)


def has_values(value: Any) -> bool:
    """True for arrays, of any library: they have `__array__`, or can be exchanged by DLPack."""
    return hasattr(value, "__array__") or hasattr(value, "__dlpack__")


def values_of(value: Any, what: str = "") -> np.ndarray[Any, Any]:
    """An array of any library as NumPy's, in the same memory where that can be. With a name for
    messages, one that cannot be read is a TypeError of that name."""
    try:
        if hasattr(value, "__array__"):
            return np.asarray(value)
        return np.asarray(np.from_dlpack(value))
    except _UNREADABLE as problem:
        if not what:
            raise
        kind = type(value)
        raise TypeError(
            f"{what} is a {kind.__module__}.{kind.__qualname__}, whose values NumPy cannot read: "
            f"{problem}"
        ) from problem


def abstract(value: Any) -> Any:
    """As `concrete`, but keep any object with `shape` and `dtype`."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return value
    return concrete(value)


# An array with gaps of so many bytes is copied: that takes less than a call. In C, too
# (`runtime_c/python/call_arguments.h`).
LARGEST_COPY = 1 << 14


def memory_layout(array: np.ndarray[Any, Any]) -> Layout:
    """The order in which `array.transpose(order)` is contiguous, (1, 0) for the transpose of a
    matrix; the gaps of an array that has some; () for arrays in row-major order, and for those that
    are copied into that order."""
    flags = array.flags
    if flags.c_contiguous:
        return ()
    strides = array.strides
    order = tuple(sorted(range(array.ndim), key=strides.__getitem__, reverse=True))
    if array.transpose(order).flags.c_contiguous:
        return order
    if array.nbytes <= LARGEST_COPY or not (flags.aligned and array.dtype.isnative):
        return ()
    return gaps(array.shape, strides, array.itemsize) or ()


def shape_and_layout(array: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    """The part of a key for the shape and the memory of an array."""
    layout = memory_layout(array)
    return (layout, array.shape) if layout else array.shape


class Unhashable:
    """The data of a container that cannot be hashed, such as a dict, in a key: a copy of it, so
    that a change of the original is noticed; compared by equality."""

    __slots__ = ("data",)

    def __init__(self, data: Any) -> None:
        self.data = _copied(data)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unhashable) and bool(self.data == other.data)

    def __hash__(self) -> int:
        return hash(type(self.data))


def _copied(data: Any) -> Any:
    """Dicts, lists and sets copied at every depth; other objects as they are."""
    if type(data) is dict:
        return {key: _copied(value) for key, value in data.items()}
    if type(data) in (list, tuple):
        return type(data)(map(_copied, data))
    if type(data) is ndarray:
        return data.copy()
    return set(data) if type(data) is set else data


def describe(value: Any, key: list[Any], leaves: list[Any], leaf: Callable[[Any], Any]) -> None:
    """Append the key and the leaves of one argument; `leaf` converts other types of leaves."""
    kind = type(value)
    if kind is ndarray:
        shape = value.shape if value.flags.c_contiguous else shape_and_layout(value)
        key += (value.dtype, shape)
        leaves.append(value)
    elif kind in PYTHON_SCALARS:
        key.append(kind)
        leaves.append(value)
    elif kind is tuple or kind is list:
        key += (kind, len(value))
        for child in value:
            describe(child, key, leaves, leaf)
    elif kind is dict:
        names = sorted(value)
        key += (dict, tuple(names))
        for name in names:
            describe(value[name], key, leaves, leaf)
    elif value is None:
        key.append(None)
    elif isinstance(value, DeviceArray):
        key.append(value.kind)
        leaves.append(value)
    else:
        _describe_other(value, key, leaves, leaf)


def _describe_other(
    value: Any, key: list[Any], leaves: list[Any], leaf: Callable[[Any], Any]
) -> None:
    level = one_level(value)
    if level is not None:
        children, data = level
        try:
            hash(data)
        except TypeError:
            data = Unhashable(data)
        key += (type(value), data, len(children))
        for child in children:
            describe(child, key, leaves, leaf)
        return
    value = leaf(value)
    if isinstance(value, DeviceArray):
        key.append(value.kind)
        leaves.append(value)
        return
    shape = value.shape
    key += (np.dtype(value.dtype), shape if type(shape) is tuple else tuple(shape))
    leaves.append(value)


def described(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], list[Any]]:
    """The key and the leaves of a call without static arguments; Rejected as by `concrete`."""
    key: list[Any] = []
    leaves: list[Any] = []
    for value in args:
        describe(value, key, leaves, concrete)
    if kwargs:
        names = sorted(kwargs)
        key += (KEYWORDS, tuple(names))
        for name in names:
            describe(kwargs[name], key, leaves, concrete)
    return tuple(key), leaves


def static_key(value: Any) -> Any:
    """The part of a key that a static value contributes, compared by type, hash and equality.

    Floats compare by their bytes, so that nan equals itself and -0.0 is not 0.0; tuples by items.
    """
    kind = type(value)
    if kind is tuple:
        return (tuple, tuple(static_key(item) for item in value))
    if kind is float or kind is complex:
        return (kind, number_bytes(value))
    if isinstance(value, np.inexact):
        return (kind, value.tobytes())
    return (kind, value)


class Held:
    """An array, a slice, or a list or a dict of numbers at every depth, that is static: it has a
    hash, and the function gets a copy."""

    __slots__ = ("_key", "_value")

    def __init__(self, value: Any) -> None:
        self._value = _copied(value)
        self._key = _held_key(value)

    @property
    def value(self) -> Any:
        """A copy for the function; `changed` says whether that changes it."""
        return _copied(self._value)

    def changed(self, copy: Any) -> Any:
        """What a function has changed of its copy: an array in it, if there is one, else a list or
        a dict; None for nothing."""
        found = [*_changes(self._value, copy)]
        return next((x for x in found if type(x) is ndarray), found[0] if found else None)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Held) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return repr(self._value)


def _changes(before: Any, after: Any) -> Iterator[Any]:
    """The arrays and containers of `before` that are others in `after`, its copy: elements that
    have not been assigned to are the same objects."""
    if type(before) is ndarray:
        if type(after) is ndarray and not np.array_equal(before, after):
            yield before
    elif type(before) in (list, tuple, dict):
        is_like = type(before) is type(after) and len(before) == len(after)
        if not is_like or (type(before) is dict and before.keys() != after.keys()):
            yield before
            return
        for key in before if type(before) is dict else range(len(before)):
            if _is_nested(before[key]):
                yield from _changes(before[key], after[key])
            elif before[key] is not after[key]:
                yield before


def _is_nested(value: Any) -> bool:
    return type(value) in (ndarray, list, tuple, dict)


def _held_key(value: Any) -> Any:
    if isinstance(value, ndarray):
        return (value.dtype, value.shape, value.tobytes())
    if type(value) is slice:
        return (slice, *map(static_key, (value.start, value.stop, value.step)))
    if type(value) is dict:
        return (dict, *((name, _held_key(value[name])) for name in sorted(value)))
    if type(value) in (tuple, list):
        return (type(value), *map(_held_key, value))
    return static_key(value)


class _Same:
    """Stands in a key for an object that has no hash: equal to what stands for the same object."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self._value is other._value

    def __hash__(self) -> int:
        return id(self._value)


def receiver_key(value: Any) -> Any:
    """The part of a key that the receiver of a method contributes: compared as a static value, by
    identity where its class has no hash."""
    return static_key(_Same(value) if type(value).__hash__ is None else value)
