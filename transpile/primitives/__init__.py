"""The rows, by family. Importing this package fills `transpile.primitive.TABLE`."""

from transpile.primitives import (
    axes,
    calls,
    checkpoint,
    control,
    decompositions,
    elementwise,
    fft,
    indexing,
    linalg,
    reductions,
    sorting,
)

__all__ = [
    "axes",
    "calls",
    "checkpoint",
    "control",
    "decompositions",
    "elementwise",
    "fft",
    "indexing",
    "linalg",
    "reductions",
    "sorting",
]
