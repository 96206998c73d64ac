"""Transposes go to where they cost nothing: through what is computed element by element.

A value that is only wanted transposed can be computed transposed. The transpose then moves on to
the operands, until a broadcast, a count or a matrix product takes it in, or another transpose
cancels it. Jacobians in forward mode and mapped axes that do not stand in front end in such
transposes.

What an operand in memory takes in is a walk across its rows. That is worth it only where a value
between would be stored in one order and read in the other. So the pass looks at *regions*: values
that would be computed in another order together, because they read one another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from transpile.ir.graph import Atom, Equation, Graph, Var
from transpile.ir.graph_rewrite import Builder, rewrite
from transpile.machine import USUAL, Machine
from transpile.primitives.axes import (
    broadcast_in_dim,
    concatenate,
    iota,
    pad,
    rev,
    slice_,
    transpose,
)
from transpile.primitives.dot import dot_general, free_axes
from transpile.util.frozen_records import dataclass

Permutation = tuple[int, ...]
Made = dict[tuple[Atom, Permutation], Atom]


_MOVED = (broadcast_in_dim, concatenate, iota, pad, rev, slice_)


def sink_transposes(graph: Graph, machine: Machine = USUAL) -> Graph:
    """Compute values in the order of axes in which all their readers want them."""
    if transpose not in graph.primitives:
        return graph
    layouts = _Layouts(graph, machine.cheap_weight).chosen()
    made: Made = {}

    def rule(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
        if equation.primitive is transpose and builder.producer(equation.inputs[0], transpose):
            return [_ordered(builder, made, equation.inputs[0], equation.params["permutation"])]
        order = layouts.get(equation.outputs[0]) if len(equation.outputs) == 1 else None
        if order is None:
            return None
        moved = _moved(builder, made, equation, order)
        return [builder.apply(transpose, moved, permutation=_inverse(order))]

    return rewrite(graph, rule)


# ---------------------------------------------------------------------------- what is worth moving


@dataclass
class _Region:
    """What it would bring to compute the values of a region in another order.

    walked   operands in memory that would be walked across their rows
    undone   transposes that would cancel
    kept     values that would be stored in the order in which they are read
    slow     elementary functions of arrays in memory, whose lanes should be filled along rows
    """

    walked: int = 0
    undone: int = 0
    kept: int = 0
    slow: int = 0

    @property
    def pays(self) -> bool:
        """Tell whether moving the transposes does more than to walk other arrays across."""
        for_kept = self.kept >= self.walked and not self.slow
        return self.walked == 0 or self.walked < self.undone or for_kept

    def add(self, other: _Region) -> None:
        """Take another region in."""
        self.walked += other.walked
        self.undone += other.undone
        self.kept += other.kept
        self.slow += other.slow


class _Layouts:
    """The order of axes in which each value would be computed, and the region that it belongs to.

    The regions are sets of values, joined as the walk from the results to the inputs finds that one
    reads the other (disjoint sets with path halving: the time is that of the walk).
    """

    def __init__(self, graph: Graph, cheap: int) -> None:
        self.cheap = cheap
        self.producers = {e.outputs[0]: e for e in graph.equations if len(e.outputs) == 1}
        self.reads = graph.uses()
        self.costs = _costs(graph, self.reads, cheap)
        self.wanted: dict[Atom, dict[Permutation, dict[Var | None, None]]] = {}
        self.layouts: dict[Var, Permutation] = {}
        self.above: dict[Var, Var] = {}
        self.regions: dict[Var, _Region] = {}
        for atom in graph.outputs:
            self._want(atom, _identity(atom), None)
        for equation in reversed(graph.equations):
            self._visit(equation)
        computed = {v for e in graph.equations for v in e.outputs}
        for atom in self.wanted:
            if atom not in computed:
                self._leave(atom)

    def chosen(self) -> dict[Var, Permutation]:
        """The values to compute in another order, and the orders."""
        return {v: o for v, o in self.layouts.items() if self.regions[self._top(v)].pays}

    def _want(self, atom: Atom, order: Permutation, reader: Var | None) -> None:
        if atom.type.ndim > 1:
            self.wanted.setdefault(atom, {}).setdefault(order, {})[reader] = None

    def _top(self, var: Var) -> Var:
        """The value that stands for a region."""
        while (above := self.above.setdefault(var, var)) is not var:
            self.above[var] = var = self.above[above]
        self.regions.setdefault(var, _Region())
        return var

    def _join(self, var: Var, reader: Var) -> None:
        one, other = self._top(var), self._top(reader)
        if one is not other:
            self.regions[other].add(self.regions.pop(one))
            self.above[one] = other

    def _visit(self, equation: Equation) -> None:
        """Pass on what the readers of an equation's result want to its operands."""
        if not equation.outputs:  # an effect, which is shown its operands as they are
            for atom in equation.inputs:
                self._want(atom, _identity(atom), None)
            return
        var = equation.outputs[0]
        orders = self.wanted.get(var, {})
        order = next(iter(orders)) if len(orders) == 1 else None
        if equation.primitive is transpose:
            self._pass_through(equation, orders)
        elif order is not None and order != _identity(var) and self._takes(equation, order):
            self.layouts[var] = order
            region = self.regions[self._top(var)]
            region.kept += self._is_kept(equation)
            region.slow += equation.primitive.transcendental and self.costs[var][1]
            for reader in orders[order]:
                if reader is not None:
                    self._join(var, reader)
            for atom, inner in _operand_orders(equation, order):
                self._want(atom, inner, var)
        else:
            for output in equation.outputs:
                self._leave(output)
            if equation.primitive is not dot_general:  # which reads its operands in any order
                for atom in equation.inputs:
                    self._want(atom, _identity(atom), None)

    def _takes(self, equation: Equation, order: Permutation) -> bool:
        """Tell whether an equation can give its result in another order of axes for nothing."""
        row = equation.primitive
        if row is dot_general:
            return order == _exchanged(equation) and _may_exchange(self.producers, equation)
        if row.kind == "reduce":  # which walks along rows by design
            return not self.costs.get(equation.inputs[0], (0, True))[1]
        return row.kind == "elementwise" or row in _MOVED

    def _pass_through(
        self, equation: Equation, orders: dict[Permutation, dict[Var | None, None]]
    ) -> None:
        """A transpose: its operand is wanted in the order that comes out."""
        var, (x,) = equation.output, equation.inputs
        permutation: Permutation = equation.params["permutation"]
        for order, readers in orders.items():
            composed = tuple(permutation[a] for a in order)
            for reader in readers:
                if reader is not None:
                    self._join(var, reader)
            if order != _identity(var) and _is_trivial(x, composed):
                self.regions[self._top(var)].undone += 1
            self._want(x, composed, var)

    def _leave(self, atom: Atom) -> None:
        """A value that stays as it is: whoever wants it in another order walks across its rows."""
        if self._is_free(atom):
            return
        for order, readers in self.wanted.get(atom, {}).items():
            if not _is_trivial(atom, order):
                for top in dict.fromkeys(self._top(r) for r in readers if r is not None):
                    self.regions[top].walked += 1

    def _is_free(self, atom: Atom) -> bool:
        """Tell whether a value is computed where it is read, from nothing that has rows."""
        cost, has_rows = self.costs.get(atom, (0, True))
        return not has_rows and cost <= self.cheap

    def _is_kept(self, equation: Equation) -> bool:
        if equation.primitive.kind in ("reduce", "contract"):
            return True
        cost, _ = self.costs[equation.output]
        return self.reads.get(equation.output, 0) > 1 and cost > self.cheap


def _costs(graph: Graph, reads: dict[Var, int], cheap: int) -> dict[Atom, tuple[int, bool]]:
    """For each computed value the operations of an element, values in memory being there, and
    whether it reads arrays of two axes or more."""
    costs: dict[Atom, tuple[int, bool]] = {}
    for equation in graph.equations:
        row = equation.primitive
        cost = row.weight
        has_rows = row.kind not in ("elementwise", "view", "generate", "piecewise")
        for atom in equation.inputs:
            if atom.type.ndim == 0:
                continue
            inner, inner_rows = costs.get(atom, (0, True))
            has_rows |= inner_rows and atom.type.ndim > 1
            is_kept = isinstance(atom, Var) and reads[atom] > 1 and inner > cheap
            cost += 0 if is_kept else inner
        for output in equation.outputs:
            costs[output] = (cost, has_rows)
    return costs


def _is_trivial(atom: Atom, order: Permutation) -> bool:
    """Tell whether an order moves nothing but axes of one element."""
    wide = [a for a in order if atom.type.shape[a] != 1]
    return wide == sorted(wide)


def _identity(atom: Atom) -> Permutation:
    return tuple(range(atom.type.ndim))


def _inverse(order: Permutation) -> Permutation:
    return tuple(map(order.index, range(len(order))))


# ------------------------------------------------------------------------------ how to move them


def _exchanged(equation: Equation) -> Permutation:
    """The order of a product's axes when its operands are exchanged."""
    x, y = equation.inputs
    (cx, cy), (bx, by) = equation.params["dimension_numbers"]
    batch, rows = len(bx), len(free_axes(x.type.ndim, cx, bx))
    columns = len(free_axes(y.type.ndim, cy, by))
    ends = batch + rows, batch + rows + columns
    return (*range(batch), *range(*ends), *range(batch, ends[0]))


def _may_exchange(producers: Mapping[Var, Equation], equation: Equation) -> bool:
    """Tell whether a product with its operands exchanged takes no longer: it walks the first along
    the contracted axis and the second across it, and what it has to walk in the other way should
    not be more than the result, which would have to be walked so instead."""
    x, y = equation.inputs
    (cx, cy), _ = equation.params["dimension_numbers"]
    across, size_of_result = 0, equation.output.type.size
    for atom, contracted, is_first in ((x, cx, True), (y, cy, False)):
        size = atom.type.size
        if not isinstance(size, int):
            return False
        if contracted:
            along = _memory_axis(producers, atom, contracted[-1]) == atom.type.ndim - 1
            across += size if along == is_first else -size
    return isinstance(size_of_result, int) and across <= size_of_result


def _memory_axis(producers: Mapping[Var, Equation], atom: Atom, axis: int) -> int:
    """The axis of the value that a transposed one stands for."""
    producer = producers.get(atom) if isinstance(atom, Var) else None
    if producer is None or producer.primitive is not transpose:
        return axis
    return int(producer.params["permutation"][axis])


def _operand_orders(equation: Equation, order: Permutation) -> Iterator[tuple[Atom, Permutation]]:
    """The operands of an equation whose result comes in an order, and the orders of theirs."""
    row, params = equation.primitive, equation.params
    if row is dot_general:
        return
    for atom in equation.inputs:
        if row is broadcast_in_dim:
            places = [order.index(a) for a in params["broadcast_dimensions"]]
            yield atom, tuple(sorted(range(len(places)), key=places.__getitem__))
        elif row.kind == "reduce":
            over = params["axes"]
            kept = [a for a in range(atom.type.ndim) if a not in over]
            moved = iter([kept[a] for a in order])
            yield atom, tuple(a if a in over else next(moved) for a in range(atom.type.ndim))
        elif atom.type.shape:
            yield atom, order


def _moved(builder: Builder, made: Made, equation: Equation, order: Permutation) -> Var:
    """The result of an equation with its axes in another order."""
    row, params = equation.primitive, dict(equation.params)
    if row is dot_general:
        (cx, cy), (bx, by) = params["dimension_numbers"]
        x, y = equation.inputs
        return builder.apply(dot_general, y, x, dimension_numbers=((cy, cx), (by, bx)))
    if row is broadcast_in_dim:
        params["broadcast_dimensions"] = tuple(
            sorted(order.index(a) for a in params["broadcast_dimensions"])
        )
        params["shape"] = tuple(params["shape"][a] for a in order)
    elif row is iota:
        params["shape"] = tuple(params["shape"][a] for a in order)
        params["dimension"] = order.index(params["dimension"])
    elif row is concatenate:
        params["dimension"] = order.index(params["dimension"])
    elif row is rev:
        params["dimensions"] = tuple(sorted(order.index(a) for a in params["dimensions"]))
    elif row in (pad, slice_):
        params = {name: tuple(value[a] for a in order) for name, value in params.items()}
    orders = dict(_operand_orders(equation, order))
    inputs = [_ordered(builder, made, a, orders[a]) if a in orders else a for a in equation.inputs]
    return builder.apply(row, *inputs, **params)


def _ordered(builder: Builder, made: Made, atom: Atom, order: Permutation) -> Atom:
    """A value with its axes in another order: as it was computed, or transposed."""
    producer = builder.producer(atom, transpose)
    if producer is not None:
        order = tuple(producer.params["permutation"][a] for a in order)
        (atom,) = producer.inputs
    if order == _identity(atom):
        return atom
    if (atom, order) not in made:
        made[atom, order] = builder.apply(transpose, atom, permutation=order)
    return made[atom, order]
