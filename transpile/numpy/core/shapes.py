"""Functions that change shape or dtype and leave the elements as they are: views, and astype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Dim, Shape, floor_divide, product
from transpile.numpy.core.promotion import (
    Array,
    add_methods,
    as_array,
    axes_of,
    axis_of,
    broadcast_in_dim,
    broadcast_to,
    common_shape,
    convert,
    dtype_argument,
    implements,
    index_of,
    is_empty,
    kind_of,
    refuse,
    reshape_to,
    slice_axis,
    strengthen,
    transpose_to,
    warn_if_imaginary_is_lost,
)
from transpile.numpy.core.promotion import broadcast_to as broadcast_shape
from transpile.numpy.core.promotion import error as located
from transpile.primitives import axes as rows
from transpile.primitives import elementwise
from transpile.trace.trace import bind
from transpile.trace.tracer import FUNCTIONS, Tracer, add_method, add_property


def shape_argument(shape: Any) -> Shape:
    """The shape that a user gives: an int, or a sequence of them."""
    given = (
        shape
        if isinstance(shape, tuple | list)
        else (tuple(shape) if isinstance(shape, np.ndarray) and shape.ndim else (shape,))
    )
    return tuple(d if isinstance(d, Dim) else index_of(d) for d in given)


def shape_text(shape: Sequence[Any]) -> str:
    """A shape as NumPy's messages write it: no spaces, a comma after the only dimension."""
    words = ["newaxis" if d == -1 else str(d) for d in shape]
    return f"({','.join(words)}{',' if len(words) == 1 else ''})"


# -------------------------------------------------------------------------------------- reshape


@implements(np.reshape)
def reshape(a: Array, /, shape: Any, order: str = "C", *, copy: Any = None) -> Any:
    """`numpy.reshape`, in row-major (`C`) or column-major (`F`) order."""
    x = as_array(a)
    wanted = _infer(shape_argument(shape), x.size)
    if order in ("F", "f") and max(x.ndim, len(wanted)) > 1:
        backwards = transpose_to(x, range(x.ndim)[::-1])
        result = reshape_to(backwards, wanted[::-1])
        return transpose_to(result, range(len(wanted))[::-1])
    if order not in ("C", "c", "A", "a", "K", "F", "f"):
        raise located(ValueError, f"order must be one of 'C', 'F', 'A', or 'K' (got '{order}')")
    return strengthen(reshape_to(x, wanted))


def _infer(wanted: Shape, size: Any) -> Shape:
    """The wanted shape with its -1 worked out."""
    unknown = [axis for axis, d in enumerate(wanted) if isinstance(d, int) and d < 0]
    refusal = f"cannot reshape array of size {size} into shape {shape_text(wanted)}"
    if len(unknown) > 1:
        raise located(ValueError, "can only specify one unknown dimension")
    if not unknown:
        if product(wanted) != size:
            raise located(ValueError, refusal)
        return wanted
    known = product(d for axis, d in enumerate(wanted) if axis != unknown[0])
    if wanted[unknown[0]] != -1 or known == 0:
        raise located(ValueError, refusal)
    missing = floor_divide(size, known)
    if missing * known != size:
        raise located(ValueError, refusal)
    return (*wanted[: unknown[0]], missing, *wanted[unknown[0] + 1 :])


@implements(np.ravel)
def ravel(a: Array, order: str = "C") -> Any:
    """`numpy.ravel`."""
    x = as_array(a)
    return reshape(x, (x.size,), order)


@implements(np.expand_dims)
def expand_dims(a: Array, axis: Any) -> Any:
    """`numpy.expand_dims`."""
    x = as_array(a)
    given = axis if isinstance(axis, tuple | list) else (axis,)
    ndim = x.ndim + len(given)
    added = axes_of(tuple(given), ndim, "repeated axis")
    kept = [i for i in range(ndim) if i not in added]
    sizes = iter(x.shape)
    return broadcast_in_dim(x, tuple(1 if i in added else next(sizes) for i in range(ndim)), kept)


@implements(np.squeeze)
def squeeze(a: Array, axis: Any = None) -> Any:
    """`numpy.squeeze`."""
    x = as_array(a)
    if axis is None:
        return strengthen(reshape_to(x, [d for d in x.shape if d != 1]))
    if x.ndim == 0 and axis in (0, -1):  # as NumPy allows
        return strengthen(x)
    axes = axes_of(axis, x.ndim)
    if any(x.shape[i] != 1 for i in axes):
        raise located(
            ValueError, "cannot select an axis to squeeze out which has size not equal to one"
        )
    return strengthen(reshape_to(x, [d for i, d in enumerate(x.shape) if i not in axes]))


def _at_least(ndim: int, a: Array) -> Any:
    x = as_array(a)
    if x.ndim >= ndim:
        return x
    if ndim == 3 and x.ndim:  # (m,) -> (1, m, 1); (m, n) -> (m, n, 1)
        return reshape_to(x, (*(() if x.ndim == 2 else (1,)), *x.shape, 1))
    return reshape_to(x, (*[1] * (ndim - x.ndim), *x.shape))


@implements(np.atleast_1d)
def atleast_1d(*arrays: Array) -> Any:
    """`numpy.atleast_1d`."""
    results = tuple(_at_least(1, a) for a in arrays)
    return results[0] if len(results) == 1 else results


@implements(np.atleast_2d)
def atleast_2d(*arrays: Array) -> Any:
    """`numpy.atleast_2d`."""
    results = tuple(_at_least(2, a) for a in arrays)
    return results[0] if len(results) == 1 else results


@implements(np.atleast_3d)
def atleast_3d(*arrays: Array) -> Any:
    """`numpy.atleast_3d`."""
    results = tuple(_at_least(3, a) for a in arrays)
    return results[0] if len(results) == 1 else results


# ---------------------------------------------------------------------------------- broadcasting


@implements(np.broadcast_to)
def broadcast_to_shape(array: Array, shape: Any, subok: bool = False) -> Any:
    """`numpy.broadcast_to`."""
    x = as_array(array)
    wanted = shape_argument(shape)
    if len(wanted) < x.ndim:
        raise located(
            ValueError, "input operand has more dimensions than allowed by the axis remapping"
        )
    for have, want in zip(reversed(x.shape), reversed(wanted), strict=False):
        if have not in (1, want):
            raise located(
                ValueError,
                "operands could not be broadcast together with remapped shapes "
                f"[original->remapped]: {shape_text(x.shape)}  and requested shape "
                f"{shape_text(wanted)}",
            )
    return strengthen(broadcast_shape(x, wanted))


@implements(np.broadcast_arrays)
def broadcast_arrays(*arrays: Array, subok: bool = False) -> Any:
    """`numpy.broadcast_arrays`."""
    values = [as_array(a) for a in arrays]
    shape = common_shape(*values)
    return tuple(broadcast_to(v, shape) for v in values)


# -------------------------------------------------------------------------------------- transpose


@implements(np.transpose, np.permute_dims)
def transpose(a: Array, axes: Any = None) -> Any:
    """`numpy.transpose`."""
    x = as_array(a)
    if axes is None:
        return transpose_to(x, range(x.ndim)[::-1])
    given = tuple(axes) if isinstance(axes, tuple | list) else (axes,)
    if len(given) != x.ndim:
        raise located(ValueError, "axes don't match array")
    return transpose_to(x, axes_of(given, x.ndim, "repeated axis in transpose"))


@implements(np.swapaxes)
def swapaxes(a: Array, axis1: Any, axis2: Any) -> Any:
    """`numpy.swapaxes`."""
    x = as_array(a)
    i, j = axis_of(axis1, x.ndim), axis_of(axis2, x.ndim)
    order = list(range(x.ndim))
    order[i], order[j] = j, i
    return transpose_to(x, order)


@implements(np.moveaxis)
def moveaxis(a: Array, source: Any, destination: Any) -> Any:
    """`numpy.moveaxis`."""
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
    return tuple(axis) if isinstance(axis, tuple | list | range) else (axis,)


@implements(np.rollaxis)
def rollaxis(a: Array, axis: Any, start: int = 0) -> Any:
    """`numpy.rollaxis`."""
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
    """`numpy.matrix_transpose`: the last two axes swapped."""
    x = as_array(x)
    if x.ndim < 2:
        raise located(ValueError, f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return swapaxes(x, -1, -2)


# --------------------------------------------------------------------------------------- reversal


@implements(np.flip)
def flip(m: Array, axis: Any = None) -> Any:
    """`numpy.flip`."""
    x = as_array(m)
    axes = axes_of(tuple(axis) if isinstance(axis, list) else axis, x.ndim, "repeated axis")
    return bind(rows.rev, x, dimensions=tuple(sorted(axes))) if axes else x


@implements(np.flipud)
def flipud(m: Array) -> Any:
    """`numpy.flipud`."""
    x = as_array(m)
    if x.ndim < 1:
        raise located(ValueError, "Input must be >= 1-d.")
    return flip(x, 0)


@implements(np.fliplr)
def fliplr(m: Array) -> Any:
    """`numpy.fliplr`."""
    x = as_array(m)
    if x.ndim < 2:
        raise located(ValueError, "Input must be >= 2-d.")
    return flip(x, 1)


@implements(np.rot90)
def rot90(m: Array, k: int = 1, axes: Any = (0, 1)) -> Any:
    """`numpy.rot90`."""
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


# ---------------------------------------------------------------------------- questions of shape


@implements(np.shape)
def shape(a: Array) -> Shape:
    """`numpy.shape`."""
    return tuple(as_array(a).shape)


@implements(np.ndim)
def ndim(a: Array) -> int:
    """`numpy.ndim`."""
    return len(as_array(a).shape)


@implements(np.size)
def size(a: Array, axis: Any = None) -> Any:
    """`numpy.size`."""
    x = as_array(a)
    return x.size if axis is None else product(x.shape[i] for i in axes_of(axis, x.ndim))


@implements(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> Any:
    """`numpy.result_type`."""
    return np.result_type(
        *[_promoted(v) if isinstance(v, Tracer) else v for v in arrays_and_dtypes]
    )


def _promoted(x: Tracer) -> Any:
    """What takes part in promotion for a traced value: a Python number, or a dtype."""
    kind = kind_of(x)
    return kind(0) if isinstance(kind, type) else kind


@implements(np.iscomplexobj)
def iscomplexobj(x: Array) -> bool:
    """`numpy.iscomplexobj`."""
    return bool(as_array(x).dtype.kind == "c")


@implements(np.isrealobj)
def isrealobj(x: Array) -> bool:
    """`numpy.isrealobj`."""
    return not iscomplexobj(x)


# --------------------------------------------------------------------------------- diagonals, dtype


@implements(np.diagonal)
def diagonal(a: Array, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """`numpy.diagonal`: a strided view of the flattened last two axes."""
    x = as_array(a)
    if x.ndim < 2:
        raise located(ValueError, "diag requires an array of at least two dimensions")
    i, j = axis_of(axis1, x.ndim), axis_of(axis2, x.ndim)
    if i == j:
        raise located(ValueError, "axis1 and axis2 cannot be the same")
    x = transpose_to(x, [*(k for k in range(x.ndim) if k not in (i, j)), i, j])
    *outer, n, m = x.type.static_shape() if isinstance(x, Tracer) else x.shape
    offset = index_of(offset)
    count = max(0, min(n, m - offset) if offset >= 0 else min(n + offset, m))
    if count == 0 or is_empty(tuple(outer)):
        return (
            reshape_to(slice_axis(slice_axis(x, x.ndim - 1, 0, 0), x.ndim - 2, 0, 0), (*outer, 0))
            if count == 0
            else reshape_to(x, (*outer, count))
        )
    flat = reshape_to(x, (*outer, n * m))
    start = offset if offset >= 0 else -offset * m
    return slice_axis(flat, flat.ndim - 1, start, start + (count - 1) * (m + 1) + 1, m + 1)


def astype(
    x: Array,
    dtype: Any,
    order: str = "K",
    casting: str = "unsafe",
    subok: bool = True,
    copy: bool = True,
) -> Any:
    """`ndarray.astype`."""
    value = as_array(x)
    wanted = dtype_argument(dtype)
    if not np.can_cast(value.dtype, wanted, casting):  # type: ignore[arg-type]
        raise located(
            TypeError,
            f"Cannot cast array data from {value.dtype!r} to {wanted!r} "
            f"according to the rule '{casting}'",
        )
    warn_if_imaginary_is_lost(value, wanted)
    result = strengthen(convert(value, wanted))
    return bind(elementwise.copy, result) if copy and result is value else result


@implements(getattr(np, "astype", None))  # since NumPy 2.1
def astype_function(x: Array, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """`numpy.astype`."""
    return astype(x, dtype)


@implements(np.copy)
def copy(a: Array, order: str = "K", subok: bool = False) -> Any:
    """`numpy.copy`."""
    value = strengthen(as_array(a))
    return bind(elementwise.copy, value) if isinstance(value, Tracer) else value.copy()


@implements(np.real)
def real(val: Array) -> Any:
    """`numpy.real`."""
    x = as_array(val)
    return bind(elementwise.real, x) if x.dtype.kind == "c" else x


@implements(np.imag)
def imag(val: Array) -> Any:
    """`numpy.imag`."""
    x = as_array(val)
    if x.dtype.kind == "c":
        return bind(elementwise.imag, x)
    zero = np.zeros((), x.dtype)
    return (
        broadcast_in_dim(zero, x.shape, ())
        if x.ndim
        else bind(rows.broadcast_in_dim, zero, shape=(), broadcast_dimensions=())
    )


# ----------------------------------------------------------------------------------------- methods


def _reshape_method(x: Tracer, *shape: Any, order: str = "C", copy: Any = None) -> Any:
    return FUNCTIONS[np.reshape](x, shape[0] if len(shape) == 1 else shape, order)


def _transpose_method(x: Tracer, *axes: Any) -> Any:
    if not axes or axes == (None,):
        return transpose(x)
    return FUNCTIONS[np.transpose](x, axes[0] if len(axes) == 1 else axes)


def _flatten(x: Tracer, order: str = "C") -> Any:
    return bind(elementwise.copy, ravel(x, order))


def _matrix_transpose_property(x: Tracer) -> Any:
    if x.ndim < 2:
        raise located(ValueError, "matrix transpose with ndim < 2 is undefined")
    return swapaxes(x, -1, -2)


def _no_out(x: Tracer, *, out: Any = None) -> Any:
    refuse("conjugate", out=out)
    return np.conjugate(x) if x.dtype.kind == "c" else bind(elementwise.copy, x)


add_methods(np.ravel, np.squeeze, np.swapaxes, np.diagonal)
add_method("astype", astype)
add_method("copy", copy)
add_method("reshape", _reshape_method)
add_method("transpose", _transpose_method)
add_method("flatten", _flatten)
add_method("conj", _no_out)
add_method("conjugate", _no_out)
add_method("__copy__", copy)
add_method("__deepcopy__", lambda x, memo: copy(x))
add_property("T", transpose)
add_property("mT", _matrix_transpose_property)
add_property("real", real)
add_property("imag", imag)
