"""The view of windows as a gather."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.hlo.builder import Rules
from transpile.primitives.indexing import PROMISED
from transpile.primitives.rules import apply

INT64 = np.dtype("int64")


def windows(
    x: Any,
    *,
    window_dimensions: tuple[int, ...],
    window_strides: tuple[int, ...],
    window_dilation: tuple[int, ...],
) -> Any:
    """The element of each position and tap is at position * stride + tap * dilation."""
    rank = x.ndim
    counts = [
        max(0, (size - (w - 1) * d - 1) // s + 1)
        for size, w, s, d in zip(
            x.shape, window_dimensions, window_strides, window_dilation, strict=True
        )
    ]
    shape = (*counts, *window_dimensions)

    def index(axis: int) -> Any:
        position = apply("iota", shape=shape, dimension=axis, dtype=INT64)
        tap = apply("iota", shape=shape, dimension=rank + axis, dtype=INT64)
        return position * window_strides[axis] + tap * window_dilation[axis]

    axes = tuple(range(rank))
    return apply("gather", x, *map(index, axes), axes=axes, mode=PROMISED)


EXPANSIONS: Rules = {"windows": windows}
