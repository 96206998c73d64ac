"""Loops and branches without the results that nothing reads, and without what only these need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from transpile.ir.graph import Atom, Equation, Graph, Var, live_equations
from transpile.primitives.control.graphs import Flags, chosen, either, fixpoint, split


def smaller(graph: Graph, inputs: Sequence[Var], outputs: Sequence[Atom]) -> Graph:
    """The part of a graph that gives these outputs, with these inputs."""
    return replace(
        graph,
        inputs=tuple(inputs),
        equations=live_equations(graph.equations, outputs),
        outputs=tuple(outputs),
        output_names=(),
    )


def _read(graph: Graph, outputs: Sequence[Atom]) -> list[bool]:
    """Which inputs of a graph some of its outputs depend on."""
    equations = live_equations(graph.equations, outputs)
    read: set[Atom] = {a for e in equations for a in e.inputs} | set(outputs)
    return [v in read for v in graph.inputs]


def scan_narrow(equation: Equation, read: Flags) -> Equation:
    """The scan that gives the results marked alone."""
    graph: Graph = equation.params["graph"]
    consts, carry = equation.params["consts"], equation.params["carry"]
    kept, ys = split(read, carry)

    def step(kept: list[bool]) -> Flags:
        needed = _read(graph, chosen(graph.outputs, [*kept, *ys]))
        return needed[consts : consts + carry]

    kept = fixpoint(step, kept)
    outputs = [*kept, *ys]
    needed = _read(graph, chosen(graph.outputs, outputs))
    flags = [*needed[:consts], *kept, *needed[consts + carry :]]
    params = {
        **equation.params,
        "graph": smaller(graph, chosen(graph.inputs, flags), chosen(graph.outputs, outputs)),
        "consts": sum(flags[:consts]),
        "carry": sum(kept),
    }
    return replace(
        equation,
        inputs=tuple(chosen(equation.inputs, flags)),
        params=params,
        outputs=tuple(chosen(equation.outputs, outputs)),
    )


def while_narrow(equation: Equation, read: Flags) -> Equation:
    """The loop of the carries that are read, and of those that they and the condition need."""
    body: Graph = equation.params["body"]
    condition: Graph = equation.params["condition"]
    consts = equation.params["consts"]
    tested = _read(condition, condition.outputs)

    def step(kept: list[bool]) -> Flags:
        return _read(body, chosen(body.outputs, kept))[consts:]

    kept = fixpoint(step, either(read, tested[consts:]))
    needed = either(_read(body, chosen(body.outputs, kept))[:consts], tested[:consts])
    flags = [*needed, *kept]
    params = {
        "condition": smaller(condition, chosen(condition.inputs, flags), condition.outputs),
        "body": smaller(body, chosen(body.inputs, flags), chosen(body.outputs, kept)),
        "consts": sum(needed),
    }
    return replace(
        equation,
        inputs=tuple(chosen(equation.inputs, flags)),
        params=params,
        outputs=tuple(chosen(equation.outputs, kept)),
    )


def fori_narrow(equation: Equation, read: Flags) -> Equation:
    """The loop of the carries that are read, and of those that they need."""
    graph, consts = equation.params["graph"], equation.params["consts"]

    def step(kept: list[bool]) -> Flags:
        return _read(graph, chosen(graph.outputs, kept))[1 + consts :]

    kept = fixpoint(step, read)
    needed = _read(graph, chosen(graph.outputs, kept))[1 : 1 + consts]
    flags = [True, *needed, *kept]
    params = {
        "graph": smaller(graph, chosen(graph.inputs, flags), chosen(graph.outputs, kept)),
        "consts": sum(needed),
    }
    return replace(
        equation,
        inputs=tuple(chosen(equation.inputs, [True, *flags])),
        params=params,
        outputs=tuple(chosen(equation.outputs, kept)),
    )


def cond_narrow(equation: Equation, read: Flags) -> Equation:
    """The choice that gives the results marked alone."""
    branches: tuple[Graph, ...] = equation.params["branches"]
    columns = zip(*[_read(b, chosen(b.outputs, read)) for b in branches], strict=True)
    flags = [any(column) for column in columns]
    params = {
        "branches": tuple(
            smaller(b, chosen(b.inputs, flags), chosen(b.outputs, read)) for b in branches
        )
    }
    return replace(
        equation,
        inputs=tuple(chosen(equation.inputs, [True, *flags])),
        params=params,
        outputs=tuple(chosen(equation.outputs, read)),
    )
