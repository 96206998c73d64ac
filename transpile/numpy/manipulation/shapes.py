"""Functions that change shape or dtype and no values: reshape, broadcasts, diagonals, astype,
copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Dim, Index, Shape, Symbol, floor_divide, terms_of
from transpile.ir.indices.lengths import are_equal_later, is_refused_by_call, lengths_of
from transpile.ir.indices.row_major import product
from transpile.numpy.core.memory import in_order
from transpile.numpy.core.promotion import (
    Array,
    DType,
    add_methods,
    as_array,
    axes_of,
    broadcast_in_dim,
    convert,
    dtype_argument,
    implements,
    kind_of,
    reshape_to,
    slice_axis,
    strengthen,
    transpose_to,
    warn_if_imaginary_is_lost,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.runtime_sizes import (
    dimension_value,
    exact,
    extent_of,
    length_of,
)
from transpile.primitives import axes as primitives
from transpile.primitives import elementwise
from transpile.trace.trace import bind
from transpile.trace.tracer import FUNCTIONS, Tracer, add_method, add_property
from transpile.trace.views.arguments import note_decided
from transpile.trace.views.memory import is_view, lies_in, lock_as, may_share, order_in_memory
from transpile.trace.views.results import equations_so_far, note_results


def shape_argument(shape: Any) -> Shape:
    """The shape that a user gives: an extent (`extent_of`), or a sequence of them."""
    given = (
        shape
        if isinstance(shape, tuple | list)
        else (tuple(shape) if isinstance(shape, np.ndarray) and shape.ndim else (shape,))
    )
    return tuple(extent_of(exact(d)) for d in given)


def shape_text(shape: Sequence[Any]) -> str:
    """A shape as NumPy's messages write it: no spaces, a comma after the only dimension."""
    words = ["newaxis" if d == -1 else str(d) for d in shape]
    return f"({','.join(words)}{',' if len(words) == 1 else ''})"


# -------------------------------------------------------------------------------------- reshape


@implements(np.reshape)
def reshape(a: Array, /, shape: Any, order: str = "C", *, copy: Any = None) -> Any:
    """The elements in another shape, read and written in row-major (`C`) or column-major (`F`)
    order.

    One size may be -1. `A` means `F` for transposed arrays; arguments count as stored row-major.
    With `copy` it is no view. Raises ValueError where the sizes do not match, and, with a `copy` of
    False, for what is no view in NumPy.
    """
    x = as_array(a)
    result = _reshaped(x, shape, order)
    if copy is None or not (isinstance(x, Tracer) and isinstance(result, Tracer)):
        return result
    if copy:
        return bind(elementwise.copy, result)
    if result.owner.root_of(result.original) is not x.owner.root_of(x.original):
        raise located(ValueError, "Unable to avoid creating a copy while reshaping.")
    return result


def _reshaped(x: Any, shape: Any, order: str) -> Any:
    wanted = _infer(shape_argument(shape), x.size)
    if order in ("A", "a") and isinstance(x, Tracer):
        what = "as reshape reads and writes elements"
        order = "F" if x.ndim > 1 and order_in_memory(x.owner, x.original, "A", what)[0] else "C"
    if order in ("F", "f") and max(x.ndim, len(wanted)) > 1:
        backwards = transpose_to(x, range(x.ndim)[::-1])
        result = _in_shape(backwards, wanted[::-1])
        return transpose_to(result, range(len(wanted))[::-1])
    if order not in ("C", "c", "A", "a", "K", "F", "f"):
        raise located(ValueError, f"order must be one of 'C', 'F', 'A', or 'K' (got '{order}')")
    return strengthen(_in_shape(x, wanted))


def _in_shape(x: Any, wanted: Shape) -> Any:
    """The elements in a shape of as many, as is known, or as the program checks."""
    size = product(wanted)
    if size != x.size:
        x = slice_axis(reshape_to(x, (x.size,)), 0, 0, size)
    return reshape_to(x, wanted)


def _infer(wanted: Shape, size: Any) -> Shape:
    """The wanted shape with its -1 computed."""
    unknown = [axis for axis, d in enumerate(wanted) if isinstance(d, int) and d < 0]
    refusal = f"cannot reshape array of size {size} into shape {shape_text(wanted)}"
    if len(unknown) > 1:
        raise located(ValueError, "can only specify one unknown dimension")
    if not unknown:
        whole = product(wanted)
        if whole != size and not are_equal_later(whole, size, refusal):
            raise located(ValueError, refusal)
        return wanted
    known = product(d for axis, d in enumerate(wanted) if axis != unknown[0])
    if wanted[unknown[0]] != -1 or known == 0:
        raise located(ValueError, refusal)
    missing = _quotient(size, known)
    whole = missing * known
    if (
        whole != size
        and not are_equal_later(whole, size, refusal)
        and not _is_divided_in_call(size, known, refusal)
    ):
        raise located(ValueError, refusal + _divisible(size, known))
    return (*wanted[: unknown[0]], missing, *wanted[unknown[0] + 1 :])


def _is_divided_in_call(size: Index, known: Index, refusal: str) -> bool:
    """True if calls end with an error in which a number does not divide a runtime size."""
    if not (isinstance(size, Dim) and isinstance(known, int)):
        return False
    return is_refused_by_call(size, floor_divide(size, known) * known, refusal)


def _divisible(size: Any, known: Any) -> str:
    """What to declare so that a number divides a runtime size, for the error."""
    match terms_of(size):
        case [((Symbol(is_found=False) as symbol,), _)] if isinstance(known, int):
            return f"; declare it: transpile.dims({str(symbol)!r}, '{size} % {known} == 0')"
    return ""


def _quotient(size: Any, known: Any) -> Any:
    """A size divided by another one, which is no divisor of it where they contradict each other."""
    if isinstance(known, int) or not lengths_of(known):
        return floor_divide(size, known)
    return length_of(dimension_value(size) // dimension_value(known))


def ravel(a: Array, order: str = "C") -> Any:
    """The elements as a vector, in row-major order, column-major for order="F", and the order in
    memory for order="K", in which arguments count as stored row-major."""
    x = as_array(a)
    if order in ("A", "a", "K", "k") and isinstance(x, Tracer):
        x = transpose_to(x, order_in_memory(x.owner, x.original, order.upper()))
        order = "C"
    elif order in ("F", "f") and isinstance(x, Tracer):
        x = transpose_to(x, range(x.ndim)[::-1])
        order = "C"
    order = "C" if x.ndim < 2 else order
    result = reshape(x, (x.size,), order)
    if not isinstance(result, Tracer) or not isinstance(x, Tracer) or order not in ("C", "c"):
        return result
    lies = lies_in(x.owner, x.original, "C")
    if not lies.value or lies.reason:  # NumPy's vector is without gaps
        if result.original is x.original:
            result = bind(elementwise.copy, result)
        result.owner.layouts.take_own(result.original)
        may_share(result.owner, x.original, result.original, lies.reason)
    return result


@implements(np.ravel)
def ravel_of_user(a: Array, order: str = "C") -> Any:
    """`ravel`, of which it can be seen whether the vector is a view, or a copy."""
    result = ravel(a, order)
    if isinstance(a, Tracer) and isinstance(result, Tracer):
        note_decided(a.owner, a.original, result.original)
    return result


@implements(np.expand_dims)
def expand_dims(a: Array, axis: Any) -> Any:
    """The array with axes of size 1 at these positions of the result.

    Raises AxisError for positions out of range, and ValueError for one given twice.
    """
    x = as_array(a)
    given = axis if isinstance(axis, tuple | list) else (axis,)
    ndim = x.ndim + len(given)
    added = axes_of(tuple(given), ndim, "repeated axis")
    kept = [i for i in range(ndim) if i not in added]
    sizes = iter(x.shape)
    return broadcast_in_dim(x, tuple(1 if i in added else next(sizes) for i in range(ndim)), kept)


@implements(np.squeeze)
def squeeze(a: Array, axis: Any = None) -> Any:
    """The array without these axes of size 1, or without all axes of size 1.

    Without `axis` a runtime size is kept, whatever it turns out to be. Raises ValueError for an
    axis of another size.
    """
    x = as_array(a)
    if axis is None:
        return strengthen(reshape_to(x, [d for d in x.shape if d != 1]))
    if x.ndim == 0 and axis in (0, -1):  # as NumPy allows
        return strengthen(x)
    axes = axes_of(exact(axis), x.ndim)
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
    """Each array with at least one axis; several arrays give a tuple."""
    results = tuple(_at_least(1, a) for a in arrays)
    return results[0] if len(results) == 1 else results


@implements(np.atleast_2d)
def atleast_2d(*arrays: Array) -> Any:
    """Each array with at least two axes, new ones in front; several arrays give a tuple."""
    results = tuple(_at_least(2, a) for a in arrays)
    return results[0] if len(results) == 1 else results


@implements(np.atleast_3d)
def atleast_3d(*arrays: Array) -> Any:
    """Each array with at least three axes, (n,) as (1, n, 1) and (m, n) as (m, n, 1); several
    arrays give a tuple."""
    results = tuple(_at_least(3, a) for a in arrays)
    return results[0] if len(results) == 1 else results


# ---------------------------------------------------------------------------- questions of shape


@implements(np.shape)
def shape(a: Array) -> Shape:
    """The shape of an array: a tuple of ints and runtime sizes, not traced."""
    return tuple(as_array(a).shape)


@implements(np.ndim)
def ndim(a: Array) -> int:
    """The number of axes: a Python int, known while tracing."""
    return len(as_array(a).shape)


@implements(np.size)
def size(a: Array, axis: Any = None) -> Any:
    """The number of elements, or along axes: a Python int, or a runtime size."""
    x = as_array(a)
    return x.size if axis is None else product(x.shape[i] for i in axes_of(axis, x.ndim))


@implements(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype that the arguments promote to by NEP 50, known while tracing; a traced Python
    number is weak."""
    return np.result_type(
        *[_promoted(v) if isinstance(v, Tracer) else v for v in arrays_and_dtypes]
    )


def _promoted(x: Tracer) -> Any:
    """What takes part in promotion for a traced value: a Python number, or a dtype."""
    kind = kind_of(x)
    return kind(0) if isinstance(kind, type) else kind


@implements(np.iscomplexobj)
def iscomplexobj(x: Array) -> bool:
    """Whether the dtype is complex: a Python bool, known while tracing."""
    return bool(as_array(x).dtype.kind == "c")


@implements(np.isrealobj)
def isrealobj(x: Array) -> bool:
    """Whether the dtype is not complex: a Python bool, known while tracing."""
    return not iscomplexobj(x)


# ----------------------------------------------------------------------------------------- dtypes


def check_cast(kind: DType, wanted: DType, casting: str) -> None:
    """NumPy's error about a cast that a rule forbids."""
    if not np.can_cast(kind, wanted, casting):  # type: ignore[arg-type]  # a str of NumPy's
        raise located(
            TypeError,
            f"Cannot cast array data from {kind!r} to {wanted!r} according to the rule '{casting}'",
        )


def astype(
    x: Array,
    dtype: Any,
    order: str = "K",
    casting: str = "unsafe",
    subok: bool = True,
    copy: bool = True,
) -> Any:
    """The array cast to a dtype: floats to integers towards zero, without a check that they fit.

    `order` decides which views of the result share its memory, as in NumPy. Warns with
    ComplexWarning where the imaginary part is lost. Raises TypeError for a cast that `casting`
    forbids, and UnsupportedError for a dtype that C has not.
    """
    value = as_array(x)
    wanted = dtype_argument(dtype)
    check_cast(value.dtype, wanted, casting)
    warn_if_imaginary_is_lost(value, wanted)
    since = equations_so_far()
    result = strengthen(convert(value, wanted))
    if result is value:
        result = bind(elementwise.copy, result) if copy else in_order(result, order.upper())
    note_results(np.ndarray.astype, (value, wanted, order), {}, result, since)
    return result


@implements(getattr(np, "astype", None))  # since NumPy 2.1
def astype_function(x: Array, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """The array cast to a dtype; see the method `astype`."""
    return astype(x, dtype, copy=copy)


@implements(np.copy)
def copy(a: Array, order: str = "K", subok: bool = False) -> Any:
    """A new array of the same values, which can be assigned to without changing the first."""
    value = strengthen(as_array(a))
    return bind(elementwise.copy, value) if isinstance(value, Tracer) else value.copy()


def _copy_method(x: Tracer, order: str = "C") -> Any:
    """A new array of the same values, which can be assigned to without changing the first."""
    since = equations_so_far()
    result = copy(x)
    if order in ("C", "c") and isinstance(result, Tracer):
        result.owner.layouts.rows.add(result.original)
    note_results(np.ndarray.copy, (x, order), {}, result, since)
    return result


def _part(primitive: Any, x: Any) -> Any:
    """A part of complex numbers, which is a view of them."""
    part = bind(primitive, x)
    if isinstance(x, Tracer) and isinstance(part, Tracer) and part.ndim:
        part.owner.picked[part.original] = None
        if x.owner is part.owner:
            lock_as(x.owner, x.original, part.original)
    return part


def _set_part(name: str) -> Any:
    def assign(x: Tracer, value: Any) -> None:
        getattr(x, name)[...] = value

    return assign


def _flat(x: Tracer) -> Any:
    """The elements as a vector, a view of the array in any case, whose own parts are copies."""
    result = ravel(x)
    if isinstance(result, Tracer):
        if result.original is x.original:
            result = bind(primitives.transpose, result, permutation=(0,))
        else:
            as_view(result)
        result.owner.layouts.flats.add(result.original)
    return result


def as_view(result: Any) -> Any:
    """A result that is a view also where NumPy's reshape would copy."""
    if isinstance(result, Tracer):
        is_view(result.owner, result.original)
    return result


def _set_flat(x: Tracer, value: Any) -> None:
    """Assign values, repeated cyclically, to the elements in row-major order."""
    if isinstance(x.size, Dim):
        x[...] = FUNCTIONS[np.resize](as_array(value), x.shape)
    elif x.size:
        FUNCTIONS[np.put](x, np.arange(x.size), value)


@implements(np.real)
def real(val: Array) -> Any:
    """The real part, a view; an array that is not complex is returned as it is."""
    x = as_array(val)
    return _part(elementwise.real, x) if x.dtype.kind == "c" else x


@implements(np.imag)
def imag(val: Array) -> Any:
    """The imaginary part, a view; read-only zeros of the same dtype for an array that is not
    complex."""
    x = as_array(val)
    if x.dtype.kind == "c":
        return _part(elementwise.imag, x)
    zero = np.zeros((), x.dtype)
    result = bind(primitives.broadcast_in_dim, zero, shape=x.shape, broadcast_dimensions=())
    note_results(np.imag, (x,), {}, result, equations_so_far() - 1)
    result.owner.layouts.locked.add(result.original)
    return result


# ----------------------------------------------------------------------------------------- methods


def _reshape_method(x: Tracer, *shape: Any, order: str = "C", copy: Any = None) -> Any:
    """The elements in another shape, given as a tuple or as several numbers; see
    `numpy.reshape`."""
    return FUNCTIONS[np.reshape](x, shape[0] if len(shape) == 1 else shape, order, copy=copy)


def _flatten(x: Tracer, order: str = "C") -> Any:
    """The elements as a vector, a copy."""
    return bind(elementwise.copy, ravel(x, order))


def _conjugate(x: Tracer, out: Any = None) -> Any:
    """The complex conjugate, a new array; an array that is not complex is returned as it is."""
    if out is not None:
        return np.conjugate(x, out=out)
    return np.conjugate(x) if x.dtype.kind == "c" else x


add_methods(np.ravel, np.squeeze)
add_method("astype", astype)
add_method("copy", _copy_method)
add_method("reshape", _reshape_method)
add_method("flatten", _flatten)
add_method("conj", _conjugate)
add_method("conjugate", _conjugate)
add_method("__copy__", lambda x: _copy_method(x, "K"))
add_method("__deepcopy__", lambda x, memo: _copy_method(x, "K"))
add_property("real", real, _set_part("real"))
add_property("imag", imag, _set_part("imag"))
add_property("flat", _flat, _set_flat)
