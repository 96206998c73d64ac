"""`scipy.sparse` for traced functions, as in `jax.scipy.sparse`: `linalg`."""

from transpile.scipy.sparse import linalg

__all__ = ["linalg"]
