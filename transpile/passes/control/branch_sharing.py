"""Branches read the numbers that are computed before them, instead of computing them again.

    if h[i - 1, j] - 1.0 > s:                t = h[i - 1, j] - 1.0
        s = h[i - 1, j] - 1.0        ->      if t > s:
                                                 s = t

What a test compares is often what its branch takes. A branch that only takes numbers is cheap, and
becomes a select. Arrays are computed again where they are read: fusion decides what is stored.
Elements of an array that the branch changes are read there, too: as operands they would be reads of
the array beside the branch, which then could not be made in place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from transpile.ir.contracts import contract
from transpile.ir.contracts.graphs import NO_DEAD_CODE
from transpile.ir.graph import Atom, Equation, Graph, Var, has_effect
from transpile.ir.graph_rewrite import Builder, live_equations, rewrite
from transpile.machine import USUAL, Machine
from transpile.primitives.control import primitives
from transpile.primitives.control.operands import Operands, graphs_of, operands_of, rebuilt
from transpile.util.frozen_records import replace, same

Seen = dict[tuple[Any, ...], Equation]


@contract(destroys=(NO_DEAD_CODE,))
def share_with_branches(graph: Graph, machine: Machine = USUAL) -> Graph:
    """The graph whose branches, and those in its regions, take what is known as operands."""
    if not any(primitive.kind == "control" for primitive in graph.primitives):
        return graph
    seen: Seen = {}
    bases: dict[Atom, Atom] = {}  # of views, the arrays that they are of

    def rule(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
        if equation.primitive.kind != "control":
            if equation.primitive.kind == "view":
                bases[equation.outputs[0]] = bases.get(equation.inputs[0], equation.inputs[0])
            if not has_effect(equation):
                seen.setdefault(equation.key(), equation)
            return None
        is_branch = equation.primitive is primitives.cond
        shared = _shared(equation, seen, bases) if is_branch else equation
        before = graphs_of(equation)
        graphs = same(before, tuple(share_with_branches(g, machine) for g in graphs_of(shared)))
        if graphs is before:
            return None
        builder.add(rebuilt(shared, operands_of(shared), graphs, shared.outputs))
        return shared.outputs

    return rewrite(graph, rule, machine)


def _shared(
    equation: Equation, seen: Mapping[tuple[Any, ...], Equation], bases: Mapping[Atom, Atom]
) -> Equation:
    """The branch, with numbers that are known as further operands."""
    given = operands_of(equation)
    changed_types = {out.type for out in equation.outputs if out.type.shape}
    changed_arrays = {a for a in given.consts if a.type in changed_types}
    known = [
        {
            var: atom
            for var, atom in _known(graph, given.consts, seen).items()
            if bases.get(atom) not in changed_arrays
        }
        for graph in graphs_of(equation)
    ]
    further = [*dict.fromkeys(atom for values in known for atom in values.values())]
    if not further:
        return equation
    graphs = []
    for graph, values in zip(graphs_of(equation), known, strict=True):
        inputs = {atom: Var(atom.type.strong, getattr(atom, "name", "")) for atom in further}
        here: dict[Atom, Atom] = {var: inputs[atom] for var, atom in values.items()}
        equations = [
            replace(e, inputs=tuple(here.get(a, a) for a in e.inputs)) for e in graph.equations
        ]
        outputs = tuple(here.get(a, a) for a in graph.outputs)
        changed = replace(
            graph,
            inputs=(*graph.inputs, *inputs.values()),
            equations=tuple(equations),
            outputs=outputs,
        )
        graphs.append(replace(changed, equations=live_equations(changed.equations, outputs)))
    operands = Operands(given.bounds, (*given.consts, *further))
    return rebuilt(equation, operands, graphs, equation.outputs)


def _known(
    graph: Graph, operands: Sequence[Atom], seen: Mapping[tuple[Any, ...], Equation]
) -> dict[Var, Var]:
    """The numbers of a branch that are computed before it, by what they are there."""
    around: dict[Atom, Atom] = dict(zip(graph.inputs, operands, strict=True))
    known: dict[Var, Var] = {}
    for equation in graph.equations:
        inputs = [around.get(a) if isinstance(a, Var) else a for a in equation.inputs]
        if None in inputs or has_effect(equation) or equation.primitive.kind == "control":
            continue
        earlier = seen.get(replace(equation, inputs=tuple(inputs)).key())
        if earlier is not None:
            around.update(zip(equation.outputs, earlier.outputs, strict=True))
            if not equation.outputs[0].type.shape:
                known[equation.outputs[0]] = earlier.outputs[0]
    return known
