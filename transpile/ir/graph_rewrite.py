"""Rewrite a graph by local rules, in one forward traversal that builds the new graph; tell what of
a graph is needed, and what may be computed again.

A rule sees each equation with its operands already rewritten, so that it can match on the producers
of those (`Builder.producer`) and append what replaces it (`Builder.apply`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from transpile.ir.graph import Atom, Equation, Graph, Source, Var, graphs_in, has_effect
from transpile.ir.primitive import Primitive
from transpile.machine import USUAL, Machine
from transpile.util.frozen_records import replace


class Builder:
    """The graph under construction: the equations so far, their producers by output, and the atom
    that replaces each rewritten Var. `machine` is the target of machine-dependent rules."""

    def __init__(self, machine: Machine = USUAL) -> None:
        self.machine = machine
        self.equations: list[Equation] = []
        self.atoms: dict[Var, Atom] = {}
        self.producers: dict[Var, Equation] = {}
        self.source = Source("<unknown>", 0, "")
        self.name = ""

    def read(self, atom: Atom) -> Atom:
        """The atom of the new graph that replaces one of the old graph."""
        return self.atoms.get(atom, atom) if isinstance(atom, Var) else atom

    def producer(self, atom: Atom, primitive: Primitive) -> Equation | None:
        """The equation that produces an atom, if it applies this primitive."""
        equation = self.producers.get(atom) if isinstance(atom, Var) else None
        return equation if equation is not None and equation.primitive is primitive else None

    def add(self, equation: Equation) -> None:
        """Append an equation."""
        self.equations.append(equation)
        for output in equation.outputs:
            self.producers[output] = equation

    def apply(self, primitive: Primitive, *inputs: Atom, **params: Any) -> Var:
        """Append an equation of a primitive with one result, and return that."""
        (type_,) = primitive.result_types([a.type for a in inputs], params)
        output = Var(type_, self.name)
        self.add(Equation(primitive, inputs, params, (output,), self.source))
        return output


Rule = Callable[[Builder, Equation], Sequence[Atom] | None]


def rewrite(graph: Graph, rule: Rule, machine: Machine = USUAL) -> Graph:
    """Apply `rule` to every equation, in order.

    The rule is given the equation with rewritten inputs; it returns the atoms that replace its
    outputs, or None to keep it. If nothing changes, the result is the graph itself.
    """
    builder = Builder(machine)
    graph_inputs, atoms = set(graph.inputs), builder.atoms
    for equation in graph.equations:
        inputs = tuple([atoms.get(a, a) if type(a) is Var else a for a in equation.inputs])
        current = equation if inputs == equation.inputs else replace(equation, inputs=inputs)
        builder.source = equation.source
        builder.name = equation.outputs[0].name if equation.outputs else ""
        results = rule(builder, current)
        if results is None:
            builder.add(current)
        else:
            for output, atom in zip(equation.outputs, results, strict=True):
                builder.atoms[output] = atom
                if isinstance(atom, Var) and not atom.name and atom not in graph_inputs:
                    atom.name = output.name
    return graph.with_parts(builder.equations, [builder.read(a) for a in graph.outputs])


# ------------------------------------------------------------- what is needed, what may be repeated


def may_repeat(equation: Equation) -> bool:
    """True if the results may be computed elsewhere, or again, from the equation `silenced`: none
    of them comes from an effect."""
    if equation.primitive.effect:
        return not equation.outputs
    return all(may_repeat(part) for graph in graphs_in(equation) for part in graph.equations)


def silenced(equation: Equation) -> Equation:
    """A loop, branch or call without those effects in its regions that have no results; others are
    effects no more, so that they can be eliminated."""
    params = {name: _silenced_param(value) for name, value in equation.params.items()}
    return replace(equation, params=params) if has_effect(equation) else equation


def _silenced_param(value: Any) -> Any:
    if isinstance(value, Graph):
        kept = [_silenced_part(e) for e in value.equations if e.outputs or not has_effect(e)]
        return replace(value, equations=tuple(kept))
    return tuple(map(_silenced_param, value)) if isinstance(value, tuple) else value


def _silenced_part(equation: Equation) -> Equation:
    if equation.primitive.effect:
        return replace(equation, primitive=replace(equation.primitive, effect=False))
    return silenced(equation)


def live_equations(
    equations: Sequence[Equation], outputs: Sequence[Atom], effects: bool = True
) -> tuple[Equation, ...]:
    """The live equations, in order: those that outputs depend on, those with effects unless
    `effects` is False. Loops and branches lose their dead results."""
    live = {a for a in outputs if isinstance(a, Var)}
    kept: list[Equation] = []
    for equation in reversed(equations):
        if not live.isdisjoint(equation.outputs) or (effects and has_effect(equation)):
            dce = equation.primitive.dce
            if dce is not None:
                equation = dce(equation, [v in live for v in equation.outputs])
            kept.append(equation)
            live.update(a for a in equation.inputs if isinstance(a, Var))
    return tuple(reversed(kept))
