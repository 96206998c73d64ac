"""Bodies: the graphs of loops and branches, as the placement around them sees them.

A body is a graph of its own, with loop nests of its own. What it shares with the graph around it is
its operands. Of these, integers that are arithmetic on the indices of loops are *given* to it as
such: then `x[i + 1]` inside a loop over `i` is that subscript, and no number read from memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from transpile.analysis.cost_model import UNBOUNDED
from transpile.fusion.index_lambda import Elements, convert
from transpile.ir.dims import Dim, Index, Symbol, bounds
from transpile.ir.graph import Atom, Const, Equation, Graph, Var
from transpile.ir.loop_ir import Expr, IndexValue, Literal
from transpile.primitives.control import rows as rows
from transpile.primitives.control.operands import graphs_of, inputs_of, operands_of
from transpile.util.frozen_records import dataclass

Given = dict[Var, Expr]


@dataclass(frozen=True, eq=False)
class Control:
    """A loop or a branch.

    parts    the placed graphs: of a scan or fori_loop its body; of a while its condition, then its
             body; the branches of a cond
    bounds   operands read once: the bounds of a fori_loop, the index of a cond
    consts   operands that all iterations read, or that the branches read
    carry    what the first iteration is handed
    xs       operands of which each iteration reads its part
    symbol   the counter, in terms of which the parts are placed
    where    the place in xs and ys that an iteration works at
    fixed    the consts and xs that the parts read
    wholes   those of them that a part hands to a routine, as arrays in memory
    """

    equation: Equation
    parts: tuple[Any, ...]
    bounds: tuple[Atom, ...]
    consts: tuple[Atom, ...]
    carry: tuple[Atom, ...]
    xs: tuple[Atom, ...] = ()
    symbol: Symbol | None = None
    where: Index = 0
    fixed: tuple[Atom, ...] = ()
    wholes: frozenset[Atom] = frozenset()

    @property
    def length(self) -> int | None:
        """How many iterations there are, where that is known."""
        found: int | None = self.equation.params.get("length")
        return found


# Places a graph: (graph, what is given of its inputs, its surroundings) -> its loop nests.
Place = Callable[[Graph, Mapping[Var, Expr], "Bodies"], Any]


@dataclass(frozen=True)
class Bodies:
    """How the bodies inside a graph are placed, and what the graph is itself.

    Each is placed once, however often the graph around it is placed anew: `known` has them by their
    prefixes. `carry` pairs what an iteration is handed with what it hands on.
    """

    place_part: Place
    prefix: str = ""
    is_body: bool = False
    is_condition: bool = False
    carry: tuple[tuple[Var, Atom], ...] = ()
    known: dict[str, Any] = field(default_factory=dict)

    def place(self, around: Elements, equation: Equation) -> Control:
        """The loop or branch that an equation is, its graphs placed."""
        found = _control(equation)
        prefix = f"{self.prefix}{around.graph.equations.index(equation)}."
        symbol, where = _counter(around, found, f"{prefix}i")
        graphs = graphs_of(equation)
        parts = []
        for number, graph in enumerate(graphs):
            name = f"{prefix}{number}."
            if name not in self.known:
                is_condition = equation.primitive is rows.while_ and number == 0
                carry = () if is_condition else _carried(equation, graph)
                inside = Bodies(self.place_part, name, True, is_condition, carry, self.known)
                given = _given(around, found, graph, symbol, where)
                self.known[name] = self.place_part(graph, given, inside)
            parts.append(self.known[name])
        found = replace(found, parts=tuple(parts), symbol=symbol, where=where)
        read, wholes = _fixed(found)
        return replace(found, fixed=read, wholes=wholes)


def _carried(equation: Equation, graph: Graph) -> tuple[tuple[Var, Atom], ...]:
    if equation.primitive is rows.cond:
        return ()
    return tuple(zip(inputs_of(equation, graph).carry, graph.outputs, strict=False))


def _no_place(*_: Any) -> Any:
    raise NotImplementedError(
        "a graph with loops or branches is placed by transpile.fusion.loop_fusion.fuse"
    )


NoBodies = Bodies(_no_place)


def _control(equation: Equation) -> Control:
    found = operands_of(equation)
    return Control(equation, (), found.bounds, found.consts, found.carry, found.xs)


def _counter(around: Elements, found: Control, name: str) -> tuple[Symbol | None, Index]:
    """The counter of a loop, and the place in its xs: a loop over `lower + iota` counts from there,
    so that the user's number is the counter itself."""
    row = found.equation.primitive
    if row is rows.fori_loop:
        lower, upper = (around.index_of(a, ()) for a in found.bounds)
        low = None if lower is None else bounds(lower)[0]
        high = None if upper is None else bounds(upper)[1]
        low = -UNBOUNDED if low is None else low
        if isinstance(upper, Dim) and high is not None:  # below what the counters around it allow
            return Symbol(name, low, upper), 0
        return Symbol(name, low, max(UNBOUNDED if high is None else high, low + 1)), 0
    if row is not rows.scan:
        return None, 0
    length = found.equation.params["length"]
    symbol = Symbol(name, 0, length)
    where: Index = Dim.of(symbol)
    if found.equation.params["reverse"]:
        return symbol, length - 1 - where
    for x in found.xs:
        number = _number(around, x, where)
        start = None if number is None else number - where
        if isinstance(start, int):
            symbol = Symbol(name, start, start + length)
            return symbol, Dim.of(symbol) - start
    return symbol, where


def _number(around: Elements, x: Atom, where: Index) -> Index | None:
    """The part of an operand that an iteration reads, where that is arithmetic on indices."""
    if x.type.ndim != 1 or x.type.dtype.kind not in "iu":
        return None
    return around.index_of(x, (where,))


def _given(
    around: Elements, found: Control, graph: Graph, symbol: Symbol | None, where: Index
) -> Given:
    """What the inputs of a body are, as far as they are constants or arithmetic on indices."""
    given: Given = {}
    inputs = inputs_of(found.equation, graph)
    if symbol is not None:
        given.update({var: _as_value(Dim.of(symbol), var) for var in inputs.counter})
    for var, atom in zip(inputs.xs, found.xs, strict=True):
        number = _number(around, atom, where)
        if number is not None:
            given[var] = _as_value(number, var)
    for var, atom in zip(inputs.consts, found.consts, strict=True):
        value = _scalar(around, atom)
        if value is not None:
            given[var] = value
    return given


def _as_value(index: Index, var: Var) -> Expr:
    return convert(IndexValue(index), var.type.dtype)


def _scalar(around: Elements, atom: Atom) -> Expr | None:
    if atom.type.shape:
        return None
    if isinstance(atom, Const):
        return Literal(atom.value[()], atom.type.dtype)
    if atom.type.dtype.kind not in "iu":
        return None
    index = around.index_of(atom, ())
    if isinstance(index, int):
        return Literal(atom.type.dtype.type(index), atom.type.dtype)
    return None if index is None else convert(IndexValue(index), atom.type.dtype)


def _fixed(found: Control) -> tuple[tuple[Atom, ...], frozenset[Atom]]:
    """The consts and xs that the parts read, and those that they read as wholes."""
    read: dict[Atom, None] = {}
    wholes: set[Atom] = set()
    for part in found.parts:
        inputs, needed = inputs_of(found.equation, part.placement.graph), part.wholes
        fixed = zip((*inputs.consts, *inputs.xs), (*found.consts, *found.xs), strict=True)
        for var, atom in fixed:
            if var not in part.placement.given:
                read.setdefault(atom)
                if var in needed:
                    wholes.add(atom)
    return tuple(a for a in read if not (isinstance(a, Const) and a.is_scalar)), frozenset(wholes)


def wholes(stages: Sequence[Any]) -> set[Atom]:
    """The values that stages read as arrays in memory, all elements at once."""
    found: set[Atom] = set()
    for stage in stages:
        if stage.control is not None:
            found |= stage.control.wholes
        if stage.routine is not None:
            found.update(stage.equation.inputs)
        if stage.product is not None:
            found.update(o.base for o in stage.product.operands)
        if stage.transform is not None:
            found.add(stage.transform.base)
        found.update(stage.wholes)
    return found
