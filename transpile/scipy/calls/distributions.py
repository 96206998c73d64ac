"""Distributions of `scipy.stats` in traced code: `norm.pdf(x)`, `norm(mean, size).pdf(x)`."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
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
    ours: _Ours,
    name: str,
    parameters: tuple[Any, ...],
    named: dict[str, Any],
    /,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """A call of a method of ours. The parameters follow the first argument."""
    return _with_parameters(_function(ours, name), name, args, kwargs, parameters, named)


def _with_parameters(
    method: Callable[..., Any],
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    parameters: tuple[Any, ...],
    named: dict[str, Any],
) -> Any:
    """A call of a method with its own arguments, then the parameters. The letters of `stats` may
    stand first."""
    if name == "stats" and args and isinstance(args[0], str):
        args, kwargs = args[1:], {"moments": args[0], **kwargs}
    return method(*args, *parameters, **named, **kwargs)


class _WithParameters:
    """A distribution with traced parameters: its methods are those of ours, given these."""

    def __init__(self, ours: _Ours, /, *args: Any, **kwargs: Any) -> None:
        self._ours, self._args, self._kwargs = ours, args, kwargs

    def __getattr__(self, name: str) -> Any:
        method = _function(self._ours, name)
        return lambda *args, **kwargs: _with_parameters(
            method, name, args, kwargs, self._args, self._kwargs
        )


def _function(ours: _Ours, name: str) -> Callable[..., Any]:
    """A method: that of the row, which is SciPy's also outside of the support, at NaN and at the
    ends of probabilities; our module's, as JAX's, where the row has none."""
    found: Callable[..., Any] | None = None
    if not name.startswith("_"):
        found = None if ours.family is None else ours.family.method(name)
        found = found or getattr(ours.module, name, None)
    if found is None:
        raise unsupported(f"scipy.stats.{ours.name}.{name} is not supported for traced values")
    return found


@dataclass(frozen=True)
class _Ours:
    """What there is of a distribution: a module with JAX's functions, a row with SciPy's."""

    name: str
    module: ModuleType | None
    family: Any


def _ours(theirs: Any) -> _Ours | None:
    """Ours of a distribution of SciPy's, any instance of the class of the one that SciPy has under
    its name."""
    name = getattr(theirs, "name", None)
    if name is None:  # of vectors: their classes have names alone
        name = type(theirs).__name__.removesuffix("_gen")
    known = getattr(sys.modules.get("scipy.stats"), name, None) if isinstance(name, str) else None
    if known is None or type(known) is not type(theirs):
        return None
    module = getattr(imported("transpile.scipy.stats"), name, None)
    module = module if isinstance(module, ModuleType) else None
    family = imported("transpile.scipy.calls.families").FAMILIES.get(name)
    return None if module is family is None else _Ours(name, module, family)
