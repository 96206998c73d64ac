"""Assignment into traced arrays: `x[i] = v`, `x += v`, `out=`, with NumPy's views.

A graph has no memory, so an assignment makes a new value, and from then on the array holds that
one. A view is an array whose value is made by views (slices, transposes, reshapes, reversals) of
another: assigning to it puts the new elements back, view by view, into the array behind it, and so
every other view of that array sees them. See `Trace.newest`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.errors import UnsupportedError
from transpile.graph import Const, Equation
from transpile.numpy.indexing import content, get_item, set_item, update_item
from transpile.numpy.operands import (
    as_array,
    as_operand,
    convert,
    shape_of,
    unsupported,
)
from transpile.numpy.operands import error as located
from transpile.primitives import axes as rows
from transpile.primitives.rules import apply, spread
from transpile.source import user_source
from transpile.trace import current_trace
from transpile.tracer import UFUNC_METHODS, Tracer
from transpile.types import BOOL

# ---------------------------------------------------------------------------------------- storing


def store(x: Tracer, value: Any, since: int) -> None:
    """Let an array, and all that share its memory, hold another value of the same type.

    `since` is the number of equations before that value was made: what is older has other owners.
    """
    trace = x.owner
    var = x.variable
    name = var.name
    while (view := trace.viewed(var)) is not None:
        behind = Tracer(trace, view.inputs[0])  # type: ignore[arg-type]  # a Const has no views
        var = behind.variable
        value = _PUT[view.primitive](view, Tracer(trace, var), value)
    if not isinstance(value, Tracer) or not trace.is_new(trace.newest(value.variable), since):
        value = apply("copy", value)
    changed = value.variable
    if not changed.name:
        changed.name = var.name or name
    trace.written[var] = changed


def _check_owner(x: Tracer) -> None:
    if x.owner is not current_trace():
        raise UnsupportedError(
            f"{user_source()}: `{user_source().text}` assigns into an array of {x.owner.name}, "
            f"which is another traced function than the one that runs. Return the new values, and "
            f"assign them there."
        )


def _put_slice(view: Equation, behind: Tracer, value: Any) -> Any:
    """The array with the elements that a slice takes replaced."""
    start, strides = view.params["start"], view.params["strides"]
    if all(s == 1 for s in strides):
        starts = [Const(np.int64(s)) for s in start]
        return apply("dynamic_update_slice", behind, value, *starts)
    padding = tuple(
        (low, size - low - ((taken - 1) * step + 1 if taken else 0), step - 1)
        for size, low, taken, step in zip(
            behind.shape, start, shape_of(value), strides, strict=True
        )
    )
    wide = apply("pad", value, Const(np.zeros((), value.dtype)), padding=padding)
    taken = spread(Const(np.True_), shape_of(value), ())
    return np.where(apply("pad", taken, Const(np.False_), padding=padding), wide, behind)


def _put_transpose(view: Equation, behind: Tracer, value: Any) -> Any:
    permutation = view.params["permutation"]
    return apply(
        "transpose", value, permutation=tuple(map(permutation.index, range(len(permutation))))
    )


def _put_reshape(view: Equation, behind: Tracer, value: Any) -> Any:
    return apply("reshape", value, shape=behind.shape)


_PUT: dict[Any, Callable[[Equation, Tracer, Any], Any]] = {
    rows.slice_: _put_slice,
    rows.transpose: _put_transpose,
    rows.reshape: _put_reshape,
    rows.broadcast_in_dim: _put_reshape,  # one that repeats nothing; others are no views
    rows.rev: lambda view, _, value: apply("rev", value, dimensions=view.params["dimensions"]),
}


# ------------------------------------------------------------------------------------- assignment


def assign(x: Tracer, key: Any, value: Any) -> None:
    """`x[key] = value`."""
    _check_owner(x)
    since = len(x.owner.equations)
    if not is_basic(key):
        store(x, set_item(x, key, as_operand(value)), since)
        return
    chosen = get_item(x, key)
    store(chosen, content(value, chosen.dtype, chosen.shape), since)


def is_basic(key: Any) -> bool:
    """Tell whether an index is made of known integers, slices, None and Ellipsis alone."""
    entries = key if isinstance(key, tuple) else (key,)
    return all(
        e is None
        or e is Ellipsis
        or isinstance(e, slice)
        or (isinstance(e, int | np.integer) and not isinstance(e, bool))
        for e in entries
    )


def assign_result(x: Tracer, value: Any, function: str, since: int) -> Tracer:
    """Put the result of a function into the array given as `out`, as NumPy casts it."""
    if not isinstance(x, Tracer):
        raise located(
            TypeError, f"a traced result of {function} does not fit into {x!r}, which is not traced"
        )
    _check_owner(x)
    if shape_of(value) != x.shape:
        raise located(
            ValueError,
            f"non-broadcastable output operand with shape {_text(x.shape)} doesn't match the "
            f"broadcast shape {_text(shape_of(value))}",
        )
    dtype = as_operand(value).dtype
    if not np.can_cast(dtype, x.dtype, "same_kind"):
        raise located(
            TypeError,
            f"Cannot cast ufunc '{function}' output from {dtype!r} to {x.dtype!r} with casting "
            f"rule 'same_kind'",
        )
    store(x, convert(value, x.dtype), since)
    return x


def _text(shape: tuple[Any, ...]) -> str:
    return f"({','.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def _in_place(ufunc: Any) -> Callable[[Tracer, Any], Any]:
    def method(self: Tracer, other: Any) -> Any:
        if self.ndim == 0:  # NumPy's scalars do not change: Python binds the name anew
            return NotImplemented
        since = len(self.owner.equations)
        result = UFUNC_METHODS["operator"](ufunc, self, other)
        if result is NotImplemented:
            return result
        return assign_result(self, result, ufunc.__name__, since)

    return method


_COMBINE = {
    np.add: "add",
    np.multiply: "multiply",
    np.maximum: "maximum",
    np.minimum: "minimum",
    np.logical_or: "add",
    np.logical_and: "multiply",
}


def _at(ufunc: Any, a: Any, indices: Any, b: Any = None) -> None:
    """`ufunc.at(a, indices, b)`: a repeated index counts as often as it is there."""
    if not isinstance(a, Tracer):
        raise located(TypeError, f"{ufunc.__name__}.at: traced values do not fit into {a!r}")
    _check_owner(a)
    since = len(a.owner.equations)
    if ufunc is np.subtract:
        ufunc, b = np.add, np.negative(as_array(b))
    combine = _COMBINE.get(ufunc)
    if combine is None or (ufunc in (np.logical_or, np.logical_and) and a.dtype != BOOL):
        raise unsupported(
            f"numpy.{ufunc.__name__}.at is not supported on traced arrays: add, subtract, "
            f"multiply, maximum and minimum are"
        )
    store(a, update_item(a, indices, as_operand(b), combine), since)


_OPERATORS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "pow": np.power,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
    "matmul": np.matmul,
}

for _name, _ufunc in _OPERATORS.items():
    setattr(Tracer, f"__i{_name}__", _in_place(_ufunc))
UFUNC_METHODS["out"] = assign_result
UFUNC_METHODS["at"] = _at
Tracer.__setitem__ = assign
