"""Systems of equations with tridiagonal matrices, by elimination with partial pivoting."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from transpile.lax.control.loops import scan


def solve(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool = False) -> Any:
    """The solution x of dl_i x_(i-1) + d_i x_i + du_i x_(i+1) = b_i for (..., n) diagonals and
    (..., n, k) right sides; as LAPACK's gtsv eliminates.

    A row is kept as its diagonal element, the two above that, and its right side.
    """
    diagonals = [np.moveaxis(v, -1, 0)[..., None] for v in (dl, d, du)]
    right = np.moveaxis(b, -2, 0)
    below, main, above = diagonals
    first = (main[0], above[0], right[0])
    rest = (below[1:], main[1:], above[1:], right[1:])
    last, upper = scan(_eliminated, first, rest)
    if perturb_singular:
        largest = [np.max(np.abs(v), axis=(0, -1)) for v in upper[:3]]
        largest += [np.abs(v)[..., 0] for v in last[:2]]
        size = functools.reduce(np.maximum, largest)[..., None]
        least = np.finfo(right.dtype).eps * np.where(size == 0, 1, size)
        upper = (_at_least(upper[0], least), *upper[1:])
        last = (_at_least(last[0], least), *last[1:])
    nothing = np.zeros_like(right[0])
    x = last[2] / last[0]
    _, solved = scan(_substituted, (x, nothing), upper, reverse=True)
    return np.moveaxis(np.concatenate([solved, x[None]]), 0, -2)


def _at_least(pivot: Any, least: Any) -> Any:
    """The pivots, of the size `least` where they are smaller, with the sign that they have."""
    return np.where(np.abs(pivot) < least, np.where(pivot < 0, -least, least), pivot)


def _eliminated(row: Any, following: Any) -> tuple[Any, Any]:
    """Eliminate the unknown of a row (d, du, b) from the following one (dl, d, du, b): the next
    row, and the row (d, du, du2, b) that is done."""
    d, du, b = row
    dl, d_next, du_next, b_next = following
    stays = np.abs(d) >= np.abs(dl)
    safe = np.where(stays, np.where(d == 0, 1, d), dl)
    factor = np.where(stays, dl, d) / safe
    done = (
        np.where(stays, d, dl),
        np.where(stays, du, d_next),
        np.where(stays, np.zeros_like(du_next), du_next),
        np.where(stays, b, b_next),
    )
    left = (
        np.where(stays, d_next - factor * du, du - factor * d_next),
        np.where(stays, du_next, -factor * du_next),
        np.where(stays, b_next - factor * b, b - factor * b_next),
    )
    return left, done


def _substituted(known: Any, row: Any) -> tuple[Any, Any]:
    """The unknown of a row, from the two after it."""
    x1, x2 = known
    d, du, du2, b = row
    x = (b - du * x1 - du2 * x2) / d
    return (x, x1), x
