"""The name `jax.extend`, of which `core` has a meaning here."""

from transpile.extend import core

__all__ = ["core"]
