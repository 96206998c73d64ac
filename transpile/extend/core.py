"""The names of `jax.extend.core` that have a meaning here: a jaxpr is a Graph.

Its members are `inputs`, `equations` and `outputs`; constants stand in the equations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from transpile.core import eval_jaxpr
from transpile.ir.graph import Const, Equation, Graph, Var
from transpile.ir.primitive import Primitive

__all__ = [
    "ClosedJaxpr",
    "Jaxpr",
    "JaxprEqn",
    "Literal",
    "Primitive",
    "Var",
    "check_jaxpr",
    "jaxpr_as_fun",
]

ClosedJaxpr = Jaxpr = Graph
JaxprEqn = Equation
Literal = Const


def jaxpr_as_fun(closed_jaxpr: Graph) -> Callable[..., Sequence[Any]]:
    """The function of a graph: of the values of its inputs, to the list of its outputs."""
    return lambda *args: eval_jaxpr(closed_jaxpr, (), *args)


def check_jaxpr(jaxpr: Graph) -> None:
    """Raise InternalError where a graph is not well formed."""
    jaxpr.check()
