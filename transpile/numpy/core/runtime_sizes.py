"""Runtime sizes as values of a trace."""

from __future__ import annotations

from typing import Any

from transpile.ir.indices.size_value import SIZE_VALUES
from transpile.ir.types import INT64
from transpile.numpy.core.promotion import weaken
from transpile.primitives import axes as primitives
from transpile.trace.trace import bind


def dimension_value(dim: Any) -> Any:
    """A size as a value: a Python int, or for a runtime size the last of as many numbers and one,
    counted from 0, which costs nothing: elements of `iota` are their subscripts."""
    if isinstance(dim, int):
        return dim
    counted = bind(primitives.iota, shape=(dim + 1,), dimension=0, dtype=INT64)
    last = bind(primitives.slice_, counted, start=(dim,), limit=(dim + 1,), strides=(1,))
    return weaken(bind(primitives.reshape, last, shape=()))


SIZE_VALUES.append(dimension_value)
