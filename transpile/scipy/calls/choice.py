"""The choice between SciPy's own function and ours, at each call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transpile.ir.dims import Dim
from transpile.numpy.core.promotion import has_tracer

__all__ = ["if_traced"]


def if_traced(
    theirs: Callable[..., Any],
    ours: Callable[..., Any],
    is_open: Callable[..., bool] = lambda *args, **kwargs: False,
) -> Callable[..., Any]:
    """A function that is ours where an argument is traced or a runtime size, and theirs where all
    are known: none is an object of ours, which traced values made.

    `is_open` says of known arguments whether a function among them closes over traced values.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        has_size = any(isinstance(v, Dim) for v in (*args, *kwargs.values()))
        has_ours = any(map(_is_ours, (*args, *kwargs.values())))
        is_traced = has_size or has_ours or has_tracer((args, kwargs)) or is_open(*args, **kwargs)
        return (ours if is_traced else theirs)(*args, **kwargs)

    return call


def _is_ours(value: Any) -> bool:
    return type(value).__module__.startswith("transpile.scipy.")
