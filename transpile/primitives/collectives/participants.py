"""What collectives mean, as functions of arrays that have the values of all participants.

The participants along some axes are numbered row-major over these, the last one fastest, and their
values stand along one axis of an array, at `place`. A group exchanges only among its members. Where
all participants get the same, the result has no axis of participants: `Same`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from transpile.ir.graph import Const
from transpile.primitives.rules import apply, broadcast, reshaped, transposed
from transpile.util.frozen_records import dataclass

Groups = tuple[tuple[int, ...], ...]
MOST_RUNS = 4  # more runs of consecutive rows are gathered, not joined


@dataclass(frozen=True)
class Same:
    """The result of all participants of a group, without an axis for them."""

    value: Any


def moved(x: Any, source: int, target: int) -> Any:
    """The array with one axis moved."""
    order = [a for a in range(x.ndim) if a != source]
    order.insert(target, source)
    return transposed(x, order)


def cut(x: Any, axis: int, size: int) -> Any:
    """The array with an axis as two, of which the first has this size."""
    shape = tuple(x.shape)
    return reshaped(x, (*shape[:axis], size, shape[axis] // size, *shape[axis + 1 :]))


def merged(x: Any, axis: int) -> Any:
    """The array with an axis and the next as one."""
    shape = tuple(x.shape)
    return reshaped(x, (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]))


def rows(x: Any, order: Sequence[int]) -> Any:
    """The rows of an array in an order; a -1 is a row of zeros."""
    if tuple(order) == tuple(range(x.shape[0])):
        return x
    breaks = [k for k in range(1, len(order)) if order[k] != _next(order[k - 1])]
    bounds = [0, *breaks, len(order)]
    if len(bounds) > 1 + MOST_RUNS:
        return _gathered(x, order)
    parts = [_run(x, order[start], stop - start) for start, stop in pairwise(bounds)]
    return parts[0] if len(parts) == 1 else apply("concatenate", *parts, dimension=0)


def _next(row: int) -> int:
    return row if row < 0 else row + 1


def _run(x: Any, first: int, count: int) -> Any:
    if first < 0:
        return broadcast(Const(np.zeros((), x.dtype)), (count, *x.shape[1:]), ())
    rest = (0,) * (x.ndim - 1)
    limit = (first + count, *x.shape[1:])
    return apply("slice", x, start=(first, *rest), limit=limit, strides=(1,) * x.ndim)


def _gathered(x: Any, order: Sequence[int]) -> Any:
    numbers = np.array(order, np.int64)
    indices = Const(np.maximum(numbers, 0))
    elements = apply("gather", x, indices, axes=(0,), mode="promise")
    if numbers.min() >= 0:
        return elements
    mask = broadcast(Const(numbers >= 0), elements.shape, (0,))
    return apply("select", mask, elements, broadcast(Const(np.zeros((), x.dtype)), x.shape, ()))


# ----------------------------------------------------------------------------------- of one group


def reduced(x: Any, place: int, *, by: str) -> Same:
    """The reduction of all values."""
    return Same(apply(by, x, axes=(place,)))


def gathered(x: Any, place: int, *, dimension: int) -> Same:
    """The values side by side along a dimension."""
    return Same(merged(moved(x, place, place + dimension), place + dimension))


def scattered(x: Any, place: int, *, dimension: int) -> Any:
    """The sum of all values, of which each participant gets a part along a dimension."""
    size = x.shape[place]
    total = apply("reduce_sum", x, axes=(place,))
    return moved(cut(total, place + dimension, size), place + dimension, place)


def exchanged(x: Any, place: int, *, split: int, concat: int) -> Any:
    """Each value cut along `split`: a part for each participant, whose parts stand side by side
    along `concat`."""
    size = x.shape[place]
    x = cut(x, place + 1 + split, size)
    receivers = place + 1 + split
    x = moved(x, receivers, place)  # receivers, then senders, then the value's dimensions
    return merged(moved(x, place + 1, place + 1 + concat), place + 1 + concat)


def permuted(x: Any, place: int, *, pairs: Sequence[tuple[int, int]]) -> Any:
    """For each pair the value of the first participant, given to the second; zeros elsewhere."""
    order = [-1] * x.shape[place]
    for source, target in pairs:
        order[target] = source
    return rows(x, order)


def chosen(x: Any, place: int, *, source: int) -> Same:
    """The value of one participant."""
    return Same(reshaped(rows(x, [source]), x.shape[1:]))


# -------------------------------------------------------------------------------------- of groups


def in_groups(exchange: Any, x: Any, groups: Groups | None, **params: Any) -> Any:
    """What each participant gets, along axis 0, where each group exchanges; `Same` without
    groups, where all get that."""
    if groups is None:
        return exchange(x, 0, **params)
    members = [k for group in groups for k in group]
    back = [members.index(k) for k in range(len(members))]
    if len({len(group) for group in groups}) == 1:
        x = cut(rows(x, members), 0, len(groups))
        result = exchange(x, 1, **params)
        if isinstance(result, Same):
            result = _for_each(result.value, 1, len(groups[0]))
        return rows(merged(result, 0), back)
    parts = []
    for group in groups:
        result = exchange(rows(x, group), 0, **params)
        same = isinstance(result, Same)
        parts.append(_for_each(result.value, 0, len(group)) if same else result)
    return rows(apply("concatenate", *parts, dimension=0), back)


def _for_each(x: Any, place: int, size: int) -> Any:
    """The value repeated along a new axis."""
    shape = (*x.shape[:place], size, *x.shape[place:])
    return broadcast(x, shape, [a for a in range(len(shape)) if a != place])
