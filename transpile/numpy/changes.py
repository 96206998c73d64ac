"""What changes an array that is known while tracing: functions and methods that assign to their
first argument, and `out=`.

A graph has no memory of its own for such an array. Where traced values go into one that the
function has made, or where a traced value decides whether it is changed, the trace begins anew, and
makes it a traced one (`trace/bytecode/made_arrays.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.promotion import has_tracer
from transpile.trace.bytecode.made_arrays import check_assignment

# Functions of NumPy's that change their first argument, by the name of this.
_FIRST = {
    np.copyto: "dst",
    np.fill_diagonal: "a",
    np.place: "arr",
    np.put: "a",
    np.put_along_axis: "arr",
    np.putmask: "a",
}
# Methods of arrays that change them.
CHANGING = frozenset(("byteswap", "fill", "partition", "put", "resize", "setfield", "sort"))


def check_changes(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise what `check_assignment` does for the known arrays that a call changes; TypeError where
    it is to put traced values into one of another owner."""
    changed: list[Any] = []
    if function in _FIRST:
        changed += args[:1] or [kwargs.get(_FIRST[function])]
    elif isinstance(function, np.ufunc):
        changed += args[function.nin :]
    out = kwargs.get("out")
    changed += out if isinstance(out, tuple) else (out,)
    for array in changed:
        if isinstance(array, np.ndarray):
            check_assignment((*args, *kwargs.values()), array)
    if function in _FIRST and isinstance(changed[0], np.ndarray):
        _check_known(f"numpy.{function.__name__} changes its first argument", args, kwargs)


def changing_method(method: Any) -> Callable[..., Any]:
    """A method of a known array that changes it."""

    def call(*args: Any, **kwargs: Any) -> Any:
        check_assignment((*args, *kwargs.values()), method.__self__)
        _check_known(f"{method.__name__} changes its array", args, kwargs)
        return method(*args, **kwargs)

    return call


def _check_known(text: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if has_tracer(args) or has_tracer(kwargs):
        raise located(
            TypeError,
            f"{text}, which is not traced, though others are. Make it an argument, or a copy by "
            f"numpy.array",
        )
