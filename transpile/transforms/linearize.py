"""Linearise a graph: partial evaluation of its JVP into a primal part and a linear part.

The JVP is linear in the tangents. Equations that do not depend on a tangent form the forward graph,
which is evaluated at the point; the others form the linear graph, which reads some of its values,
the residuals. Transposing the linear graph gives reverse mode (Radul et al., You Only Linearize
Once, POPL 2023).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from transpile.ir.graph import Atom, Equation, Graph, Var
from transpile.ir.graph_rewrite import live_equations
from transpile.transforms.closed import Closed
from transpile.transforms.jvp import jvp
from transpile.transforms.residuals import residuals
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True, eq=False)
class Linearized:
    """`forward` gives the results, then the residuals; `linear` takes residuals, then tangents of
    the active inputs, and gives the tangents of those results that `active` marks."""

    forward: Closed
    linear: Graph
    active: list[bool]
    results: int  # how many results `forward` gives

    def split(self, values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The results and the residuals among what `forward` gave."""
        count = len(values) - self.residuals
        return list(values[:count]), list(values[count:])

    @property
    def residuals(self) -> int:
        """The number of residuals."""
        return len(self.forward.graph.outputs) - self.results

    def without_results(self, count: int) -> Linearized:
        """The same without the first results, and what only they need."""
        graph = self.forward.graph
        outputs = graph.outputs[count:]
        forward = replace(
            graph,
            outputs=outputs,
            equations=live_equations(graph.equations, outputs, readers=self.linear.equations),
        )
        return replace(
            self, forward=Closed(forward, self.forward.captured), results=self.results - count
        )


def linearize(
    closed: Closed,
    active: Sequence[bool],
    wanted: int | None = None,
    known: Sequence[Any] | None = None,
) -> Linearized:
    """Linearize a graph in its active inputs; tangents are wanted of that many results (all)."""
    both, moving = jvp(closed, active, known)
    flags = [f and (wanted is None or k < wanted) for k, f in enumerate(moving)]
    graph = both.graph
    first_tangent = len(graph.inputs) - sum(active)
    tangents = graph.inputs[first_tangent:]
    known, linear = partition(graph, tangents)
    results, moved = graph.outputs[: len(flags)], graph.outputs[len(flags) :][: sum(flags)]
    linear = live_equations(linear, moved)
    kept = residuals(known, free_variables(linear, moved, tangents), set(), set())
    outputs = (*results, *kept.kept)
    forward = replace(
        graph,
        inputs=graph.inputs[:first_tangent],
        equations=live_equations(known, outputs, readers=linear),
        outputs=outputs,
    )
    return Linearized(
        Closed(forward, both.captured),
        replace(
            graph,
            inputs=(*kept.kept, *tangents),
            equations=(*kept.repeated, *linear),
            outputs=moved,
        ),
        flags,
        len(flags),
    )


def partition(
    graph: Graph, unknown: Sequence[Var], eager: bool = True
) -> tuple[tuple[Equation, ...], tuple[Equation, ...]]:
    """The equations that do not depend on the unknown inputs, and those that do.

    Loops and branches of which a part does not depend on them are split; not `eager`: only where
    that part gives a result.
    """
    depending = set(unknown)
    known: list[Equation] = []
    rest: list[Equation] = []
    for equation in graph.equations:
        if depending.isdisjoint(equation.inputs):
            known.append(equation)
            continue
        rule = equation.primitive.partial_eval
        flags = [a in depending for a in equation.inputs]
        parts = None if rule is None else rule(equation, flags, eager)
        first, second = ([], [equation]) if parts is None else parts
        known += first
        rest += second
        depending.update(v for e in second for v in e.outputs)
    return tuple(known), tuple(rest)


def free_variables(
    equations: Sequence[Equation], outputs: Sequence[Atom], bound: Sequence[Var]
) -> tuple[Var, ...]:
    """The Vars that equations and outputs read but that neither they nor `bound` define."""
    defined = {*bound, *(v for e in equations for v in e.outputs)}
    read = [a for e in equations for a in e.inputs] + list(outputs)
    return tuple(dict.fromkeys(a for a in read if isinstance(a, Var) and a not in defined))
