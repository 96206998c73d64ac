"""`scipy.spatial` for traced functions, as in `jax.scipy.spatial`: `transform`."""

from transpile.scipy.spatial import transform

__all__ = ["transform"]
