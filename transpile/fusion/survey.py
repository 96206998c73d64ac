"""Survey: what is known of a graph's values whichever of them are materialised.

A graph may be materialised several times, with other choices; all that does not depend on these is
found once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from transpile.fusion.inlining.cost import (
    bytes_of_rows,
    inline_costs,
    read_often,
    updates_in_place,
)
from transpile.fusion.inlining.reshape_cuts import tangled
from transpile.fusion.nodes import Loops, array_operands
from transpile.fusion.scopes import Bodies, Scope
from transpile.ir.graph import Atom, Const, Equation, Var
from transpile.library.plan import CallPlan, Views
from transpile.library.planner import plan_calls
from transpile.primitives.control.operands import inputs_of
from transpile.util.frozen_records import dataclass

# The fused loops of the bodies of each loop and branch in a graph.
Parts = Mapping[Equation, tuple[Loops, ...]]


@dataclass(frozen=True)
class Fixed:
    """The operands of a loop or branch that its bodies read as they are, and which of them they
    read as arrays in memory."""

    operands: tuple[Atom, ...]
    wholes: frozenset[Atom]


@dataclass(frozen=True, eq=False)
class Survey:
    """What is known of the values of a scope.

    parts    the loops of its bodies
    fixed    what they read of the operands of their loop or branch
    updates  the slices that are put into arrays in memory
    uses     how often each value is read, results included
    costs    for each value the cost and the number of parts of its expression
    often    those that are stored however cheap they are
    tangled  the reshaped values that are put into memory
    views    what values are views of
    calls    the equations that are calls of a library
    """

    scope: Scope
    parts: Parts
    fixed: Mapping[Equation, Fixed]
    updates: Set[Var]
    uses: Mapping[Var, int]
    costs: Mapping[Var, tuple[int, int]]
    often: Set[Var]
    tangled: Set[Var]
    views: Views
    calls: Mapping[Equation, CallPlan]


def survey(scope: Scope, parts: Parts) -> Survey:
    """What is known of a scope whose bodies have these loops."""
    graph, producers = scope.graph, scope.values.producers
    fixed = {e: _fixed(e, bodies, parts[e]) for e, bodies in scope.inner.items()}
    updates = updates_in_place(scope, producers)
    uses = graph.uses()
    costs = inline_costs(scope, producers, updates, uses)
    often = read_often(graph, scope.machine) | bytes_of_rows(graph, scope.machine)
    cut = tangled(graph)
    views = Views(producers, cut)
    calls = plan_calls(graph, views, scope.machine)
    return Survey(scope, parts, fixed, updates, uses, costs, often, cut, views, calls)


def _fixed(equation: Equation, bodies: Bodies, parts: Sequence[Loops]) -> Fixed:
    """What the bodies of a loop or branch read of its operands."""
    read: dict[Atom, None] = {}
    wholes: set[Atom] = set()
    operands = (*bodies.operands.consts, *bodies.operands.xs)
    for scope, loops in zip(bodies.parts, parts, strict=True):
        inputs, needed = inputs_of(equation, scope.graph), array_operands(loops.block.nodes)
        for var, atom in zip((*inputs.consts, *inputs.xs), operands, strict=True):
            if var not in scope.given:
                read.setdefault(atom)
                if var in needed:
                    wholes.add(atom)
    by_elements = (a for a in read if not (isinstance(a, Const) and a.is_scalar))
    return Fixed(tuple(by_elements), frozenset(wholes))
