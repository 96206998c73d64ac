"""Accessors of loop and branch equations: operands and region inputs by role, equations rebuilt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from transpile.ir.graph import Atom, Equation, Graph, Var
from transpile.primitives.control import primitives
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True)
class Operands:
    """The operands of an equation by role.

    bounds   the bounds of a fori_loop, or the index of a cond
    consts   loop-invariant operands, or the operands of branches
    carry    the initial values of the carry
    xs       the arrays of which each iteration reads a slice
    """

    bounds: tuple[Atom, ...]
    consts: tuple[Atom, ...]
    carry: tuple[Atom, ...] = ()
    xs: tuple[Atom, ...] = ()


@dataclass(frozen=True)
class Inputs:
    """The inputs of a region by role; `counter` is the induction variable of a fori_loop."""

    counter: tuple[Var, ...]
    consts: tuple[Var, ...]
    carry: tuple[Var, ...]
    xs: tuple[Var, ...]

    def __iter__(self) -> Iterator[Var]:
        yield from (*self.counter, *self.consts, *self.carry, *self.xs)


def operands_of(equation: Equation) -> Operands:
    """The operands of a loop or branch."""
    atoms, params, primitive = equation.inputs, equation.params, equation.primitive
    if primitive is primitives.cond:
        return Operands(atoms[:1], atoms[1:])
    consts = 2 if primitive is primitives.fori_loop else 0
    carry = consts + params["consts"]
    xs = carry + params["carry"] if primitive is primitives.scan else len(atoms)
    return Operands(atoms[:consts], atoms[consts:carry], atoms[carry:xs], atoms[xs:])


def graphs_of(equation: Equation) -> tuple[Graph, ...]:
    """The regions: the branches, the condition and the body, or the body."""
    params = equation.params
    if equation.primitive is primitives.cond:
        return tuple(params["branches"])
    if equation.primitive is primitives.while_:
        return (params["condition"], params["body"])
    return (params["graph"],)


def inputs_of(equation: Equation, graph: Graph) -> Inputs:
    """The inputs of one of the regions."""
    given = operands_of(equation)
    counter = 1 if equation.primitive is primitives.fori_loop else 0
    left = iter(graph.inputs)
    sizes = (counter, len(given.consts), len(given.carry), len(given.xs))
    return Inputs(*(tuple(islice(left, size)) for size in sizes))


def rebuilt(
    equation: Equation, given: Operands, graphs: Sequence[Graph], outputs: Sequence[Var]
) -> Equation:
    """The equation with other operands, regions and results."""
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
