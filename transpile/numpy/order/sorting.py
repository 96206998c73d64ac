"""Sorting: sort, argsort, lexsort, partition and their kin.

All of them are stable sorts, whatever kind is asked for: NaN comes last, -0.0 equals 0.0. Complex
numbers compare by real, then imaginary part.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.dims import Dim, Index, floor_divide
from transpile.ir.indices.requirements import may_be_0, require
from transpile.ir.indices.row_major import product
from transpile.ir.types import COMPLEX128, INT64
from transpile.numpy.core.extensions import accepts_more
from transpile.numpy.core.promotion import (
    Array,
    NumpyErrors,
    add_methods,
    as_array,
    axis_of,
    convert,
    fill,
    has_tracer,
    implements,
    is_empty,
    reshape_to,
    strengthen,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.runtime_sizes import exact
from transpile.primitives import axes as axis_primitives
from transpile.primitives import sorting as primitives
from transpile.trace.trace import bind

# ------------------------------------------------------------------------------- the two primitives


def sort_along(x: Any, axis: int) -> Any:
    """The array, sorted along an axis."""
    if is_empty(x.shape):
        return strengthen(x)
    return bind(primitives.sort, x, axis=axis)


def argsort_along(axis: int, *keys: Any) -> Any:
    """The positions that sort keys of one shape, the first of them being the most significant."""
    shape = tuple(keys[0].shape)
    return fill(0, shape, INT64) if is_empty(shape) else bind(primitives.argsort, *keys, axis=axis)


def iota(shape: tuple[Any, ...], dimension: int) -> Any:
    """Each element's index along one axis."""
    if is_empty(shape):
        return fill(0, shape, INT64)
    return bind(axis_primitives.iota, shape=tuple(shape), dimension=dimension, dtype=INT64)


def reverse(x: Any, axis: int) -> Any:
    """The array backwards along an axis."""
    return bind(axis_primitives.rev, x, dimensions=(axis,))


# -------------------------------------------------------------------------------------- functions


def _check(kind: Any, order: Any, stable: Any) -> None:
    """NumPy's errors about arguments that change nothing here."""
    with NumpyErrors():
        np.sort(np.ones(1), kind=kind, order=order, stable=stable)


def _along(a: Array, axis: Any) -> tuple[Any, int]:
    """The array and the axis to sort along; for None the flattened array."""
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
    """The elements in ascending order along an axis, or flattened for None: always a stable sort,
    NaN last.

    `kind` changes nothing. `descending` is an addition, as in the array API standard; equal
    elements keep their order in it too. Raises ValueError for `order`, which is for structured
    dtypes.
    """
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
    """The indices that sort the elements along an axis, as int64; always a stable sort, NaN last.

    `descending` as for `sort`.
    """
    _check(kind, order, stable)
    if as_array(a).ndim == 0 and axis in (0, -1):
        axis = None
    x, axis = _along(a, exact(axis))
    if not descending:
        return argsort_along(axis, x)
    order = reverse(argsort_along(axis, reverse(x, axis)), axis)
    return np.subtract(x.shape[axis] - 1, order)


@implements(np.sort_complex)
def sort_complex(a: Array) -> Any:
    """The elements sorted along the last axis, as complex numbers."""
    x, axis = _along(a, -1)
    small = x.dtype.kind in "iu" and x.dtype.itemsize <= 2
    wanted = x.dtype if x.dtype.kind == "c" else np.dtype("complex64") if small else COMPLEX128
    return convert(sort_along(x, axis), wanted)


@implements(np.lexsort)
def lexsort(keys: Any, axis: Any = -1) -> Any:
    """The indices that sort by several keys of one shape, the last of which is the most
    significant.

    Raises TypeError for no keys and ValueError for keys of unequal shapes.
    """
    arrays = [as_array(key) for key in keys]
    if not arrays:
        raise located(TypeError, "need sequence of keys with len > 0 in lexsort")
    if any(key.shape != arrays[0].shape for key in arrays):
        raise located(ValueError, "all keys need to be the same shape")
    if arrays[0].ndim == 0:
        return fill(0, (), INT64)
    return argsort_along(axis_of(axis, arrays[0].ndim), *reversed(arrays))


def _check_kth(function: Any, x: Any, kth: Any, axis: int, kind: Any, order: Any) -> None:
    """NumPy's errors about the positions to partition at, where they are known."""
    if has_tracer((kth,)):
        return
    size = x.shape[axis]
    places = list(kth) if isinstance(kth, tuple | list) else [kth]
    if any(isinstance(k, Dim) for k in places):
        for k in places:
            _require_kth(k, size)
        return
    if isinstance(size, Dim):
        for k in np.ravel(kth).tolist():
            _require_kth(k, size)
        size = int(np.max(np.abs(kth), initial=0)) + 1  # at which NumPy looks at the rest
    with NumpyErrors():
        function(np.ones(size), kth, kind=kind, order=order)


def _require_kth(k: Index, size: Index) -> None:
    """Require of runtime sizes that a position is one of an axis, or that this has no elements, of
    which NumPy takes any; else its error."""
    words = f"kth(={k}) out of bounds ({size})"
    least = -k if k < 0 else k + 1
    allowed = size + least * floor_divide(1, size + 1) if may_be_0(size) else size
    require(least, allowed, f"a partition at {k}", words)


def _ranks(x: Any, axis: int, kth: Any) -> tuple[int, ...]:
    """The ranks to partition at, in order; none where they, or the length, are known at run time,
    and of rows that are sorted in any case: of complex numbers, and empty ones."""
    places = kth if isinstance(kth, tuple | list) else (kth,)
    size = x.shape[axis]
    is_known = not has_tracer((kth,)) and not any(isinstance(k, Dim) for k in (size, *places))
    if not is_known or x.dtype.kind not in "biuf" or is_empty(x.shape):
        return ()
    return tuple(sorted({int(k) % size for k in np.ravel(kth).tolist()}))


@implements(np.partition)
def partition(
    a: Array, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None
) -> Any:
    """The elements along an axis in an order in which those at `kth` are where sorting puts them,
    with no greater ones before and no smaller ones behind them. The order of the others is not
    said, as in NumPy; where `kth` is traced, they are sorted.

    Raises ValueError where `kth` is known and out of range.
    """
    x, axis = _along(a, axis)
    _check_kth(np.partition, x, kth, axis, kind, order)
    ranks = _ranks(x, axis, kth)
    return bind(primitives.partition, x, axis=axis, ranks=ranks) if ranks else sort_along(x, axis)


@implements(np.argpartition)
def argpartition(
    a: Array, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None
) -> Any:
    """The indices of a partition along an axis; errors and the order of the others as for
    `partition`."""
    x, axis = _along(a, exact(axis))
    _check_kth(np.argpartition, x, kth, axis, kind, order)
    if ranks := _ranks(x, axis, kth):
        return bind(primitives.argpartition, x, axis=axis, ranks=ranks)
    return argsort_along(axis, x)


add_methods(np.argsort, np.argpartition)
