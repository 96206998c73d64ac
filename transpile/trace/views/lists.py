"""Lists of the user's that are arrays in the trace: what NumPy's functions take them for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile import tree
from transpile.ir.types import ShapeDtypeStruct
from transpile.pytree.extended_dtypes import flatten_arrays, with_parts
from transpile.pytree.keys import SequenceKey
from transpile.pytree.registry import NodeType, register
from transpile.trace.tracer import Tracer


class TracedList:
    """A list of numbers, or of lists of them of one length.

    values   the array of its elements
    is_weak  True where these are Python's numbers
    """

    __slots__ = ("is_weak", "values")

    def __init__(self, values: Any, is_weak: bool) -> None:
        self.values = values
        self.is_weak = is_weak

    def as_value(self) -> Any:
        """An array of its elements."""
        return self.values.copy()

    def __array_function__(
        self, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        return func(*as_arrays(args), **as_arrays(kwargs))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*as_arrays(inputs), **as_arrays(kwargs))


# ------------------------------------------------------------------------------- as containers


def flatten_lists(value: Any) -> tuple[list[Any], tree.TreeDef]:
    """As `flatten_arrays`, which takes a list apart; here it is a container of its array. Of an
    array of values, it is rebuilt as a list of Python's."""
    leaves, structure = tree.flatten(value, is_leaf=_is_list)
    if not any(map(_is_list, leaves)):
        return flatten_arrays(value)
    held: list[Any] = []
    parts = []
    for leaf in leaves:
        if isinstance(leaf, TracedList):
            held.append(leaf.values)
            parts.append(tree.TreeDef(_NODE, (type(leaf), leaf.is_weak), (tree.LEAF,)))
        else:
            own, part = flatten_arrays(leaf)
            held += own
            parts.append(part)
    return held, with_parts(structure, iter(parts))


def _is_list(value: Any) -> bool:
    return isinstance(value, TracedList)


class ArrayOfList:
    """The class, in structures, of lists that are arrays."""


def _unflattened(data: Any, children: Sequence[Any]) -> Any:
    (values,) = children
    if isinstance(values, Tracer):
        cls, is_weak = data
        return cls(values, is_weak)
    if isinstance(values, ShapeDtypeStruct):
        return _structs(values.shape, values.dtype)
    return _plain(values) if isinstance(values, np.ndarray) else values


def _structs(shape: Sequence[Any], dtype: Any) -> Any:
    """The types of the elements of a list, and of lists in it."""
    count, *inner = shape
    each = _structs(inner, dtype) if inner else ShapeDtypeStruct((), dtype)
    return [each] * count


def _plain(values: Any) -> Any:
    """An array as a list of arrays without axes, or of such lists."""
    if values.ndim > 1:
        return [_plain(row) for row in values]
    return [values[k, ...] for k in range(len(values))]


_NODE = NodeType(
    "list", ArrayOfList, lambda _: ((), ()), _unflattened, lambda *_: (SequenceKey(0),)
)
register(_NODE)


def as_arrays(value: Any) -> Any:
    """A value in which arrays stand for lists."""
    if isinstance(value, TracedList):
        return value.values
    if type(value) in (list, tuple):
        return type(value)(map(as_arrays, value))
    return {k: as_arrays(v) for k, v in value.items()} if type(value) is dict else value
