"""Separate outputs: each output of the graph becomes the result of an equation of its own."""

from __future__ import annotations

from transpile.ir.graph import Atom, Const, Equation, Graph, Var
from transpile.machine import USUAL, Machine
from transpile.primitives.axes import broadcast_in_dim
from transpile.primitives.elementwise import copy


def separate_outputs(graph: Graph, machine: Machine = USUAL) -> Graph:
    """Copy the outputs that are inputs, constants, or outputs already."""
    equations = list(graph.equations)
    taken: set[Atom] = set(graph.inputs)
    outputs: list[Var] = []
    for atom in graph.outputs:
        if isinstance(atom, Const) or atom in taken:
            result = Var(atom.type.strong)
            if isinstance(atom, Const) and atom.is_scalar:
                params = {"shape": (), "broadcast_dimensions": ()}
                equations.append(Equation(broadcast_in_dim, (atom,), params, (result,)))
            else:
                equations.append(Equation(copy, (atom,), {}, (result,)))
            atom = result
        taken.add(atom)
        outputs.append(atom)
    return graph.with_parts(equations, outputs)
