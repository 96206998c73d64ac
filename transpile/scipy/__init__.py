"""Functions of SciPy for traced functions, with the names and arguments of jax.scipy."""

from typing import TYPE_CHECKING

from transpile.util.lazy.imports import on_demand

if TYPE_CHECKING:  # each is imported when it is first used
    from transpile.scipy import (
        cluster,
        fft,
        integrate,
        interpolate,
        linalg,
        ndimage,
        optimize,
        signal,
        sparse,
        spatial,
        special,
        stats,
    )

__all__ = [
    "cluster",
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "spatial",
    "special",
    "stats",
]

__getattr__, __dir__ = on_demand(__name__, __all__, {})
