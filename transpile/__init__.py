"""Numerical Python functions, compiled to C that people can read, ship and trust."""

from transpile import errors, numpy, stages, test_util, tree
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
from transpile.jacobians import hessian, jacfwd, jacobian, jacrev
from transpile.options import Options
from transpile.types import ShapeDtypeStruct
from transpile.vectorize import vmap

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
    "hessian",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "linear_transpose",
    "linearize",
    "make_jaxpr",
    "numpy",
    "stages",
    "test_util",
    "tree",
    "value_and_grad",
    "vjp",
    "vmap",
    "xpr",
]
