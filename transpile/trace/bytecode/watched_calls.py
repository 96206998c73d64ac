"""Calls of foreign code, in statements that depend on traced values, whose arguments are known
arrays: one that changes such an array does so while tracing, whatever the traced values say.

Which argument a function in C changes, nobody tells: `numpy.clip(k, 0, 1, k)`, `rng.random(out=k)`
and `operator.setitem(k, 0, 9)` have different ways. So the arrays are compared with what they were
before the call. One that is not the statement's own is put back, and treated as one that is
assigned to: the trace begins anew where the function has made it, and ends where it has not.
"""

from __future__ import annotations

import builtins
import functools
import sys
from collections.abc import Callable, Iterator
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from transpile.trace.bytecode.made_arrays import check_assignment

# Of Python's own functions few change an array, and some ask for the frame that calls them.
_ASK_FRAMES = (builtins, sys)
_LIBRARIES = ("numpy", "random", "scipy")


def watched(callee: Any, resolved: Any) -> Any:
    """What is called in the place of a callable, such that it tells of the known arrays which it
    changes where the callable is foreign code."""
    if isinstance(callee, type | FunctionType | MethodType) and not _is_of_library(callee):
        return resolved
    owner = getattr(callee, "__self__", None)
    if any(owner is module for module in _ASK_FRAMES) and callee is not setattr:
        return resolved
    return functools.partial(_call, callee, resolved)


def _is_of_library(callee: Any) -> bool:
    """True for Python of a library that changes arrays and asks for no frame."""
    module = getattr(callee, "__module__", None)
    return type(module) is str and module.partition(".")[0] in _LIBRARIES


def _call(callee: Any, resolved: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    owner = getattr(callee, "__self__", None)
    arrays = {id(a): a for a in _arrays((owner, *args, *kwargs.values()))}
    before = [(array, np.array(array, order="C")) for array in arrays.values()]
    result = resolved(*args, **kwargs)
    for array, values in before:
        if not _is_same(array, values):
            _changed(array, values)
    return result


def _arrays(values: tuple[Any, ...]) -> Iterator[np.ndarray]:
    for value in values:
        if isinstance(value, np.ndarray):
            yield value
        elif type(value) in (tuple, list):
            yield from (x for x in value if isinstance(x, np.ndarray))


def _is_same(array: np.ndarray, values: np.ndarray) -> bool:
    """True for the same bits, NaNs included; of arrays of objects, for the same objects."""
    if array.shape != values.shape or array.dtype != values.dtype:
        return False
    return array.tobytes() == values.tobytes()


def _changed(array: np.ndarray, values: np.ndarray) -> None:
    """Treat an array as assigned to; what is not the statement's own is as it was before."""
    is_own = False
    try:
        check_assignment(None, array)
        is_own = True
    finally:
        if not is_own:
            if array.dtype != values.dtype:
                array.dtype = values.dtype  # type: ignore[misc]  # NumPy has a setter
            if array.shape != values.shape:
                array.shape = values.shape
            if not _is_same(array, values):
                array[...] = values
