"""Functions that users give to solvers and integrals, and the numbers that these start from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.numpy.core.promotion import as_array
from transpile.trace.bytecode.call_resolution import resolved

__all__ = ["doubles", "further", "of_arrays"]

Function = Callable[..., Any]


def further(args: Any) -> tuple[Any, ...]:
    """The further arguments of a function: what is no tuple is one argument, as in SciPy."""
    return args if isinstance(args, tuple) else (args,)


def of_arrays(function: Function, args: Any = ()) -> Function:
    """A user's function with its further arguments behind. Its results are arrays; lists of numbers
    become one."""
    more = further(args)
    return lambda *point: as_array(resolved(function)(*point, *more))


def doubles(x: Any) -> Any:
    """An array of float64, or of complex128, in which SciPy's solvers compute whatever they get."""
    value = as_array(x)
    return value.astype(np.complex128 if value.dtype.kind == "c" else np.float64)
