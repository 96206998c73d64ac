"""Runtime sizes as values of a trace."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.ir.dims import Dim, Index, sides
from transpile.ir.indices.requirements import extreme, is_at_most
from transpile.ir.indices.size_value import SIZE_VALUES
from transpile.ir.types import INT64
from transpile.numpy.core.promotion import convert, strengthen, weaken
from transpile.numpy.core.ufuncs import call
from transpile.primitives import axes as primitives
from transpile.trace.bytecode.call_resolution import SUBSTITUTES
from transpile.trace.lengths import measured
from transpile.trace.trace import bind
from transpile.trace.tracer import Tracer


def dimension_value(dim: Any) -> Any:
    """A size as a value: a Python int, or for a runtime size the last of as many numbers and one,
    counted from 0, which costs nothing: elements of `iota` are their subscripts."""
    if isinstance(dim, int):
        return dim
    counted = bind(primitives.iota, shape=(dim + 1,), dimension=0, dtype=INT64)
    last = bind(primitives.slice_, counted, start=(dim,), limit=(dim + 1,), strides=(1,))
    return weaken(bind(primitives.reshape, last, shape=()))


SIZE_VALUES.append(dimension_value)


def smaller_of(a: Index, b: Index) -> Index:
    """The smaller of two sizes, neither of which may be negative: a length that the program finds
    where which it is depends on their values."""
    if is_at_most(a, b) or is_at_most(b, a):
        return extreme(a, b, -1)
    if not is_at_most(0, a) or not is_at_most(0, b):
        return extreme(a, b, -1)  # an error
    most = a if isinstance(a, int) else b
    return measured(_of_two(np.minimum, a, b), most, lambda found: (a - found, b - found))


def larger_of(a: Index, b: Index) -> Index:
    """The larger of two sizes, one of which is not negative: a length that the program finds where
    which it is depends on their values."""
    if is_at_most(a, b) or is_at_most(b, a) or not (is_at_most(0, a) or is_at_most(0, b)):
        return extreme(a, b, 1)
    most = sides(a)[1] + sides(b)[1]
    return measured(_of_two(np.maximum, a, b), most, lambda found: (found - a, found - b))


def _of_two(ufunc: np.ufunc, a: Index, b: Index) -> Any:
    value = call(ufunc, dimension_value(a), dimension_value(b))
    return strengthen(convert(value, INT64))


def _length(value: Any) -> Any:
    """`len`, which may be a runtime size."""
    shape = value.shape if isinstance(value, Tracer) else ()
    return shape[0] if shape and isinstance(shape[0], Dim) else len(value)


def _extreme(builtin: Any, plain: Callable[..., Any], sign: int) -> Callable[..., Any]:
    """`max` (of sign 1) or `min`, of runtime sizes too."""

    def call(*args: Any, **kwargs: Any) -> Any:
        values = args[0] if len(args) == 1 and isinstance(args[0], list | tuple) else args
        sizes = any(isinstance(v, Dim) for v in values)
        if kwargs or not sizes or not all(isinstance(v, int | Dim) for v in values):
            return plain(*args, **kwargs)
        return functools.reduce(larger_of if sign > 0 else smaller_of, values)

    return call


SUBSTITUTES[id(len)] = (len, _length)
for _builtin, _sign in ((max, 1), (min, -1)):
    _plain = SUBSTITUTES.get(id(_builtin), (_builtin, _builtin))[1]
    SUBSTITUTES[id(_builtin)] = (_builtin, _extreme(_builtin, _plain, _sign))
