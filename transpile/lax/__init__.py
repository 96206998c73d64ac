"""`jax.lax`: functions of arrays that promote nothing, and control flow as functions.

Names, arguments and errors are those of `jax.lax`. While a function is traced they make equations;
outside of that they take and give NumPy arrays.
"""

from __future__ import annotations

from typing import Any

from transpile.lax import collectives
from transpile.lax import linalg as linalg
from transpile.lax.arrays import (
    barriers,
    enums,
    joins,
    products,
    random_bits,
    reductions,
    shapes,
    slicing,
    sorting,
)
from transpile.lax.control import associative, branches, custom_solves, fori, loops
from transpile.lax.indexed import convolution, convolution_shapes, gather_scatter, windows
from transpile.lax.operators import binary, rounding, special, unary

_MODULES: tuple[Any, ...] = (
    associative,
    barriers,
    branches,
    collectives,
    convolution,
    convolution_shapes,
    fori,
    custom_solves,
    gather_scatter,
    joins,
    enums,
    loops,
    rounding,
    unary,
    binary,
    products,
    random_bits,
    reductions,
    shapes,
    slicing,
    sorting,
    special,
    windows,
)
_NAMES = {name: getattr(module, name) for module in _MODULES for name in module.__all__}
globals().update(_NAMES)
__all__ = sorted([*_NAMES, "linalg"])


def __getattr__(name: str) -> Any:
    """Name what is missing."""
    raise AttributeError(f"module 'transpile.lax' has no attribute {name!r}")
