"""`jax.image`: pictures of any number of axes in other sizes, with JAX's names, arguments and
errors."""

from transpile.image.methods import ResizeMethod
from transpile.image.scale import resize, scale_and_translate

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]
