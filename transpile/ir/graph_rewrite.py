"""Rewrite a graph by local rules: one forward traversal, which builds the new graph.

A rule sees each equation with its operands already rewritten, so that it can match on the producers
of those (`Builder.producer`) and append what replaces it (`Builder.apply`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from transpile.ir.graph import Atom, Equation, Graph, Source, Var
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
