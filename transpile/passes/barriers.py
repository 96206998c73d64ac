"""Barriers: they have kept what a derivative computes again apart from what it equals, and now go.

Left in place, the barrier before an operand of a matrix product would be a copy of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from transpile.ir.graph import Atom, Equation, Graph
from transpile.ir.graph_rewrite import Builder, rewrite
from transpile.machine import USUAL, Machine
from transpile.primitives.elementwise import optimization_barrier


def remove_barriers(graph: Graph, machine: Machine = USUAL) -> Graph:
    """The graph with the operand of each barrier in its place."""
    return rewrite(graph, _rule) if optimization_barrier in graph.primitives else graph


def _rule(_: Builder, equation: Equation) -> Sequence[Atom] | None:
    return equation.inputs if equation.primitive is optimization_barrier else None
