"""Shardings: how the parameters and results of a module are cut into parts for devices.

The parts of an array are a tuple of how many there are along each dimension, which are numbered
row-major; None is an array that every device has whole.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from transpile import tree
from transpile.util.frozen_records import dataclass

Parts = tuple[int, ...] | None


@dataclass(frozen=True)
class Sharding:
    """That of one value: the parts of an array, or the shardings of a tuple's elements."""

    parts: Parts = None
    elements: tuple[Sharding, ...] | None = None

    def __str__(self) -> str:
        if self.elements is not None:
            return f"{{{', '.join(map(str, self.elements))}}}"
        if self.parts is None:
            return "{replicated}"
        devices = ",".join(map(str, range(math.prod(self.parts))))
        return f"{{devices=[{','.join(map(str, self.parts))}]{devices}}}"


def of_leaves(what: str, parts: Any, full: Any, ranks: Iterable[int]) -> tuple[Sharding, ...]:
    """The sharding of each leaf of a tree, of which `parts` is a prefix.

    Raises ValueError for parts that are no prefix, and that do not fit the rank of a leaf.
    """
    leaves = tree.leaves(tree.broadcast(parts, full, is_leaf=_is_parts), is_leaf=_is_parts)
    shardings = []
    for leaf, rank in zip(leaves, ranks, strict=True):
        if leaf is not None and (not isinstance(leaf, tuple) or len(leaf) != rank):
            raise ValueError(
                f"{what} has the parts {leaf} for an array of {rank} dimensions: one number for "
                f"each, or None"
            )
        shardings.append(Sharding(None if leaf is None else tuple(map(int, leaf))))
    return tuple(shardings)


def _is_parts(x: Any) -> bool:
    return x is None or (isinstance(x, tuple) and all(type(n) is int for n in x))


def of_tuple(elements: Sequence[Sharding] | None) -> dict[str, Sharding]:
    """The attribute of an instruction that is a tuple of values with these shardings."""
    return {} if elements is None else {"sharding": Sharding(elements=tuple(elements))}
