"""SciPy's compiled functions, which want values: what they are told to the user as, where a traced
one reaches them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any

from transpile.scipy.calls.choice import if_traced
from transpile.trace.bytecode.call_resolution import wanted_by
from transpile.trace.tracer import Tracer

__all__ = ["compiled"]


def compiled(callee: Any) -> Callable[..., Any] | None:
    """What is called in the place of a function in C, Cython or Fortran, or a method of one."""
    is_compiled = isinstance(callee, BuiltinFunctionType) or "cython" in type(callee).__name__
    return if_traced(callee, functools.partial(_with_values, callee)) if is_compiled else None


def _with_values(callee: Any, /, *args: Any, **kwargs: Any) -> Any:
    """A call with the values of traced arguments; a TracerError where these are not known."""

    def value(given: Any) -> Any:
        return wanted_by(callee, given) if isinstance(given, Tracer) else given

    return callee(*map(value, args), **{key: value(x) for key, x in kwargs.items()})
