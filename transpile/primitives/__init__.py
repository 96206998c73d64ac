"""The rows, by family. Importing this package fills `transpile.primitive.TABLE`."""

from transpile.primitives import (
    axes,
    bits,
    calls,
    checkpoint,
    control,
    convolution,
    decompositions,
    elementwise,
    fft,
    indexing,
    linalg,
    random,
    reductions,
    sorting,
    special,
    windows,
)

__all__ = [
    "axes",
    "bits",
    "calls",
    "checkpoint",
    "control",
    "convolution",
    "decompositions",
    "elementwise",
    "fft",
    "indexing",
    "linalg",
    "random",
    "reductions",
    "sorting",
    "special",
    "windows",
]
