"""`numpy.array`, `numpy.asarray` and their kin, which NumPy hands over to nobody.

All other functions of NumPy ask their arguments whether one of them takes over. Those that make
arrays do so only for `like=`, so that `numpy.asarray(traced)` would fail, and a list of traced
values too. While a function is being traced these names of NumPy's are therefore bound to functions
that look for traced values first, and else call NumPy's own; so are the classes `vectorize`,
`ndenumerate` and `broadcast`. When the last trace of the process ends, the names are what they
were.
"""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from transpile.numpy import creation
from transpile.numpy.operands import EXPORTS, dispatching
from transpile.on_demand import Later
from transpile.trace import AROUND_TRACES
from transpile.tracer import FUNCTIONS

if TYPE_CHECKING:
    from transpile.numpy import ranges
else:
    ranges = Later("transpile.numpy.ranges")

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


def _called_late(name: str) -> Any:
    """Ours of that name, which is imported when it is called."""

    @functools.wraps(getattr(np, name), updated=())
    def function(*args: Any, **kwargs: Any) -> Any:
        return EXPORTS[name](*args, **kwargs)

    return function


class _IndexedLate:
    """`numpy.r_` or `numpy.c_`, which is imported when it is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getitem__(self, key: Any) -> Any:
        return getattr(ranges, self._name)[key]

    def __getattr__(self, name: str) -> Any:
        return getattr(getattr(np, self._name), name)


_OURS: dict[str, Any] = {f.__name__: dispatching(f, FUNCTIONS[f]) for f in _FUNCTIONS}
_OURS |= {name: _called_late(name) for name in ("vectorize", "broadcast", "ndenumerate")}
_OURS |= {name: _IndexedLate(name) for name in ("r_", "c_")}
_NUMPYS: dict[str, Any] = {name: getattr(np, name) for name in _OURS}


def of_numpy(name: str) -> Any:
    """What NumPy itself has under a name, or None: also while a function is being traced."""
    return _NUMPYS.get(name, getattr(np, name, None))


class _Traces:
    """How many traces are under way, in all threads."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.count = 0

    def begin(self) -> None:
        """A trace begins: with the first one the names are bound to ours."""
        with self.lock:
            self.count += 1
            if self.count == 1:
                vars(np).update(_OURS)

    def end(self) -> None:
        """A trace ends: with the last one the names are NumPy's again."""
        with self.lock:
            self.count -= 1
            if self.count == 0:
                vars(np).update(_NUMPYS)


_traces = _Traces()
AROUND_TRACES.append((_traces.begin, _traces.end))
