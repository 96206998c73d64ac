"""Functions of SciPy for traced functions, with the names and arguments of jax.scipy: linalg,
special, stats."""

from typing import TYPE_CHECKING

from transpile.util.lazy.imports import on_demand

if TYPE_CHECKING:  # each is imported when it is first used
    from transpile.scipy import linalg, special, stats

__all__ = ["linalg", "special", "stats"]

__getattr__, __dir__ = on_demand(__name__, __all__, {})
