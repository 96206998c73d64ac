"""Sorting: sort, argsort, lexsort, partition and their kin.

All of them are stable sorts, whatever kind is asked for: NaN comes last, -0.0 equals 0.0.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.ir.dims import product
from transpile.ir.types import COMPLEX128, INT64
from transpile.numpy.core.promotion import (
    EXPORTS,
    Array,
    NumpyErrors,
    add_methods,
    as_array,
    axis_of,
    convert,
    fill,
    has_tracer,
    implements,
    index_of,
    is_empty,
    reshape_to,
    strengthen,
)
from transpile.numpy.core.promotion import error as located
from transpile.primitives import axes as axis_rows
from transpile.primitives import sorting as rows
from transpile.trace.trace import bind, trace_function
from transpile.trace.tracer import Tracer, named
from transpile.transforms.interpret import interpret

# -------------------------------------------------------------------------- more than NumPy has


def accepts_more(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The function of the namespace takes further arguments than NumPy's: with one of these it is
    the traced implementation on plain arrays too."""

    def decorate(implementation: Callable[..., Any]) -> Callable[..., Any]:
        public = EXPORTS[implementation.__name__]

        @functools.wraps(public)
        def function(*args: Any, **kwargs: Any) -> Any:
            if all(kwargs.get(name) is None for name in names):
                return public(*args, **{k: v for k, v in kwargs.items() if k not in names})
            if has_tracer(args) or has_tracer(kwargs):
                return named(implementation(*args, **kwargs))
            return _at_once(implementation, args, kwargs)

        function.__wrapped__ = public.__wrapped__
        EXPORTS[implementation.__name__] = function
        return implementation

    return decorate


def _at_once(implementation: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The result of an implementation on plain arrays."""

    def traced() -> tuple[list[Any], Any]:
        found = implementation(*args, **kwargs)
        return (list(found), type(found)) if isinstance(found, tuple) else ([found], None)

    graph, structure = trace_function(traced, [], [])
    values = interpret(graph, [])
    if structure is None:
        return values[0]
    return structure(*values) if hasattr(structure, "_fields") else tuple(values)


# ---------------------------------------------------------------------------------- the two rows


def sort_along(x: Any, axis: int) -> Any:
    """The array, sorted along an axis."""
    if is_empty(x.shape):
        return strengthen(x)
    return bind(rows.sort, x, axis=axis)


def argsort_along(axis: int, *keys: Any) -> Any:
    """The positions that sort keys of one shape, the first of them being the most significant."""
    shape = tuple(keys[0].shape)
    return fill(0, shape, INT64) if is_empty(shape) else bind(rows.argsort, *keys, axis=axis)


def iota(shape: tuple[Any, ...], dimension: int) -> Any:
    """Each element's index along one axis."""
    if is_empty(shape):
        return fill(0, shape, INT64)
    return bind(axis_rows.iota, shape=tuple(shape), dimension=dimension, dtype=INT64)


def reverse(x: Any, axis: int) -> Any:
    """The array backwards along an axis."""
    return bind(axis_rows.rev, x, dimensions=(axis,))


# -------------------------------------------------------------------------------------- functions


def _check(kind: Any, order: Any, stable: Any) -> None:
    """NumPy's errors about arguments that change nothing here."""
    with NumpyErrors():
        np.sort(np.ones(1), kind=kind, order=order, stable=stable)


def _along(a: Array, axis: Any) -> tuple[Any, int]:
    """The array and the axis to sort along; None is the array as one row."""
    x = as_array(a)
    if axis is None:
        return reshape_to(x, (product(x.shape),)), 0
    return x, axis_of(axis, x.ndim)


@accepts_more("descending")
@implements(np.sort)
def sort(
    a: Array,
    axis: Any = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: Any = None,
    descending: Any = None,
) -> Any:
    """`numpy.sort`; `descending` as in the array API standard."""
    _check(kind, order, stable)
    x, axis = _along(a, axis)
    if not descending:
        return sort_along(x, axis)
    return reverse(sort_along(reverse(x, axis), axis), axis)  # equal elements keep their order


@accepts_more("descending")
@implements(np.argsort)
def argsort(
    a: Array,
    axis: Any = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: Any = None,
    descending: Any = None,
) -> Any:
    """`numpy.argsort`, always stable; `descending` as in the array API standard."""
    _check(kind, order, stable)
    if as_array(a).ndim == 0 and axis in (0, -1):
        axis = None
    x, axis = _along(a, axis)
    if not descending:
        return argsort_along(axis, x)
    order = reverse(argsort_along(axis, reverse(x, axis)), axis)
    return np.subtract(x.shape[axis] - 1, order)


@implements(np.sort_complex)
def sort_complex(a: Array) -> Any:
    """`numpy.sort_complex`."""
    x, axis = _along(a, -1)
    small = x.dtype.kind in "iu" and x.dtype.itemsize <= 2
    wanted = x.dtype if x.dtype.kind == "c" else np.dtype("complex64") if small else COMPLEX128
    return convert(sort_along(x, axis), wanted)


@implements(np.lexsort)
def lexsort(keys: Any, axis: Any = -1) -> Any:
    """`numpy.lexsort`: the last key is the most significant one."""
    arrays = [as_array(key) for key in keys]
    if not arrays:
        raise located(TypeError, "need sequence of keys with len > 0 in lexsort")
    if any(key.shape != arrays[0].shape for key in arrays):
        raise located(ValueError, "all keys need to be the same shape")
    if arrays[0].ndim == 0:
        return fill(0, (), INT64)
    return argsort_along(axis_of(axis, arrays[0].ndim), *reversed(arrays))


def _check_kth(function: Any, x: Any, kth: Any, axis: int, kind: Any, order: Any) -> None:
    """NumPy's errors about the positions to partition at."""
    if isinstance(kth, Tracer):
        index_of(kth)
    with NumpyErrors():
        function(np.ones(x.shape[axis]), kth, kind=kind, order=order)


@implements(np.partition)
def partition(
    a: Array, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None
) -> Any:
    """`numpy.partition`, by sorting: that is a partition at every position."""
    x, axis = _along(a, axis)
    _check_kth(np.partition, x, kth, axis, kind, order)
    return sort_along(x, axis)


@implements(np.argpartition)
def argpartition(
    a: Array, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None
) -> Any:
    """`numpy.argpartition`, by sorting."""
    x, axis = _along(a, axis)
    _check_kth(np.argpartition, x, kth, axis, kind, order)
    return argsort_along(axis, x)


add_methods(np.argsort, np.argpartition)
