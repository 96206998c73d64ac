"""`scipy.cluster` for traced functions, as in `jax.scipy.cluster`: `vq`."""

from transpile.scipy.cluster import vq

__all__ = ["vq"]
