"""The rows, by family. Importing this package fills `transpile.primitive.TABLE`."""

from transpile.primitives import (
    axes,
    calls,
    checkpoint,
    elementwise,
    indexing,
    linalg,
    reductions,
)

__all__ = [
    "axes",
    "calls",
    "checkpoint",
    "elementwise",
    "indexing",
    "linalg",
    "reductions",
]
