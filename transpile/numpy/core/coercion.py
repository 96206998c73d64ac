"""`numpy.array`, `numpy.asarray` and others that NumPy does not dispatch by their arguments.

All other functions of NumPy call `__array_function__` of their arguments. Those that make arrays do
so only for `like=`, so that `numpy.asarray(traced)` would fail, and a list of traced values too.
While any thread traces, these names of NumPy's are therefore bound to objects that call ours in a
thread that traces, and NumPy's own in others. No class is replaced: other code may extend it, or
ask for instances of it, at any moment. Three classes have another method meanwhile, and
`numpy.broadcast` is another one only in a copy of the traced function (`trace/captured_arrays.py`).

When the last trace of the process ends, NumPy's own are bound again; in a forked child at once,
unless the thread that forked traces.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from types import MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from transpile.numpy.core import creation
from transpile.numpy.core.promotion import EXPORTS, NOTHING, as_array, dispatching, has_tracer
from transpile.trace.captured_arrays import IN_COPIES
from transpile.trace.trace import AROUND_TRACES, Trace
from transpile.trace.tracer import FUNCTIONS
from transpile.util.fork_safe_lock import Lock
from transpile.util.interrupt_safety import THREAD
from transpile.util.lazy_imports import Later

if TYPE_CHECKING:
    from transpile.numpy.core import ranges
else:
    ranges = Later("transpile.numpy.core.ranges")

_IMPLEMENTED = creation  # where these are registered
_FUNCTIONS = (
    np.array,
    np.asarray,
    np.asanyarray,
    np.ascontiguousarray,
    np.asfortranarray,
    np.asarray_chkfinite,
    np.require,
    np.full,
)

# ------------------------------------------------------------------------------------- functions


class _NumpyModule:
    """NumPy's own functions; to a pickle it is the module `numpy`."""

    def __getattr__(self, name: str) -> Any:
        return of_numpy(name)

    def __reduce__(self) -> Any:
        return import_module, ("numpy",)


class _InTraces:
    """A function of NumPy's that calls ours in a thread that traces.

    Code that has taken it from NumPy's module meanwhile may keep it: it equals NumPy's own, and is
    that one when unpickled.
    """

    def __init__(self, numpys: Any, ours: Callable[..., Any]) -> None:
        functools.update_wrapper(self, numpys, updated=())
        self.__wrapped__ = numpys
        self._ours = ours

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return (self._ours if THREAD.traces else self.__wrapped__)(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As an attribute of a class it is a method where NumPy's own is one; a function in C is
        none."""
        is_method = instance is not None and hasattr(self.__wrapped__, "__get__")
        return MethodType(self, instance) if is_method else self

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)

    def __eq__(self, other: object) -> Any:
        return self.__wrapped__ == getattr(other, "__wrapped__", other)

    def __hash__(self) -> int:
        return hash(self.__wrapped__)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __reduce__(self) -> Any:
        return getattr, (_NumpyModule(), self.__wrapped__.__name__)


_NUMPYS: dict[str, Any] = {f.__name__: f for f in _FUNCTIONS}
_OURS = {name: _InTraces(f, dispatching(f, FUNCTIONS[f])) for name, f in _NUMPYS.items()}


def of_numpy(name: str) -> Any:
    """The object that NumPy itself has under a name, or None: also while a function is being
    traced."""
    return _NUMPYS.get(name, getattr(np, name, None))


# --------------------------------------------------------------------------------------- methods


class _Elements:
    """The iterator over the elements of a traced array that `numpy.ndenumerate` reads."""

    def __init__(self, array: Any) -> None:
        self._array = as_array(array)
        self._indices = list(np.ndindex(*self._array.shape))
        self._next = 0

    @property
    def coords(self) -> tuple[int, ...]:
        """The index of the next element; of none after the last."""
        return self._indices[self._next] if self._next < len(self._indices) else ()

    def __next__(self) -> Any:
        if self._next == len(self._indices):
            raise StopIteration
        self._next += 1
        return self._array[self._indices[self._next - 1]]


def _is_traced(*values: Any) -> bool:
    return bool(THREAD.traces) and has_tracer(values)


def _vectorized(self: Any, *args: Any, **kwargs: Any) -> Any:
    if self.pyfunc is NOTHING or not _is_traced(args, kwargs):
        return _NUMPYS_METHODS[np.vectorize, "__call__"](self, *args, **kwargs)
    known = (self.pyfunc, self.otypes, None, self.excluded, self.cache, self.signature)
    return EXPORTS["vectorize"](*known)(*args, **kwargs)


def _enumerate(self: Any, arr: Any) -> None:
    if _is_traced(arr):
        self.iter = _Elements(arr)
    else:
        _NUMPYS_METHODS[np.ndenumerate, "__init__"](self, arr)


def _joined(self: Any, key: Any) -> Any:
    if _is_traced(key) and (self is np.r_ or self is np.c_):
        return (ranges.r_ if self is np.r_ else ranges.c_)[key]
    if isinstance(key, str):  # a matrix of the variables of the code that asks for it
        frame = sys._getframe(1)
        return np.bmat(key, frame.f_globals, frame.f_locals)
    return _NUMPYS_METHODS[_JOINS, "__getitem__"](self, key)


_JOINS: Any = next(c for c in type(np.r_).__mro__ if "__getitem__" in vars(c))
_OUR_METHODS: dict[tuple[Any, str], Any] = {
    (np.vectorize, "__call__"): _vectorized,
    (np.ndenumerate, "__init__"): _enumerate,
    (_JOINS, "__getitem__"): _joined,
}
_NUMPYS_METHODS = {(cls, name): vars(cls)[name] for cls, name in _OUR_METHODS}
for _key, _method in _OUR_METHODS.items():
    functools.update_wrapper(_method, _NUMPYS_METHODS[_key])

# ---------------------------------------------------------------------------------------- traces

_lock = Lock()
_tracing: dict[Trace, int] = {}  # the traces under way, and their threads


def _bind(functions: dict[str, Any], methods: dict[tuple[Any, str], Any]) -> None:
    """Bind names of NumPy's to these. An interrupt in between does no harm where this is done
    again."""
    vars(np).update(functions)
    for (cls, name), method in methods.items():
        setattr(cls, name, method)


def _begin(trace: Trace) -> None:
    with _lock:
        _tracing[trace] = threading.get_ident()
        _bind(_OURS, _OUR_METHODS)


def _end(trace: Trace) -> None:
    with _lock:
        _tracing.pop(trace, None)
        if not _tracing:
            _bind(_NUMPYS, _NUMPYS_METHODS)


def _forget_others() -> None:
    """In a forked child: end the traces of the other threads, which do not exist there."""
    if _tracing:
        for trace in [t for t, thread in _tracing.items() if thread != threading.get_ident()]:
            _end(trace)


os.register_at_fork(after_in_child=_forget_others)
AROUND_TRACES[__name__] = (_begin, _end)

# ------------------------------------------------------------------------- copies of the function


def _numpy_of_copies() -> ModuleType:
    module = ModuleType("numpy", np.__doc__)
    vars(module).update(vars(np))
    vars(module).update(_OURS, broadcast=EXPORTS["broadcast"])
    return module


IN_COPIES[id(np)] = (np, _numpy_of_copies)
IN_COPIES[id(np.broadcast)] = (np.broadcast, lambda: EXPORTS["broadcast"])
for _name, _own in _NUMPYS.items():  # where they are bound to names of the user's
    IN_COPIES[id(_own)] = (_own, functools.partial(_OURS.get, _name))
