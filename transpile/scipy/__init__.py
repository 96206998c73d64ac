"""Functions of SciPy that traced functions can use, with jax.scipy's names and arguments."""

from transpile.scipy import linalg

__all__ = ["linalg"]
