"""Scopes: a graph and the graphs of its loops and branches, with what each knows of the others.

A body is a graph of its own, with loop nests of its own. What it shares with the graph around it is
its operands. Of these, integers that are arithmetic on the indices of loops are *given* to it as
such: then `x[i + 1]` inside a loop over `i` is that subscript, and no number read from memory.

Every phase of lowering has the scope of the graph at hand, so it is the scope that carries the
machine, whose thresholds they ask.
"""

from __future__ import annotations

from collections.abc import Mapping

from transpile.analysis.cost_model import UNBOUNDED
from transpile.fusion.elements import Values, values_of
from transpile.fusion.index_lambda import arithmetic, index_of
from transpile.ir.dims import Dim, Index, Symbol, bounds
from transpile.ir.graph import Atom, Const, Equation, Graph, Var
from transpile.ir.indices.estimates import greatest
from transpile.ir.indices.values import convert
from transpile.ir.loop_ir import Expr, IndexValue, Literal
from transpile.machine import USUAL, Machine
from transpile.primitives.control import primitives
from transpile.primitives.control.operands import Operands, graphs_of, inputs_of, operands_of
from transpile.util.frozen_records import dataclass

Given = Mapping[Var, Expr]


@dataclass(frozen=True, eq=False)
class Scope:
    """A program's graph, or a body in one.

    machine  what it is lowered for
    values   its values, with its inputs that are arithmetic on counters
    prefix   begins the names of its symbols
    carry    what an iteration is handed, and what it hands on instead
    inner    its loops and branches
    """

    graph: Graph
    machine: Machine
    values: Values
    prefix: str
    is_body: bool
    is_condition: bool
    carry: tuple[tuple[Var, Atom], ...]
    inner: Mapping[Equation, Bodies]

    @property
    def given(self) -> Given:
        """Its inputs that are arithmetic on counters."""
        return self.values.given


@dataclass(frozen=True, eq=False)
class Bodies:
    """The graphs of a loop or branch.

    parts    of a scan or fori_loop its body; of a while its condition, then its body; the branches
             of a cond
    symbol   the counter, in terms of which they are placed
    where    the place in xs and ys that an iteration works at
    """

    operands: Operands
    parts: tuple[Scope, ...]
    symbol: Symbol | None
    where: Index


def scope_of(graph: Graph, machine: Machine = USUAL) -> Scope:
    """The scope of a whole program."""
    return _scope(graph, machine, {}, "")


def _scope(
    graph: Graph,
    machine: Machine,
    given: Given,
    prefix: str,
    is_body: bool = False,
    is_condition: bool = False,
    carry: tuple[tuple[Var, Atom], ...] = (),
) -> Scope:
    values = values_of(graph, given)
    inner = {
        equation: _bodies(values, machine, equation, f"{prefix}{number}.")
        for number, equation in enumerate(graph.equations)
        if equation.primitive.kind == "control"
    }
    return Scope(graph, machine, values, prefix, is_body, is_condition, carry, inner)


def _bodies(around: Values, machine: Machine, equation: Equation, prefix: str) -> Bodies:
    operands = operands_of(equation)
    symbol, where = _counter(around, equation, operands, f"{prefix}i")
    parts = []
    for number, graph in enumerate(graphs_of(equation)):
        is_condition = equation.primitive is primitives.while_ and number == 0
        carry = () if is_condition else _carried(equation, graph)
        given = _given(around, equation, graph, symbol, where)
        inner = f"{prefix}{number}."
        parts.append(_scope(graph, machine, given, inner, True, is_condition, carry))
    return Bodies(operands, tuple(parts), symbol, where)


def _carried(equation: Equation, graph: Graph) -> tuple[tuple[Var, Atom], ...]:
    if equation.primitive is primitives.cond:
        return ()
    return tuple(zip(inputs_of(equation, graph).carry, graph.outputs, strict=False))


def _counter(
    around: Values, equation: Equation, operands: Operands, name: str
) -> tuple[Symbol | None, Index]:
    """The counter of a loop, and the place in its xs: a loop over `lower + iota` counts from there,
    so that the user's number is the counter itself."""
    primitive = equation.primitive
    if primitive is primitives.fori_loop:
        lower, upper = (index_of(around, a, ()) for a in operands.bounds)
        low = None if lower is None else bounds(lower)[0]
        high = None if upper is None else bounds(upper)[1]
        low = -UNBOUNDED if low is None else low
        if isinstance(upper, Dim) and greatest(upper) is not None:
            # Below what sizes, and the counters around it, allow.
            return Symbol(name, low, upper), 0
        return Symbol(name, low, max(UNBOUNDED if high is None else high, low + 1)), 0
    if primitive is not primitives.scan:
        return None, 0
    length = equation.params["length"]
    symbol = Symbol(name, 0, length)
    where: Index = Dim.of(symbol)
    if equation.params["reverse"]:
        return symbol, length - 1 - where
    for x in operands.xs:
        number = _number(around, x, where)
        start = None if number is None else number - where
        if isinstance(start, int):
            symbol = Symbol(name, start, start + length)
            return symbol, Dim.of(symbol) - start
    return symbol, where


def _number(around: Values, x: Atom, where: Index) -> Index | None:
    """The part of an operand that an iteration reads, where that is arithmetic on indices."""
    if x.type.ndim != 1 or x.type.dtype.kind not in "iu":
        return None
    return index_of(around, x, (where,))


def _given(
    around: Values, equation: Equation, graph: Graph, symbol: Symbol | None, where: Index
) -> Given:
    """What the inputs of a body are, as far as they are constants or arithmetic on indices."""
    given: dict[Var, Expr] = {}
    operands, inputs = operands_of(equation), inputs_of(equation, graph)
    if symbol is not None:
        given.update({var: _as_value(Dim.of(symbol), var) for var in inputs.counter})
    for var, atom in zip(inputs.xs, operands.xs, strict=True):
        number = _number(around, atom, where)
        if number is not None:
            given[var] = _as_value(number, var)
    for var, atom in zip(inputs.consts, operands.consts, strict=True):
        value = _scalar(around, atom)
        if value is not None:
            given[var] = value
    return given


def _as_value(index: Index, var: Var) -> Expr:
    return convert(IndexValue(index), var.type.dtype)


def _scalar(around: Values, atom: Atom) -> Expr | None:
    if atom.type.shape:
        return None
    if isinstance(atom, Const):
        return Literal(atom.value[()], atom.type.dtype)
    if atom.type.dtype.kind == "b":
        truth = arithmetic(around, atom, ())
        return truth if isinstance(truth, Literal) else None
    if atom.type.dtype.kind not in "iu":
        return None
    index = index_of(around, atom, ())
    if isinstance(index, int):
        return Literal(atom.type.dtype.type(index), atom.type.dtype)
    return None if index is None else convert(IndexValue(index), atom.type.dtype)
