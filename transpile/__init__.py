"""Numerical Python functions, compiled to C that people can read, ship and trust."""

from transpile import errors, numpy, stages, tree
from transpile.api import (
    clear_caches,
    disable_jit,
    djit,
    eval_shape,
    explain_cache_misses,
    jit,
    make_jaxpr,
    xpr,
)
from transpile.options import Options
from transpile.types import ShapeDtypeStruct

__all__ = [
    "Options",
    "ShapeDtypeStruct",
    "clear_caches",
    "disable_jit",
    "djit",
    "errors",
    "eval_shape",
    "explain_cache_misses",
    "jit",
    "make_jaxpr",
    "numpy",
    "stages",
    "tree",
    "xpr",
]
