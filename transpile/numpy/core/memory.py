"""Which results share the memory of an argument, which have their own, and in which byte order, as
in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.source_info import user_source
from transpile.ir.types import as_dtype, check_dtype, refuse_byte_order
from transpile.primitives import elementwise
from transpile.trace.trace import bind, current_trace
from transpile.trace.tracer import Tracer
from transpile.trace.views.arguments import note_decided, note_like
from transpile.trace.views.memory import lies_in, may_share
from transpile.trace.views.results import note_results

_IF_NEEDED = 2  # a value of NumPy's enum for `copy`
# The functions whose results share the memory of an argument, in NumPy, where that is possible.
# fmt: off
GIVE_VIEWS = frozenset([
    "array", "array_split", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray",
    "astype", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_to", "diag",
    "diagonal", "dsplit", "einsum", "expand_dims", "flip", "fliplr", "flipud", "hsplit", "imag",
    "matrix_transpose", "meshgrid", "moveaxis", "permute_dims", "ravel", "real", "real_if_close",
    "require", "reshape", "rollaxis", "rot90", "sliding_window_view", "split", "squeeze",
    "swapaxes", "transpose", "trim_zeros", "unstack", "vsplit",
])
# Those of them that make arrays of their own in other orders than rows.
MAKE_ARRAYS = frozenset(["array", "asanyarray", "asarray", "asfortranarray", "einsum", "require"])
# fmt: on


def native_dtype(dtype: Any, what: str) -> np.dtype[Any]:
    """The dtype that a user asks for, which has to be in the byte order of this machine."""
    known = as_dtype(dtype)
    if not known.isnative:
        refuse_byte_order(known, what)
    return check_dtype(known, what)


def dtype_like(x: Any) -> np.dtype[Any]:
    """The dtype of an array, for another one."""
    if isinstance(x, Tracer):
        note_like(x.owner, x.variable)
    dtype: np.dtype[Any] = x.dtype
    return dtype


def as_made(function: Any, args: Any, kwargs: Any, result: Any, since: int) -> Any:
    """What a function of NumPy's gives, with memory of its own where NumPy's result has; what is
    older than so many equations was there before."""
    name = getattr(function, "__name__", "")
    is_view = name in GIVE_VIEWS
    if not is_view:
        result = with_own_memory(result, since)
    if not is_view or name in MAKE_ARRAYS:
        note_results(function, args, kwargs, result, since)
    return result


def with_own_memory(result: Any, since: int) -> Any:
    """The result of a function that returns new arrays: copied if it is older than so many
    equations, so that assigning to one does not change the other."""
    if isinstance(result, tuple | list):
        parts = [with_own_memory(r, since) for r in result]
        if all(a is b for a, b in zip(parts, result, strict=True)):
            return result
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    if not isinstance(result, Tracer) or not result.ndim or current_trace() is None:
        return result
    if result.owner is not current_trace():  # an array of the code around a branch or a loop
        return bind(elementwise.copy, result)
    if result.owner.is_new(result.variable, since):
        is_own = result.owner.births.get(result.original, -1) >= since  # no changed argument
        if is_own and result.owner.viewed(result.original) is not None:
            result.owner.layouts.take_own(result.original)
        return result
    return bind(elementwise.copy, result)


def in_order(x: Any, order: str | None) -> Any:
    """An array, or a copy of it where NumPy makes one for the sake of an order in memory."""
    if order not in ("A", "C", "F") or not isinstance(x, Tracer) or not x.ndim:
        return x
    lies = lies_in(x.owner, x.original, order if x.ndim > 1 else "C")
    if lies.value and not lies.reason:
        note_decided(x.owner, x.original, x.original)
        return x
    result = bind(elementwise.copy, x)
    note_decided(x.owner, x.original, result.original)
    may_share(x.owner, x.original, result.original, lies.reason)
    return result


def copied(given: Any, result: Tracer, copy: Any) -> Tracer:
    """What is made of an argument, as `copy` asks: a copy, the array itself, or with None either.

    Raises ValueError for what would have to be a copy and may not be one.
    """
    copy = getattr(copy, "value", copy)  # NumPy has an enum, too
    is_itself = isinstance(given, Tracer) and result.original is given.original
    if copy is None or copy == _IF_NEEDED or bool(copy) is not is_itself:
        return result
    if copy:
        return bind(elementwise.copy, result)  # type: ignore[no-any-return]
    raise ValueError(f"{user_source()}: Unable to avoid copy while creating an array as requested.")
