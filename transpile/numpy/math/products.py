"""Products: matmul, dot, inner, outer, tensordot and their kin, from one general contraction."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Index, Shape
from transpile.ir.indices.lengths import lengths_in
from transpile.ir.indices.requirements import require
from transpile.ir.types import FLOAT32, FLOAT64, broadcast_shapes
from transpile.numpy.core.promotion import (
    Array,
    NumpyErrors,
    add_methods,
    as_array,
    ask_numpy,
    axes_of,
    axis_of,
    broadcast_in_dim,
    broadcast_to,
    convert,
    implements,
    index_of,
    refuse,
    reshape_to,
    result_dtype,
    transpose_to,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.reductions import sum
from transpile.numpy.core.runtime_sizes import exact, with_equal_extents
from transpile.numpy.core.ufuncs import SPECIAL, call, resolve
from transpile.numpy.manipulation.shapes import expand_dims, ravel
from transpile.numpy.manipulation.transposes import moveaxis
from transpile.numpy.manipulation.views import diagonal
from transpile.primitives import dot as linalg

Axes = Sequence[int]


def contract(
    x: Any, y: Any, x_axes: Axes, y_axes: Axes, batch: tuple[Axes, Axes] = ((), ())
) -> Any:
    """Sum over pairs of axes: the result has the batch axes, then x's others, then y's others."""
    numbers = ((tuple(x_axes), tuple(y_axes)), (tuple(batch[0]), tuple(batch[1])))
    return linalg.bind_product(x, y, numbers)


def _mismatch(function: Any, x: Any, y: Any, *rest: Any) -> Exception:
    """The error that NumPy raises for operands of these shapes."""
    with NumpyErrors():
        ask_numpy(function, (x, y, *rest), {})
    return located(ValueError, _mismatch_text(function, x, y))


def _mismatch_text(function: Any, x: Any, y: Any) -> str:
    shapes = [str(tuple(v.shape)).replace(" ", "") for v in (x, y)]
    return f"{function.__name__}: the shapes {shapes[0]} and {shapes[1]} do not match"


def _matched(function: Any, x: Any, i: int, y: Any, k: int) -> tuple[Any, Any]:
    """The operands with equal extents along two axes, over which they are summed."""
    matched = with_equal_extents(x, i, y, k, _mismatch_text(function, x, y))
    if matched is None:
        raise _mismatch(function, x, y)
    return matched


def _operands(ufunc: Any, x: Array, y: Array, dtype: Any) -> tuple[Any, Any]:
    """The operands of a generalized ufunc in the dtype of its loop, with enough dimensions."""
    loop = resolve(ufunc, (x, y), dtype)
    arrays = (convert(as_array(x), loop[0]), convert(as_array(y), loop[1]))
    for operand, (array, core) in enumerate(zip(arrays, _CORE[ufunc], strict=True)):
        if array.ndim < core:
            raise located(
                ValueError,
                f"{ufunc.__name__}: Input operand {operand} does not have enough "
                f"dimensions (has {array.ndim}, gufunc core with signature {ufunc.signature} "
                f"requires {core})",
            )
    return arrays


_CORE = {np.matmul: (1, 1), np.vecdot: (1, 1)}
for _name, _core in (("matvec", (2, 1)), ("vecmat", (1, 2))):  # since NumPy 2.2
    if hasattr(np, _name):
        _CORE[getattr(np, _name)] = _core


def matmul(x: Array, y: Array, dtype: Any = None) -> Any:
    """The matrix product: the last axis of x contracted with the second to last of y, the axes
    before them broadcast.

    A vector is a row on the left and a column on the right, and its axis is dropped. Operands are
    promoted first, and the sum has that dtype: integers wrap around, float16 accumulates in
    float32. `axes` as in NumPy. Raises ValueError for scalars and for sizes that do not match.
    """
    a, b = _operands(np.matmul, x, y, dtype)
    inner = 0 if b.ndim == 1 else b.ndim - 2
    a, b = _matched(np.matmul, a, -1, b, inner)
    if a.ndim <= 2 or b.ndim <= 2:
        result = contract(a, b, (a.ndim - 1,), (inner,))
        if a.ndim == 2 and b.ndim > 2:  # (m), (batch..., n) -> (batch..., m, n)
            result = transpose_to(result, (*range(1, b.ndim - 1), 0, b.ndim - 1))
        return result
    batch = _batch_shape(np.matmul, a, b, 2, 2)
    a = broadcast_to(a, (*batch, *a.shape[-2:]))
    b = broadcast_to(b, (*batch, *b.shape[-2:]))
    axes = tuple(range(len(batch)))
    return contract(a, b, (a.ndim - 1,), (b.ndim - 2,), (axes, axes))


def _batch_shape(ufunc: Any, x: Any, y: Any, x_core: int, y_core: int) -> Shape:
    """What the axes before the core ones broadcast to."""
    shapes = [x.shape[: x.ndim - x_core], y.shape[: y.ndim - y_core]]
    return broadcast_shapes(shapes, lambda text: _mismatch(ufunc, x, y))


def vecdot(x: Array, y: Array, dtype: Any = None) -> Any:
    """The inner products of vectors along the last axes, the first operand conjugated; the other
    axes broadcast.

    Raises ValueError for scalars and for lengths that differ.
    """
    a, b = _operands(np.vecdot, x, y, dtype)
    a, b = _matched(np.vecdot, a, -1, b, -1)
    return _batched_dot(_conjugate(a), b)


def _conjugate(x: Any) -> Any:
    return call(np.conjugate, x) if x.dtype.kind == "c" else x


def _batched_dot(a: Any, b: Any) -> Any:
    """Inner products over the last axes, the others broadcast."""
    batch = _batch_shape(np.vecdot, a, b, 1, 1)
    a = broadcast_to(a, (*batch, a.shape[-1]))
    b = broadcast_to(b, (*batch, b.shape[-1]))
    axes = tuple(range(len(batch)))
    return contract(a, b, (a.ndim - 1,), (b.ndim - 1,), (axes, axes))


def _matvec(x: Array, y: Array, dtype: Any = None) -> Any:
    """The product of each matrix of a stack with a vector; the other axes broadcast."""
    a, b = _operands(np.matvec, x, y, dtype)
    a, b = _matched(np.matvec, a, -1, b, -1)
    if b.ndim == 1:
        return contract(a, b, (a.ndim - 1,), (0,))
    _batch_shape(np.matvec, a, b, 2, 1)
    column = broadcast_in_dim(b, (*b.shape, 1), range(b.ndim))
    result = matmul(a, column)
    return reshape_to(result, result.shape[:-1])


def _vecmat(x: Array, y: Array, dtype: Any = None) -> Any:
    """The product of each conjugated vector with a matrix of a stack; the other axes broadcast."""
    a, b = _operands(np.vecmat, x, y, dtype)
    a, b = _matched(np.vecmat, a, -1, b, -2)
    a = _conjugate(a)
    if a.ndim == 1:
        return contract(a, b, (0,), (b.ndim - 2,))
    _batch_shape(np.vecmat, a, b, 1, 2)
    kept = [*range(a.ndim - 1), a.ndim]
    row = broadcast_in_dim(a, (*a.shape[:-1], 1, a.shape[-1]), kept)
    result = matmul(row, b)
    return reshape_to(result, (*result.shape[:-2], result.shape[-1]))


def _with_axes(ufunc: Any, function: Any, cores: tuple[int, int, int]) -> None:
    """Register a generalized ufunc. `cores` says how many axes of the operands and of the result it
    takes; `axes=` and `axis=` say which, where they are not the last."""

    @functools.wraps(function)
    def on_axes(
        x: Array,
        y: Array,
        dtype: Any = None,
        axes: Any = None,
        axis: Any = None,
        keepdims: Any = False,
    ) -> Any:
        if axes is None and axis is None and not keepdims:
            return function(x, y, dtype)
        a, b = as_array(x), as_array(y)
        core_axes = _core_axes(ufunc, cores, axes, axis, keepdims)
        a, b = (
            moveaxis(v, p, range(-len(p), 0)) for v, p in zip((a, b), core_axes[:2], strict=True)
        )
        result = function(a, b, dtype)
        if keepdims:
            result = expand_dims(result, -1)
        last = range(-len(core_axes[2]), 0)
        return moveaxis(result, last, core_axes[2])

    SPECIAL[ufunc] = on_axes


def _core_axes(
    ufunc: Any, cores: tuple[int, int, int], axes: Any, axis: Any, keepdims: Any
) -> list[tuple[int, ...]]:
    """The axes that the operands and the result have for those of a generalized ufunc."""
    name, sizes = ufunc.__name__, list(cores)
    if axis is not None or keepdims:
        if cores != (1, 1, 0):
            word = "keepdims" if keepdims else "axis"
            raise located(
                TypeError,
                f"{name} does not support {word}: its signature {ufunc.signature} requires "
                "multiple core dimensions",
            )
        sizes[2] = int(bool(keepdims))
    if axis is not None:
        if axes is not None:
            raise located(TypeError, "cannot specify both 'axis' and 'axes'")
        return [(index_of(axis),) * n for n in sizes]
    if axes is None:
        return [tuple(range(-n, 0)) for n in sizes]
    given = [a if isinstance(a, tuple | list) else (a,) for a in axes]
    if len(given) == 2 and sizes[2] == 0:
        given.append(())
    if len(given) != 3 or any(len(g) != n for g, n in zip(given, sizes, strict=True)):
        raise located(
            ValueError, f"{name}: axes must be a list of the axes of each operand, not {axes!r}"
        )
    return [tuple(index_of(i) for i in g) for g in given]


_with_axes(np.matmul, matmul, (2, 2, 2))
_with_axes(np.vecdot, vecdot, (1, 1, 0))
if "matvec" in vars(np):
    _with_axes(np.matvec, _matvec, (2, 1, 1))
    _with_axes(np.vecmat, _vecmat, (1, 2, 1))


# ------------------------------------------------------------------------- dot and its relatives


def _pair(a: Array, b: Array) -> tuple[Any, Any]:
    """The operands as arrays of their common dtype."""
    x, y = as_array(a), as_array(b)
    dtype = result_dtype(x, y)
    return convert(x, dtype), convert(y, dtype)


def _scaled(x: Any, y: Any) -> Any:
    """The product with a scalar. NumPy leaves those of floats to its BLAS, as a sum of one term,
    which starts at 0.0."""
    product = call(np.multiply, x, y)
    return call(np.add, product, 0) if product.dtype in (FLOAT32, FLOAT64) else product


@implements(np.dot)
def dot(a: Array, b: Array, out: Any = None) -> Any:
    """The sum of products over the last axis of a and the second to last of b, or its only one;
    scalars multiply.

    Stacks are not broadcast but combined, each of a with each of b, unlike `matmul`. Dtypes as
    those of `matmul`. Raises ValueError for sizes that do not match.
    """
    refuse("dot", out=out)
    x, y = _pair(a, b)
    if x.ndim == 0 or y.ndim == 0:
        return _scaled(x, y)
    i, j = x.ndim - 1, max(y.ndim - 2, 0)
    x, y = _matched(np.dot, x, i, y, j)
    return contract(x, y, (i,), (j,))


@implements(np.vdot)
def vdot(a: Array, b: Array, /) -> Any:
    """The inner product of two flattened arrays, the first conjugated; raises ValueError for sizes
    that differ."""
    x, y = _pair(a, b)
    if x.size != y.size and not (lengths_in([x.shape, y.shape]) and x.ndim == y.ndim == 1):
        raise _mismatch(np.vdot, x, y)
    x, y = _matched(np.vdot, ravel(x), 0, ravel(y), 0)
    return contract(_conjugate(x), y, (0,), (0,))


@implements(np.inner)
def inner(a: Array, b: Array, /) -> Any:
    """The sum of products over the last axes of both, none conjugated; scalars multiply.

    Raises ValueError for sizes that differ.
    """
    x, y = _pair(a, b)
    if x.ndim == 0 or y.ndim == 0:
        return _scaled(x, y)
    x, y = _matched(np.inner, x, -1, y, -1)
    return contract(x, y, (x.ndim - 1,), (y.ndim - 1,))


@implements(np.outer)
def outer(a: Array, b: Array, out: Any = None) -> Any:
    """The products of all pairs of elements of two flattened arrays, as a matrix."""
    refuse("outer", out=out)
    x, y = ravel(a), ravel(b)
    return call(np.multiply, broadcast_in_dim(x, (x.shape[0], 1), (0,)), y)


@implements(np.tensordot)
def tensordot(a: Array, b: Array, axes: Any = 2) -> Any:
    """The sum of products over a number of axes, the last of a and the first of b, or over pairs of
    axes.

    The result has the other axes of a, then those of b. Raises ValueError for sizes that differ,
    IndexError for an axis out of range.
    """
    x, y = _pair(a, b)
    if isinstance(axes, tuple | list) or np.ndim(axes):
        first, second = axes
        i = tuple(first) if np.ndim(first) else (first,)
        j = tuple(second) if np.ndim(second) else (second,)
        hash((*i, *j))  # an array without axes is no axis, as in NumPy
    else:
        count = index_of(axes)
        i, j = tuple(range(-count, 0)), tuple(range(count))
    text = "shape-mismatch for sum"
    if len(i) != len(j):
        raise located(ValueError, text)
    for k, m in zip(i, j, strict=True):
        with NumpyErrors():  # an axis that is not there is an IndexError, as in NumPy
            matched = with_equal_extents(x, k, y, m, text)
        if matched is None:
            raise located(ValueError, text)
        x, y = matched
    x_axes = tuple(axis_of(k, x.ndim) for k in exact(i))
    y_axes = tuple(axis_of(k, y.ndim) for k in exact(j))
    if len(set(x_axes)) < len(x_axes) or len(set(y_axes)) < len(y_axes):
        raise located(ValueError, "duplicate axes are not allowed in tensordot")
    return contract(x, y, x_axes, y_axes)


@implements(np.kron)
def kron(a: Array, b: Array) -> Any:
    """The Kronecker product: blocks that are b times each element of a; the shorter shape gets axes
    of size 1 in front."""
    x, y = _pair(a, b)
    ndim = max(x.ndim, y.ndim)
    left = (*[1] * (ndim - x.ndim), *x.shape)
    right = (*[1] * (ndim - y.ndim), *y.shape)
    wide_x = reshape_to(x, [d for pair in left for d in (pair, 1)])
    wide_y = reshape_to(y, [d for pair in right for d in (1, pair)])
    result = call(np.multiply, wide_x, wide_y)
    return reshape_to(result, [p * q for p, q in zip(left, right, strict=True)])


@implements(np.trace)
def trace(
    a: Array, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Any:
    """The sum of each diagonal over two axes, in the dtype in which `sum` accumulates."""
    refuse("trace", out=out)
    return sum(diagonal(a, offset, axis1, axis2), -1, dtype)


@implements(np.cross)
def cross(
    a: Array, b: Array, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None
) -> Any:
    """The vector product of three components along an axis; with a NumPy below 2.5 also of two,
    and two vectors of two give the third component alone.

    Raises ValueError for other numbers of components, and for scalars.
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = as_array(a), as_array(b)
    if x.ndim < 1 or y.ndim < 1:
        raise located(ValueError, "At least one array has zero dimension")
    axes_of(axisa, x.ndim), axes_of(axisb, y.ndim)
    x, y = moveaxis(x, axisa, -1), moveaxis(y, axisb, -1)
    counts = _components(x.shape[-1]), _components(y.shape[-1])
    if not set(counts) <= _COMPONENTS:
        with NumpyErrors():
            np.cross(np.ones(counts[0]), np.ones(counts[1]))
    p, q = ([v[..., i] for i in range(count)] for v, count in zip((x, y), counts, strict=True))
    third = _minor(p, q, 0, 1)
    if len(p) == len(q) == 2:
        return third
    with NumpyErrors():
        result = np.stack([_minor(p, q, 1, 2), _minor(p, q, 2, 0), third], axis=-1)
    return moveaxis(result, -1, axisc)


# Those that the installed NumPy takes.
_COMPONENTS = {2, 3} if np.lib.NumpyVersion(np.__version__) < "2.5.0" else {3}


def _components(count: Index) -> int:
    """The number of components. Raises UndecidedSizeError for a runtime size that may be no 3."""
    if isinstance(count, int):
        return count
    for smaller, larger in ((3, count), (count, 3)):
        require(smaller, larger, "a vector product")
    return 3


def _minor(p: Sequence[Any], q: Sequence[Any], i: int, j: int) -> Any:
    """p[i] q[j] - p[j] q[i], where a component that is missing is 0."""
    first, second = (
        call(np.multiply, p[k], q[m]) if k < len(p) and m < len(q) else None
        for k, m in ((i, j), (j, i))
    )
    if first is None:
        return call(np.negative, second)
    return first if second is None else call(np.subtract, first, second)


add_methods(np.dot, np.trace)
