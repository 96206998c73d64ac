"""Scopes: a graph and the graphs of its loops and branches, with what each knows of the others.

A body is a graph of its own, with loop nests of its own. What it shares with the graph around it is
its operands. Of these, integers that are arithmetic on the indices of loops are *given* to it as
such: then `x[i + 1]` inside a loop over `i` is that subscript, and no number read from memory.

Every phase of lowering has the scope of the graph at hand, so it is the scope that carries the
machine, whose thresholds they ask.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

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
Cycles = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class Scope:
    """A program's graph, or a body in one.

    machine  what it is lowered for
    values   its values, with its inputs that are arithmetic on counters
    prefix   begins the names of its symbols
    carry    what an iteration is handed, and what it hands on in that memory
    rotated  cycles of numbers of carries, whose memory is exchanged behind an iteration: the array
             of each lies then where that of the one before it was
    inner    its loops and branches
    """

    graph: Graph
    machine: Machine
    values: Values
    prefix: str
    is_body: bool
    is_condition: bool
    carry: tuple[tuple[Var, Atom], ...]
    rotated: tuple[tuple[int, ...], ...]
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
    rotated: Cycles = (),
) -> Scope:
    values = values_of(graph, given)
    inner = {
        equation: _bodies(values, machine, equation, f"{prefix}{number}.")
        for number, equation in enumerate(graph.equations)
        if equation.primitive.kind == "control"
    }
    return Scope(graph, machine, values, prefix, is_body, is_condition, carry, rotated, inner)


def _bodies(around: Values, machine: Machine, equation: Equation, prefix: str) -> Bodies:
    operands = operands_of(equation)
    symbol, where = _counter(around, equation, operands, f"{prefix}i")
    parts = []
    for number, graph in enumerate(graphs_of(equation)):
        is_condition = equation.primitive is primitives.while_ and number == 0
        carry, rotated = ((), ()) if is_condition else _carried(equation, graph, machine)
        given = _given(around, equation, graph, symbol, where)
        inner = f"{prefix}{number}."
        parts.append(_scope(graph, machine, given, inner, True, is_condition, carry, rotated))
    return Bodies(operands, tuple(parts), symbol, where)


def _carried(
    equation: Equation, graph: Graph, machine: Machine
) -> tuple[tuple[tuple[Var, Atom], ...], Cycles]:
    """What a body is handed, each with what it hands on in that memory; and the carries that change
    their memory, as in `u, v = step(u, v), u`: the array that was `u` need not be copied to be `v`,
    and the new `u` is written where `v` was."""
    if equation.primitive is primitives.cond:
        return (), ()
    inputs = inputs_of(equation, graph).carry
    outputs = graph.outputs[: len(inputs)]
    rotated = tuple(_rotations(graph, inputs, outputs, machine.most_copied_elements))
    held = list(range(len(inputs)))
    for cycle in rotated:
        for number, following in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
            held[number] = following
    return tuple((x, outputs[k]) for x, k in zip(inputs, held, strict=True)), rotated


def _rotations(
    graph: Graph, inputs: Sequence[Var], outputs: Sequence[Atom], smallest: int
) -> Iterator[tuple[int, ...]]:
    """The cycles of carries whose memory is exchanged, of arrays with more elements than
    `smallest`: each takes the array of the one before it. The array of the last one of a path,
    which nobody takes, is the memory of the first one's next value."""
    following = _following(graph, inputs, outputs, smallest)
    taken = set(following.values())
    left = dict.fromkeys(following)
    for number in [k for k in left if k not in taken] + list(left):
        if number not in left:
            continue
        path = [number]
        while path[-1] in left:
            del left[path[-1]]
            path.append(following[path[-1]])
        yield tuple(path[:-1] if path[-1] == number else path)


def _following(
    graph: Graph, inputs: Sequence[Var], outputs: Sequence[Atom], smallest: int
) -> dict[int, int]:
    """By carry: the first other one whose next value is its array."""
    copied = {e.outputs[0]: e.inputs[0] for e in graph.equations if e.primitive.name == "copy"}
    numbers = {var: k for k, var in enumerate(inputs)}
    following: dict[int, int] = {}
    for k, output in enumerate(outputs):
        source = copied.get(output) if isinstance(output, Var) else None
        j = numbers.get(source) if isinstance(source, Var) else None
        if j is None or j == k or j in following:
            continue
        kind, other = inputs[k].type, inputs[j].type
        is_small = isinstance(kind.size, int) and kind.size <= smallest
        if kind.shape and not is_small and (kind.shape, kind.dtype) == (other.shape, other.dtype):
            following[j] = k
    return following


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
