"""Count lengths before Python is called.

A program that finds too little memory for a length ends, and is called again, so that what it calls
of Python before is called twice. What a length is counted from goes ahead of the first such call:

    print x; s = loop x; u = length s   ->   s2 = loop x; u = length s2; print x; s = loop x

What a loop that prints has computed is computed once more for that, without the prints. Where a
failure may end the call between both, which it must do before the loops that count, all stays as
it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from transpile.ir.contracts import contract
from transpile.ir.contracts.graphs import NO_COMMON_SUBEXPRESSIONS
from transpile.ir.graph import Atom, Equation, Graph, Var, graphs_in, has_effect
from transpile.ir.graph_rewrite import live_equations, may_repeat, rooms_of, silenced
from transpile.machine import USUAL, Machine
from transpile.primitives.effects.failures import fail
from transpile.util.frozen_records import replace


@contract(destroys=(NO_COMMON_SUBEXPRESSIONS,))
def count_before_calls(graph: Graph, machine: Machine = USUAL) -> Graph:
    """The graph in that order, where it has lengths without a bound and calls Python before."""
    rooms = rooms_of(graph)
    counting = [
        place
        for place, e in enumerate(graph.equations)
        if e.primitive.kind == "length" and e.params["length"] in rooms
    ]
    calling = [place for place, e in enumerate(graph.equations) if _some(e, _calls)]
    if not counting or not calling or calling[0] > counting[-1]:
        return graph
    first, before = calling[0], graph.equations[: counting[-1] + 1]
    if any(_some(e, _fails) for e in before[first:]):
        return graph
    counts = [before[place].outputs[0] for place in counting]
    there = {v for e in before[:first] for v in e.outputs}
    needed = live_equations(before, counts, effects=False, results=False)
    needed = tuple(e for e in needed if there.isdisjoint(e.outputs))
    if not all(map(may_repeat, needed)):
        return graph
    ahead = _ahead(needed)
    moved = {v for e in ahead for v in e.outputs}
    rest = [e for e in graph.equations[first:] if moved.isdisjoint(e.outputs)]
    return graph.with_parts((*before[:first], *ahead, *rest), graph.outputs)


def _ahead(needed: Sequence[Equation]) -> list[Equation]:
    """What lengths are counted from: what calls Python, and what follows from it, is computed for
    this alone."""
    copies: dict[Atom, Atom] = {}
    ahead: list[Equation] = []
    for equation in needed:
        inputs = tuple(copies.get(a, a) for a in equation.inputs)
        is_copy = has_effect(equation) or inputs != equation.inputs
        equation = silenced(replace(equation, inputs=inputs))
        if is_copy and equation.primitive.kind != "length":
            outputs = tuple(Var(v.type, v.name) for v in equation.outputs)
            copies.update(zip(equation.outputs, outputs, strict=True))
            equation = replace(equation, outputs=outputs)
        ahead.append(equation)
    return ahead


def _some(equation: Equation, holds: Callable[[Equation], bool]) -> bool:
    """True if it holds for an equation, or for one in its regions."""
    return holds(equation) or any(_some(e, holds) for g in graphs_in(equation) for e in g.equations)


def _calls(equation: Equation) -> bool:
    return equation.primitive.effect and not _fails(equation)


def _fails(equation: Equation) -> bool:
    return equation.primitive == fail
