"""Dead-code elimination rules of loops and branches: `dce(equation, read)` is the equation without
the results that are not read, and without the operands, carries and equations that only these need.

A carry is live if it is read, or if a live carry, a live result or the condition depends on it in
some iteration: the least fixpoint of dependence in the body.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from transpile.ir.graph import Atom, Equation, Graph, Var, live_equations
from transpile.primitives.control.graphs import Flags, chosen, either, fixpoint, split_list


def restricted(graph: Graph, inputs: Sequence[Var], outputs: Sequence[Atom]) -> Graph:
    """The graph from these inputs to these outputs, with only the equations that they need."""
    return replace(
        graph,
        inputs=tuple(inputs),
        equations=live_equations(graph.equations, outputs),
        outputs=tuple(outputs),
        output_names=(),
    )


def _live_inputs(graph: Graph, outputs: Sequence[Atom]) -> list[bool]:
    """Flags of the inputs of a graph that some of these outputs depend on."""
    equations = live_equations(graph.equations, outputs)
    read: set[Atom] = {a for e in equations for a in e.inputs} | set(outputs)
    return [v in read for v in graph.inputs]


def scan_dce(equation: Equation, read: Flags) -> Equation:
    """The scan without dead carries, stacked results, consts and xs."""
    graph: Graph = equation.params["graph"]
    consts, carry = equation.params["consts"], equation.params["carry"]
    live, ys = split_list(read, carry)

    def step(live: list[bool]) -> Flags:
        needed = _live_inputs(graph, chosen(graph.outputs, [*live, *ys]))
        return needed[consts : consts + carry]

    live = fixpoint(step, live)
    outputs = [*live, *ys]
    needed = _live_inputs(graph, chosen(graph.outputs, outputs))
    flags = [*needed[:consts], *live, *needed[consts + carry :]]
    params = {
        **equation.params,
        "graph": restricted(graph, chosen(graph.inputs, flags), chosen(graph.outputs, outputs)),
        "consts": sum(flags[:consts]),
        "carry": sum(live),
    }
    return replace(
        equation,
        inputs=tuple(chosen(equation.inputs, flags)),
        params=params,
        outputs=tuple(chosen(equation.outputs, outputs)),
    )


def while_dce(equation: Equation, read: Flags) -> Equation:
    """The loop without dead carries and consts; what the condition reads is live."""
    body: Graph = equation.params["body"]
    condition: Graph = equation.params["condition"]
    consts = equation.params["consts"]
    tested = _live_inputs(condition, condition.outputs)

    def step(live: list[bool]) -> Flags:
        return _live_inputs(body, chosen(body.outputs, live))[consts:]

    live = fixpoint(step, either(read, tested[consts:]))
    needed = either(_live_inputs(body, chosen(body.outputs, live))[:consts], tested[:consts])
    flags = [*needed, *live]
    params = {
        "condition": restricted(condition, chosen(condition.inputs, flags), condition.outputs),
        "body": restricted(body, chosen(body.inputs, flags), chosen(body.outputs, live)),
        "consts": sum(needed),
    }
    return replace(
        equation,
        inputs=tuple(chosen(equation.inputs, flags)),
        params=params,
        outputs=tuple(chosen(equation.outputs, live)),
    )


def fori_dce(equation: Equation, read: Flags) -> Equation:
    """The loop without dead carries and consts."""
    graph, consts = equation.params["graph"], equation.params["consts"]

    def step(live: list[bool]) -> Flags:
        return _live_inputs(graph, chosen(graph.outputs, live))[1 + consts :]

    live = fixpoint(step, read)
    needed = _live_inputs(graph, chosen(graph.outputs, live))[1 : 1 + consts]
    flags = [True, *needed, *live]
    params = {
        "graph": restricted(graph, chosen(graph.inputs, flags), chosen(graph.outputs, live)),
        "consts": sum(needed),
    }
    return replace(
        equation,
        inputs=tuple(chosen(equation.inputs, [True, *flags])),
        params=params,
        outputs=tuple(chosen(equation.outputs, live)),
    )


def cond_dce(equation: Equation, read: Flags) -> Equation:
    """The branches without dead results, and without the operands that no branch then reads."""
    branches: tuple[Graph, ...] = equation.params["branches"]
    columns = zip(*[_live_inputs(b, chosen(b.outputs, read)) for b in branches], strict=True)
    flags = [any(column) for column in columns]
    params = {
        "branches": tuple(
            restricted(b, chosen(b.inputs, flags), chosen(b.outputs, read)) for b in branches
        )
    }
    return replace(
        equation,
        inputs=tuple(chosen(equation.inputs, [True, *flags])),
        params=params,
        outputs=tuple(chosen(equation.outputs, read)),
    )
