"""Regions: the storage of loops and branches, and what their bodies see of it.

The functions return the storage of a region and the placements of its bodies, in the order in
which places in them are to be found.
"""

from __future__ import annotations

from collections.abc import Mapping

from transpile.errors import InternalError
from transpile.fusion.nodes import Branch, Loop, Loops, Region
from transpile.fusion.scopes import Scope
from transpile.ir.dims import Dim, Index, Symbol, substitute
from transpile.ir.graph import Atom, Var
from transpile.ir.indices.values import as_index
from transpile.lower.assignment.carries import carried_values
from transpile.lower.assignment.placement import Placement, Places
from transpile.lower.storage import (
    BranchStorage,
    LoopStorage,
    Place,
    Variable,
    View,
    loop_name,
)
from transpile.primitives.control.operands import inputs_of
from transpile.symbols.identifiers import LOOP_NAMES

Bodies = dict[Loops, Placement]


def region_storage(
    placement: Placement, node: Region
) -> tuple[LoopStorage | BranchStorage, Bodies]:
    """The storage of a loop or branch, and the placements of its bodies."""
    match node:
        case Loop():
            return _loop(placement, node)
        case Branch():
            return _branch(placement, node)
        case _:
            raise InternalError(f"{node.equation.primitive} is neither a loop nor a branch")


def _loop(placement: Placement, node: Loop) -> tuple[LoopStorage, Bodies]:
    counter = _counter(placement, node)
    own: dict[Symbol, Index] = {}
    if node.symbol is not None and counter is not None:
        own[node.symbol] = Dim.of(counter)
    where, part = substitute(node.where, own), node.body
    declared: list[Variable] = []
    carried = tuple(carried_values(placement, node, counter, declared))
    places: Places = {c.before: c.current for c in carried}
    for c in carried:
        if c.following is not None:
            places[c.after] = c.following
        elif c.settled:
            places[c.after] = c.current
    stacked = part.block.graph.outputs[len(carried) :], node.results[len(carried) :]
    for output, result in zip(*stacked, strict=True):
        places[output] = placement.stored(result).part((where,))
    names = () if counter is None else (counter.name,)
    bodies = {part: _body(placement, node, part, places, own, names, where)}
    if node.condition is not None:
        inputs = inputs_of(node.equation, node.condition.block.graph).carry
        seen: Places = {v: c.current for v, c in zip(inputs, carried, strict=True)}
        condition = _body(placement, node, node.condition, seen, own, names, where)
        bodies[node.condition] = condition
    return LoopStorage(counter, carried, tuple(declared), part.block.scope.rotated), bodies


def _branch(placement: Placement, node: Branch) -> tuple[BranchStorage, Bodies]:
    declared: list[Variable] = []
    results: list[Place | Variable] = []
    for result in node.results:
        is_placed = result in placement.places or not placement.block.scope.is_body
        if result.type.shape or is_placed:
            results.append(placement.place(result))
        else:
            hint = result.name or "chosen"
            results.append(placement.number(result, hint, None, declared)[0])
    bodies = {}
    for part in node.parts:
        places = dict(zip(part.block.graph.outputs, results, strict=True))
        bodies[part] = _body(placement, node, part, places, {}, (), 0)
    return BranchStorage(tuple(results), tuple(declared)), bodies


def _body(
    placement: Placement,
    node: Region,
    part: Loops,
    places: Places,
    own: Mapping[Symbol, Index],
    names: tuple[str, ...],
    where: Index,
) -> Placement:
    """The placement of a body, whose inputs are views of the region's operands: of a `scan`'s
    stacked ones, the part for an iteration."""
    inputs = inputs_of(node.equation, part.block.graph)
    consts = zip(inputs.consts, node.consts, strict=True)
    views: dict[Atom, View] = {v: View(atom, node.fixed.get(atom)) for v, atom in consts}
    if isinstance(node, Loop):
        xs = zip(inputs.xs, node.xs, strict=True)
        views.update((v, View(atom, node.fixed.get(atom), (where,))) for v, atom in xs)
    around, counters = {**placement.around, **own}, (*placement.counters, *names)
    allowed = placement.aliases.inner[part]
    return Placement(allowed, placement.memory, places, views, placement, around, counters)


def _counter(placement: Placement, node: Loop) -> Symbol | None:
    """The counter of a loop, named as in the user's body unless that name is taken."""
    symbol, names = node.symbol, placement.memory.names
    if symbol is None:
        return None
    scope = node.body.block.scope
    hint = next((v.name for v in scope.graph.inputs if v in scope.given and v.name), "")
    number = next((v for v in scope.graph.inputs if _is_counter(scope, v, symbol)), None)
    hint = hint if number is None else number.name
    taken = hint in names or hint in placement.counters
    if taken or not hint:
        hint = loop_name(names, placement.counters, 0)
    elif hint not in LOOP_NAMES:
        hint = names.new(hint)
    placement.memory.counters.add(hint)
    extent = None if symbol.extent is None else substitute(symbol.extent, placement.around)
    return Symbol(hint, symbol.lower, extent)


def _is_counter(scope: Scope, var: Var, symbol: Symbol) -> bool:
    """True if an input of a body is the number of the iteration."""
    given = scope.given.get(var)
    return given is not None and as_index(given) == Dim.of(symbol)
