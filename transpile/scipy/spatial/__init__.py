"""`scipy.spatial` for traced functions: `transform`, as in `jax.scipy.spatial`, and `distance`."""

from transpile.scipy.spatial import distance, transform

__all__ = ["distance", "transform"]
