"""Lists of the user's that are arrays in the trace: what NumPy's functions take them for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
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

    @property
    def is_plain(self) -> bool:
        """True while its elements are those of a list of Python's."""
        return False

    @property
    def is_typed(self) -> bool:
        """False while nobody knows what its elements are, as it has none."""
        return True

    def like(self) -> Any:
        """An object of the class that it stands for."""
        return []

    @property
    def is_nested(self) -> bool:
        """True for a list of lists."""
        return bool(self.values.ndim > 1)

    @classmethod
    def of(cls, is_weak: bool, arrays: Sequence[Any]) -> TracedList:
        """The list, of what it is made of."""
        (values,) = arrays
        return cls(values, is_weak)

    def parts(self) -> tuple[Any, list[Any]]:
        """Its class, what it is known by, and the arrays that it is made of."""
        return (type(self), self.is_weak), [self.values]

    def results(self) -> tuple[Any, list[Any]]:
        """The same, where it is a result of the function."""
        return self.parts()

    def truth(self) -> Any:
        """True if it has elements."""
        return len(self.values) > 0

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError

    def contains(self, value: Any) -> Any:
        """`value in list`."""
        return np.any(np.equal(self.values, value))

    def copy(self) -> Any:
        """A list of the same elements."""
        raise NotImplementedError

    def as_list(self) -> Any:
        """`list(values)`."""
        return self.copy()

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


def flatten_lists(
    value: Any, *, are_results: bool = False, whole: Collection[int] = ()
) -> tuple[list[Any], tree.TreeDef]:
    """As `flatten_arrays`, which takes a list apart; here it is a container of its arrays. Of
    arrays of values, it is rebuilt as a list of Python's. Containers of which the ids are in
    `whole` are leaves."""
    is_list = _is_traced if are_results else _is_list
    leaves, structure = tree.flatten(value, is_leaf=lambda x: is_list(x) or id(x) in whole)
    if not whole and not any(map(is_list, leaves)):
        return flatten_arrays(value)
    held: list[Any] = []
    parts = []
    for leaf in leaves:
        if id(leaf) in whole:
            held.append(leaf)
            parts.append(tree.LEAF)
        elif is_list(leaf):
            data, arrays = leaf.results() if are_results else leaf.parts()
            held += arrays
            parts.append(tree.TreeDef(_NODE, data, (tree.LEAF,) * len(arrays)))
        else:
            own, part = flatten_arrays(leaf)
            held += own
            parts.append(part)
    return held, with_parts(structure, iter(parts))


def _is_list(value: Any) -> bool:
    return isinstance(value, TracedList)


def _is_traced(value: Any) -> bool:
    """True for a list whose elements are in arrays."""
    return isinstance(value, TracedList) and not value.is_plain


class ArrayOfList:
    """The class, in structures, of lists that are arrays."""


def _unflattened(data: Any, children: Sequence[Any]) -> Any:
    cls, static = data
    if all(isinstance(part, Tracer) for part in children):
        return cls.of(static, children)
    if hasattr(cls, "listed"):
        return cls.listed(static, children)
    (values,) = children
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


def _keys(_: Any, count: int) -> tuple[SequenceKey, ...]:
    return tuple(map(SequenceKey, range(count)))


_NODE = NodeType("list", ArrayOfList, lambda _: ((), ()), _unflattened, _keys)
register(_NODE)


def as_arrays(value: Any) -> Any:
    """A value in which arrays stand for lists."""
    if isinstance(value, TracedList):
        return value.values
    if type(value) in (list, tuple):
        return type(value)(map(as_arrays, value))
    return {k: as_arrays(v) for k, v in value.items()} if type(value) is dict else value
