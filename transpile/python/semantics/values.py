"""Values of variables that statements choose or change: unbound ones, truth, and their types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile import errors
from transpile.ir.dims import Dim, bounds
from transpile.ir.source_info import user_source
from transpile.ir.types import BOOL, PYTHON_SCALARS, ArrayType, type_of
from transpile.trace.conversion_hints import hint
from transpile.trace.trace import Trace, current_trace
from transpile.trace.tracer import UNKNOWN, Tracer
from transpile.trace.views.lists import TracedList
from transpile.util.interrupt_safety import THREAD


class Unbound:
    """The value of a variable that has none; "" is the function's result.

    is_used  it has been asked for, or is one of two values that a traced one chooses from
    """

    __slots__ = ("is_used", "name")

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.is_used = False

    def __repr__(self) -> str:
        return f"<{self.name or 'the result'} has no value>"


class Maybe:
    """The value of a variable that has one where `is_bound`, a traced bool, is true."""

    __slots__ = ("is_bound", "name", "value")

    def __init__(self, value: Any, is_bound: Any, name: str) -> None:
        self.value = value
        self.is_bound = is_bound
        self.name = name

    def __repr__(self) -> str:
        return f"<{self.name} is None, or {self.value!r}>"


class EndedError(BaseException):
    """Nothing more of a path is to be traced: an exception ends it, which is `error`."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def returned(value: Any) -> Any:
    """The result of a function, which is bound where it ends."""
    if type(value) is Maybe:
        return value.value
    return None if type(value) is Unbound else value


def returned_or_none(value: Any) -> Any:
    """The result of a function, which may be None: it is a `Maybe` then."""
    return None if type(value) is Unbound else value


def is_array(value: Any) -> bool:
    """True for what can be a traced value: arrays, numbers, runtime sizes."""
    return type(value) in PYTHON_SCALARS or isinstance(
        value, Tracer | np.ndarray | np.generic | Dim
    )


def array_type(value: Any) -> ArrayType:
    """The type of an array or a number; a Python bool's is an array's."""
    if isinstance(value, Tracer):
        return value.type
    if isinstance(value, Dim):
        return ArrayType((), np.dtype("int64"), weak=True)
    kind = type_of(value)
    return kind.strong if kind.dtype == BOOL else kind


def truth(value: Any) -> Any:
    """What Python takes a value for: a bool, or a traced bool without axes where nobody knows.

    Raises NumPy's ValueError for an array of another number of elements than one.
    """
    if isinstance(value, Dim):
        return True if (bounds(value)[0] or 0) > 0 else value.as_value() != 0
    if not isinstance(value, Tracer):
        return value.truth() if isinstance(value, TracedList) else bool(value)
    known = value.owner.value(value.variable)
    if known is not UNKNOWN:
        return bool(known)
    if value.size != 1:
        raise ValueError(
            f"{user_source()}: The truth value of an array with more than one element is "
            f"ambiguous. Use a.any() or a.all(). {hint()}".rstrip()
        )
    single = np.reshape(value, ()) if value.shape else value
    return single if single.dtype == BOOL else single != 0


def note_none(one: Any, other: Any) -> None:
    """Note that a variable is None on one of two paths, and a value on the other one."""
    THREAD.python.met_none |= (one is None) is not (other is None)


def record(kind: str, outcome: str) -> None:
    """Record what the statement of the user's line that is being traced becomes."""
    if THREAD.record is not None:
        THREAD.record.met(user_source(), kind, outcome)


def joined(one: ArrayType, other: ArrayType) -> ArrayType | None:
    """The type of a variable that has values of two types, widened as NumPy would; None where their
    shapes differ."""
    if one.shape != other.shape:
        return None
    if one.weak and other.weak:
        return ArrayType(one.shape, np.promote_types(one.dtype, other.dtype), weak=True)
    if one.weak or other.weak:
        weak, strong = (one, other) if one.weak else (other, one)
        python = next(t for t, dtype in PYTHON_SCALARS.items() if dtype == weak.dtype)
        return ArrayType(one.shape, np.dtype(np.result_type(python(0), strong.dtype)))
    if one.dtype == other.dtype:
        return one
    return ArrayType(one.shape, np.promote_types(one.dtype, other.dtype))


# ------------------------------------------------------------------------ variables of outer scopes


def here() -> Trace | None:
    """Where a function is defined: what is being traced."""
    return current_trace()


def only_here(place: Any, *names: str) -> None:
    """Raise UnsupportedError where a function that assigns to variables of outer scopes is called
    in a loop or branch of the program, and was defined outside of it: they would have the value of
    one trace for all iterations.

    place  where it was defined; None for the module
    """
    trace = current_trace()
    if trace is None or trace is place or (place is None and not trace.is_region):
        return
    listed = ", ".join(names)
    raise errors.UnsupportedError(
        f"{user_source()}: {listed} of an outer scope would be assigned to in a loop or branch of "
        "the program. Give it to the function and return it, or keep it as an attribute of an "
        "object or an element of an array"
    )


def is_sequence(value: Any, length: int) -> bool:
    """Whether a value matches a pattern of so many items: arrays and texts do not."""
    others = str | bytes | bytearray | Tracer
    return isinstance(value, Sequence) and not isinstance(value, others) and len(value) == length
