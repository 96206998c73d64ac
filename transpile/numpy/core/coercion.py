"""`numpy.array`, `numpy.asarray` and others that NumPy does not dispatch by their arguments.

All other functions of NumPy call `__array_function__` of their arguments. Those that make arrays do
so only for `like=`, so that `numpy.asarray(traced)` would fail, and a list of traced values too. In
traced code their calls are calls of ours (`trace/bytecode/call_resolution.py`), and NumPy stays as
it is.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from transpile.numpy.core import creation
from transpile.numpy.core.promotion import EXPORTS, NOTHING, dispatching, has_tracer
from transpile.trace.bytecode.call_resolution import OF_INSTANCES, SUBSTITUTES
from transpile.trace.tracer import FUNCTIONS
from transpile.util.lazy_imports import Later

if TYPE_CHECKING:
    from transpile.numpy.core import ranges
else:
    ranges = Later("transpile.numpy.core.ranges")

_IMPLEMENTED = creation  # where these are registered
_CONVERSIONS: tuple[Any, ...] = (
    np.array,
    np.asarray,
    np.asanyarray,
    np.ascontiguousarray,
    np.asfortranarray,
    np.asarray_chkfinite,
    np.require,
    np.full,
)
_RARE = (np.broadcast, np.ndenumerate)  # whose implementations are imported at the first use

for _conversion in _CONVERSIONS:
    SUBSTITUTES[id(_conversion)] = (_conversion, dispatching(_conversion, FUNCTIONS[_conversion]))


def _exported(function: Any) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        is_plain = not has_tracer(args) and not has_tracer(kwargs)
        return (function if is_plain else EXPORTS[function.__name__])(*args, **kwargs)

    return call


for _function in _RARE:
    SUBSTITUTES[id(_function)] = (_function, _exported(_function))


def _vectorized(plain: Any, *args: Any, **kwargs: Any) -> Any:
    """A call of an instance of `numpy.vectorize`."""
    if plain.pyfunc is NOTHING or not (has_tracer(args) or has_tracer(kwargs)):
        return plain(*args, **kwargs)
    known = (plain.pyfunc, plain.otypes, None, plain.excluded, plain.cache, plain.signature)
    return EXPORTS["vectorize"](*known)(*args, **kwargs)


OF_INSTANCES[np.vectorize] = lambda plain: functools.partial(_vectorized, plain)


class _Joined:
    """`numpy.r_` or `numpy.c_` with a traced value in the brackets."""

    def __init__(self, plain: Any, name: str) -> None:
        self._plain, self._name = plain, name

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):  # a matrix of the variables of the code that asks for it
            frame = sys._getframe(1)
            return np.bmat(key, frame.f_globals, frame.f_locals)
        return (getattr(ranges, self._name) if has_tracer(key) else self._plain)[key]


for _name in ("r_", "c_"):
    SUBSTITUTES[id(getattr(np, _name))] = (getattr(np, _name), _Joined(getattr(np, _name), _name))
