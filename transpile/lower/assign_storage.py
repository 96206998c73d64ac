"""Assign storage: a buffer, or a variable, for every value that has a loop nest of its own.

Two passes over the nodes of a graph. The first, `_assign`, runs backwards: a value that an update
or a loop consumes, and that nothing reads any more, is made where its successor will be, so the
successor has to have its place first. It descends into loops and branches
(`assignment/regions.py`), whose carries have places of their own (`assignment/carries.py`). The
second, `_frame`, runs in execution order: calls get what they need beside values, which is scratch
memory, tables, and copies of what Python is shown (`assignment/calls.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from transpile.fusion.buffer_reuse import aliases
from transpile.fusion.nodes import (
    Branch,
    CallBack,
    InMemory,
    LibraryCall,
    Loop,
    Loops,
    Node,
    Region,
)
from transpile.ir.graph import Atom, Const, Graph, Var
from transpile.ir.graph_rewrite import all_counted, counts_of, rooms_of
from transpile.ir.loop_ir import Buffer
from transpile.lower.assignment.calls import arrays_of_call, arrays_of_callback
from transpile.lower.assignment.memory import Memory
from transpile.lower.assignment.placement import Placement, Places
from transpile.lower.assignment.regions import region_storage
from transpile.lower.storage import Frame, LoopStorage, Place, Storage, Variable
from transpile.symbols.identifiers import names_at_file_scope


def assign_storage(loops: Loops, program: str) -> Storage:
    """The storage of all values of a program of this name."""
    graph, memory = loops.block.graph, Memory(frozenset(counts_of(loops.block.graph.equations)))
    memory.names.take(names_at_file_scope(program))
    memory.names.take(size.name for size in (*graph.sizes, *rooms_of(graph).values()))
    memory.names.take(length.name for length in all_counted(graph))
    inputs = tuple(memory.buffer(v, v.name or "x") for v in graph.inputs)
    outputs = tuple(_output_buffers(graph, memory))
    places: Places = {}
    places.update(zip(graph.inputs, map(Place, inputs), strict=True))
    places.update(zip(graph.outputs, map(Place, outputs), strict=True))
    placement = Placement(aliases(loops), memory, places)
    _assign(placement)
    frame = _frame(placement, {})
    constants = tuple(place.buffer for place in memory.constants.values())
    temporaries, names = tuple(memory.temporaries), memory.names.taken
    return Storage(inputs, outputs, temporaries, constants, names, frame)


def _output_buffers(graph: Graph, memory: Memory) -> Iterator[Buffer]:
    several = len(graph.outputs) > 1
    for position, atom in enumerate(graph.outputs):
        default = f"out_{position}" if several else "out"
        hint = graph.output_names[position] if graph.output_names else getattr(atom, "name", "")
        yield memory.buffer(atom, hint or default)


# ---------------------------------------------------------------------------- places of values


def _assign(placement: Placement) -> None:
    """Find a place for each value of a graph, and for those of its bodies."""
    homes = placement.aliases.loops.homes
    for node in reversed(placement.aliases.order):
        if isinstance(node, Region):
            placement.regions[node], bodies = region_storage(placement, node)
            for part, body in bodies.items():
                _assign(body)
                placement.bodies[part] = body
        elif isinstance(node, CallBack):
            _pass_numbers(placement, node)
        _reuse(placement, node)
    for key, atom in placement.block.in_memory.items():
        producer = placement.block.by_key.get(key)
        is_stored = producer is None or isinstance(homes[producer], InMemory)
        if is_stored and atom not in placement.views:
            placement.place(atom)


def _pass_numbers(placement: Placement, node: CallBack) -> None:
    """Give results that are numbers, and that have no place yet, one with an address."""
    for var in node.results:
        if not var.type.shape and var not in placement.places:
            placement.places[var] = placement.memory.number(var)


def _reuse(placement: Placement, node: Node) -> None:
    """Give operands that a node is the last to read the places of the results they become."""
    for change in placement.aliases.changes.get(node, ()):
        x, wanted = change.operand, _place_of_result(placement, node, change.result)
        is_free = x not in placement.places and change.is_last
        if is_free and (isinstance(wanted, Place) or _may_share(placement, x, wanted, node)):
            placement.places[x] = wanted


def _place_of_result(placement: Placement, node: Node, result: Var) -> Place | Variable:
    """The place in which a node begins to compute a result: of a loop's, that of the carry."""
    if not isinstance(node, Region):
        return placement.place(result)
    storage = placement.regions[node]
    if isinstance(storage, LoopStorage):
        return next(c.current for c in storage.carried if c.result is result)
    return storage.results[node.results.index(result)]


def _may_share(placement: Placement, x: Atom, variable: Variable, node: Node) -> bool:
    """True if a number may be in the variable of the loop that consumes it: the number comes from
    another loop or branch, and the variable is declared before both."""
    is_new = isinstance(node, Region) and variable in placement.regions[node].declared
    return not is_new and isinstance(placement.block.node_of(x), Region)


# --------------------------------------------------------------------------- arrays of calls


def _frame(placement: Placement, around: Mapping[Atom, Place | Variable]) -> Frame:
    """The storage of a graph, inside a frame with these places."""
    places: Places = {}
    for var, view in placement.views.items():
        place = around.get(view.atom)
        if isinstance(place, Place):
            places[var] = place.part(view.prefix)
        elif place is not None:
            places[var] = place
    constants = (atom for atom in placement.block.in_memory.values() if isinstance(atom, Const))
    places.update((const, placement.memory.constant(const)) for const in constants)
    places.update(placement.places)
    bodies: dict[Loops, Frame] = {}
    arrays: dict[Node, dict[str, Place]] = {}
    for node in placement.aliases.order:
        match node:
            case LibraryCall():
                arrays[node] = arrays_of_call(node.plan, places, placement.memory)
            case CallBack():
                arrays[node] = arrays_of_callback(node, places, placement.memory)
            case Loop():  # the body comes first, as it does in the text
                for part in reversed(node.parts):
                    bodies[part] = _frame(placement.bodies[part], places)
            case Branch():
                for part in node.parts:
                    bodies[part] = _frame(placement.bodies[part], places)
            case _:
                pass
    return Frame(
        placement.aliases.loops,
        placement.aliases,
        places,
        placement.views,
        placement.around,
        placement.counters,
        placement.regions,
        bodies,
        arrays,
    )
