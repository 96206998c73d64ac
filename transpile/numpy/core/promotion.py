"""What every function of the namespace uses: operands, dtypes, broadcasting, errors.

An operand is a Tracer, a `numpy.ndarray`, or a Python scalar (weak, as NEP 50 has it). The helpers
emit no equation where there is nothing to do.
"""

from __future__ import annotations

import functools
import operator
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, TypeVar

import numpy as np
from numpy.exceptions import AxisError, ComplexWarning

from transpile.errors import TracerError, TranspileError, UnsupportedError
from transpile.ir.dims import Dim, Shape
from transpile.ir.graph import Const, Var
from transpile.ir.indices.lengths import lengths_in
from transpile.ir.indices.requirements import require_slice
from transpile.ir.indices.row_major import product
from transpile.ir.primitive import TABLE
from transpile.ir.source_info import user_source
from transpile.ir.types import (
    BOOL,
    COMPLEX128,
    FLOAT64,
    INT64,
    PYTHON_SCALARS,
    ArrayType,
    broadcast_shapes,
    check_dtype,
    is_bfloat16,
)
from transpile.numpy.core.memory import as_made, native_dtype
from transpile.numpy.keywords import as_in_jax, position_of, taken_out
from transpile.primitives import axes as primitives
from transpile.primitives import elementwise
from transpile.primitives.rules import reshaped, transposed
from transpile.pytree.extended_dtypes import has_extended, moved
from transpile.trace.trace import bind, current_trace
from transpile.trace.tracer import (
    FUNCTIONS,
    RARE_FUNCTIONS,
    UFUNC_METHODS,
    Tracer,
    add_method,
    named,
)
from transpile.trace.views.lists import TracedList
from transpile.util.lazy.registry import Table

Array = Any  # a Tracer, an ndarray, a scalar, or nested lists of them
DType = np.dtype[Any]
NOTHING: Any = np._NoValue  # NumPy's mark of an argument left out
Function = TypeVar("Function", bound=Callable[..., Any])

# -------------------------------------------------------------------------------------- errors


def error(kind: Callable[[str], Exception], text: str) -> Exception:
    """An exception whose message starts with the user's file and line."""
    return kind(f"{user_source()}: {text}")


def unsupported(text: str) -> Exception:
    """An UnsupportedError at the user's line."""
    return error(UnsupportedError, text)


_STANDARD = (AxisError, np.linalg.LinAlgError, OverflowError, IndexError, TypeError, ValueError)


class NumpyErrors:
    """A context in which errors that NumPy or Python raise get the user's file and line."""

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if exception is None:
            return
        text, source = str(exception), f"{user_source()}: "
        if text.startswith(source):
            return
        if isinstance(exception, UnsupportedError):
            raise UnsupportedError(source + text) from None
        if isinstance(exception, TranspileError | TracerError):
            return
        for standard in _STANDARD:
            if isinstance(exception, standard):
                raise standard(source + text) from None


# -------------------------------------------------------------------------------- registration

EXPORTS: Table[str, Any] = Table(RARE_FUNCTIONS)


def has_tracer(value: Any) -> bool:
    """Tell whether there is a traced value or a runtime size in an argument, lists included."""
    if isinstance(value, Tracer | Dim | TracedList):
        return True
    items = value.values() if isinstance(value, dict) else value
    return isinstance(value, list | tuple | deque | dict) and any(map(has_tracer, items))


_CONVERSIONS = (np.array, np.asarray)  # as NumPy has them: in traces they are ours


def dispatching(
    function: Any, implementation: Callable[..., Any], in_trace: bool = False
) -> Callable[..., Any]:
    """The function of the namespace: NumPy's own, unless a traced value is among the arguments, or,
    with `in_trace`, a trace is under way."""

    @functools.wraps(function)
    def public(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            kwargs = as_in_jax(kwargs)
        is_traced = in_trace and current_trace() is not None
        if has_extended(args):  # such as keys, which NumPy asks what to do, but for conversions
            moves = function in _CONVERSIONS
            return moved(public, args, kwargs) if moves else function(*args, **kwargs)
        if is_traced or has_tracer(args) or has_tracer(kwargs):
            return named(implementation(*args, **kwargs))
        return function(*args, **kwargs)

    public.__doc__ = implementation.__doc__  # it says what differs from NumPy
    return public


def implements(*functions: Any) -> Callable[[Function], Function]:
    """Register a traced implementation of NumPy functions, under their names.

    None stands for a function that the installed NumPy does not have.
    """

    def decorate(implementation: Function) -> Function:
        for function in filter(None, functions):
            FUNCTIONS[function] = in_numpys_words(function, implementation)
            EXPORTS[function.__name__] = dispatching(function, FUNCTIONS[function])
        return implementation

    return decorate


def add_methods(*functions: Any) -> None:
    """Give tracers the methods that do what these NumPy functions do."""
    for function in functions:
        add_method(function.__name__, FUNCTIONS[function])


def in_numpys_words(function: Any, implementation: Callable[..., Any]) -> Callable[..., Any]:
    """The implementation, whose errors say what the installed NumPy says in its place."""
    place = position_of(implementation, "out")

    @functools.wraps(implementation)
    def worded(*args: Any, **kwargs: Any) -> Any:
        trace = current_trace()
        since = len(trace.equations) if trace is not None else 0
        args, out = taken_out(args, kwargs, "out", place)
        try:
            result = implementation(*args, **kwargs)
            if out is not None:
                name, casting = function.__name__, kwargs.get("casting", "same_kind")
                return UFUNC_METHODS["out"](out, result, name, since, casting)
            return as_made(function, args, kwargs, result, since)
        except (TranspileError, TracerError):
            raise
        except _STANDARD:
            with NumpyErrors():
                ask_numpy(function, args, kwargs)
            raise

    return worded


def ask_numpy(function: Any, args: Any, kwargs: Any) -> None:
    """Raise what NumPy raises for arguments of these shapes and dtypes, if it does."""
    try:
        stand_ins = stand_in(args), stand_in(kwargs)
    except TypeError:  # a runtime size
        return
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        function(*stand_ins[0], **stand_ins[1])


def stand_in(value: Any) -> Any:
    """Arguments with ones, which take no memory, in place of traced values."""
    if isinstance(value, Tracer):
        one = np.ones((), value.dtype)
        is_weak = value.type.weak
        return one.item() if is_weak else np.broadcast_to(one, value.type.static_shape())
    if isinstance(value, Dim):
        raise TypeError("a runtime size")
    if isinstance(value, list | tuple | deque):
        return type(value)(map(stand_in, value))
    return {k: stand_in(v) for k, v in value.items()} if isinstance(value, dict) else value


def refuse(function: str, **arguments: Any) -> None:
    """Raise an UnsupportedError for the first argument that was given (is not None)."""
    for name, value in arguments.items():
        if value is not None and value is not NOTHING:
            raise unsupported(f"the argument {name}= of numpy.{function} is not supported")


# ------------------------------------------------------------------------------------ operands

PYTHON_TYPES: dict[DType, type] = {BOOL: bool, INT64: int, FLOAT64: float, COMPLEX128: complex}


def is_weak(value: Any) -> bool:
    """Tell whether a value is a Python scalar, known or traced."""
    return value.type.weak if isinstance(value, Tracer) else type(value) in PYTHON_SCALARS


def as_operand(value: Any) -> Any:
    """A Tracer, an ndarray of a supported dtype, or a Python scalar."""
    if isinstance(value, Tracer) or type(value) in PYTHON_SCALARS:
        return value
    if isinstance(value, Const):
        return value.value
    if isinstance(value, Dim | TracedList):
        return value.as_value()
    if isinstance(value, list | tuple | deque) and has_tracer(value):
        return stack_nested(value)
    scalars: tuple[Any, ...] = (bool, int, float, complex)
    for python in scalars:
        if isinstance(value, python) and not isinstance(value, np.generic):
            return python(value)
    with NumpyErrors():
        array = np.asarray(value)
        return array.astype(check_dtype(array.dtype), copy=False)


def as_array(value: Any) -> Any:
    """A Tracer or an ndarray: what `numpy.asarray` makes of a value, so that nothing is weak."""
    return strengthen(as_operand(value))


def stack_nested(value: Sequence[Any]) -> Any:
    """The array of nested lists that have traced values among their leaves."""
    parts = [as_array(v) for v in value]
    dtype = np.result_type(*[p.dtype for p in parts])
    shape = parts[0].shape
    for part in parts:
        if part.shape != shape:
            raise error(
                ValueError,
                "setting an array element with a sequence. The requested array has an "
                "inhomogeneous shape.",
            )
    rows_of = [
        broadcast_in_dim(convert(p, dtype), (1, *shape), range(1, len(shape) + 1)) for p in parts
    ]
    return bind(primitives.concatenate, *rows_of, dimension=0) if len(rows_of) > 1 else rows_of[0]


def shape_of(value: Any) -> Shape:
    """The shape of an operand."""
    return () if type(value) in PYTHON_SCALARS else tuple(value.shape)


def kind_of(value: Any) -> Any:
    """How an operand is promoted: by its dtype, or by the Python type of a weak one."""
    if isinstance(value, Tracer):
        python = PYTHON_TYPES[value.dtype] if value.type.weak else None
    else:
        python = type(value) if type(value) in PYTHON_SCALARS else None
    if python is None:
        return value.dtype
    return BOOL if python is bool else python


def result_dtype(*operands: Any) -> DType:
    """NumPy's `result_type` of operands, supported or an UnsupportedError."""
    kinds: list[Any] = [kind_of(v) for v in operands]
    with NumpyErrors():
        kinds = [k(0) if isinstance(k, type) else k for k in kept_bfloat16(kinds)]
        promoted = np.result_type(*kinds)
        return check_dtype(promoted, "the result")


def kept_bfloat16(kinds: Sequence[Any]) -> Sequence[Any]:
    """The dtypes and Python types of operands; beside bfloat16, of which NumPy knows nothing,
    Python's ints and floats are bfloat16."""
    found = [k for k in kinds if isinstance(k, np.dtype) and is_bfloat16(k)]
    # A dtype is equal to the Python type it is made of: int64 == int.
    return [found[0] if k is int or k is float else k for k in kinds] if found else kinds


def dtype_argument(dtype: Any) -> DType:
    """The dtype that a user asks for."""
    with NumpyErrors():
        return native_dtype(dtype, "the result")


def device_argument(device: Any) -> None:
    """Refuse a device that is not the CPU, in NumPy's words."""
    if device is not None and device != "cpu":
        raise error(
            ValueError,
            f'Device not understood. Only "cpu" is allowed, but received: {device}',
        )


def cast(value: Any, dtype: DType) -> Any:
    """A known value in another dtype, without warnings; too large a Python int is an error."""
    if type(value) is int and dtype.kind in "iu":
        with NumpyErrors():
            return np.array(value, dtype)
    array = np.asarray(value)
    if array.dtype.kind == "c" and dtype.kind not in "cb":
        array = array.real
    with np.errstate(all="ignore"):
        return array.astype(dtype, copy=False)


def convert(value: Any, dtype: DType) -> Any:
    """The operand in another dtype."""
    if not isinstance(value, Tracer):
        return cast(value, dtype)
    if value.dtype == dtype:
        return value
    if value.dtype.kind == "c" and dtype.kind not in "cb":
        return convert(bind(elementwise.real, value), dtype)
    return bind(elementwise.convert, value, dtype=dtype)


def warn_if_imaginary_is_lost(value: Any, dtype: DType) -> None:
    """NumPy's warning about a cast from complex to real."""
    if value.dtype.kind == "c" and dtype.kind not in "cb":
        text = "Casting complex values to real discards the imaginary part"
        warnings.warn(text, ComplexWarning, stacklevel=2)


def strengthen(value: Any) -> Any:
    """The same value with a type that is not weak."""
    if isinstance(value, Tracer):
        return bind(elementwise.convert, value, dtype=value.dtype) if value.type.weak else value
    return np.asarray(value)


def weaken(value: Any) -> Any:
    """Mark a fresh result as a Python scalar."""
    if isinstance(value, tuple):
        return tuple(map(weaken, value))
    if isinstance(value, Tracer):
        value.variable.type = ArrayType(value.shape, value.dtype, weak=True)
    return value


# ---------------------------------------------------------------------------- shapes and views

reshape_to, transpose_to = reshaped, transposed


def common_shape(*operands: Any) -> Shape:
    """The shape that operands broadcast to, or NumPy's ValueError."""
    return broadcast_shapes(
        [shape_of(v) for v in operands], lambda text: error(ValueError, text + " ")
    )


def fill(value: Any, shape: Shape, dtype: DType) -> Any:
    """An array of one value: a broadcast scalar."""
    return bind(
        primitives.broadcast_in_dim,
        Const(cast(value, dtype)),
        shape=tuple(shape),
        broadcast_dimensions=(),
    )


def scalar_of(array: Any) -> Any:
    """The one value of an array whose elements are all the same bits, or None."""
    if array.ndim == 0:
        return array
    if array.size == 0:
        return None
    if array.flat[0].tobytes() != array.flat[-1].tobytes():
        return None
    content = np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(array.size, -1)
    return array.reshape(-1)[0] if bool((content == content[0]).all()) else None


def fit(value: Any, shape: Shape, dtype: DType) -> Any:
    """An operand of an elementwise primitive: of this dtype and shape, or a scalar constant."""
    value = convert(value, dtype)
    if isinstance(value, Tracer):
        return broadcast_to(value, shape)
    scalar = scalar_of(value)
    return broadcast_to(value, shape) if scalar is None else Const(scalar)


def fit_all(operands: Sequence[Any], dtypes: Sequence[DType]) -> list[Any]:
    """The operands of an elementwise primitive in these dtypes and their common shape."""
    shape = common_shape(*operands)
    fitted = [fit(v, shape, d) for v, d in zip(operands, dtypes, strict=True)]
    if shape and all(isinstance(v, Const) for v in fitted):  # one of them has to have the shape
        fitted[0] = fill(fitted[0].value, shape, dtypes[0])
    return fitted


def broadcast_to(value: Any, shape: Shape) -> Any:
    """The array in a shape that it broadcasts to, its axes aligned at the end."""
    return broadcast_in_dim(value, shape, range(len(shape) - len(shape_of(value)), len(shape)))


def broadcast_in_dim(value: Any, shape: Shape, axes: Sequence[int]) -> Any:
    """The array in a larger shape, axis k standing at axes[k]; broadcasts of broadcasts are one,
    unless the second only adds axes and so is a view."""
    shape, axes = tuple(shape), tuple(axes)
    if shape_of(value) == shape and axes == tuple(range(len(shape))):
        return value
    matched = tuple(1 if d == 1 else shape[a] for a, d in zip(axes, shape_of(value), strict=True))
    if matched != shape_of(value):
        name = "resized" if lengths_in([shape_of(value), matched]) else "stretched"
        value = bind(TABLE[name], value, shape=matched)
    producer = _recent_broadcast(value)
    if producer is not None and product(shape) != value.type.size:
        inner = producer.params["broadcast_dimensions"]
        axes = tuple(axes[a] for a in inner)
        (source,) = producer.inputs
        value = Tracer(value.owner, source) if isinstance(source, Var) else source
        if value.type.shape == shape and axes == tuple(range(len(shape))):
            return value
    return bind(primitives.broadcast_in_dim, value, shape=shape, broadcast_dimensions=axes)


def _recent_broadcast(value: Any) -> Any:
    if isinstance(value, Tracer) and value.owner is current_trace():
        equation = value.owner.producers.get(value.variable)
        if equation is not None and equation.primitive is primitives.broadcast_in_dim:
            return equation
    return None


def slice_axis(value: Any, axis: int, start: Any, limit: Any, stride: int = 1) -> Any:
    """The elements start, start + stride, ... below limit along one axis."""
    shape = shape_of(value)
    if stride == 1 and start == 0 and limit == shape[axis]:
        return value
    require_slice(start, limit, shape[axis])
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], limits[axis], strides[axis] = start, limit, stride
    return bind(
        primitives.slice_, value, start=tuple(starts), limit=tuple(limits), strides=tuple(strides)
    )


def concatenate_along(parts: Sequence[Any], axis: int) -> Any:
    """The arrays, of one dtype, one after the other; empty ones are left out."""
    full = [p for p in parts if shape_of(p)[axis] != 0] or list(parts[:1])
    return full[0] if len(full) == 1 else bind(primitives.concatenate, *full, dimension=axis)


# ---------------------------------------------------------------------------------------- axes


def index_of(value: Any) -> int:
    """The Python int of an index-like value; traced values raise their error."""
    with NumpyErrors():
        return operator.index(value)


def axis_of(axis: Any, ndim: int) -> int:
    """The axis as 0 ... ndim - 1, or NumPy's AxisError."""
    number = index_of(axis)
    if not -ndim <= number < ndim:
        raise error(AxisError, f"axis {number} is out of bounds for array of dimension {ndim}")
    return number % ndim


def axes_of(axis: Any, ndim: int, repeated: str = "duplicate value in 'axis'") -> tuple[int, ...]:
    """The axes that None (all), an int or a tuple means, in the order given."""
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(axis_of(a, ndim) for a in given)
    if len(set(axes)) != len(axes):
        raise error(ValueError, repeated)
    return axes


def is_empty(shape: Shape) -> bool:
    """Tell whether a shape certainly has no elements."""
    return product(shape) == 0
