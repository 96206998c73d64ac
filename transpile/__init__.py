"""Numerical Python functions, compiled to C that people can read, ship and trust."""

from typing import TYPE_CHECKING

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
from transpile.on_demand import on_demand
from transpile.options import Options
from transpile.types import ShapeDtypeStruct

if TYPE_CHECKING:  # what is below is imported when it is first used
    from transpile import flatten_util, nn, ops, scipy, test_util, tree_util
    from transpile.functional.checkpoint import (
        checkpoint,
        checkpoint_name,
        checkpoint_policies,
        remat,
    )
    from transpile.functional.custom import (
        closure_convert,
        custom_gradient,
        custom_jvp,
        custom_vjp,
        named_call,
        stop_gradient,
    )
    from transpile.functional.differentiate import jvp, linear_transpose, linearize, vjp
    from transpile.functional.gradients import grad, value_and_grad
    from transpile.functional.jacobians import hessian, jacfwd, jacobian, jacrev
    from transpile.functional.vectorize import vmap

__getattr__, __dir__ = on_demand(
    "transpile",
    modules=("flatten_util", "nn", "ops", "scipy", "test_util", "tree_util"),
    names={
        "transpile.functional.checkpoint": "checkpoint checkpoint_name checkpoint_policies remat",
        "transpile.functional.custom": (
            "closure_convert custom_gradient custom_jvp custom_vjp named_call stop_gradient"
        ),
        "transpile.functional.differentiate": "jvp linear_transpose linearize vjp",
        "transpile.functional.gradients": "grad value_and_grad",
        "transpile.functional.jacobians": "hessian jacfwd jacobian jacrev",
        "transpile.functional.vectorize": "vmap",
    },
)

__all__ = [
    "Options",
    "ShapeDtypeStruct",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "clear_caches",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "disable_jit",
    "djit",
    "errors",
    "eval_shape",
    "explain_cache_misses",
    "flatten_util",
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
    "named_call",
    "nn",
    "numpy",
    "ops",
    "remat",
    "scipy",
    "stages",
    "stop_gradient",
    "test_util",
    "tree",
    "tree_util",
    "value_and_grad",
    "vjp",
    "vmap",
    "xpr",
]
