"""Functions with rules of one's own for derivatives, with JAX's names, arguments and errors."""

from transpile.functional.custom.calls import bind_function, finished, traced_call
from transpile.functional.custom.functions import (
    closure_convert,
    custom_gradient,
    custom_jvp,
    custom_vjp,
    positional,
)
from transpile.functional.custom.marks import linear_call, named_call, stop_gradient

__all__ = [
    "bind_function",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "finished",
    "linear_call",
    "named_call",
    "positional",
    "stop_gradient",
    "traced_call",
]
