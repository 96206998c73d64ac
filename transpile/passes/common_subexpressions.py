"""Common subexpressions: equal equations are computed once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transpile.graph import Atom, Equation, Graph
from transpile.passes.rewrite import Builder, rewrite


def common_subexpressions(graph: Graph) -> Graph:
    """The graph in which no two equations have the same primitive, inputs and params."""
    seen: dict[tuple[Any, ...], Equation] = {}

    def rule(_: Builder, equation: Equation) -> Sequence[Atom] | None:
        earlier = seen.setdefault(equation.key(), equation)
        return None if earlier is equation else earlier.outputs

    return rewrite(graph, rule)
