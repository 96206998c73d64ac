"""The operands of loops and branches, and the inputs of their graphs, by what they are for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from transpile.ir.graph import Atom, Equation, Graph, Var
from transpile.primitives.control import primitives
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True)
class Operands:
    """Of an equation.

    bounds   read once: the bounds of a fori_loop, the index of a cond
    consts   what all iterations read, or the branches
    carry    what the first iteration is handed
    xs       of which each iteration reads its part
    """

    bounds: tuple[Atom, ...]
    consts: tuple[Atom, ...]
    carry: tuple[Atom, ...] = ()
    xs: tuple[Atom, ...] = ()


@dataclass(frozen=True)
class Inputs:
    """Of a graph; `counter` is the number of the iteration, in a fori_loop."""

    counter: tuple[Var, ...]
    consts: tuple[Var, ...]
    carry: tuple[Var, ...]
    xs: tuple[Var, ...]

    def __iter__(self) -> Iterator[Var]:
        yield from (*self.counter, *self.consts, *self.carry, *self.xs)


def operands_of(equation: Equation) -> Operands:
    """The operands of a loop or branch."""
    atoms, params, row = equation.inputs, equation.params, equation.primitive
    if row is primitives.cond:
        return Operands(atoms[:1], atoms[1:])
    first = 2 if row is primitives.fori_loop else 0
    fixed = first + params["consts"]
    handed = fixed + params["carry"] if row is primitives.scan else len(atoms)
    return Operands(atoms[:first], atoms[first:fixed], atoms[fixed:handed], atoms[handed:])


def graphs_of(equation: Equation) -> tuple[Graph, ...]:
    """The graphs: the branches, the condition and the body, or the body."""
    params = equation.params
    if equation.primitive is primitives.cond:
        return tuple(params["branches"])
    if equation.primitive is primitives.while_:
        return (params["condition"], params["body"])
    return (params["graph"],)


def inputs_of(equation: Equation, graph: Graph) -> Inputs:
    """The inputs of one of the graphs."""
    given = operands_of(equation)
    counter = 1 if equation.primitive is primitives.fori_loop else 0
    left = iter(graph.inputs)
    sizes = (counter, len(given.consts), len(given.carry), len(given.xs))
    return Inputs(*(tuple(islice(left, size)) for size in sizes))


def rebuilt(
    equation: Equation, given: Operands, graphs: Sequence[Graph], outputs: Sequence[Var]
) -> Equation:
    """The equation with other operands, graphs and results."""
    params = dict(equation.params)
    if equation.primitive is primitives.cond:
        params["branches"] = tuple(graphs)
    elif equation.primitive is primitives.while_:
        params["condition"], params["body"] = graphs
    else:
        (params["graph"],) = graphs
    if "consts" in params:
        params["consts"] = len(given.consts)
    if "carry" in params:
        params["carry"] = len(given.carry)
    inputs = (*given.bounds, *given.consts, *given.carry, *given.xs)
    return replace(equation, inputs=inputs, params=params, outputs=tuple(outputs))
