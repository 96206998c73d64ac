"""Arrays that functions of SciPy's make by their sizes: NumPy's own, whose elements are known, or
values of the trace where a size is a runtime size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from transpile import numpy as tnp
from transpile.ir.dims import Dim, Index

__all__ = ["arange", "broadcast_to", "eye", "full", "ones", "unless_single", "zeros"]


def _made(name: str) -> Callable[..., Any]:
    """NumPy's function of that name, or ours where one of the sizes is a runtime size."""

    def make(*args: Any, **kwargs: Any) -> Any:
        return getattr(tnp if _has_size(args) else np, name)(*args, **kwargs)

    return make


def _has_size(values: Iterable[Any]) -> bool:
    return any(_has_size(v) if isinstance(v, list | tuple) else isinstance(v, Dim) for v in values)


def broadcast_to(x: Any, shape: Sequence[Any]) -> Any:
    """An array with its elements again and again, also one that is known."""
    return np.broadcast_to(tnp.asarray(x) if _has_size(shape) else x, tuple(shape))


arange = _made("arange")
eye = _made("eye")
full = _made("full")
ones = _made("ones")
zeros = _made("zeros")


def unless_single(size: Index, value: Any, single: Any) -> Any:
    """A value that is computed of an axis of a size, or another one where that is 1. Which of them
    is known, or the program decides."""
    if isinstance(size, Dim):
        return np.where(np.equal(size.as_value(), 1), single, value)
    return single if size == 1 else value
