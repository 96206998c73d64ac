"""Distributions of `scipy.stats` in traced code: `norm.pdf(x)`, `norm(mean, size).pdf(x)`."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import MethodType, ModuleType
from typing import Any

from transpile.numpy.core.promotion import unsupported
from transpile.scipy.calls.choice import if_traced
from transpile.util.lazy.imports import imported

__all__ = ["distribution"]


def distribution(callee: Any) -> Callable[..., Any] | None:
    """What is called in the place of a method of a distribution, or of a distribution itself, which
    gives one with parameters."""
    if isinstance(callee, MethodType):
        return _method(callee)
    ours = _ours(callee)
    return None if ours is None else if_traced(callee, functools.partial(_WithParameters, ours))


def _method(method: MethodType) -> Callable[..., Any] | None:
    owner, name = method.__self__, method.__func__.__name__
    if name.startswith("_"):
        return None
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    if hasattr(owner, "dist"):  # one with parameters
        args, kwargs = getattr(owner, "args", ()), getattr(owner, "kwds", {})
        owner = owner.dist
    ours = _ours(owner)
    if ours is None:
        return None
    return if_traced(method, functools.partial(_called, ours, name, args, kwargs))


def _called(
    ours: ModuleType,
    name: str,
    parameters: tuple[Any, ...],
    named: dict[str, Any],
    /,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """A call of a method of ours. The parameters follow the first argument."""
    return _function(ours, name)(*args, *parameters, **named, **kwargs)


class _WithParameters:
    """A distribution with traced parameters: its methods are those of ours, given these."""

    def __init__(self, ours: ModuleType, /, *args: Any, **kwargs: Any) -> None:
        self._ours, self._args, self._kwargs = ours, args, kwargs

    def __getattr__(self, name: str) -> Any:
        method = _function(self._ours, name)
        return lambda *args: method(*args, *self._args, **self._kwargs)


def _function(ours: ModuleType, name: str) -> Callable[..., Any]:
    found: Callable[..., Any] | None = getattr(ours, name, None)
    if found is None or name.startswith("_"):
        distribution = ours.__name__.rpartition(".")[2]
        raise unsupported(f"scipy.stats.{distribution}.{name} is not supported for traced values")
    return found


def _ours(theirs: Any) -> ModuleType | None:
    """Our module of a distribution of SciPy's, any instance of the class of the one that SciPy has
    under its name."""
    name = getattr(theirs, "name", None)
    if name is None:  # of vectors: their classes have names alone
        name = type(theirs).__name__.removesuffix("_gen")
    known = getattr(sys.modules.get("scipy.stats"), name, None) if isinstance(name, str) else None
    if known is None or type(known) is not type(theirs):
        return None
    ours = getattr(imported("transpile.scipy.stats"), name, None)
    return ours if isinstance(ours, ModuleType) else None
