"""Inline costs: what it costs to compute a value where it is read, and which slices are stored."""

from __future__ import annotations

from collections.abc import Mapping

from transpile.fusion.elements import is_by_elements, is_unrolled
from transpile.fusion.index_lambda import is_known_scalar
from transpile.fusion.scopes import Scope
from transpile.ir.graph import Atom, Const, Equation, Graph, Var
from transpile.ir.indices.estimates import estimate
from transpile.ir.indices.requirements import is_at_most, is_open
from transpile.ir.indices.row_major import product
from transpile.machine import Machine
from transpile.primitives import axes as axis_primitives
from transpile.primitives import indexing
from transpile.primitives.dot import dot_general
from transpile.primitives.elementwise import select
from transpile.primitives.reductions import reduce_sum


def updates_in_place(scope: Scope, producers: Mapping[Var, Equation]) -> set[Var]:
    """The slices that are put into arrays in memory: those whose place is a value, those that
    follow each other in one array if they are small, and whatever comes in long rows; and those put
    into what an iteration was handed, or what a loop or branch has made. Others are chosen element
    by element, in loops that are cut at their ends."""
    graph, machine = scope.graph, scope.machine
    lengths: dict[Var, int] = {}  # how many updates an array has seen
    followed: set[Var] = set()  # what is updated again
    for equation in graph.equations:
        if equation.primitive.puts:
            x = equation.inputs[0]
            before = lengths.get(x, 0) if isinstance(x, Var) else 0
            lengths[equation.output] = before + 1
            if before and isinstance(x, Var):
                followed.add(x)
    found: set[Var] = set()
    handed = set(graph.inputs) if scope.is_body else set()
    for var, length in lengths.items():
        equation = producers[var]
        if equation.primitive is not indexing.dynamic_update_slice:
            continue
        x, update, *starts = equation.inputs
        parts = machine.parts_of_updated
        is_small = estimate(update.type.size * parts) <= estimate(x.type.size)
        is_known = all(isinstance(s, Const) for s in starts)
        is_link = var in followed or length > 1
        is_handed_on = (x in handed or _is_of_statement(x, producers)) and is_small
        is_long = length > machine.most_chosen_updates
        if not is_known or (is_link and (is_small or is_long)) or is_handed_on:
            found.add(var)
    return found


def _is_of_statement(x: Atom, producers: Mapping[Var, Equation]) -> bool:
    """True for a result of a loop or branch, which lies in memory."""
    equation = producers.get(x) if isinstance(x, Var) else None
    return equation is not None and equation.primitive.kind == "control"


def spreads(equation: Equation, atom: Atom) -> bool:
    """Tell whether an equation reads each element of an operand many times."""
    if atom in indexing.index_operands(equation):
        updates = equation.inputs[1] if equation.primitive is indexing.scatter else equation.output
        return updates.type.size != atom.type.size
    if equation.primitive is axis_primitives.broadcast_in_dim:
        return equation.output.type.size != atom.type.size
    if equation.primitive is indexing.gather:
        size, taken = atom.type.size, equation.output.type.size
        return not (isinstance(size, int) and isinstance(taken, int)) or taken > size
    return equation.primitive is dot_general and equation.output.type.ndim > 0


def read_often(graph: Graph, machine: Machine) -> frozenset[Var]:
    """The values that are stored however cheap they are, as each element is read so many times:
    what overlapping windows or a table of few elements are taken from, parts of broadcast complex
    numbers, which lie apart in memory, and broadcast choices of one array or another as a whole,
    where vectors would be read from both."""
    taken: set[Atom] = set()
    broadcast: set[Atom] = set()
    stored: set[Var] = set()
    uniform = {
        e.output
        for e in graph.equations
        if e.primitive is axis_primitives.broadcast_in_dim and not e.inputs[0].type.shape
    }
    for equation in reversed(graph.equations):
        is_gather = equation.primitive is indexing.gather
        if equation.primitive.kind == "view" or is_gather:
            x, out = equation.inputs[0], equation.output
            is_often = is_at_most(x.type.size * machine.often_read, out.type.size)
            if out.type.ndim > x.type.ndim:  # windows, of which each may be long, or rows
                is_often = is_often or is_open(x.type.size * machine.often_read, out.type.size)
            if out in taken or (is_often and is_gather):
                taken.add(x)
            if out in broadcast or is_often:
                broadcast.add(x)
        elif equation.primitive.kind == "elementwise":
            (x, *_), out = equation.inputs, equation.output
            is_part = x.type.dtype.kind == "c" and out.type.dtype.kind == "f"
            is_chosen = equation.primitive is select and x in uniform
            if out in taken or ((is_part or is_chosen) and out in broadcast):
                stored.add(out)
    return frozenset(stored)


def bytes_of_rows(graph: Graph, machine: Machine) -> frozenset[Var]:
    """The bytes that are computed of wider numbers and added up by short rows, as bits are that are
    packed. They are stored: lanes of rows would load the wide numbers with a stride, and each byte
    is computed once."""
    read: set[Atom] = set()
    stored: set[Var] = set()
    for equation in reversed(graph.equations):
        if len(equation.outputs) != 1 or equation.output.type.dtype.itemsize != 1:
            continue
        if _adds_rows(equation, machine):
            read.add(equation.inputs[0])
        elif equation.output in read and _keeps_rows(equation, machine):
            read.update(equation.inputs)
        elif equation.output in read and equation.primitive.kind == "elementwise":
            if any(x.type.dtype.itemsize > 1 and x.type.ndim for x in equation.inputs):
                stored.add(equation.output)
            read.update(equation.inputs)
    return frozenset(stored)


def _adds_rows(equation: Equation, machine: Machine) -> bool:
    """True for sums, written out, of rows whose columns compilers do not put together."""
    if equation.primitive is not reduce_sum or not is_unrolled(equation, machine):
        return False
    *_, row = equation.inputs[0].type.shape
    is_last = equation.params["axes"] == (equation.inputs[0].type.ndim - 1,)
    return is_last and is_at_most(machine.shortest_packed_stride, row)


def _keeps_rows(equation: Equation, machine: Machine) -> bool:
    """True for what keeps long rows in one piece: other shapes, and something behind them."""
    if equation.primitive is axis_primitives.concatenate:
        return is_at_most(machine.vector_bytes, equation.inputs[0].type.shape[-1])
    return equation.primitive is axis_primitives.reshape


def inline_costs(
    scope: Scope,
    producers: Mapping[Var, Equation],
    updates: set[Var],
    uses: Mapping[Var, int],
) -> dict[Var, tuple[int, int]]:
    """For each value the cost and the number of parts of its expression, single uses inlined."""
    machine = scope.machine
    costs: dict[Var, tuple[int, int]] = {}
    for equation in scope.graph.equations:
        known = [var for var in equation.outputs if is_known_scalar(scope.values, var)]
        if known:
            costs.update(dict.fromkeys(known, (0, 1)))
            continue
        cost, size = equation.primitive.weight, 0 if equation.primitive.kind == "view" else 1
        repeat = 1
        if is_unrolled(equation, machine):
            shape = equation.inputs[0].type.shape
            over = equation.params.get("axes") or equation.params["dimension_numbers"][0][0]
            count = product(shape[a] for a in over)
            repeat = count if isinstance(count, int) else 1
        for atom in equation.inputs:
            if isinstance(atom, Var) and atom in costs:
                kind = producers[atom].primitive.kind
                is_cheap = costs[atom][0] <= machine.cheap_weight
                shared = uses[atom] > 1 and kind == "elementwise" and not is_cheap
                if (
                    costs[atom][1] <= machine.largest_expression
                    and not shared
                    and atom not in updates
                    and is_by_elements(producers[atom], machine)
                ):
                    cost += costs[atom][0] * repeat
                    size += costs[atom][1] * repeat
                    continue
            size += repeat
        costs.update(dict.fromkeys(equation.outputs, (cost + repeat - 1, size)))
    return costs
