"""Common subexpressions: equal equations are computed once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transpile.ir.graph import Atom, Equation, Graph, has_effect
from transpile.ir.graph_rewrite import Builder, rewrite
from transpile.machine import USUAL, Machine


def common_subexpressions(graph: Graph, machine: Machine = USUAL) -> Graph:
    """The graph in which no two equations have the same primitive, inputs and params, but those
    that have effects."""
    seen: dict[tuple[Any, ...], Equation] = {}

    def rule(_: Builder, equation: Equation) -> Sequence[Atom] | None:
        if has_effect(equation):
            return None
        key = equation.key()
        row = equation.primitive
        if row.commutative and not row.chooses:  # of 0.0 and -0.0 a maximum is the first one
            key = (row.name, frozenset(equation.inputs))
        earlier = seen.setdefault(key, equation)
        return None if earlier is equation else earlier.outputs

    return rewrite(graph, rule)
