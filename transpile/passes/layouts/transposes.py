"""Assign layouts: sink transposes through elementwise equations towards the operands.

    transpose(sin(x) + y)   ->   sin(transpose(x)) + transpose(y)

A value that is only read transposed can be computed transposed. The transpose moves to the operands
until a broadcast, an iota or a matrix product absorbs it, or another transpose cancels it. Forward
mode Jacobians and `vmap` over an axis that is not the first end in such transposes.

An operand in memory that absorbs a transpose is read with a stride. That is profitable only where
an intermediate value would otherwise be stored in one order and read in the other. The decision is
taken for *regions*: connected values that would change their layout together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from transpile.errors import InternalError
from transpile.ir.contracts import contract
from transpile.ir.contracts.graphs import (
    CANONICAL_DOTS,
    NO_BARRIERS,
    NO_COMMON_SUBEXPRESSIONS,
    NO_DEAD_CODE,
    OWN_OUTPUTS,
)
from transpile.ir.graph import Atom, Equation, Graph, Var
from transpile.ir.graph_rewrite import Builder, rewrite
from transpile.ir.primitive import Permuted, inverse
from transpile.machine import USUAL, Machine
from transpile.primitives.axes import transpose
from transpile.primitives.dot import dot_general, free_axes
from transpile.util.frozen_records import dataclass

Permutation = tuple[int, ...]
TransposedValues = dict[tuple[Atom, Permutation], Atom]


# A barrier would stop a transpose.
@contract(
    requires=(NO_BARRIERS,),
    destroys=(NO_DEAD_CODE, NO_COMMON_SUBEXPRESSIONS, CANONICAL_DOTS, OWN_OUTPUTS),
)
def sink_transposes(graph: Graph, machine: Machine = USUAL) -> Graph:
    """Compute values in the order of axes in which all their readers read them, where it pays."""
    if transpose not in graph.primitives:
        return graph
    layouts = _LayoutAnalysis(graph, machine.cheap_weight).chosen()
    transposes: TransposedValues = {}

    def rule(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
        if equation.primitive is transpose and builder.producer(equation.inputs[0], transpose):
            return [
                _transposed(builder, transposes, equation.inputs[0], equation.params["permutation"])
            ]
        order = layouts.get(equation.outputs[0]) if len(equation.outputs) == 1 else None
        if order is None:
            return None
        moved = _permuted(builder, transposes, equation, order)
        return [builder.apply(transpose, moved, permutation=inverse(order))]

    return rewrite(graph, rule)


# ---------------------------------------------------------------------------------- profitability


@dataclass
class _Region:
    """Costs and benefits of computing the values of a region in another order.

    strided          operands in memory that would be read with a stride
    cancelled        transposes that would cancel
    stored           values that would be stored in the order in which they are read
    transcendentals  elementary functions of arrays in memory, which vectorise along rows
    """

    strided: int = 0
    cancelled: int = 0
    stored: int = 0
    transcendentals: int = 0

    @property
    def is_profitable(self) -> bool:
        """True if sinking the transposes does more than make other reads strided."""
        stores_pay = self.stored >= self.strided and not self.transcendentals
        return self.strided == 0 or self.strided < self.cancelled or stores_pay

    def add(self, other: _Region) -> None:
        """Merge another region into this one."""
        self.strided += other.strided
        self.cancelled += other.cancelled
        self.stored += other.stored
        self.transcendentals += other.transcendentals


class _LayoutAnalysis:
    """The order of axes in which each value would be computed, and the region that it belongs to.

    One backward traversal propagates the orders that readers request to operands. A value changes
    its layout if all readers request the same one. Regions are disjoint sets with path halving,
    united where one value of the region reads another.
    """

    def __init__(self, graph: Graph, cheap: int) -> None:
        self.cheap = cheap
        self.producers = {e.outputs[0]: e for e in graph.equations if len(e.outputs) == 1}
        self.reads = graph.uses()
        self.costs = _costs(graph, self.reads, cheap)
        self.requested: dict[Atom, dict[Permutation, dict[Var | None, None]]] = {}
        self.layouts: dict[Var, Permutation] = {}
        self.parents: dict[Var, Var] = {}
        self.regions: dict[Var, _Region] = {}
        for atom in graph.outputs:
            self._request(atom, _identity(atom), None)
        for equation in reversed(graph.equations):
            self._visit(equation)
        computed = {v for e in graph.equations for v in e.outputs}
        for atom in self.requested:
            if atom not in computed:
                self._charge(atom)

    def chosen(self) -> dict[Var, Permutation]:
        """The values of profitable regions, and their orders."""
        return {
            v: o
            for v, o in self.layouts.items()
            if self.regions[self._representative(v)].is_profitable
        }

    def _request(self, atom: Atom, order: Permutation, reader: Var | None) -> None:
        if atom.type.ndim > 1:
            self.requested.setdefault(atom, {}).setdefault(order, {})[reader] = None

    def _representative(self, var: Var) -> Var:
        """The representative of a value's region."""
        while (parent := self.parents.setdefault(var, var)) is not var:
            self.parents[var] = var = self.parents[parent]
        self.regions.setdefault(var, _Region())
        return var

    def _union(self, var: Var, reader: Var) -> None:
        one, other = self._representative(var), self._representative(reader)
        if one is not other:
            self.regions[other].add(self.regions.pop(one))
            self.parents[one] = other

    def _visit(self, equation: Equation) -> None:
        """Propagate the orders that the readers of an equation request to its operands."""
        if not equation.outputs:  # an effect, whose operands keep their layout
            for atom in equation.inputs:
                self._request(atom, _identity(atom), None)
            return
        var = equation.outputs[0]
        orders = self.requested.get(var, {})
        order = next(iter(orders)) if len(orders) == 1 else None
        if equation.primitive is transpose:
            self._compose(equation, orders)
        elif order is not None and order != _identity(var) and self._absorbs(equation, order):
            self.layouts[var] = order
            region = self.regions[self._representative(var)]
            region.stored += self._is_stored(equation)
            region.transcendentals += equation.primitive.transcendental and self.costs[var][1]
            for reader in orders[order]:
                if reader is not None:
                    self._union(var, reader)
            if equation.primitive is not dot_general:  # which reads its operands in any order
                orders_of_operands, _ = _of_operands(equation, order)
                for atom, inner in zip(equation.inputs, orders_of_operands, strict=True):
                    self._request(atom, inner, var)
        else:
            for output in equation.outputs:
                self._charge(output)
            if equation.primitive is not dot_general:
                for atom in equation.inputs:
                    self._request(atom, _identity(atom), None)

    def _absorbs(self, equation: Equation, order: Permutation) -> bool:
        """True if an equation can give its result in another order of axes at no cost."""
        primitive = equation.primitive
        if primitive is dot_general:
            return order == _exchanged(equation) and _may_exchange(self.producers, equation)
        if primitive.kind == "reduce":  # whose loops are ordered for rows
            return not self.costs.get(equation.inputs[0], (0, True))[1]
        return primitive.permute is not None

    def _compose(
        self, equation: Equation, orders: dict[Permutation, dict[Var | None, None]]
    ) -> None:
        """Request the operand of a transpose in the composed orders."""
        var, (x,) = equation.output, equation.inputs
        permutation: Permutation = equation.params["permutation"]
        for order, readers in orders.items():
            composed = tuple(permutation[a] for a in order)
            for reader in readers:
                if reader is not None:
                    self._union(var, reader)
            if order != _identity(var) and _is_trivial(x, composed):
                self.regions[self._representative(var)].cancelled += 1
            self._request(x, composed, var)

    def _charge(self, atom: Atom) -> None:
        """Charge the readers of a value that keeps its layout with the strided reads."""
        if self._is_rematerialised(atom):
            return
        for order, readers in self.requested.get(atom, {}).items():
            if not _is_trivial(atom, order):
                for top in dict.fromkeys(self._representative(r) for r in readers if r is not None):
                    self.regions[top].strided += 1

    def _is_rematerialised(self, atom: Atom) -> bool:
        """True if a value is rematerialised by its readers, from no array of two axes or more."""
        cost, reads_rows = self.costs.get(atom, (0, True))
        return not reads_rows and cost <= self.cheap

    def _is_stored(self, equation: Equation) -> bool:
        if equation.primitive.kind in ("reduce", "contract"):
            return True
        cost, _ = self.costs[equation.output]
        return self.reads.get(equation.output, 0) > 1 and cost > self.cheap


def _costs(graph: Graph, reads: dict[Var, int], cheap: int) -> dict[Atom, tuple[int, bool]]:
    """For each computed value the cost of an element, loads of stored values being free, and
    whether it reads arrays of two axes or more."""
    costs: dict[Atom, tuple[int, bool]] = {}
    for equation in graph.equations:
        primitive = equation.primitive
        cost = primitive.weight
        reads_rows = primitive.kind not in ("elementwise", "view", "generate", "piecewise")
        for atom in equation.inputs:
            if atom.type.ndim == 0:
                continue
            inner, inner_rows = costs.get(atom, (0, True))
            reads_rows |= inner_rows and atom.type.ndim > 1
            is_stored = isinstance(atom, Var) and reads[atom] > 1 and inner > cheap
            cost += 0 if is_stored else inner
        for output in equation.outputs:
            costs[output] = (cost, reads_rows)
    return costs


def _is_trivial(atom: Atom, order: Permutation) -> bool:
    """True if an order permutes axes of one element alone."""
    wide = [a for a in order if atom.type.shape[a] != 1]
    return wide == sorted(wide)


def _identity(atom: Atom) -> Permutation:
    return tuple(range(atom.type.ndim))


# -------------------------------------------------------------------------------- transformation


def _exchanged(equation: Equation) -> Permutation:
    """The order of a product's axes when its operands are exchanged."""
    x, y = equation.inputs
    (cx, cy), (bx, by) = equation.params["dimension_numbers"]
    batch, rows = len(bx), len(free_axes(x.type.ndim, cx, bx))
    columns = len(free_axes(y.type.ndim, cy, by))
    ends = batch + rows, batch + rows + columns
    return (*range(batch), *range(*ends), *range(batch, ends[0]))


def _may_exchange(producers: Mapping[Var, Equation], equation: Equation) -> bool:
    """True if a product with its operands exchanged takes no longer.

    It reads its first operand along the contracted axis and the second across it. What the exchange
    makes strided may have no more elements than the result, whose transpose it saves.
    """
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
    """The axis in memory of an axis of a value, which may be a transpose of what is stored."""
    producer = producers.get(atom) if isinstance(atom, Var) else None
    if producer is None or producer.primitive is not transpose:
        return axis
    return int(producer.params["permutation"][axis])


def _of_operands(equation: Equation, order: Permutation) -> Permuted:
    """The orders of the operands that yield an order of the result, and the params for them."""
    primitive = equation.primitive
    if primitive.permute is None:
        raise InternalError(f"{primitive} has no result in another order of axes")
    return primitive.permute(order, *(a.type for a in equation.inputs), **equation.params)


def _permuted(
    builder: Builder, transposes: TransposedValues, equation: Equation, order: Permutation
) -> Var:
    """The result of an equation with its axes in another order."""
    if equation.primitive is dot_general:
        (cx, cy), (bx, by) = equation.params["dimension_numbers"]
        x, y = equation.inputs
        exchanged = {**equation.params, "dimension_numbers": ((cy, cx), (by, bx))}
        return builder.apply(dot_general, y, x, **exchanged)
    orders, params = _of_operands(equation, order)
    pairs = zip(equation.inputs, orders, strict=True)
    inputs = (_transposed(builder, transposes, atom, inner) for atom, inner in pairs)
    return builder.apply(equation.primitive, *inputs, **params)


def _transposed(
    builder: Builder, transposes: TransposedValues, atom: Atom, order: Permutation
) -> Atom:
    """A value with its axes in another order: composed with its own transpose, if it is one."""
    producer = builder.producer(atom, transpose)
    if producer is not None:
        order = tuple(producer.params["permutation"][a] for a in order)
        (atom,) = producer.inputs
    if order == _identity(atom):
        return atom
    if (atom, order) not in transposes:
        transposes[atom, order] = builder.apply(transpose, atom, permutation=order)
    return transposes[atom, order]
