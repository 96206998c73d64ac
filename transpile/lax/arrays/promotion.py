"""The operands of the functions of `lax`, which are not promoted, and calls outside traces.

A public function makes equations while a trace is under way. Outside it is traced by itself and
computed with NumPy: its arrays are then arguments whose values Python may ask for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Dim, Shape
from transpile.ir.graph import Const
from transpile.ir.types import BOOL, PYTHON_SCALARS, check_dtype, kind_letter, type_of
from transpile.numpy.core.promotion import (
    PYTHON_TYPES,
    Function,
    broadcast_in_dim,
    convert,
    weaken,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.runtime_sizes import dimension_value
from transpile.primitives.axes import broadcast_in_dim as BROADCAST
from transpile.pytree.extended_dtypes import has_extended, moved
from transpile.trace.trace import bind, current_trace, trace_function
from transpile.trace.tracer import Tracer, named
from transpile.transforms.interpret import interpret
from transpile.tree import flatten, unflatten

Array = Any  # a Tracer, an ndarray, or a Python scalar
DType = np.dtype[Any]

# ------------------------------------------------------------------------------ inside and outside


def public(implementation: Function) -> Function:
    """The function for traces, and for arrays outside of them."""

    @functools.wraps(implementation)
    def function(*args: Any, **kwargs: Any) -> Any:
        if has_extended(args):
            return _moved(function, args, kwargs)
        if current_trace() is not None:
            return named(implementation(*args, **kwargs))
        return computed(implementation, args, kwargs)

    return function  # type: ignore[return-value]


# Functions that ask no more of elements than that they can be moved.
_MOVES = {
    "broadcast",
    "broadcast_in_dim",
    "concatenate",
    "dynamic_index_in_dim",
    "dynamic_slice",
    "dynamic_slice_in_dim",
    "dynamic_update_index_in_dim",
    "dynamic_update_slice",
    "dynamic_update_slice_in_dim",
    "expand_dims",
    "index_in_dim",
    "reshape",
    "rev",
    "select",
    "select_n",
    "slice",
    "slice_in_dim",
    "squeeze",
    "transpose",
}


def _moved(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The result of a function that only moves elements, for arrays of an extended dtype, such as
    keys; a TypeError for other functions."""
    if function.__name__ not in _MOVES:
        (dtype, *_) = (x.dtype for x in flatten(args)[0] if has_extended([x]))
        raise located(TypeError, f"{function.__name__} does not accept dtype {dtype}.")
    return moved(function, args, kwargs)


def computed(implementation: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The result of a function outside a trace: arrays for the values that it traces."""
    leaves, structure = flatten((args, kwargs))
    positions = [k for k, x in enumerate(leaves) if isinstance(x, np.ndarray | np.generic)]
    arrays = [np.asarray(leaves[k]) for k in positions]
    arrays = [a.astype(check_dtype(a.dtype), copy=False) for a in arrays]

    def traced(*tracers: Tracer) -> tuple[list[Any], Any]:
        filled = list(leaves)
        for position, tracer in zip(positions, tracers, strict=True):
            filled[position] = tracer
        positional, named_ = unflatten(structure, filled)
        results, shape = flatten(implementation(*positional, **named_))
        return [x for x in results if isinstance(x, Tracer)], (results, shape)

    types = [type_of(a) for a in arrays]
    names = [f"x{k}" for k in range(len(arrays))]
    name = getattr(implementation, "__name__", "f")
    with np.errstate(all="ignore"):
        graph, (results, shape) = trace_function(traced, types, names, name=name, known=arrays)
    values = iter(interpret(graph, arrays))
    return unflatten(shape, [next(values)[()] if isinstance(x, Tracer) else x for x in results])


# ---------------------------------------------------------------------------------------- operands


def as_value(value: Any, function: str, position: int = 0) -> Any:
    """A Tracer, an ndarray of a supported dtype, or a Python scalar; else JAX's TypeError."""
    if isinstance(value, Tracer) or type(value) in PYTHON_SCALARS:
        return value
    if isinstance(value, Const):
        return value.value
    if isinstance(value, Dim):
        return dimension_value(value)
    if isinstance(value, np.ndarray | np.generic) or hasattr(value, "__array__"):
        array = np.asarray(value)
        return array.astype(check_dtype(array.dtype), copy=False)
    raise located(
        TypeError,
        f"Error interpreting argument to {function} as a transpile value. The problematic value is "
        f"of type {type(value)} and was passed to {function} at position {position}.",
    )


def array(value: Any, function: str, position: int = 0) -> Any:
    """A Tracer: the operand as a value of the trace."""
    return traced(as_value(value, function, position))


def traced(value: Any) -> Any:
    """The operand as a value of the trace; Python scalars stay weakly typed."""
    if isinstance(value, Tracer):
        return value
    x = np.asarray(value)
    constant = bind_constant(x)
    return weaken(constant) if type(value) in PYTHON_SCALARS else constant


def bind_constant(x: Any) -> Any:
    """A known array as a value of the trace."""
    return broadcast_in_dim_always(Const(x), x.shape, tuple(range(x.ndim)))


def broadcast_in_dim_always(value: Any, shape: Shape, axes: Sequence[int]) -> Any:
    """A broadcast that is an equation even if it changes nothing."""
    return bind(BROADCAST, value, shape=tuple(shape), broadcast_dimensions=tuple(axes))


def dtype_of(value: Any) -> DType:
    """The dtype of an operand."""
    scalar = PYTHON_SCALARS.get(type(value))
    return value.dtype if scalar is None else scalar


def shape_of(value: Any) -> Shape:
    """The shape of an operand."""
    return () if type(value) in PYTHON_SCALARS else tuple(value.shape)


def is_weak(value: Any) -> bool:
    """Tell whether an operand has a Python scalar's type."""
    return value.type.weak if isinstance(value, Tracer) else type(value) in PYTHON_SCALARS


def spelled(shape: Sequence[Any]) -> str:
    """A shape as Python writes it, runtime sizes included."""
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


# ------------------------------------------------------------------------------------------ dtypes

# What a letter of an operator's column stands for, and the word of JAX's errors for it.
_KINDS = {
    "n": ("iu", "integer"),
    "s": ("i", "signedinteger"),
    "f": ("f", "floating"),
    "c": ("c", "complexfloating"),
    "b": ("b", "bool"),
    "N": ("iufc", "number"),
}


def check_kind(name: str, value: Any, accepted: str, position: int | None = None) -> None:
    """JAX's TypeError for an operand of another kind than one of the letters n, s, f, c, b, N."""
    dtype = dtype_of(value)
    if any(kind_letter(dtype) in _KINDS[letter][0] for letter in accepted):
        return
    where = "" if position is None else f" at position {position}"
    words = ", ".join(_KINDS[letter][1] for letter in accepted)
    raise located(
        TypeError,
        f"{name} does not accept dtype {dtype.name}{where}. Accepted dtypes{where} are subtypes of "
        f"{words}.",
    )


def same_dtypes(name: str, values: Sequence[Any], tip: str = "") -> DType:
    """The one dtype of operands, where Python numbers take that of the arrays of their kind; JAX's
    TypeError for others."""
    dtypes = [dtype_of(v) for v in values]
    strong = {d for d, v in zip(dtypes, values, strict=True) if not is_weak(v)}
    if len(strong) == 1:
        (only,) = strong
        dtypes = [
            only if is_weak(v) and _adapts_to(d, only) else d
            for d, v in zip(dtypes, values, strict=True)
        ]
    if len(set(dtypes)) > 1:
        listed = ", ".join(d.name for d in dtypes)
        text = f"lax.{name} requires arguments to have the same dtypes, got {listed}."
        if tip:
            text += (
                f" (Tip: jnp.{tip} is a similar function that does automatic type promotion on "
                "inputs)."
            )
        raise located(TypeError, text)
    return dtypes[0]


def _adapts_to(weak: DType, strong: DType) -> bool:
    """Tell whether a Python number becomes one of a dtype: of the same kind."""
    kinds = ("b", "iu", "f", "c")
    return any(kind_letter(weak) in k and kind_letter(strong) in k for k in kinds)


def of_dtype(value: Any, dtype: DType) -> Any:
    """The operand in another dtype, without NumPy's warnings."""
    return convert(value, dtype)


def dtype_argument(dtype: Any) -> DType:
    """The dtype that a user asks for; `int` and `float` have 64 bits."""
    return check_dtype(dtype, "the result")


def python_type_of(dtype: DType) -> type | None:
    """The Python type whose numbers have this dtype when they are weakly typed."""
    return bool if dtype == BOOL else PYTHON_TYPES.get(dtype)


# ---------------------------------------------------------------------------------------- elements


def aligned(name: str, values: Sequence[Any], dtype: DType | None) -> list[Any]:
    """Operands for an elementwise primitive: of one shape but for scalar constants, which may be
    beside arrays. JAX's TypeError unless the shapes are equal, or 1, or of scalars."""
    shapes = [shape_of(v) for v in values]
    whole = common_shape(name, shapes)
    operands = []
    for value, shape in zip(values, shapes, strict=True):
        if dtype is not None:
            value = of_dtype(value, dtype)
        if isinstance(value, Tracer) or shape:
            axes = range(len(whole) - len(shape), len(whole))
            value = value if isinstance(value, Tracer) else traced(np.asarray(value))
            value = broadcast_in_dim(value, whole, axes)
        else:
            value = Const(np.asarray(value))
        operands.append(value)
    return operands


def common_shape(name: str, shapes: Sequence[Shape]) -> Shape:
    """The shape of an elementwise operation of arrays of equal shapes, or scalars."""
    wide = [s for s in shapes if s]
    if not wide:
        return ()
    if len({len(s) for s in wide}) > 1:
        ranks = "{" + ", ".join(map(str, sorted({len(s) for s in wide}))) + "}"
        raise located(
            TypeError, f"{name}: arrays must have the same number of dimensions, got {ranks}"
        )
    result: list[Any] = []
    for sizes in zip(*wide, strict=True):
        others = [d for d in sizes if d != 1]
        if any(d != others[0] for d in others):
            listed = ", ".join(map(spelled, wide))
            raise located(TypeError, f"{name} got incompatible shapes for broadcasting: {listed}.")
        result.append(others[0] if others else 1)
    return tuple(result)


def ints(values: Any) -> tuple[int, ...]:
    """Axes or sizes as a tuple; runtime sizes stay what they are."""
    return tuple(v if hasattr(v, "terms") else int(v) for v in values)
