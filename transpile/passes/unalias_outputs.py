"""Copy outputs that alias an input, a constant or another output, so that each owns its buffer.

Of outputs that are one length the last keeps it: behind a program's own results stand the lengths
that its entry reads, also where it ends early.
"""

from __future__ import annotations

from transpile.ir.contracts import contract
from transpile.ir.contracts.graphs import NO_COMMON_SUBEXPRESSIONS, OWN_OUTPUTS
from transpile.ir.graph import Atom, Const, Equation, Graph, Var
from transpile.ir.graph_rewrite import counts_of
from transpile.machine import USUAL, Machine
from transpile.primitives.axes import broadcast_in_dim
from transpile.primitives.elementwise import copy


@contract(provides=(OWN_OUTPUTS,), destroys=(NO_COMMON_SUBEXPRESSIONS,))
def unalias_outputs(graph: Graph, machine: Machine = USUAL) -> Graph:
    """Make each output the result of an equation of its own."""
    lengths = set(counts_of(graph.equations).values())
    equations = list(graph.equations)
    owned: set[Atom] = set(graph.inputs)
    outputs: list[Var] = []
    for number, atom in enumerate(graph.outputs, 1):
        is_read_later = atom in lengths and atom in graph.outputs[number:]
        if isinstance(atom, Const) or atom in owned or is_read_later:
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
