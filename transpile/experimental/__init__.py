"""The names of `jax.experimental` that are here: `io_callback`, `enable_x64`, which always holds,
and the modules `checkify` and `ode`."""

from transpile.dispatch.config import enable_x64
from transpile.functional.callbacks import io_callback

__all__ = ["enable_x64", "io_callback"]
