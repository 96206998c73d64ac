"""Quantiles of counts: the least one whose distribution function reaches a probability."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile import lax
from transpile.ir.types import FLOAT64
from transpile.scipy.calls.families.row import Row

__all__ = ["least_count"]

_MOST = 2.0**52


def least_count(row: Row, name: str, p: Any, low: Any, shapes: list[Any], valid: Any) -> Any:
    """The least count with P(K <= k) >= p, or for `isf` with P(K > k) <= p: the distance from the
    least possible one is doubled until it is enough, and then halved."""
    cdf, sf = row.cdf, row.sf
    assert cdf is not None
    assert sf is not None
    high = row.support[1]
    last = high(*shapes) if callable(high) else high
    p, low, last, *shapes = np.broadcast_arrays(p, low, last, *shapes)
    dtype = p.dtype
    p, low, last, *shapes = (v.astype(FLOAT64) for v in (p, low, last, *shapes))

    def enough(count: Any) -> Any:
        reached = cdf(count, *shapes) >= p if name == "ppf" else sf(count, *shapes) <= p
        return (reached & (count >= low)) | (count >= last) | ~valid

    def grow(state: Any) -> Any:
        width, _ = state
        width = np.where(enough(low + width), width, 2 * width + 1)
        return width, enough(low + width) | (width > _MOST)

    width = np.zeros_like(p)
    start = (width, enough(low))
    width, _ = lax.while_loop(lambda state: ~np.all(state[1]), grow, start)

    def halve(state: Any) -> Any:
        below, above = state
        middle = np.floor((below + above) / 2)
        is_enough = enough(middle)
        return np.where(is_enough, below, middle), np.where(is_enough, middle, above)

    # `below` is not enough, `above` is.
    _, found = lax.while_loop(
        lambda state: np.any(state[1] - state[0] > 1), halve, (low - 1, low + width)
    )
    return lax.stop_gradient(found).astype(dtype)
