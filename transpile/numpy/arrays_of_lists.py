"""`numpy.array`, `numpy.asarray` and their kin, which NumPy hands over to nobody.

All other functions of NumPy ask their arguments whether one of them takes over. Those that make
arrays do so only for `like=`, so that `numpy.asarray(traced)` would fail, and a list of traced
values too. While a function is being traced these names of NumPy's are therefore bound to functions
that look for traced values first, and else call NumPy's own; so are the classes `vectorize`,
`ndenumerate` and `broadcast`. When the last trace of the process ends, the names are what they
were.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from transpile.numpy.inspection import broadcast, ndenumerate
from transpile.numpy.mapping import vectorize
from transpile.numpy.operands import dispatching
from transpile.numpy.ranges import c_, r_
from transpile.trace import AROUND_TRACES
from transpile.tracer import FUNCTIONS

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
_OURS: dict[str, Any] = {f.__name__: dispatching(f, FUNCTIONS[f]) for f in _FUNCTIONS}
_OURS |= {"r_": r_, "c_": c_, "vectorize": vectorize}
_OURS |= {"broadcast": broadcast, "ndenumerate": ndenumerate}
_NUMPYS: dict[str, Any] = {name: getattr(np, name) for name in _OURS}


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
