"""The names of `jax.ad_checkpoint`: what derivatives store, and what they compute again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transpile.functional.checkpoint import (
    checkpoint,
    checkpoint_name,
    checkpoint_policies,
    remat,
)
from transpile.functional.differentiate import linearized_graph
from transpile.functional.flatten_fun import flatten_function
from transpile.ir.graph import Var
from transpile.trace.call_signature import type_text
from transpile.trace.tracebacks import api_boundary

__all__ = [
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "print_saved_residuals",
    "remat",
]


@api_boundary
def print_saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Print the values that the backward pass of `f(*args, **kwargs)` reads: a line for each, with
    its type and where it comes from.

    Arguments are pytrees of arrays. Raises what tracing raises.
    """
    flat, leaves = flatten_function(lambda *a: f(*a, **kwargs), args, role="backward")
    forward = linearized_graph(flat, leaves).forward.graph
    made = {v: e for e in forward.equations for v in e.outputs}
    for atom in forward.outputs[flat.out_tree.num_leaves :]:
        equation = made.get(atom) if isinstance(atom, Var) else None
        if equation is not None:
            where = f"output of {equation.primitive} from {equation.source}"
        else:
            is_input = atom in forward.inputs
            where = f"from the argument {atom.name}" if is_input else "from a constant"
        print(f"{type_text(atom.type)} {where}")
