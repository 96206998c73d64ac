"""What the elements of a list are that is made of arrays: numbers, or tuples of them, with an array
for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any

from transpile.ir.types import ArrayType
from transpile.python.objects.number_lists import type_in
from transpile.python.semantics.values import joined
from transpile.util.frozen_records import dataclass

# The place of a number in an element, or the tuple of those of its parts.
Pattern = Any


@dataclass(frozen=True)
class Elements:
    """What elements of a list are: numbers of these types, or tuples of them; `sites`: where such
    lists are made, of those that a variable is one after the other."""

    pattern: Pattern
    kinds: tuple[ArrayType, ...]
    sites: frozenset[Any] = field(default=frozenset(), compare=False)

    def with_(self, other: Elements) -> Elements | None:
        """What holds elements of both kinds; None where there is none."""
        if self.pattern != other.pattern:
            return None
        kinds = [joined(a, b) for a, b in zip(self.kinds, other.kinds, strict=True)]
        known = [kind for kind in kinds if kind is not None]
        if len(known) < len(kinds):
            return None
        return Elements(self.pattern, tuple(known), self.sites | other.sites)


def elements_of(values: Sequence[Any]) -> Elements | None:
    """What these elements are; None where a list of the program cannot hold them, or there are
    none."""
    found: Elements | None = None
    for value in values:
        kinds = [type_in([leaf]) for leaf in leaves_of(value)]
        if not kinds or any(kind is None for kind in kinds):
            return None
        one = Elements(_pattern(value, iter(range(len(kinds)))), tuple(k for k in kinds if k))
        found = one if found is None else found.with_(one)
        if found is None:
            return None
    return found


def leaves_of(value: Any) -> list[Any]:
    """The numbers in an element."""
    return [x for part in value for x in leaves_of(part)] if type(value) is tuple else [value]


def _pattern(value: Any, places: Iterator[int]) -> Pattern:
    if type(value) is tuple:
        return tuple(_pattern(part, places) for part in value)
    return next(places)


def rebuilt(pattern: Pattern, leaves: Sequence[Any]) -> Any:
    """An element of its numbers."""
    if isinstance(pattern, tuple):
        return tuple(rebuilt(part, leaves) for part in pattern)
    return leaves[pattern]
