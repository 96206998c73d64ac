"""Rematerialise: think again about what is materialised, once it is known where values live.

Some cheap values turn out to need memory: they are computed again in each use instead. Some updates
of arrays in place turn out to read what they have changed: what they put there, or what they read,
is then materialised, which is less work than a copy of the array. So a graph is materialised and
fused until nothing changes, its bodies first.

One forward pass cannot do it. Whether a value needs memory follows from the loops that its readers
share with it, and which loops there are from what is materialised; both change when a value is
computed again, for other values, too. So what is learnt goes into `Choices`, which only grow, and
the two phases run again from the same survey: a function of choices, iterated to its fixpoint. Most
graphs have reached it after the first round.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from transpile.fusion.buffer_reuse import CHANGING
from transpile.fusion.diagonal_arrays import diagonals
from transpile.fusion.in_place_updates import are_apart, updates_in_time
from transpile.fusion.loop_fusion import fuse, own_cost
from transpile.fusion.materialize import materialise
from transpile.fusion.nodes import (
    Block,
    Branch,
    Choices,
    InScalar,
    Loop,
    Loops,
    Map,
    Node,
    Region,
    Scatter,
    array_operands,
)
from transpile.fusion.scopes import Scope, scope_of
from transpile.fusion.survey import survey
from transpile.ir.dims import symbols_of
from transpile.ir.graph import Atom, Equation, Graph, Var
from transpile.ir.indices.estimates import estimate
from transpile.machine import USUAL, Machine

# How often a graph is materialised at most; what could be better still is left as it is then.
ROUNDS = 3


def loops_of_graph(graph: Graph, machine: Machine = USUAL) -> Loops:
    """The fused loops of a program's graph."""
    return _loops_of(scope_of(graph, machine))


def _loops_of(scope: Scope) -> Loops:
    parts = {e: tuple(map(_loops_of, bodies.parts)) for e, bodies in scope.inner.items()}
    known = survey(scope, parts)
    choices = Choices()
    for _ in range(ROUNDS):
        loops = fuse(materialise(known, choices))
        better = _better_choices(loops, known.often)
        if better == Choices():
            break
        choices |= better
    return loops


def _better_choices(loops: Loops, often: Set[Var]) -> Choices:
    """What should be materialised otherwise, but for what is read so often that it is stored."""
    block = loops.block
    fixed = {*block.graph.outputs, *_array_operands(block)}
    inlined = _cheap_again(loops, fixed | often) | diagonals(block, fixed)
    late = _late_updates(block) | _read_late(block) | _slices_before(block)
    return Choices(inlined, late)


def _array_operands(block: Block) -> set[Atom]:
    """What calls, and loops and branches of the user's, read as arrays."""
    operands = array_operands(block.nodes)
    for node in block.nodes:
        if isinstance(node, Region):
            known = block.values.atoms  # but no lengths that are counted around it
            operands.update(known[key] for key in node.reads if key in known)
    return operands


def _cheap_again(loops: Loops, fixed: set[Atom]) -> frozenset[Var]:
    """The values in memory, but for the fixed ones, that are cheap to compute in each use, with
    those that they read and that will be computed again as well: a chain of cheap values is not
    cheap."""
    block = loops.block
    costs: dict[str, int] = {}
    cheap: set[Var] = set()
    for node, home in loops.homes.items():
        if (
            not isinstance(node, Map)
            or isinstance(home, InScalar)
            or node.equation.primitive.kind == "view"
            or node.var in fixed
            or node.var in block.choices.inlined
        ):
            continue
        cost = own_cost(node)
        cost += sum(costs[k] * len(loads) for k, loads in node.reads.items() if k in costs)
        if cost <= block.scope.machine.cheap_weight:
            costs[block.key(node.var)] = cost
            cheap.add(node.var)
    return frozenset(cheap)


def _late_updates(block: Block) -> frozenset[Var]:
    """What the updates of an array put into it and compute of elements that they may have changed:
    it is computed first, which is less work than a copy of the array."""
    late: set[Var] = set()
    for node in block.nodes:
        if isinstance(node, Scatter):
            x, value = node.equation.inputs[:2]
            if not block.scope.is_body and not _is_small_part(block, x, value):
                continue
            is_late = not updates_in_time(node, block.key(x)) or _reads_earlier(block, node)
            if is_late and isinstance(value, Var) and block.values.is_inlined(value):
                late.add(_first_of_views(block, value))
    return frozenset(late)


def _is_small_part(block: Block, x: Atom, value: Atom) -> bool:
    """Tell whether an update, perhaps one of several, changes few elements of an argument, which
    may be one that the function assigns to where it lies."""
    while isinstance(before := block.node_of(x), Scatter):
        x = before.equation.inputs[0]
    return x in block.graph.inputs and 2 * estimate(value.type.size) <= estimate(x.type.size)


def _first_of_views(block: Block, value: Var) -> Var:
    """What a value is a view of and has no more elements: it is computed where Python reads it,
    perhaps before another update, and a view of it where it is put."""
    while True:
        equation = block.values.producers[value]
        seen = equation.inputs[0] if equation.primitive.kind == "view" else None
        if (
            not isinstance(seen, Var)
            or seen not in block.values.producers
            or not block.values.is_inlined(seen)
            or seen.type.size != value.type.size
        ):
            return value
        value = seen


def _reads_earlier(block: Block, node: Scatter) -> bool:
    """Tell whether an update reads the array as it was before another update of it: the second
    half of a swap. It may read what the other one has not changed."""
    x = node.equation.inputs[0]
    while isinstance(before := block.node_of(x), Scatter):
        x = before.equation.inputs[0]
        for load in node.reads.get(block.key(x), ()):
            if not any(map(are_apart, load.index, before.then.index)):
                return True
    return False


def _read_late(block: Block) -> frozenset[Var]:
    """What nodes in a loop's body compute of elements of an array, as it was before a node changed
    it: these values are computed where Python does, which is less work than a copy of the array."""
    late: set[Var] = set()
    nodes = block.nodes if block.scope.is_body else ()
    last = {key: number for number, node in enumerate(nodes) for key in node.reads}
    for number, node in enumerate(nodes):
        for x in node.equation.inputs if isinstance(node, CHANGING) else ():
            own = isinstance(node, Loop) or _reads_often(node, block.key(x))
            if isinstance(x, Var) and last.get(block.key(x), -1) >= number + (not own):
                readers = [n for n in nodes[number + (not own) :] if block.key(x) in n.reads]
                late.update(_computed_before(block, readers, x, node.equation))
    return frozenset(late)


def _reads_often(node: Node, key: str) -> bool:
    """Tell whether a branch's bodies read more of an array than the array."""
    return isinstance(node, Branch) and sum(load.buffer == key for load in node.operand_loads) > 1


def _computed_before(
    block: Block, readers: Iterable[Node], x: Var, change: Equation
) -> Iterator[Var]:
    """Of what nodes read, small values that are inlined, that are computed of elements of an array,
    and that Python computed before the array was changed."""
    before: set[Atom] = set()
    reading: set[Atom] = {x}
    is_before = True
    for equation in block.graph.equations:
        is_before = is_before and equation is not change
        for var in equation.outputs:
            if block.values.is_inlined(var) and not reading.isdisjoint(equation.inputs):
                reading.add(var)
                if is_before and _is_slice(var, x, block.scope.machine):
                    before.add(var)
    pending = [a for n in readers for a in n.equation.inputs if a in reading]
    seen = {*pending}
    while pending:
        atom = pending.pop()
        if not isinstance(atom, Var) or not block.values.is_inlined(atom):
            continue
        if atom in before:
            yield atom
        else:
            inputs = [a for a in block.values.producers[atom].inputs if a in reading]
            pending += [a for a in inputs if a not in seen]
            seen.update(inputs)


def _slices_before(block: Block) -> frozenset[Var]:
    """The slices of an array that each of its elements is computed from, in the body of a loop that
    then writes the array: they are copied first, and not the array."""
    slices: set[Var] = set()
    for before, after in block.scope.carry:
        node = block.node_of(after)
        if not isinstance(node, Map) or len(node.order) < 2:
            continue
        parts = _slices_of(block.graph, before, block.scope.machine)
        key, own = block.key(before), set(node.order)
        readers = [n for n in block.nodes if key in n.reads]
        loads = [load for load in node.reads.get(key, ()) if load.index != node.index]
        fixed = [any(own.isdisjoint(symbols_of(i)) for i in load.index) for load in loads]
        if parts and readers == [node] and loads and all(fixed):
            slices |= parts
    return frozenset(slices - block.values.materialised)


def _slices_of(graph: Graph, x: Var, machine: Machine) -> set[Var]:
    """The small parts of an array that are computed from, and no more views of them."""
    views: set[Atom] = {x}
    slices: set[Var] = set()
    for equation in graph.equations:
        is_view = equation.primitive.picks
        if is_view and equation.inputs[0] in views and _is_slice(equation.output, x, machine):
            views.add(equation.output)
            slices.add(equation.output)
            slices -= {a for a in equation.inputs[:1] if isinstance(a, Var)}
    return slices


def _is_slice(part: Var, whole: Var, machine: Machine) -> bool:
    size, limit = part.type.size, whole.type.size
    return estimate(size) * machine.parts_of_copied <= estimate(limit)
