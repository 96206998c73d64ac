"""Inline calls: the sub-graph of a call takes its place, and so do those inside it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

from transpile.ir.graph import Atom, Equation, Graph, Var, has_effect
from transpile.ir.graph_rewrite import Builder, rewrite
from transpile.machine import USUAL, Machine
from transpile.primitives.control import calls
from transpile.primitives.control.operands import graphs_of, operands_of, rebuilt
from transpile.util.frozen_records import replace


def inline_calls(graph: Graph, machine: Machine = USUAL) -> Graph:
    """The graph without calls, and without what nothing reads.

    Raises TypeError for the tangents of a custom_vjp function, where something reads them: nothing
    but a transpose can use them.
    """
    graph = _read_parts(graph)
    return rewrite(graph, _rule) if any(row.has_graphs for row in graph.primitives) else graph


def _read_parts(graph: Graph) -> Graph:
    """The graph without what nothing reads, in the sub-graphs of its calls as well."""
    read: set[Atom] = set(graph.outputs)
    kept: list[Equation] = []
    for equation in reversed(graph.equations):
        flags = [v in read for v in equation.outputs]
        if any(flags) or has_effect(equation):
            equation = _with_outputs(equation, flags)
            kept.append(equation)
            read.update(equation.inputs)
    return graph.with_parts(kept[::-1], graph.outputs)


def _with_outputs(equation: Equation, flags: Sequence[bool]) -> Equation:
    """A call that gives these results alone, and takes what they need."""
    graph = equation.params.get("graph")
    if equation.primitive.kind != "call" or graph is None:
        return equation
    part = _read_parts(replace(graph, outputs=tuple(compress(graph.outputs, flags))))
    uses = part.uses()
    needed = [v in uses for v in graph.inputs]
    part = replace(part, inputs=tuple(compress(graph.inputs, needed)))
    return replace(
        equation,
        inputs=tuple(compress(equation.inputs, needed)),
        params={**equation.params, "graph": part},
        outputs=tuple(compress(equation.outputs, flags)),
    )


def _rule(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
    if equation.primitive.kind == "control":
        builder.add(_with_inlined_parts(equation))
        return equation.outputs
    if equation.primitive.kind != "call":
        return None
    if equation.primitive is calls.custom_vjp_linear:
        calls.refuse_forward_mode(equation.source)
    return inlined(builder, equation.params["graph"], equation.inputs)


def _with_inlined_parts(equation: Equation) -> Equation:
    graphs = [inline_calls(graph) for graph in graphs_of(equation)]
    return rebuilt(equation, operands_of(equation), graphs, equation.outputs)


def inlined(builder: Builder, graph: Graph, inputs: Sequence[Atom]) -> list[Atom]:
    """Append a graph's equations, with Vars of their own and what they call in its place, and give
    its results."""
    atoms: dict[Atom, Atom] = dict(zip(graph.inputs, inputs, strict=True))
    for equation in graph.equations:
        given = tuple(atoms.get(a, a) for a in equation.inputs)
        current = replace(
            equation, inputs=given, outputs=tuple(Var(v.type, v.name) for v in equation.outputs)
        )
        results = _rule(builder, current)
        if results is None:
            builder.add(current)
            results = current.outputs
        atoms.update(zip(equation.outputs, results, strict=True))
    return [atoms.get(a, a) for a in graph.outputs]
