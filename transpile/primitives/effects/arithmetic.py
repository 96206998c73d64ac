"""Tests of what Python's numbers raise exceptions for, where `jit(f, check_arithmetic=True)` asks
for them: divisions by zero, shifts by negative counts, numbers that are no integers, and functions
of `math` outside of their domains.

A test is a branch to `fail`. The exception is Python's own: its operator or function is called with
the values.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Dim
from transpile.ir.types import PYTHON_SCALARS
from transpile.primitives.effects.failures import fail_where
from transpile.trace.bytecode.handlers import refuse_handled
from transpile.trace.trace import the_trace
from transpile.trace.tracer import Tracer
from transpile.util.interrupt_safety import THREAD

Function = Callable[..., Any]
_OPERATORS: dict[str, Function] = {
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "divmod": divmod,
    "truediv": operator.truediv,
    "pow": operator.pow,
    "lshift": operator.lshift,
    "rshift": operator.rshift,
}
# What Python's functions of numbers may raise.
_ERRORS = (ZeroDivisionError, ValueError, OverflowError)


def check_operator(name: str, left: Any, right: Any, result: Any) -> None:
    """End the program where Python's operator raises an exception for its numbers; NumPy's, of
    which one of the two is, only warn."""
    is_division = name not in ("lshift", "rshift", "pow")
    if is_division and THREAD.python is not None and THREAD.python.is_nonzero(right):
        return
    if not (_is_python(left) and _is_python(right)):
        if is_division and all(_is_python(x) or _may_be_python(x) for x in (left, right)):
            refuse_handled(ZeroDivisionError, the_trace())
        return
    function = _OPERATORS[name]
    left, right = (x.as_value() if isinstance(x, Dim) else x for x in (left, right))
    one, zero = _sample(left, 1), _sample(right, 0)
    if name in ("lshift", "rshift"):
        _fail(np.less(right, 0), function, (left, right), (one, -1))
    elif is_division:
        _fail(np.equal(right, 0), function, (left, right), (one, zero))
    else:
        is_pole = np.logical_and(np.equal(left, 0), np.less(right, 0))
        _fail(is_pole, function, (left, right), (_sample(left, 0), -1))
        if isinstance(result, Tracer) and result.dtype.kind == "f":
            _fail(_overflows(result, (left, right)), function, (left, right), (1e300, 2.0))
        elif isinstance(result, Tracer):
            _fail(np.less(right, 0), _whole_power, (left, right), (2, -1))


def check_integer(function: Function, value: Any) -> None:
    """End the program where a number is not in the range of an integer: of `int`, `round`,
    `math.floor` and their like."""
    if not isinstance(value, Tracer) or value.dtype.kind != "f":
        return
    _fail(np.isnan(value), function, (value,), (float("nan"),))
    _fail(np.isinf(value), function, (value,), (float("inf"),))
    outside = np.logical_and(np.abs(value) >= 2.0**63, np.isfinite(value))
    _fail(outside, _in_64_bits, (value,), (2.0**64,))


def _whole_power(base: int, exponent: int) -> None:
    text = "an int to a negative power is a float in Python: write float(a) ** b"
    if base and exponent < 0:
        raise ValueError(text)
    base**exponent


def _in_64_bits(value: float) -> None:
    np.int64(int(value))


def check_function(
    function: Function, args: Sequence[Any], result: Any, domain: Any, range_: Any
) -> None:
    """End the program where a function of `math` raises an exception.

    domain  arguments for which it does, as the result is NaN; None if there are none
    range_  as the result is infinite
    """
    if domain is not None:
        is_known = [np.logical_not(np.isnan(x)) for x in args]
        outside = np.logical_and(np.isnan(result), _all(is_known))
        _fail(outside, function, args, domain)
    if range_ is not None:
        _fail(_overflows(result, args), function, args, range_)


def check_count(function: Function, args: Sequence[Any], sample: Sequence[Any]) -> None:
    """End the program where an argument of a function of counts is negative."""
    for arg in args:
        if isinstance(arg, Tracer):
            _fail(np.less(arg, 0), function, args, sample)


def _overflows(result: Any, args: Sequence[Any]) -> Any:
    """True where the result is infinite, and no argument is."""
    return np.logical_and(np.isinf(result), _all([np.isfinite(x) for x in args]))


def _all(conditions: Sequence[Any]) -> Any:
    first, *others = conditions
    for other in others:
        first = np.logical_and(first, other)
    return first


def _is_python(value: Any) -> bool:
    """True for what is a number of Python's in the user's function."""
    if isinstance(value, Tracer):
        return value.type.weak and not value.shape
    return type(value) in PYTHON_SCALARS or isinstance(value, Dim)


def _may_be_python(value: Any) -> bool:
    """True for what a loop or a branch may leave a number of Python's, and else makes NumPy's."""
    if not isinstance(value, Tracer) or value.shape:
        return False
    equation = value.owner.producers.get(value.variable)
    return equation is not None and equation.primitive.kind == "control"


def _sample(value: Any, number: int) -> Any:
    """A number of the kind of a value."""
    kind = value.dtype if isinstance(value, Tracer) else np.result_type(value)
    return np.dtype(kind).type(number).item()


class Raising:
    """Raises the exception that a function of Python's raises for some numbers."""

    def __init__(self, function: Function, sample: Sequence[Any]) -> None:
        self._function = function
        self._error = _error(function, sample)

    @property
    def text(self) -> str:
        """The class and the text of the exception for a sample."""
        return f"{type(self._error).__name__}: {self._error}"

    def __call__(self, *values: Any) -> None:
        """Raise it; that for the sample, where rounding alone has made a result infinite."""
        raise _error(self._function, [np.asarray(x).item() for x in values]) or self._error


def _error(function: Function, values: Sequence[Any]) -> Any:
    try:
        function(*values)
    except _ERRORS as error:
        return error.with_traceback(None)
    return None


def _fail(fails: Any, function: Function, operands: Sequence[Any], sample: Sequence[Any]) -> None:
    """End the program where `function(*operands)` raises an exception."""
    if not isinstance(fails, Tracer) and not fails:
        return
    raising = Raising(function, sample)
    trace = the_trace()
    traced = [x if isinstance(x, Tracer) else trace.lifted(x) for x in operands]
    fails = fails if isinstance(fails, Tracer) else trace.lifted(fails)
    fail_where(fails, traced, raising, raising.text)
