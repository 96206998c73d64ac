"""What a mask selects: reductions of it, and assignments to it, in one loop over the mask, other
elements compacted instead of their positions.

    p = compact(m, iota); reduce_sum(f(gather(x, p)))      ->  reduce_sum(select(m, f(x), 0))
    p = compact(m, iota); scatter(y, f(gather(x, p)), p)   ->  select(m, f(x), y)
    p = compact(m, iota); gather(x, p)                     ->  compact(m, x)

A masked reduction or assignment runs in vector lanes, stores nothing besides, and asks for no
length. Compaction of the elements is one pass over them; by their positions it is two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from transpile.ir.contracts import contract
from transpile.ir.contracts.graphs import NO_COMMON_SUBEXPRESSIONS, NO_DEAD_CODE
from transpile.ir.dims import Index, bounds
from transpile.ir.graph import Atom, Const, Equation, Graph, Var
from transpile.ir.graph_rewrite import Builder, rewrite
from transpile.ir.indices.row_major import product
from transpile.ir.primitive import TABLE, Primitive
from transpile.machine import USUAL, Machine
from transpile.primitives.axes import broadcast_in_dim, iota, reshape, slice_
from transpile.primitives.elementwise import convert, floor_divide, remainder, select
from transpile.primitives.indexing import gather, scatter
from transpile.primitives.lengths.primitives import compact
from transpile.util.frozen_records import replace


@contract(destroys=(NO_COMMON_SUBEXPRESSIONS, NO_DEAD_CODE))
def reduce_under_masks(graph: Graph, machine: Machine = USUAL) -> Graph:
    """The graph in which reductions of what a mask selects are reductions under the mask, where
    what is reduced is cheap to compute for all elements."""
    if compact not in graph.primitives:
        return graph

    def rule(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
        if equation.primitive.kind != "reduce" or len(equation.inputs) != 1:
            return None
        (x,) = equation.inputs
        neutral = _neutral(equation)
        if x.type.ndim != 1 or equation.params.get("axes") != (0,) or neutral is None:
            return None
        found = _Unselected(builder, machine.largest_expression)
        every = found.element(x)
        if every is None or found.mask is None:
            return None
        other = builder.apply(
            broadcast_in_dim, neutral, shape=every.type.shape, broadcast_dimensions=()
        )
        if equation.primitive.nonempty is not None and (bounds(every.type.shape[0])[0] or 0) < 1:
            return None  # there need not be an element, selected or not
        masked = builder.apply(select, found.mask, every, other)
        return [builder.apply(equation.primitive, masked, **equation.params)]

    return rewrite(graph, rule, machine)


@contract(destroys=(NO_COMMON_SUBEXPRESSIONS, NO_DEAD_CODE))
def assign_under_masks(graph: Graph, machine: Machine = USUAL) -> Graph:
    """The graph in which elements that a mask selects are set by a select, where what they are set
    to is computed from elements that it selects, and is cheap to compute for all."""
    if compact not in graph.primitives:
        return graph

    def rule(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
        if equation.primitive is not scatter or equation.params["combine"] != "set":
            return None
        x, updates, *places = equation.inputs
        chosen, rest = x.type.shape[: len(places)], x.type.shape[len(places) :]
        position = _position(builder.producers, places, chosen)
        selecting = None if position is None else _selecting(builder.producers, position)
        if selecting is None or equation.params["axes"] != tuple(range(len(places))):
            return None
        found = _Unselected(builder, machine.largest_expression)
        every, mask = found.element(updates), selecting.inputs[0]
        if every is None or found.mask is not mask or every.type.dtype != x.type.dtype:
            return None
        rows = (product(chosen), *rest)  # one for each element of the mask
        if every.type.shape != rows or mask.type.shape != rows[:1]:
            return None
        holds = builder.apply(broadcast_in_dim, mask, shape=rows, broadcast_dimensions=(0,))
        after = builder.apply(select, holds, every, builder.apply(reshape, x, shape=rows))
        return [builder.apply(reshape, after, shape=x.type.shape)]

    return rewrite(graph, rule, machine)


def _position(
    producers: Mapping[Var, Equation], places: Sequence[Atom], shape: Sequence[Index]
) -> Atom | None:
    """The positions in row-major order of which these are the subscripts of each axis; None if they
    are those of none."""
    position = places[0]
    for place, extent in zip(places[1:], shape[1:], strict=False):
        whole = _divided(producers, remainder, place, extent)
        if whole is None or _divided(producers, floor_divide, position, extent) is not whole:
            return None
        position = whole
    return position


def _divided(
    producers: Mapping[Var, Equation], primitive: Primitive, value: Atom, divisor: Index
) -> Atom | None:
    """What a value is the quotient, or the remainder, of by a number; None if it is none."""
    equation = producers.get(value) if isinstance(value, Var) else None
    if equation is None or equation.primitive is not primitive:
        return None
    dividend, number = equation.inputs
    return dividend if _number(producers, number) == divisor else None


def _number(producers: Mapping[Var, Equation], atom: Atom) -> Index | None:
    """The number, or the size, that a value has in all of its elements; None where it is neither.
    A size as a value is the last number of a range (`ir/indices/size_value.py`)."""
    while isinstance(atom, Var):
        equation = producers.get(atom)
        if equation is None:
            return None
        if equation.primitive.kind != "view":
            return None
        atom = equation.inputs[0]
        if equation.primitive is slice_ and equation.output.type.shape == (1,):
            source = producers.get(atom) if isinstance(atom, Var) else None
            is_range = source is not None and source.primitive is iota
            return equation.params["start"][0] if is_range else None
    return None if atom.type.shape else int(atom.value)


def _neutral(equation: Equation) -> Const | None:
    """What a reduction may be given in place of an element, for no result to change."""
    kind = equation.inputs[0].type.dtype
    primitive = _combining(equation)
    if primitive is None or not primitive.may_combine(kind):
        return None
    return Const(kind.type(primitive.neutral(kind)))


def _combining(equation: Equation) -> Any:
    name = equation.primitive.combine
    return TABLE[name] if name else None


class _Unselected:
    """Writes the expression of which a value has the selected elements, for all elements.

    mask   the mask that selects, of all operands
    parts  how many more equations the expression may have
    """

    def __init__(self, builder: Builder, parts: int) -> None:
        self.builder = builder
        self.parts = parts
        self.mask: Atom | None = None

    def element(self, atom: Atom) -> Atom | None:
        """The value for all elements, or None where that is none or takes too much."""
        equation = self.builder.producers.get(atom) if isinstance(atom, Var) else None
        self.parts -= 1
        if equation is None or self.parts < 0:
            return atom if isinstance(atom, Const) and not atom.type.shape else None
        primitive = equation.primitive
        if primitive is gather:
            return self._gathered(equation)
        if primitive is broadcast_in_dim and not equation.inputs[0].type.shape:
            return equation.inputs[0]
        # A conversion is a few instructions, and may be made of any number.
        if primitive.kind != "elementwise" or not (primitive.speculatable or primitive is convert):
            return None
        operands = [self.element(a) for a in equation.inputs]
        return None if None in operands else self._applied(equation, operands)

    def _applied(self, equation: Equation, operands: Sequence[Any]) -> Atom | None:
        shapes = [a.type.shape for a in operands if a.type.shape]
        if not shapes:
            return None
        whole = [
            a if isinstance(a, Const) or a.type.shape else self._broadcast(a, shapes[0])
            for a in operands
        ]
        return self.builder.apply(equation.primitive, *whole, **equation.params)

    def _broadcast(self, atom: Atom, shape: Any) -> Atom:
        return self.builder.apply(broadcast_in_dim, atom, shape=shape, broadcast_dimensions=())

    def _gathered(self, equation: Equation) -> Atom | None:
        x, position = equation.inputs[0], equation.inputs[-1]
        selecting = _selecting(self.builder.producers, position)
        if selecting is None or equation.params["axes"] != (0,) or len(equation.inputs) != 2:
            return None
        mask = selecting.inputs[0]
        if x.type.shape[:1] != mask.type.shape:
            return None
        if self.mask is None:
            self.mask = mask
        return x if self.mask is mask else None


def _selecting(producers: Mapping[Var, Equation], position: Atom) -> Equation | None:
    """The equation that compacts positions, if these are they."""
    equation = producers.get(position) if isinstance(position, Var) else None
    if equation is None or equation.primitive is not compact:
        return None
    counted = equation.inputs[equation.outputs.index(position)]  # the mask is the number's operand
    source = producers.get(counted) if isinstance(counted, Var) else None
    return equation if source is not None and source.primitive is iota else None


def _is_of_elements(equation: Equation, selecting: Equation) -> bool:
    """True for a gather from a vector as long as the mask."""
    x = equation.inputs[0]
    return len(equation.inputs) == 2 and x.type.shape == selecting.inputs[0].type.shape


@contract(destroys=(NO_DEAD_CODE,))
def compact_elements(graph: Graph, machine: Machine = USUAL) -> Graph:
    """The graph in which vectors are compacted that were gathered at compacted positions."""
    if compact not in graph.primitives:
        return graph
    producers = {v: e for e in graph.equations for v in e.outputs}
    place = {id(e): k for k, e in enumerate(graph.equations)}
    wanted: dict[int, list[Equation]] = {}
    for equation in graph.equations:
        if equation.primitive is not gather:
            continue
        selecting = _selecting(producers, equation.inputs[-1])
        if selecting is None or not _is_of_elements(equation, selecting):
            continue
        source = producers.get(equation.inputs[0]) if isinstance(equation.inputs[0], Var) else None
        if source is None or place[id(source)] < place[id(selecting)]:
            wanted.setdefault(id(selecting.outputs[0]), []).append(equation)
    made: dict[Var, Var] = {}

    def rule(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
        if equation.outputs and id(equation.outputs[0]) in wanted:
            gathers = wanted[id(equation.outputs[0])]
            made.update({e.output: Var(e.output.type, e.output.name) for e in gathers})
            inputs = (*equation.inputs, *(builder.read(e.inputs[0]) for e in gathers))
            outputs = (*equation.outputs, *(made[e.output] for e in gathers))
            builder.add(replace(equation, inputs=inputs, outputs=outputs))
            return equation.outputs
        return [made[equation.output]] if equation.outputs and equation.outputs[0] in made else None

    return rewrite(graph, rule, machine)
