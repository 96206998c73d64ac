"""The choice between SciPy's own function and ours, at each call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transpile.numpy.core.promotion import has_tracer

__all__ = ["if_traced"]


def if_traced(theirs: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is ours where an argument is traced, and theirs where all are known."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return (ours if has_tracer((args, kwargs)) else theirs)(*args, **kwargs)

    return call
