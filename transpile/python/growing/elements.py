"""What the elements of a list are that is made of arrays: numbers and arrays of one shape, or
tuples and lists of them, with an array for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from transpile.ir.types import ArrayType
from transpile.python.objects.number_lists import type_in
from transpile.python.semantics.values import array_type, joined
from transpile.trace.tracer import Tracer
from transpile.util.frozen_records import dataclass

# The place of a number, or of an array, in an element, or the tuple of those of its parts.
Pattern = Any


class ListPattern(tuple[Pattern, ...]):
    """The places of the parts of a list."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(other) is ListPattern and tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((ListPattern, tuple(self)))


@dataclass(frozen=True)
class Elements:
    """What elements of a list are: numbers and arrays of these types, or tuples and lists of them;
    `sites`: where such
    lists are made, of those that a variable is one after the other."""

    pattern: Pattern
    kinds: tuple[ArrayType, ...]
    sites: frozenset[Any] = field(default=frozenset(), compare=False)

    def with_(self, other: Elements) -> Elements | None:
        """What holds elements of both kinds; None where there is none."""
        if self.pattern != other.pattern:
            return None
        kinds = [_wide(a, b) for a, b in zip(self.kinds, other.kinds, strict=True)]
        known = [kind for kind in kinds if kind is not None]
        if len(known) < len(kinds):
            return None
        return Elements(self.pattern, tuple(known), self.sites | other.sites)


def _wide(one: ArrayType, other: ArrayType) -> ArrayType | None:
    """The type of elements of two types. In a list a number of Python's stays a float64, say."""
    if one.weak == other.weak or one.shape != other.shape:
        return joined(one, other)
    return ArrayType(one.shape, np.promote_types(one.dtype, other.dtype))


def elements_of(values: Sequence[Any]) -> Elements | None:
    """What these elements are; None where a list of the program cannot hold them, or there are
    none."""
    found: Elements | None = None
    for value in values:
        kinds = [_kind_of(leaf) for leaf in leaves_of(value)]
        if not kinds or any(kind is None for kind in kinds):
            return None
        one = Elements(_pattern(value, iter(range(len(kinds)))), tuple(k for k in kinds if k))
        found = one if found is None else found.with_(one)
        if found is None:
            return None
    return found


def _kind_of(leaf: Any) -> ArrayType | None:
    if isinstance(leaf, Tracer | np.ndarray) and leaf.ndim:
        return array_type(leaf) if all(isinstance(size, int) for size in leaf.shape) else None
    return type_in([leaf])


def leaves_of(value: Any) -> list[Any]:
    """The numbers and arrays in an element."""
    return [x for p in value for x in leaves_of(p)] if type(value) in _NESTED else [value]


def _pattern(value: Any, places: Iterator[int]) -> Pattern:
    if type(value) in _NESTED:
        parts = [_pattern(part, places) for part in value]
        return ListPattern(parts) if type(value) is list else tuple(parts)
    return next(places)


def rebuilt(pattern: Pattern, leaves: Sequence[Any]) -> Any:
    """An element of its numbers and arrays."""
    if isinstance(pattern, tuple):
        parts = [rebuilt(part, leaves) for part in pattern]
        return parts if isinstance(pattern, ListPattern) else tuple(parts)
    return leaves[pattern]


_NESTED = (tuple, list)
