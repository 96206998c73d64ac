"""Functions of matrices whose parts have instructions or calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.hlo.builder import Rules
from transpile.hlo.expansions.loops import while_loop
from transpile.ir.types import INT64
from transpile.primitives.rules import apply


def pivots_to_permutation(pivots: Any, *, size: int) -> Any:
    """The permutation of `size` rows by successive exchanges with the pivots."""
    head, count = pivots.shape[:-1], pivots.shape[-1]
    positions = apply("iota", shape=(*head, size), dimension=len(head), dtype=INT64)
    steps = apply("iota", shape=(*head, count), dimension=len(head), dtype=INT64)

    def step(k: Any, found: Any, positions: Any, steps: Any, pivots: Any) -> list[Any]:
        other = np.sum(np.where(steps == k, pivots, 0), -1, keepdims=True)
        here, there = positions == k, positions == other
        first = np.sum(np.where(here, found, 0), -1, keepdims=True)
        second = np.sum(np.where(there, found, 0), -1, keepdims=True)
        found = np.where(there, first, np.where(here, second, found))
        return [k + 1, found, positions, steps, pivots]

    start = [np.zeros((), INT64), positions, positions, steps, pivots]
    return while_loop(lambda k, *_: k < count, step, start)[1]


def sqrtm(x: Any) -> Any:
    """By the Schur form, whose triangle has a root that is computed diagonal by diagonal (A. Bjorck
    and S. Hammarling, Linear Algebra and its Applications 52, 1983)."""
    t, z = apply("schur", x.astype(np.result_type(x.dtype, np.complex64)))
    size = x.shape[-1]
    row, column = (apply("iota", shape=(size, size), dimension=a, dtype=INT64) for a in (0, 1))
    distance = column - row
    roots = np.sqrt(np.sum(np.where(distance == 0, t, 0), -1))
    total = roots[..., :, None] + roots[..., None, :]
    # Two zeros on the diagonal: the root has a zero there, or there is none.
    total = np.where(total == 0, np.ones((), t.dtype), total)

    def step(d: Any, root: Any, t: Any, total: Any, distance: Any) -> list[Any]:
        # Of the elements at this distance the product has all terms but the two that have them.
        found = (t - np.matmul(root, root)) / total
        return [d + 1, np.where(distance == d, found, root), t, total, distance]

    root = np.where(distance == 0, roots[..., None], np.zeros_like(t))
    state = [np.ones((), INT64), root, t, total, distance]
    root = while_loop(lambda d, *_: d < size, step, state)[1]
    return np.matmul(np.matmul(z, root), np.conjugate(np.swapaxes(z, -1, -2)))


EXPANSIONS: Rules = {"pivots_to_permutation": pivots_to_permutation, "sqrtm": sqrtm}
