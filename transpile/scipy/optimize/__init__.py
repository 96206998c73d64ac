"""`scipy.optimize` for traced functions, as in `jax.scipy.optimize`: `minimize`."""

from transpile.scipy.optimize.minimizer import OptimizeResults, minimize

__all__ = ["OptimizeResults", "minimize"]
