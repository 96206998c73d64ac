"""What rewriting passes share: a walk over the equations that builds the new graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from transpile.ir.graph import Atom, Equation, Graph, Source, Var
from transpile.ir.primitive import Primitive
from transpile.machine import USUAL, Machine
from transpile.util.frozen_records import replace


class Builder:
    """The graph under construction: what each old Var has become, and the equations so far.
    `machine` is the one that it is made for."""

    def __init__(self, machine: Machine = USUAL) -> None:
        self.machine = machine
        self.equations: list[Equation] = []
        self.atoms: dict[Var, Atom] = {}
        self.producers: dict[Var, Equation] = {}
        self.source = Source("<unknown>", 0, "")
        self.name = ""

    def read(self, atom: Atom) -> Atom:
        """What an atom of the old graph is in the new one."""
        return self.atoms.get(atom, atom) if isinstance(atom, Var) else atom

    def producer(self, atom: Atom, primitive: Primitive) -> Equation | None:
        """The equation that defines an atom, if it applies this primitive."""
        equation = self.producers.get(atom) if isinstance(atom, Var) else None
        return equation if equation is not None and equation.primitive is primitive else None

    def add(self, equation: Equation) -> None:
        """Append an equation as it is."""
        self.equations.append(equation)
        for output in equation.outputs:
            self.producers[output] = equation

    def apply(self, primitive: Primitive, *inputs: Atom, **params: Any) -> Var:
        """Append the application of a primitive that has one result."""
        (type_,) = primitive.result_types([a.type for a in inputs], params)
        output = Var(type_, self.name)
        self.add(Equation(primitive, inputs, params, (output,), self.source))
        return output


Rule = Callable[[Builder, Equation], Sequence[Atom] | None]


def rewrite(graph: Graph, rule: Rule, machine: Machine = USUAL) -> Graph:
    """The graph with every equation offered to `rule`.

    The rule sees the equation with its new inputs. It gives the atoms that stand for its outputs
    from now on, or None to keep it. A graph of which all is kept is the same object.
    """
    builder = Builder(machine)
    given, atoms = set(graph.inputs), builder.atoms
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
                if isinstance(atom, Var) and not atom.name and atom not in given:
                    atom.name = output.name
    return graph.with_parts(builder.equations, [builder.read(a) for a in graph.outputs])
