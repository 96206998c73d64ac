"""Functions that users give to solvers and integrals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transpile.numpy.core.promotion import as_array
from transpile.trace.bytecode.call_resolution import resolved

__all__ = ["further", "of_arrays"]

Function = Callable[..., Any]


def further(args: Any) -> tuple[Any, ...]:
    """The further arguments of a function: what is no tuple is one argument, as in SciPy."""
    return args if isinstance(args, tuple) else (args,)


def of_arrays(function: Function, args: Any = ()) -> Function:
    """A user's function with its further arguments behind. Its results are arrays; lists of numbers
    become one."""
    more = further(args)
    return lambda *point: as_array(resolved(function)(*point, *more))
