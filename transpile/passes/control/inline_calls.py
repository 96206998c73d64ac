"""Inline calls: substitute the graph of a callee for the call, recursively, also inside regions.

Dead results of calls are dropped first: the tangents of a custom_vjp function, which forward mode
cannot compute, are an error only where something reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress, count

from transpile.ir.contracts import contract
from transpile.ir.contracts.graphs import NO_CALLS, OF_EQUATIONS
from transpile.ir.dims import Dim, Index, Symbol
from transpile.ir.graph import Atom, Equation, Graph, Source, Var, has_effect
from transpile.ir.graph_rewrite import (
    Builder,
    Rule,
    counts_of,
    lengths_read,
    rewrite,
    with_lengths,
)
from transpile.machine import USUAL, Machine
from transpile.primitives.control import calls
from transpile.primitives.control.operands import graphs_of, operands_of, rebuilt
from transpile.util.frozen_records import replace


@contract(provides=(NO_CALLS,), destroys=OF_EQUATIONS)
def inline_calls(graph: Graph, machine: Machine = USUAL) -> Graph:
    """Inline every call that has a live result.

    Raises TypeError for the tangents of a custom_vjp function, where something reads them: nothing
    but a transpose can use them.
    """
    graph = _without_unread_results(graph)
    return (
        rewrite(graph, _rule)
        if any(primitive.has_graphs for primitive in graph.primitives)
        else graph
    )


def _without_unread_results(graph: Graph) -> Graph:
    """The graph without dead equations, and its calls without dead results."""
    read: set[Atom] = set(graph.outputs)
    counts = counts_of(graph.equations)
    kept: list[Equation] = []
    for equation in reversed(graph.equations):
        flags = [v in read for v in equation.outputs]
        if any(flags) or has_effect(equation):
            equation = _with_live_outputs(equation, flags)
            kept.append(equation)
            read.update(equation.inputs)
            if counts:
                read.update(counts[s] for s in lengths_read(equation) if s in counts)
    return graph.with_parts(kept[::-1], graph.outputs)


def _with_live_outputs(equation: Equation, flags: Sequence[bool]) -> Equation:
    """A call with these results alone, and the operands that they need."""
    graph = equation.params.get("graph")
    if equation.primitive.kind != "call" or graph is None:
        return equation
    callee = _without_unread_results(replace(graph, outputs=tuple(compress(graph.outputs, flags))))
    uses = callee.uses()
    needed = [v in uses for v in graph.inputs]
    callee = replace(callee, inputs=tuple(compress(graph.inputs, needed)))
    return replace(
        equation,
        inputs=tuple(compress(equation.inputs, needed)),
        params={**equation.params, "graph": callee},
        outputs=tuple(compress(equation.outputs, flags)),
    )


def _rule(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
    if equation.primitive.kind == "control":
        builder.add(_with_inlined_regions(equation))
        return equation.outputs
    if equation.primitive.kind != "call":
        return None
    if equation.primitive is calls.custom_vjp_linear:
        calls.refuse_forward_mode(equation.source)
    return inline(builder, equation.params["graph"], equation.inputs)


def _with_inlined_regions(equation: Equation) -> Equation:
    graphs = [inline_calls(graph) for graph in graphs_of(equation)]
    return rebuilt(equation, operands_of(equation), graphs, equation.outputs)


def _with_own_lengths(graph: Graph, builder: Builder) -> Graph:
    """A graph that is inlined, perhaps not for the first time: it counts lengths of its own."""
    counted = counts_of(graph.equations)
    if not counted:
        return graph
    taken = {s.name for s in counts_of(builder.equations)}
    others: dict[Symbol, Index] = {}
    for known in counted:
        names = (f"{known.name}_{k}" for k in count(1))
        if known.name in taken:
            others[known] = Dim.of(replace(known, name=next(n for n in names if n not in taken)))
    return with_lengths(graph, others) if others else graph


def inline(
    builder: Builder,
    graph: Graph,
    inputs: Sequence[Atom],
    rule: Rule = _rule,
    source: Source | None = None,
) -> list[Atom]:
    """Append a graph's equations, with fresh Vars and rewritten by a rule, and return its results.

    The rule inlines calls, if it is not given. `source` is that of all equations where it is given.
    """
    graph = _with_own_lengths(graph, builder)
    atoms: dict[Atom, Atom] = dict(zip(graph.inputs, inputs, strict=True))
    for equation in graph.equations:
        current = replace(
            equation,
            inputs=tuple(atoms.get(a, a) for a in equation.inputs),
            outputs=tuple(Var(v.type, v.name) for v in equation.outputs),
            source=source or equation.source,
        )
        results = rule(builder, current)
        if results is None:
            builder.add(current)
            results = current.outputs
        atoms.update(zip(equation.outputs, results, strict=True))
    return [atoms.get(a, a) for a in graph.outputs]
