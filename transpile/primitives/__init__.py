"""The rows, by family. Importing this package fills `transpile.primitive.TABLE`."""

from transpile.primitives import (
    axes,
    bits,
    calls,
    checkpoint,
    control,
    decompositions,
    elementwise,
    fft,
    indexing,
    linalg,
    random,
    reductions,
    sorting,
    special,
)

__all__ = [
    "axes",
    "bits",
    "calls",
    "checkpoint",
    "control",
    "decompositions",
    "elementwise",
    "fft",
    "indexing",
    "linalg",
    "random",
    "reductions",
    "sorting",
    "special",
]
