"""Traced numbers as Python's own: integers of 64 bits, floats, and complex numbers, which are
weakly typed as Python's are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from transpile.ir.source_info import user_source
from transpile.ir.types import BOOL, COMPLEX128, FLOAT64, INT64
from transpile.numpy.core.promotion import weaken
from transpile.primitives import elementwise
from transpile.python.semantics.iterables import Iterator, Range
from transpile.trace.conversion_hints import hint
from transpile.trace.trace import bind
from transpile.trace.tracer import UNKNOWN, Tracer


def is_unknown(value: Any) -> bool:
    """True for a traced value that only the program has, or that a number of Python's would lose
    the derivative of."""
    if not isinstance(value, Tracer):
        return False
    trace, variable = value.owner, value.variable
    return trace.value(variable) is UNKNOWN or trace.varies(variable)


def any_unknown(values: Iterable[Any]) -> bool:
    """True where one of these is traced, or holds what is."""
    for value in values:
        if is_unknown(value) or isinstance(value, Range | Iterator):
            return True
        if type(value) in (list, tuple) and any_unknown(value):
            return True
    return False


def as_integer(value: Any) -> Any:
    """A traced number as an integer, truncated towards zero."""
    if isinstance(value, Tracer) and value.dtype.kind == "c":
        raise TypeError(f"{user_source()}: int() argument must be a real number, not 'complex'")
    return _of_dtype(value, INT64)


def as_bool(value: Any) -> Any:
    """A truth value as a Python bool, two of which add up to an integer."""
    return _of_dtype(value, BOOL)


def as_float(value: Any) -> Any:
    """A number as a float."""
    if isinstance(value, Tracer) and value.dtype.kind == "c":
        raise TypeError(f"{user_source()}: must be real number, not complex")
    return _of_dtype(value, FLOAT64)


def as_complex(value: Any) -> Any:
    """A number as a complex one."""
    return _of_dtype(value, COMPLEX128)


def _of_dtype(value: Any, dtype: np.dtype[Any]) -> Any:
    if not isinstance(value, Tracer):
        return dtype.type(value).item()
    if value.size != 1:
        raise TypeError(
            f"{user_source()}: only length-1 arrays can be converted to Python scalars. "
            f"{hint()}".rstrip()
        )
    if value.shape:
        value = np.reshape(value, ())
    if value.type.weak and value.dtype == dtype:
        return value
    return weaken(bind(elementwise.convert, value, dtype=dtype))
