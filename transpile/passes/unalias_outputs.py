"""Copy outputs that alias an input, a constant or another output, so that each owns its buffer."""

from __future__ import annotations

from transpile.ir.contracts import contract
from transpile.ir.contracts.graphs import NO_COMMON_SUBEXPRESSIONS, OWN_OUTPUTS
from transpile.ir.graph import Atom, Const, Equation, Graph, Var
from transpile.machine import USUAL, Machine
from transpile.primitives.axes import broadcast_in_dim
from transpile.primitives.elementwise import copy


@contract(provides=(OWN_OUTPUTS,), destroys=(NO_COMMON_SUBEXPRESSIONS,))
def unalias_outputs(graph: Graph, machine: Machine = USUAL) -> Graph:
    """Make each output the result of an equation of its own."""
    equations = list(graph.equations)
    owned: set[Atom] = set(graph.inputs)
    outputs: list[Var] = []
    for atom in graph.outputs:
        if isinstance(atom, Const) or atom in owned:
            result = Var(atom.type.strong)
            if isinstance(atom, Const) and atom.is_scalar:
                params = {"shape": (), "broadcast_dimensions": ()}
                equations.append(Equation(broadcast_in_dim, (atom,), params, (result,)))
            else:
                equations.append(Equation(copy, (atom,), {}, (result,)))
            atom = result
        owned.add(atom)
        outputs.append(atom)
    return graph.with_parts(equations, outputs)
