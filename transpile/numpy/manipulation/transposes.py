"""Functions that permute or reverse axes, which are all views: transpose, moveaxis, flip, rot90."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.numpy.core.promotion import (
    Array,
    add_methods,
    as_array,
    axes_of,
    axis_of,
    implements,
    index_of,
    transpose_to,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.runtime_sizes import exact
from transpile.primitives import axes as primitives
from transpile.trace.trace import bind
from transpile.trace.tracer import FUNCTIONS, Tracer, add_method, add_property

# --------------------------------------------------------------------------------- permutations


@implements(np.transpose, np.permute_dims)
def transpose(a: Array, axes: Any = None) -> Any:
    """The array with its axes permuted, or by default reversed: axis k of the result is axis
    axes[k].

    Raises ValueError unless `axes` is a permutation.
    """
    x = as_array(a)
    if axes is None:
        return transpose_to(x, range(x.ndim)[::-1])
    given = _sequence(axes)
    if len(given) != x.ndim:
        raise located(ValueError, "axes don't match array")
    return transpose_to(x, axes_of(exact(tuple(given)), x.ndim, "repeated axis in transpose"))


@implements(np.swapaxes)
def swapaxes(a: Array, axis1: Any, axis2: Any) -> Any:
    """The array with two axes exchanged."""
    x = as_array(a)
    i, j = axis_of(axis1, x.ndim), axis_of(axis2, x.ndim)
    order = list(range(x.ndim))
    order[i], order[j] = j, i
    return transpose_to(x, order)


@implements(np.moveaxis)
def moveaxis(a: Array, source: Any, destination: Any) -> Any:
    """The array with some axes moved to other positions; the rest keep their order.

    Raises ValueError for repeated axes and for a different number of sources and destinations.
    """
    x = as_array(a)
    sources = axes_of(_sequence(source), x.ndim, "repeated axis in `source` argument")
    targets = axes_of(_sequence(destination), x.ndim, "repeated axis in `destination` argument")
    if len(sources) != len(targets):
        raise located(
            ValueError, "`source` and `destination` arguments must have the same number of elements"
        )
    order = [i for i in range(x.ndim) if i not in sources]
    for target, axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, axis)
    return transpose_to(x, order)


def _sequence(axis: Any) -> tuple[Any, ...]:
    return tuple(axis) if np.ndim(axis) == 1 else (axis,)


@implements(np.rollaxis)
def rollaxis(a: Array, axis: Any, start: int = 0) -> Any:
    """The array with one axis moved in front of the axis `start`; `moveaxis` says the same more
    plainly."""
    x = as_array(a)
    i = axis_of(axis, x.ndim)
    begin = index_of(start)
    if not -x.ndim <= begin <= x.ndim:
        raise located(
            np.exceptions.AxisError,
            f"'start' arg requires {-x.ndim} <= start < {x.ndim + 1}, but {begin} was passed in",
        )
    begin += x.ndim if begin < 0 else 0
    order = [j for j in range(x.ndim) if j != i]
    order.insert(begin - (1 if i < begin else 0), i)
    return transpose_to(x, order)


@implements(np.matrix_transpose)
def matrix_transpose(x: Array, /) -> Any:
    """The matrices of a stack transposed: the last two axes exchanged.

    Raises ValueError for fewer than two axes.
    """
    x = as_array(x)
    if x.ndim < 2:
        raise located(ValueError, f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return swapaxes(x, -1, -2)


# --------------------------------------------------------------------------------------- reversal


@implements(np.flip)
def flip(m: Array, axis: Any = None) -> Any:
    """The array with the elements reversed along axes, or along all."""
    x = as_array(m)
    axes = axes_of(tuple(axis) if isinstance(axis, list) else axis, x.ndim, "repeated axis")
    return bind(primitives.rev, x, dimensions=tuple(sorted(axes))) if axes else x


@implements(np.flipud)
def flipud(m: Array) -> Any:
    """The array reversed along its first axis; raises ValueError for a scalar."""
    x = as_array(m)
    if x.ndim < 1:
        raise located(ValueError, "Input must be >= 1-d.")
    return flip(x, 0)


@implements(np.fliplr)
def fliplr(m: Array) -> Any:
    """The array reversed along its second axis; raises ValueError for fewer than two axes."""
    x = as_array(m)
    if x.ndim < 2:
        raise located(ValueError, "Input must be >= 2-d.")
    return flip(x, 1)


@implements(np.rot90)
def rot90(m: Array, k: int = 1, axes: Any = (0, 1)) -> Any:
    """The array rotated by k quarter turns in the plane of two axes, from the first to the second.

    k must be known while tracing. Raises ValueError unless the axes are two different ones.
    """
    x = as_array(m)
    if len(axes) != 2:
        raise located(ValueError, "len(axes) must be 2.")
    first, second = (axis_of(a, x.ndim) for a in axes)
    if first == second:
        raise located(ValueError, "Axes must be different.")
    turns = index_of(k) % 4
    if turns == 0:
        return x
    if turns == 2:
        return flip(x, (first, second))
    if turns == 1:
        return swapaxes(flip(x, second), first, second)
    return flip(swapaxes(x, first, second), second)


# ----------------------------------------------------------------------------------------- methods


def _transpose_method(x: Tracer, *axes: Any) -> Any:
    """The array with its axes permuted, or reversed; see `numpy.transpose`."""
    if not axes or axes == (None,):
        return transpose(x)
    return FUNCTIONS[np.transpose](x, axes[0] if len(axes) == 1 else axes)


def _matrix_transpose_property(x: Tracer) -> Any:
    """The array with its last two axes exchanged; raises ValueError for fewer."""
    if x.ndim < 2:
        raise located(ValueError, "matrix transpose with ndim < 2 is undefined")
    return swapaxes(x, -1, -2)


add_methods(np.swapaxes)
add_method("transpose", _transpose_method)
add_property("T", transpose)
add_property("mT", _matrix_transpose_property)
