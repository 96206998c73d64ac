"""Dead-code elimination rules of loops and branches: `dce(equation, read)` is the equation without
the results that are not read, and without the operands, carries and equations that only these need.

A carry is live if it is read, or if a live carry, a live result or the condition depends on it in
some iteration: the least fixpoint of dependence in the body.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from transpile.ir.graph import Atom, Equation, Graph, Var
from transpile.ir.graph_rewrite import live_equations
from transpile.primitives.control.graphs import Flags, chosen, either, fixpoint, split_list


def restricted(graph: Graph, inputs: Sequence[Var], outputs: Sequence[Atom]) -> Graph:
    """The graph from these inputs to these outputs, with only the equations that they need."""
    return _Region(graph).restricted(inputs, outputs)


class _Region:
    """A graph, and the equations that some of its outputs need: found once for each choice of them,
    as each time goes through all regions inside."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._live: dict[tuple[int, ...], tuple[Equation, ...]] = {}

    def equations(self, outputs: Sequence[Atom]) -> tuple[Equation, ...]:
        """The equations that these outputs depend on."""
        key = tuple(map(id, outputs))
        if key not in self._live:
            self._live[key] = live_equations(self.graph.equations, outputs)
        return self._live[key]

    def needed(self, outputs: Sequence[Atom]) -> list[bool]:
        """Flags of the inputs that some of these outputs depend on."""
        read: set[Atom] = {a for e in self.equations(outputs) for a in e.inputs} | set(outputs)
        return [v in read for v in self.graph.inputs]

    def restricted(self, inputs: Sequence[Var], outputs: Sequence[Atom]) -> Graph:
        """The graph from these inputs to these outputs."""
        return replace(
            self.graph,
            inputs=tuple(inputs),
            equations=self.equations(outputs),
            outputs=tuple(outputs),
            output_names=(),
        )


def scan_dce(equation: Equation, read: Flags) -> Equation:
    """The scan without dead carries, stacked results, consts and xs."""
    graph: Graph = equation.params["graph"]
    consts, carry = equation.params["consts"], equation.params["carry"]
    live, ys = split_list(read, carry)
    region = _Region(graph)

    def step(live: list[bool]) -> Flags:
        needed = region.needed(chosen(graph.outputs, [*live, *ys]))
        return needed[consts : consts + carry]

    live = fixpoint(step, live)
    outputs = [*live, *ys]
    needed = region.needed(chosen(graph.outputs, outputs))
    flags = [*needed[:consts], *live, *needed[consts + carry :]]
    params = {
        **equation.params,
        "graph": region.restricted(chosen(graph.inputs, flags), chosen(graph.outputs, outputs)),
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
    test, region = _Region(condition), _Region(body)
    tested = test.needed(condition.outputs)

    def step(live: list[bool]) -> Flags:
        return region.needed(chosen(body.outputs, live))[consts:]

    live = fixpoint(step, either(read, tested[consts:]))
    needed = either(region.needed(chosen(body.outputs, live))[:consts], tested[:consts])
    flags = [*needed, *live]
    params = {
        "condition": test.restricted(chosen(condition.inputs, flags), condition.outputs),
        "body": region.restricted(chosen(body.inputs, flags), chosen(body.outputs, live)),
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
    region = _Region(graph)

    def step(live: list[bool]) -> Flags:
        return region.needed(chosen(graph.outputs, live))[1 + consts :]

    live = fixpoint(step, read)
    needed = region.needed(chosen(graph.outputs, live))[1 : 1 + consts]
    flags = [True, *needed, *live]
    params = {
        "graph": region.restricted(chosen(graph.inputs, flags), chosen(graph.outputs, live)),
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
    regions = [_Region(b) for b in branches]
    columns = zip(*[r.needed(chosen(r.graph.outputs, read)) for r in regions], strict=True)
    flags = [any(column) for column in columns]
    params = {
        "branches": tuple(
            r.restricted(chosen(r.graph.inputs, flags), chosen(r.graph.outputs, read))
            for r in regions
        )
    }
    return replace(
        equation,
        inputs=tuple(chosen(equation.inputs, [True, *flags])),
        params=params,
        outputs=tuple(chosen(equation.outputs, read)),
    )
