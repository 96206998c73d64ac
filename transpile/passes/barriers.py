"""Remove optimisation barriers, once common subexpressions are eliminated.

They keep values that a derivative rematerialises apart from the equal ones of the forward pass.
Left in place, a barrier before an operand of a matrix product would lower to a copy.
"""

from __future__ import annotations

from collections.abc import Sequence

from transpile.ir.contracts import contract
from transpile.ir.contracts.graphs import NO_BARRIERS, NO_COMMON_SUBEXPRESSIONS, OWN_OUTPUTS
from transpile.ir.graph import Atom, Equation, Graph
from transpile.ir.graph_rewrite import Builder, rewrite
from transpile.machine import USUAL, Machine
from transpile.primitives.elementwise import optimization_barrier


# Equal equations first: without barriers rematerialised values are among them.
@contract(
    requires=(NO_COMMON_SUBEXPRESSIONS,),
    provides=(NO_BARRIERS,),
    destroys=(NO_COMMON_SUBEXPRESSIONS, OWN_OUTPUTS),
)
def remove_barriers(graph: Graph, machine: Machine = USUAL) -> Graph:
    """Replace each barrier by its operand."""
    return rewrite(graph, _rule) if optimization_barrier in graph.primitives else graph


def _rule(_: Builder, equation: Equation) -> Sequence[Atom] | None:
    return equation.inputs if equation.primitive is optimization_barrier else None
