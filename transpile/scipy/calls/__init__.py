"""SciPy's own functions, called in traced code: where an argument is traced, ours take their place.

`scipy.linalg.solve(A, b)` in a traced function is a call of `transpile.scipy.linalg.solve`. A call
whose arguments are all known is SciPy's, with all that it can do. What has no counterpart here runs
as other functions do: SciPy's Python code is traced, and its compiled code refuses traced values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transpile.scipy.calls.compiled import compiled
from transpile.scipy.calls.distributions import distribution
from transpile.scipy.calls.functions import function
from transpile.scipy.calls.interpolators import interpolator
from transpile.scipy.calls.sparse import operand, sparse

__all__ = ["counterpart", "operand", "substitute"]

_KINDS: tuple[Callable[[Any], Callable[..., Any] | None], ...] = (
    function,
    distribution,
    interpolator,
    sparse,
)


def substitute(callee: Any) -> Callable[..., Any] | None:
    """What is called in the place of a callable of SciPy's; None for that itself."""
    ours = counterpart(callee)
    return compiled(callee) if ours is None else ours


def counterpart(callee: Any) -> Callable[..., Any] | None:
    """What we have in the place of a callable of SciPy's; None where there is nothing."""
    for kind in _KINDS:
        ours = kind(callee)
        if ours is not None:
            return ours
    return None
