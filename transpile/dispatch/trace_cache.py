"""The in-process cache of traces and executables: a table for each function and its settings.

The tables of a function are in its own `__dict__`, so that they live as long as the function. Two
`jit`s of one function with equal settings share a table.
"""

from __future__ import annotations

import weakref
from collections import Counter
from types import FunctionType
from typing import Any

from transpile.dispatch.dynamic_shapes import Seen
from transpile.runtime.dispatcher import Specialization, Specializations
from transpile.runtime.memory.pool import MEMORY_POOL
from transpile.stages import Traced
from transpile.util.fork_safe_lock import Lock

_NAME = "__transpile__"
# The graphs of a dynamic function whose programs are kept, the last ones that were used.
MOST_GRAPHS = 256
# The same of a function some of whose arguments are static by themselves.
MOST_PROGRAMS = 256


class Traces(Specializations):
    """The traces and executables of one function with one set of settings, by the calls' keys.

    seen      the runtime sizes that calls have been generalised to
    changes   how often a change of a captured value has made it trace again, by the value's name
    is_bounded  keep a bounded number of traces, with their programs
    """

    def __init__(self) -> None:
        super().__init__()
        self.traced: dict[Any, Traced] = {}
        self.seen = Seen.nothing()
        self.changes: Counter[str] = Counter()
        self.is_bounded = False
        self._keys: dict[Any, dict[Any, None]] = {}  # of calls, by those of their traces

    def recent(self, key: Any, traced: Traced) -> Traced:
        """The trace with this key, or this one, as the last that was used of a bounded number."""
        traced = self.traced.pop(key, traced)
        self.traced[key] = traced
        while len(self.traced) > MOST_GRAPHS:
            del self.traced[next(iter(self.traced))]
        return traced

    def add(self, key: Any, traced: Traced) -> None:
        """Store a trace. Of a bounded number one is dropped that has not been called for long."""
        with self.lock:
            self.traced.pop(key, None)
            self.traced[key] = traced
            while self.is_bounded and len(self.traced) > MOST_PROGRAMS:
                self._drop_trace(self._unused(key))

    def keep_program(self, key: Any, specialization: Specialization, traced: Traced) -> None:
        """Store the program of a trace for calls with this key."""
        keep = self.keep_sized if traced.jaxpr.sizes else self.keep
        keep(key, specialization, traced.watch)
        if self.is_bounded:
            found = next((k for k, other in self.traced.items() if other is traced), None)
            if found is not None:
                self._keys.setdefault(found, {})[key] = None

    def _unused(self, new: Any) -> Any:
        """The oldest trace without a call since it was looked at last, which is then moved behind
        the others; never the new one."""
        for key in [*self.traced]:
            calls = [self.was_called(call) for call in self._keys.get(key, ())]
            if key != new and not any(calls):
                return key
            self.traced[key] = self.traced.pop(key)
        return next(iter(self.traced))

    def _drop_trace(self, key: Any) -> None:
        del self.traced[key]
        for call in self._keys.pop(key, ()):
            self.drop(call)

    def clear(self) -> None:
        """Drop all traces and executables."""
        with self.lock:
            self.traced.clear()
            self._keys.clear()
            self.seen.clear()
            super().clear()


class TracesOfFunction:
    """The tables of one function, by settings. In pickles of the function by value, as cloudpickle
    makes them, it becomes an empty dict."""

    def __init__(self, function: FunctionType) -> None:
        self._function = weakref.ref(function)
        self._tables: dict[Any, Traces] = {}

    @classmethod
    def of(cls, function: FunctionType) -> TracesOfFunction:
        """The tables of a function, from its `__dict__`."""
        tables = function.__dict__.get(_NAME)
        # Another function's, where functools.wraps has copied the attributes.
        if type(tables) is not cls or tables._function() is not function:
            tables = function.__dict__[_NAME] = cls(function)
        return tables

    def table(self, settings: Any) -> Traces:
        """The table for some settings."""
        return self._tables.setdefault(settings, Traces())

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, ()


_every: weakref.WeakSet[Traces] = weakref.WeakSet()
_lock = Lock()


def traces_of(function: Any, settings: Any) -> Traces:
    """The table of a function for some settings."""
    with _lock:
        if isinstance(function, FunctionType):
            table = TracesOfFunction.of(function).table(settings)
        else:
            table = Traces()
        _every.add(table)
    return table


def clear_caches() -> None:
    """Drop every trace and executable of every jitted function, and free the memory that is kept
    for results. The cache on disk stays."""
    with _lock:
        tables = list(_every)
    for table in tables:
        table.clear()
    MEMORY_POOL.release_all()
