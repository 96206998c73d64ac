"""Transpile in JAX's place, for one process: `install()`, then `import jax` gives transpile.

Code that is written for JAX runs unchanged, third-party packages too:

    from transpile import compat

    compat.install()
    import optax  # imports jax, and gets transpile

`jax`, `jax.numpy` and every other name below `jax` are then modules of this package that stand for
those of transpile (`stand_ins.py`); `jaxlib` cannot be imported, so that no part of the real JAX
runs. A module of JAX's that transpile has nothing for is an ImportError with its name, and so is a
name, but for those that packages import without calling them, which raise when they are used.
Dataclasses that are not registered as pytrees are leaves, as in JAX, and what a traced bool and
Python's numbers give is weak: `1 - b`. `uninstall()` ends all this for imports to come; modules
that have imported `jax` keep what they have.
"""

from __future__ import annotations

import sys

from transpile.compat.stand_ins import Finder
from transpile.numpy.core.ufuncs import take_bools_as_weak
from transpile.pytree.registry import take_dataclasses_as_containers

__all__ = ["install", "is_installed", "uninstall"]

_NAMES = ("jax", "jaxlib")


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] in _NAMES


def is_installed() -> bool:
    """Whether `import jax` gives transpile in this process."""
    return any(isinstance(finder, Finder) for finder in sys.meta_path)


def install() -> None:
    """Put transpile in JAX's place: `import jax` and `import jax.numpy as jnp` give it.

    A second call changes nothing. Raises ImportError where the real JAX, or jaxlib, has been
    imported already: what holds its functions would be mixed with ours.
    """
    if is_installed():
        return
    if found := sorted(name for name in _NAMES if name in sys.modules):
        raise ImportError(
            f"transpile.compat.install() comes too late: {' and '.join(found)} is imported "
            "already. Call it before the first import of a package that imports jax."
        )
    take_dataclasses_as_containers(False)
    take_bools_as_weak(True)
    sys.meta_path.insert(0, Finder())


def uninstall() -> None:
    """Let `import jax` find what it finds without this package; without `install` it does
    nothing."""
    if not is_installed():
        return
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, Finder)]
    for name in [name for name in sys.modules if _is_ours(name)]:
        del sys.modules[name]
    take_dataclasses_as_containers(True)
    take_bools_as_weak(False)
