"""Selections, by sorting all."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.hlo.builder import Rules
from transpile.primitives.rules import apply


def order_statistics(x: Any, *, axis: int, ranks: tuple[int, ...]) -> Any:
    """The elements at these ranks."""
    row = apply("sort", x, axis=axis)
    before = (slice(None),) * axis
    return np.concatenate([row[(*before, slice(r, r + 1))] for r in ranks], axis)


EXPANSIONS: Rules = {
    "argpartition": lambda x, *, axis, ranks: apply("argsort", x, axis=axis),
    "order_statistics": order_statistics,
    "partition": lambda x, *, axis, ranks: apply("sort", x, axis=axis),
}
