"""Arrays with the attributes and the meaning of JAX's, for the code that `install` serves.

An `Array` is a NumPy array that has `at`, takes traced indices, is not equal to None, stays an
array where it has no axes, keeps bfloat16 beside Python's numbers, and is not changed by `x += 1`,
which makes another one. What NumPy computes of Arrays are Arrays, and `adopted` makes Arrays of
what the functions of the stand-ins give. In traced functions there are traced arrays instead.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from transpile import numpy as namespace
from transpile import tree
from transpile.dispatch.jitted import BoundWrapped, Wrapped
from transpile.functional.placeholders import traced
from transpile.ir.types import FLOAT0, PYTHON_SCALARS, is_bfloat16, type_of
from transpile.numpy.subscripts.at import At, IndexUpdates
from transpile.runtime.devices import CPU, Device
from transpile.trace.tracer import Tracer
from transpile.util.interrupt_safety import THREAD

Function = Callable[..., Any]


class Array(np.ndarray[Any, Any]):
    """A NumPy array with what JAX's arrays have."""

    weak_type = False
    is_fully_addressable = True
    is_fully_replicated = True

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any(isinstance(x, Tracer) for x in inputs):
            return NotImplemented
        dtype = next((x.dtype for x in inputs if hasattr(x, "dtype")), self.dtype)
        is_short = is_bfloat16(dtype)
        given = [
            np.asarray(x, dtype) if is_short and type(x) in (int, float) else _plain(x)
            for x in inputs
        ]
        if "out" in kwargs:
            kwargs["out"] = tuple(map(_plain, kwargs["out"]))
        with np.errstate(all="ignore"):
            result = getattr(ufunc, method)(*given, **{k: _plain(v) for k, v in kwargs.items()})
        return adopted(result)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if any(issubclass(kind, Tracer) for kind in types):
            return NotImplemented
        return adopted(func(*_all_plain(args), **_all_plain(kwargs)))

    def __getitem__(self, key: Any) -> Any:
        if THREAD.traces and any(isinstance(k, Tracer) for k in tree.leaves(key)):
            return THREAD.traces[-1].lifted(_plain(self))[key]
        return adopted(_plain(self)[_all_plain(key)])

    def __eq__(self, other: object) -> Any:
        return NotImplemented if other is None else super().__eq__(other)

    def __ne__(self, other: object) -> Any:
        return NotImplemented if other is None else super().__ne__(other)

    __hash__ = None  # as ndarray

    @property
    def at(self) -> At:
        """The functional updates of the array."""
        return _AdoptingAt(_plain(self))

    @property
    def aval(self) -> Any:
        """The type: shape and dtype."""
        return type_of(_plain(self))

    @property
    def sharding(self) -> Any:
        """How the array is divided over devices: not at all."""
        return self.aval.sharding

    @property
    def device(self) -> Device:  # type: ignore[override]  # NumPy's is a str
        """The device that holds the array."""
        return CPU

    def devices(self) -> set[Device]:
        """The devices that hold the array."""
        return {CPU}

    def block_until_ready(self) -> Array:
        """The array itself, which is complete."""
        return self

    def copy_to_host_async(self) -> None:
        """Do nothing: the array is in the memory of the host."""

    def is_deleted(self) -> bool:
        """Whether the array has been given away: never."""
        return False

    def delete(self) -> None:
        """Do nothing: Python frees the array."""


def _in_place(operation: Function) -> Function:
    return lambda self, other: operation(self, other)


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_"):
    _short = _name.rstrip("_")
    setattr(Array, f"__i{_short}__", _in_place(getattr(operator, _name)))


def _reduction(name: str) -> Function:
    """The method of a reduction: the function of the namespace, which takes JAX's arguments."""

    def method(self: Array, *args: Any, **kwargs: Any) -> Any:
        return adopted(getattr(namespace, name)(_plain(self), *args, **kwargs))

    return method


for _name in ("sum", "prod", "any", "all", "max", "min", "mean", "std", "var"):
    setattr(Array, _name, _reduction(_name))


class _AdoptingAt(At):
    """The attribute `at`, whose updates are Arrays."""

    def __getitem__(self, key: Any) -> Any:
        updates = IndexUpdates(self.array, _all_plain(key))
        return _AdoptingUpdates(updates)


class _AdoptingUpdates:
    def __init__(self, updates: IndexUpdates) -> None:
        self._updates = updates

    def __getattr__(self, name: str) -> Any:
        return adopting(getattr(self._updates, name))


# ------------------------------------------------------------------------------------ conversions


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if type(value) is Array else value


def _all_plain(value: Any) -> Any:
    """Arguments with NumPy's arrays in the place of Arrays."""
    if type(value) in (tuple, list):
        return type(value)(map(_all_plain, value))
    if type(value) is dict:
        return {k: _all_plain(v) for k, v in value.items()}
    return _plain(value)


def adopted(value: Any) -> Any:
    """A result with Arrays in the place of NumPy's arrays and scalars, and functions that give
    such."""
    if type(value) is np.ndarray:
        return value if value.dtype == FLOAT0 else value.view(Array)
    if isinstance(value, np.generic):
        return np.asarray(value).view(Array)
    if isinstance(value, Wrapped | BoundWrapped):
        return Jitted(value)
    if isinstance(value, FunctionType | BuiltinFunctionType):
        return adopting(value)
    if isinstance(value, tuple | list | dict):
        return tree.map(adopted, value)
    return value


def adopting(function: Function) -> Function:
    """The function, whose results outside of traces are Arrays."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        return result if THREAD.traces and not callable(result) else adopted(result)

    return call


class AdoptingUfunc:
    """A ufunc of NumPy's, whose results outside of traces are Arrays."""

    def __init__(self, ufunc: Any) -> None:
        self._ufunc = ufunc
        functools.update_wrapper(self, ufunc, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The elementwise function."""
        if kwargs.get("where", 0) is None:
            del kwargs["where"]
        result = self._ufunc(*args, **kwargs)
        return result if THREAD.traces else adopted(result)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._ufunc, name)
        return adopting(value) if callable(value) else value


def _traced_number(value: Any) -> Any:
    return traced(value, type_of(value)) if type(value) in PYTHON_SCALARS else value


class Jitted:
    """A jitted function, whose results are Arrays."""

    def __init__(self, function: Any) -> None:
        self._jitted = function
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the compiled function; in a trace, whose part it becomes, numbers are traced too."""
        if not THREAD.traces:
            return adopted(self._jitted(*args, **kwargs))
        if isinstance(self._jitted, Wrapped):
            bound = self._jitted.parameters.bind(args, kwargs)
            given, named = bound.join(*tree.map(_traced_number, bound.split()))
            return self._jitted(*given, **named)
        return self._jitted(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else Jitted(self._jitted.__get__(instance, owner))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._jitted, name)

    def __repr__(self) -> str:
        return repr(self._jitted)
