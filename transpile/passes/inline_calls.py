"""Inline calls: the sub-graph of a call takes its place, and so do those inside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from transpile.graph import Atom, Equation, Graph, Var
from transpile.passes.dead_code import dead_code
from transpile.passes.rewrite import Builder, rewrite
from transpile.primitives import calls


def inline_calls(graph: Graph) -> Graph:
    """The graph without calls.

    Calls that nothing reads are left out, not inlined. Raises TypeError for the tangents of a
    custom_vjp function: nothing but a transpose can use them.
    """
    return rewrite(dead_code(graph), _rule)


def _rule(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
    if equation.primitive.kind != "call":
        return None
    if equation.primitive is calls.custom_vjp_linear:
        calls.refuse_forward_mode(equation.source)
    return _inlined(builder, equation.params["graph"], equation.inputs)


def _inlined(builder: Builder, graph: Graph, inputs: Sequence[Atom]) -> list[Atom]:
    """Append a graph's equations, with Vars of their own, and give its results."""
    atoms: dict[Atom, Atom] = dict(zip(graph.inputs, inputs, strict=True))
    for equation in dead_code(graph).equations:
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
