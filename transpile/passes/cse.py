"""Eliminate common subexpressions by value numbering: equations with the same primitive, inputs and
parameters are computed once, up to the order of commutative operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transpile.ir.contracts import contract
from transpile.ir.contracts.graphs import NO_COMMON_SUBEXPRESSIONS, OWN_OUTPUTS
from transpile.ir.graph import Atom, Equation, Graph, has_effect
from transpile.ir.graph_rewrite import Builder, rewrite
from transpile.machine import USUAL, Machine


@contract(provides=(NO_COMMON_SUBEXPRESSIONS,), destroys=(OWN_OUTPUTS,))
def eliminate_common_subexpressions(graph: Graph, machine: Machine = USUAL) -> Graph:
    """Compute equal equations without effects once."""
    seen: dict[tuple[Any, ...], Equation] = {}

    def rule(_: Builder, equation: Equation) -> Sequence[Atom] | None:
        if has_effect(equation):
            return None
        key = equation.key()
        primitive = equation.primitive
        if primitive.commutative and not primitive.chooses:  # max(0.0, -0.0) is its first operand
            key = (primitive.name, frozenset(equation.inputs))
        earlier = seen.setdefault(key, equation)
        return None if earlier is equation else earlier.outputs

    return rewrite(graph, rule)
