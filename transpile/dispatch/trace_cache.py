"""What has been traced and compiled for a function, and where that is kept."""

from __future__ import annotations

import weakref
from types import FunctionType
from typing import Any

from transpile.runtime.dispatcher import Specializations
from transpile.runtime.memory_pool import RESERVE
from transpile.stages import Traced
from transpile.util.fork_safe_lock import Lock

_NAME = "__transpile__"


class Traces(Specializations):
    """Everything traced and compiled so far for one function and one set of settings, by key."""

    def __init__(self) -> None:
        super().__init__()
        self.traced: dict[Any, Traced] = {}

    def clear(self) -> None:
        """Forget all."""
        with self.lock:
            self.traced.clear()
            super().clear()


class OfFunction:
    """The traces of one function, by settings.

    It stands in the function's own dict, so that it goes when the function goes. In pickles of the
    function, by cloudpickle, an empty dict stands there.
    """

    def __init__(self, function: FunctionType) -> None:
        self._function = weakref.ref(function)
        self._tables: dict[Any, Traces] = {}

    @classmethod
    def of(cls, function: FunctionType) -> OfFunction:
        """That of a function."""
        found = function.__dict__.get(_NAME)
        # functools.wraps copies attributes from one function to another.
        if type(found) is not cls or found._function() is not function:
            found = function.__dict__[_NAME] = cls(function)
        return found

    def table(self, settings: Any) -> Traces:
        """The traces for some settings."""
        return self._tables.setdefault(settings, Traces())

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, ()


_every: weakref.WeakSet[Traces] = weakref.WeakSet()
_lock = Lock()


def traces_of(function: Any, settings: Any) -> Traces:
    """The traces of a function: two `jit`s of one function with equal settings share theirs."""
    with _lock:
        if isinstance(function, FunctionType):
            table = OfFunction.of(function).table(settings)
        else:
            table = Traces()
        _every.add(table)
    return table


def clear_caches() -> None:
    """Forget every trace and executable of every jitted function, and give the memory that is kept
    for results back to the system. The cache on disk stays."""
    with _lock:  # other threads may be adding theirs
        tables = list(_every)
    for table in tables:
        table.clear()
    RESERVE.clear()
