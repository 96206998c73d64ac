"""Views that repeat elements or are read-only: broadcasts, grids and diagonals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.graph import Var
from transpile.ir.indices.requirements import is_at_most, may_stretch
from transpile.numpy.core.memory import with_own_memory
from transpile.numpy.core.promotion import (
    Array,
    add_methods,
    as_array,
    axis_of,
    broadcast_in_dim,
    broadcast_to,
    common_shape,
    implements,
    is_empty,
    reshape_to,
    slice_axis,
    strengthen,
    transpose_to,
)
from transpile.numpy.core.promotion import broadcast_to as broadcast_shape
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.runtime_sizes import larger_of, offset_of, smaller_of
from transpile.numpy.manipulation.shapes import as_view, shape_argument, shape_text
from transpile.primitives import axes as primitives
from transpile.trace.trace import bind
from transpile.trace.tracer import Tracer
from transpile.trace.views.memory import may_share
from transpile.trace.views.results import equations_so_far


def read_only_view(result: Any, base: Any) -> Any:
    """A view of an array that may not be assigned to; it is one also where it repeats elements."""
    if not isinstance(result, Tracer):
        return result
    if isinstance(base, Tracer) and result.original is base.original:
        result = bind(primitives.transpose, result, permutation=tuple(range(result.ndim)))
    trace, var = result.owner, result.original
    if isinstance(trace.producers[var].inputs[0], Var):
        trace.picked.setdefault(var, None)
    trace.layouts.locked.add(var)
    return result


# ---------------------------------------------------------------------------------- broadcasting


def broadcast_to_shape(array: Array, shape: Any, subok: bool = False) -> Any:
    """The array broadcast to a shape, axes aligned at the end; a view.

    Raises ValueError where it does not broadcast.
    """
    x = as_array(array)
    wanted = shape_argument(shape)
    if len(wanted) < x.ndim:
        raise located(
            ValueError, "input operand has more dimensions than allowed by the axis remapping"
        )
    if any(isinstance(d, int) and d < 0 for d in wanted):
        raise located(ValueError, "all elements of broadcast shape must be non-negative")
    for have, want in zip(reversed(x.shape), reversed(wanted), strict=False):
        if have not in (1, want) and not may_stretch(have, want):
            raise located(
                ValueError,
                "operands could not be broadcast together with remapped shapes "
                f"[original->remapped]: {shape_text(x.shape)}  and requested shape "
                f"{shape_text(wanted)}",
            )
    return strengthen(broadcast_shape(x, wanted))


@implements(np.broadcast_to)
def _read_only_broadcast(array: Array, shape: Any, subok: bool = False) -> Any:
    """The array broadcast to a shape, axes aligned at the end; a read-only view.

    Raises ValueError where it does not broadcast.
    """
    x, result = as_array(array), broadcast_to_shape(array, shape)
    if isinstance(x, Tracer) and x.owner is result.owner and result.original is not x.original:
        axes = range(result.ndim - x.ndim, result.ndim)
        if any(n not in (1, result.shape[axis]) for axis, n in zip(axes, x.shape, strict=True)):
            why = "as a broadcast is a view, which one of sizes that may be 1 is not here"
            may_share(x.owner, x.original, result.original, why)
        elif x.owner.producers[result.original].inputs[0] is not x.variable:
            # Of x itself, and not of what x is a broadcast of.
            params = {"shape": result.shape, "broadcast_dimensions": tuple(axes)}
            result = bind(primitives.broadcast_in_dim, x, **params)
    return read_only_view(result, x)


@implements(np.broadcast_arrays)
def broadcast_arrays(*arrays: Array, subok: bool = False) -> Any:
    """The arrays broadcast to their common shape, as a tuple. Those that repeat elements are
    read-only views; NumPy's can be written, with a warning."""
    values = [as_array(a) for a in arrays]
    shape = common_shape(*values)
    return tuple(
        v if tuple(v.shape) == shape else read_only_view(broadcast_to(v, shape), v) for v in values
    )


@implements(np.meshgrid)
def meshgrid(
    *xi: Array, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Any, ...]:
    """Coordinate arrays of a grid, one for each vector: broadcast to the whole grid, or with
    `sparse` of size 1 along the others' axes. Without `copy` they are views of the vectors, and
    read-only where elements are repeated.

    With indexing="xy" the first two axes are exchanged, as for matrices of an image. Raises
    ValueError for another indexing than "xy" and "ij".
    """
    if indexing not in ("xy", "ij"):
        raise located(ValueError, "Valid values for `indexing` are 'xy' and 'ij'.")
    since = equations_so_far()
    vectors = [reshape_to(x, (x.size,)) for x in map(as_array, xi)]
    count = len(vectors)
    axes = list(range(count))
    if indexing == "xy" and count > 1:
        axes[:2] = [1, 0]
    grids = []
    for axis, vector in zip(axes, vectors, strict=True):
        shape = [1] * count
        shape[axis] = vector.shape[0]
        grids.append(broadcast_in_dim(vector, tuple(shape), (axis,)))
    if not copy:
        return tuple(grids) if sparse else broadcast_arrays(*grids)
    shape_of_all = common_shape(*grids)
    results = grids if sparse else [broadcast_to(g, shape_of_all) for g in grids]
    return tuple(with_own_memory(g, since) for g in results)


# -------------------------------------------------------------------------------------- diagonals


@implements(np.diagonal)
def _read_only_diagonal(a: Array, offset: Any = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The diagonals over two axes, along a new last axis, a read-only view.

    Raises ValueError for fewer than two axes.
    """
    return diagonal_view(a, offset, axis1, axis2)


def diagonal_view(a: Array, offset: Any = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The diagonals, a view that may not be assigned to."""
    result = read_only_view(diagonal(a, offset, axis1, axis2), a)
    i, j = axis_of(axis1, np.ndim(a)), axis_of(axis2, np.ndim(a))

    def strides(whole: Sequence[int]) -> tuple[int, ...]:
        outer = (s for axis, s in enumerate(whole) if axis not in (i, j))
        return (*outer, whole[i] + whole[j])

    if isinstance(a, Tracer) and isinstance(result, Tracer):
        result.owner.layouts.strided[result.original] = a, strides
    return result


def diagonal(a: Array, offset: Any = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The diagonals over two axes, along a new last axis: one strided slice of the two axes as one.

    Raises ValueError for fewer than two axes.
    """
    x = as_array(a)
    if x.ndim < 2:
        raise located(ValueError, "diag requires an array of at least two dimensions")
    i, j = axis_of(axis1, x.ndim), axis_of(axis2, x.ndim)
    if i == j:
        raise located(ValueError, "axis1 and axis2 cannot be the same")
    x = transpose_to(x, [*(k for k in range(x.ndim) if k not in (i, j)), i, j])
    *outer, n, m = x.shape
    offset = offset_of(offset)
    below, above = larger_of(-offset, 0), larger_of(offset, 0)
    rows, columns = larger_of(n - below, 0), larger_of(m - above, 0)
    count = smaller_of(rows, columns)
    if count == 0 or is_empty(tuple(outer)):
        return (
            reshape_to(slice_axis(slice_axis(x, x.ndim - 1, 0, 0), x.ndim - 2, 0, 0), (*outer, 0))
            if count == 0
            else reshape_to(x, (*outer, count))
        )
    flat = as_view(reshape_to(x, (*outer, n * m)))
    start = above + below * m
    if is_at_most(1, count):
        return slice_axis(flat, flat.ndim - 1, start, start + (count - 1) * (m + 1) + 1, m + 1)
    key = {"start": start, "limit": start + count * (m + 1), "strides": m + 1}  # none or more
    whole = {"start": 0, "strides": 1}
    params = {name: (*(whole.get(name, d) for d in outer), given) for name, given in key.items()}
    return bind(primitives.slice_, flat, **params)


add_methods(np.diagonal)
