"""`ndarray.view`: the memory of an array as elements of another dtype.

A traced array has no memory, so the elements are computed from the bits of the others. An
assignment to either is seen in the other, whose elements are computed anew; where one of them is a
part of an array, or of bools, the other one cannot be used any more behind it.
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from transpile.ir.graph import Var
from transpile.ir.types import BOOL
from transpile.numpy.core.promotion import (
    DType,
    as_array,
    convert,
    dtype_argument,
    reshape_to,
    strengthen,
    unsupported,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.manipulation import bitcasts
from transpile.numpy.manipulation.joins import stack
from transpile.numpy.subscripts.assignment import mirror, share
from transpile.primitives import elementwise
from transpile.primitives.elementwise.bits import unsigned
from transpile.trace.trace import bind, the_trace
from transpile.trace.tracer import Tracer, add_method
from transpile.trace.views.memory import lock_as

UINT8 = np.dtype("uint8")


def view(x: Tracer, dtype: Any = None, type: Any = None) -> Any:
    """The memory of an array as elements of another dtype; without one, a view of the array.

    The last axis becomes longer or shorter where elements have another size. As an order in memory
    is no part of a traced array, the last axis counts as contiguous. Raises ValueError for an array
    without axes, or a last axis with a number of bytes, that does not allow this, TypeError for a
    class of arrays other than `numpy.ndarray`, and UnsupportedError for a dtype that C has not.
    """
    for given in (dtype, type):
        if isinstance(given, builtins.type) and issubclass(given, np.ndarray):
            if given is not np.ndarray:
                raise located(TypeError, f"a traced array cannot be viewed as {given.__name__}")
            dtype = None if given is dtype else dtype
    if dtype is None:
        return x[...]
    if not np.dtype(dtype).isnative:
        raise unsupported(f"a traced array has its bytes in this machine's order, not as {dtype}")
    value, wanted = strengthen(as_array(x)), dtype_argument(dtype)
    if value.dtype == wanted:
        return x[...]
    _check_sizes(value, wanted)
    result = _as_array(_of_bytes(_halves(value), wanted))
    if isinstance(result, Tracer):
        _share(x, result)
    return result


def _as_array(x: Any) -> Any:
    """A value as one of its own, though its elements have only been put in other places."""
    if isinstance(x, Tracer):
        x.owner.layouts.take_own(x.original)
    return x


def _share(x: Tracer, result: Tracer) -> None:
    """Let an assignment to an array or to its view be seen in the other."""
    var = the_trace().atom(x)
    if isinstance(var, Var):
        lock_as(the_trace(), var, result.original)
    is_part = not isinstance(var, Var) or the_trace().viewed(var) is not None
    if is_part or BOOL in (x.dtype, result.dtype):  # a bool keeps one bit of what is assigned
        share(x, result, "as one is a view of the other with another dtype")
        return

    def as_other(value: Any, like: Tracer) -> Any:
        found = _of_bytes(_halves(value), like.dtype)
        return _as_array(found if found is not value else bind(elementwise.copy, value))

    mirror(x, result, lambda value: as_other(value, result), lambda value: as_other(value, x))


def _check_sizes(x: Any, wanted: DType) -> None:
    own = x.dtype.itemsize
    if own == wanted.itemsize:
        return
    if x.ndim == 0:
        raise located(
            ValueError,
            "Changing the dtype of a 0d array is only supported if the itemsize is unchanged",
        )
    if wanted.itemsize > own and not isinstance(x.shape[-1], int):
        raise unsupported(
            f"a last axis of {x.shape[-1]} elements cannot be viewed as a wider dtype, {wanted}, "
            f"while its length is not known"
        )
    if wanted.itemsize > own and x.shape[-1] * own % wanted.itemsize:
        raise located(
            ValueError,
            "When changing to a larger dtype, its size must be a divisor of the total size in "
            "bytes of the last axis of the array.",
        )


def _halves(x: Any) -> Any:
    """An array that is not complex with the same bytes: complex numbers are two each."""
    if x.dtype.kind != "c":
        return x
    parts = stack([bind(elementwise.real, x), bind(elementwise.imag, x)], axis=-1)
    return parts if x.ndim == 0 else reshape_to(parts, (*x.shape[:-1], 2 * x.shape[-1]))


def _of_bytes(x: Any, wanted: DType) -> Any:
    """Numbers of a dtype that have the bytes of others, along the last axis."""
    if wanted.kind == "c":
        parts = _of_bytes(x, np.empty(0, wanted).real.dtype)
        pairs = reshape_to(parts, (*parts.shape[:-1], parts.shape[-1] // 2, 2))
        return bind(elementwise.make_complex, pairs[..., 0], pairs[..., 1])
    if x.dtype == wanted:
        return x
    raw = convert(x, UINT8) if x.dtype == BOOL else bitcasts.as_unsigned(x)
    word = UINT8 if wanted == BOOL else unsigned(wanted)
    if raw.dtype.itemsize > word.itemsize:
        raw = bitcasts.cut(raw, word)
        raw = reshape_to(raw, (*raw.shape[:-2], raw.shape[-2] * raw.shape[-1]))
    elif raw.dtype.itemsize < word.itemsize:
        count = word.itemsize // raw.dtype.itemsize
        raw = reshape_to(raw, (*raw.shape[:-1], raw.shape[-1] // count, count))
        raw = bitcasts.joined(raw, word)
    return raw != 0 if wanted == BOOL else bitcasts.from_unsigned(raw, wanted)


add_method("view", view)
