"""Functions, ufuncs and classes of SciPy by name: which of ours takes the place of each, and with
which arguments.

Arguments are bound as SciPy's signature has them. What only says how SciPy is to compute (memory
that may be overwritten, tests for NaN, threads, a driver of LAPACK) changes nothing; any other that
ours lacks has to have its default.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from transpile.numpy.core.promotion import as_array, unsupported
from transpile.numpy.core.promotion import error as located
from transpile.scipy.calls.choice import if_traced
from transpile.scipy.calls.solvers import SOLVERS, closes_over_traced
from transpile.scipy.calls.sparse import is_sparse
from transpile.scipy.sparse import rows
from transpile.trace.tracer import Tracer
from transpile.util.lazy.imports import imported

__all__ = ["NAMESPACES", "function"]

Parameters = Mapping[str, inspect.Parameter]

# The namespaces of SciPy of which there are counterparts in `transpile.scipy`.
NAMESPACES = (
    *("cluster.vq", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal"),
    *("sparse.linalg", "spatial.distance", "spatial.transform", "special", "stats"),
)
# What changes nothing of the values.
_UNUSED = frozenset(
    (
        *("check_finite", "checks", "lapack_driver", "lwork", "overwrite_a", "overwrite_ab"),
        *("overwrite_b", "overwrite_data", "overwrite_x", "plan", "sum_check", "workers"),
    )
)
# What SciPy's functions say to each other: that axes and NaN have been taken care of.
_INNER = "_no_deco"
# Lists that stay as they are.
_NO_ARRAYS = frozenset(("args", "axes", "axis", "bounds", "n", "options", "s", "shape"))
# By function: what an argument of SciPy's is called here.
_RENAMED: Mapping[str, Mapping[str, str]] = {
    "bicgstab": {"rtol": "tol"},
    "cg": {"rtol": "tol"},
    "gmres": {"rtol": "tol"},
    "solve_sylvester": {"a": "A", "b": "B", "q": "C"},
}
# By function: what SciPy's defaults mean.
_GIVEN: Mapping[str, Mapping[str, Any]] = {
    "RegularGridInterpolator": {"bounds_error": False},  # NaN, as of an `interp1d`
    "eigh_tridiagonal": {"tol": None},
    "gmres": {"restart": 20},
    "istft": {"window": "hann"},
    "minimize": {"method": "BFGS"},
    "solve": {"assume_a": "gen"},
    "sqrtm": {"blocksize": 1},
}
# By name in SciPy: ufuncs that have another name of their own.
_SAME = {"psi": "digamma"}
# By namespace: the module of what has JAX's meaning there, with SciPy's.
_WITH_SCIPYS_MEANING = {
    "integrate": "transpile.scipy.calls.solvers",
    "ndimage": "transpile.scipy.ndimage.resampling",
    "signal": "transpile.scipy.calls.signals",
    "special": "transpile.scipy.calls.zetas",
}
# By module and name: what has no public name, and a counterpart among those with SciPy's meaning.
_PRIVATE = {("scipy.signal._polyutils", "poly"): "signal"}
# What ufuncs take beside their operands.
_UFUNC = {"where": True, "casting": "same_kind", "dtype": None, "out": None}
# Transforms that are NumPy's, with its dtypes.
_OF_NUMPY = frozenset(
    (
        *("fft", "fft2", "fftn", "hfft", "ifft", "ifft2", "ifftn", "ihfft", "irfft", "irfft2"),
        *("irfftn", "rfft", "rfft2", "rfftn", "fftshift", "ifftshift"),
    )
)


def function(callee: Any) -> Callable[..., Any] | None:
    """What is called in the place of a function, a ufunc or a class of SciPy's."""
    found = _counterpart(callee)
    if found is None:
        return None
    ours = functools.partial(_called, callee, found)
    if callee.__name__ not in SOLVERS:
        return if_traced(callee, ours)
    return if_traced(callee, ours, functools.partial(_is_open, callee))


def _is_open(solver: Any, /, *args: Any, **kwargs: Any) -> bool:
    return closes_over_traced(solver.__name__, _bound(solver, args, kwargs))


def _bound(theirs: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """The arguments of a call of theirs by their names, with the defaults."""
    kwargs = {key: value for key, value in kwargs.items() if key != _INNER}
    try:
        bound = inspect.signature(theirs).bind(*args, **kwargs)
    except TypeError as e:
        raise located(TypeError, f"{theirs.__name__}(): {e}") from None
    bound.apply_defaults()
    return dict(bound.arguments)


def _counterpart(callee: Any) -> Callable[..., Any] | None:
    """Ours of a function that SciPy has under its own name in one of the namespaces."""
    name = getattr(callee, "__name__", None)
    if not isinstance(name, str):
        return None
    private = _PRIVATE.get((str(getattr(callee, "__module__", "")), name))
    if private is not None:
        own: Callable[..., Any] = getattr(imported(_WITH_SCIPYS_MEANING[private]), name)
        return own
    for namespace in _of(callee):
        module = sys.modules.get(f"scipy.{namespace}")
        if getattr(module, name, None) is not callee:
            continue
        if namespace == "fft" and name in _OF_NUMPY:
            return _transform(name)
        ours = imported(f"transpile.scipy.{namespace}")
        wanted = _SAME.get(name, name)
        adapted = imported(_WITH_SCIPYS_MEANING.get(namespace, ours.__name__))
        if wanted in adapted.__all__:
            ours = adapted
        found = getattr(ours, wanted) if wanted in ours.__all__ else None
        return getattr(found, "init", found)  # of a class of JAX's that is made by another name
    return None


def _of(callee: Any) -> tuple[str, ...]:
    """The namespaces that may have a callable: `scipy.linalg` those of `scipy.linalg._basic`."""
    if isinstance(callee, np.ufunc):
        return ("special",)
    inner = str(getattr(callee, "__module__", "")).split(".")[1:]
    return tuple(n for n in (".".join(inner[:2]), ".".join(inner[:1])) if n in NAMESPACES)


def _transform(name: str) -> Callable[..., Any]:
    ours = getattr(np.fft, name)
    return lambda x, **kwargs: ours(x, **kwargs)


def _called(theirs: Any, ours: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """A call of ours, with the arguments of a call of theirs."""
    name = theirs.__name__
    if isinstance(theirs, np.ufunc):
        return ours(*map(_array, args), **_needed(name, kwargs, _UFUNC, {}))
    signature = inspect.signature(theirs)
    if [*signature.parameters] == ["args", "kwargs"]:  # several ufuncs by one name
        return ours(*map(_array, args), **kwargs)
    defaults = {k: p.default for k, p in signature.parameters.items()}
    parameters = inspect.signature(ours).parameters
    given = _bound(theirs, args, kwargs)
    for key, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            given |= given.pop(key)
    return _with_named(ours, parameters, _needed(name, given, defaults, parameters))


def _with_named(ours: Callable[..., Any], parameters: Parameters, named: dict[str, Any]) -> Any:
    """A call of ours with arguments by name, but for those that it takes by position alone."""
    positional: list[Any] = []
    for key, parameter in parameters.items():
        if key in named and parameter.kind is parameter.VAR_POSITIONAL:
            positional += named.pop(key)
        elif key in named and parameter.kind is parameter.POSITIONAL_ONLY:
            positional.append(named.pop(key))
    return ours(*positional, **named)


def _needed(
    name: str, given: Mapping[str, Any], defaults: Mapping[str, Any], ours: Parameters
) -> dict[str, Any]:
    """The arguments that ours has, by its names; an error for others that say what to compute."""
    renamed, known = _RENAMED.get(name, {}), _GIVEN.get(name, {})
    takes_all = any(p.kind is p.VAR_KEYWORD for p in ours.values())
    needed = {}
    for key in given.keys() - _UNUSED:
        value = given[key]
        wanted = renamed.get(key, key)
        is_default = _is_default(value, defaults.get(key))
        meant = known.get(key, value) if is_default else value
        if wanted in ours:
            if not _is_default(meant, ours[wanted].default):
                needed[wanted] = meant if key in _NO_ARRAYS else _array(meant)
        elif takes_all and not is_default:
            needed[wanted] = meant
        elif not is_default:
            raise unsupported(
                f"the argument {key}= of scipy's {name} is not supported for traced values"
            )
    return needed


def _array(value: Any) -> Any:
    """A list of numbers, or of lists of them, as an array; a sparse matrix as its product."""
    if is_sparse(value):
        return functools.partial(rows.product, value)
    return as_array(value) if isinstance(value, list | tuple) and _is_numeric(value) else value


def _is_numeric(items: Any) -> bool:
    return bool(items) and all(map(_is_number, items))


def _is_number(item: Any) -> bool:
    if isinstance(item, list | tuple):
        return _is_numeric(item)
    is_known = isinstance(item, int | float | complex | np.generic)
    return is_known or (isinstance(item, Tracer) and item.ndim == 0)


def _is_default(value: Any, default: Any) -> bool:
    is_plain = isinstance(value, str | int | float) and type(value) is type(default)
    return value is default or (is_plain and value == default)
