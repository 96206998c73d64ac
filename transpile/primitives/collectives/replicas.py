"""Groups of replicas: which devices a collective is among.

Replicas, which are devices, are numbered row-major over all axes, the last one fastest. The chosen
axes in front, in the order asked for, flattened and transposed: each row is a group.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from transpile.errors import UnsupportedError
from transpile.ir.primitive import Axis

Axes = Sequence[Axis]
Groups = tuple[tuple[int, ...], ...]


def position(environment: Axes, axis: Axis) -> int:
    """Which of the axes an axis is: the innermost one, where two are equal.

    Raises UnsupportedError where it is none of them.
    """
    for k in reversed(range(len(environment))):
        if environment[k] == axis:
            return k
    raise UnsupportedError(f"no device has an axis {axis}")


def replica_groups(environment: Axes, axes: Axes, members: Groups | None = None) -> Groups:
    """The groups of replicas along some axes; each cut into those of `members`, by their numbers
    in it."""
    sizes = [axis.static_size for axis in environment]
    chosen = [position(environment, axis) for axis in axes]
    numbers = np.arange(math.prod(sizes)).reshape(sizes)
    front = np.moveaxis(numbers, chosen, range(len(chosen)))
    rows = front.reshape(math.prod(sizes[k] for k in chosen), -1).T.tolist()
    if members is None:
        return tuple(map(tuple, rows))
    return tuple(tuple(row[k] for k in group) for row in rows for group in members)


def source_target_pairs(
    environment: Axes, axes: Axes, pairs: Sequence[tuple[int, int]]
) -> tuple[tuple[int, int], ...]:
    """The pairs of a permutation among the participants along some axes, for each group."""
    groups = replica_groups(environment, axes)
    return tuple((group[s], group[t]) for group in groups for s, t in pairs)
