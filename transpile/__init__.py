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
from transpile.differentiate import jvp, linear_transpose, linearize, vjp
from transpile.gradients import grad, value_and_grad
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
    "grad",
    "jit",
    "jvp",
    "linear_transpose",
    "linearize",
    "make_jaxpr",
    "numpy",
    "stages",
    "tree",
    "value_and_grad",
    "vjp",
    "xpr",
]
