"""Assign storage: a buffer, or a variable, for every value that has a loop nest of its own.

The carry of a loop lives in one place, a variable or an array, which each iteration changes. An
array whose old elements are still read while the new ones are written has a second place, with
which it is exchanged after each iteration. A value that an update or a loop changes, and that
nothing reads any more, is made where the changed one will be: so the nodes of a graph are gone
through from the last one to the first. Then, in the order in which they run, calls get what they
need beside values: scratch memory, tables, and copies of what Python is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from transpile.errors import InternalError
from transpile.fusion.buffer_reuse import Aliases, aliases
from transpile.fusion.nodes import (
    Branch,
    Effect,
    InMemory,
    LibraryCall,
    Loop,
    Loops,
    Node,
    Region,
)
from transpile.fusion.scopes import Scope
from transpile.ir.dims import Dim, Index, Symbol, substitute
from transpile.ir.graph import Atom, Const, Graph, Var
from transpile.ir.indices.values import as_index
from transpile.ir.loop_ir import Buffer
from transpile.lower.call_storage import arrays_of_call, arrays_of_effect
from transpile.lower.memory import Memory
from transpile.lower.storage import (
    BranchStorage,
    Carried,
    Frame,
    LoopStorage,
    Place,
    Storage,
    Variable,
    View,
    loop_name,
)
from transpile.primitives.control.operands import inputs_of
from transpile.symbols.identifiers import LOOP_NAMES, names_at_file_scope

Places = dict[Atom, Place | Variable]


def assign_storage(loops: Loops, program: str) -> Storage:
    """Where the values of a program of this name are."""
    graph, memory = loops.block.graph, Memory()
    memory.names.take(names_at_file_scope(program))
    inputs = tuple(memory.buffer(v, v.name or "x") for v in graph.inputs)
    outputs = tuple(_output_buffers(graph, memory))
    places: Places = {}
    places.update(zip(graph.inputs, map(Place, inputs), strict=True))
    places.update(zip(graph.outputs, map(Place, outputs), strict=True))
    assignment = _Assignment(aliases(loops), memory, places)
    assignment.decide()
    frame = assignment.frame({})
    constants = tuple(place.buffer for place in memory.constants.values())
    temporaries, names = tuple(memory.temporaries), memory.names.taken
    return Storage(inputs, outputs, temporaries, constants, names, frame)


def _output_buffers(graph: Graph, memory: Memory) -> Iterator[Buffer]:
    several = len(graph.outputs) > 1
    for position, atom in enumerate(graph.outputs):
        default = f"out_{position}" if several else "out"
        hint = graph.output_names[position] if graph.output_names else getattr(atom, "name", "")
        yield memory.buffer(atom, hint or default)


class _Assignment:
    """A frame in the making: first `decide` says where values are, then `frame` adds what calls
    need.

    places    where its results go, and where those inputs are that it changes
    views     what the inputs of a body are in the graph around it
    parent    the graph around a body
    around    the counters around a body, and `counters` their names
    """

    def __init__(
        self,
        allowed: Aliases,
        memory: Memory,
        places: Places,
        views: Mapping[Atom, View] | None = None,
        parent: _Assignment | None = None,
        around: Mapping[Symbol, Index] | None = None,
        counters: tuple[str, ...] = (),
    ) -> None:
        self.aliases = allowed
        self.block = allowed.loops.block
        self.machine = self.block.scope.machine
        self.memory = memory
        self.places = dict(places)
        self.views = dict(views or {})
        self.parent = parent
        self.around = dict(around or {})
        self.counters = counters
        self.regions: dict[Region, LoopStorage | BranchStorage] = {}
        self.bodies: dict[Loops, _Assignment] = {}

    def decide(self) -> None:
        """Find places for all values, those of the bodies included."""
        homes = self.aliases.loops.homes
        self._reuse()
        for key, atom in self.block.in_memory.items():
            producer = self.block.by_key.get(key)
            is_stored = producer is None or isinstance(homes[producer], InMemory)
            if is_stored and atom not in self.views:
                self.place(atom)

    def frame(self, around: Mapping[Atom, Place | Variable]) -> Frame:
        """The frame, inside one with these places."""
        places: Places = {}
        for var, view in self.views.items():
            place = around.get(view.atom)
            if isinstance(place, Place):
                places[var] = place.part(view.prefix)
            elif place is not None:
                places[var] = place
        constants = (atom for atom in self.block.in_memory.values() if isinstance(atom, Const))
        places.update((const, self.memory.constant(const)) for const in constants)
        places.update(self.places)
        bodies: dict[Loops, Frame] = {}
        arrays: dict[Node, dict[str, Place]] = {}
        for node in self.aliases.order:
            match node:
                case LibraryCall():
                    arrays[node] = arrays_of_call(node.plan, places, self.memory)
                case Effect():
                    arrays[node] = arrays_of_effect(node, self.memory)
                case Loop():  # the body comes first, as it does in the text
                    for part in reversed(node.parts):
                        bodies[part] = self.bodies[part].frame(places)
                case Branch():
                    for part in node.parts:
                        bodies[part] = self.bodies[part].frame(places)
                case _:
                    pass
        return Frame(
            self.aliases.loops,
            self.aliases,
            places,
            self.views,
            self.around,
            self.counters,
            self.regions,
            bodies,
            arrays,
        )

    # ------------------------------------------------------------------------------ places

    def place(self, atom: Atom) -> Place | Variable:
        """Where a value is; a temporary gets its place when first met."""
        place = self.places.get(atom)
        if place is not None:
            return place
        view = self.views.get(atom)
        if view is not None and self.parent is not None:
            if not view.prefix:
                return self.parent.place(view.atom)
            return self.parent.stored(view.atom).part(view.prefix)
        if isinstance(atom, Const):
            return self.memory.constant(atom)
        self.places[atom] = self.memory.temporary(atom)
        return self.places[atom]

    def stored(self, atom: Atom) -> Place:
        """The place in memory of a value."""
        place = self.place(atom)
        if not isinstance(place, Place):
            raise InternalError(f"{place} is a variable, not an array in memory")
        return place

    def _reuse(self) -> None:
        """Give values the memory of what becomes of them."""
        for node in reversed(self.aliases.order):
            if isinstance(node, Region):
                self.regions[node] = self._region(node)
            for change in self.aliases.changes.get(node, ()):
                x, wanted = change.operand, self._wanted(node, change.result)
                is_free = x not in self.places and change.is_last
                if is_free and (isinstance(wanted, Place) or self._may_be(x, wanted, node)):
                    self.places[x] = wanted

    def _wanted(self, node: Node, result: Var) -> Place | Variable:
        """Where an operand would best be that becomes a result."""
        if not isinstance(node, Region):
            return self.place(result)
        storage = self.regions[node]
        if isinstance(storage, LoopStorage):
            return next(c.current for c in storage.carried if c.result is result)
        return storage.results[node.results.index(result)]

    def _may_be(self, x: Atom, variable: Variable, node: Node) -> bool:
        """Tell whether a number may live in the variable of the loop that goes on with it: in one
        that is there before, and if it comes from a loop."""
        is_new = isinstance(node, Region) and variable in self.regions[node].declared
        return not is_new and isinstance(self.block.node_of(x), Region)

    # ------------------------------------------------------------------- loops and branches

    def _region(self, node: Region) -> LoopStorage | BranchStorage:
        match node:
            case Loop():
                return self._loop(node)
            case Branch():
                return self._branch(node)
            case _:
                raise InternalError(f"{node.equation.primitive} is neither a loop nor a branch")

    def _loop(self, node: Loop) -> LoopStorage:
        counter = self._counter(node)
        own: dict[Symbol, Index] = {}
        if node.symbol is not None and counter is not None:
            own[node.symbol] = Dim.of(counter)
        where, part = substitute(node.where, own), node.body
        new: list[Variable] = []
        carried = tuple(self._carry(node, part, counter, new))
        places: Places = {c.before: c.current for c in carried}
        for c in carried:
            if c.following is not None:
                places[c.after] = c.following
            elif c.settled:
                places[c.after] = c.current
        stacked = part.block.graph.outputs[len(carried) :], node.results[len(carried) :]
        for output, result in zip(*stacked, strict=True):
            places[output] = self.stored(result).part((where,))
        names = () if counter is None else (counter.name,)
        self._body(node, part, places, own, names, where)
        if node.condition is not None:
            inputs = inputs_of(node.equation, node.condition.block.graph).carry
            seen: Places = {v: c.current for v, c in zip(inputs, carried, strict=True)}
            self._body(node, node.condition, seen, own, names, where)
        return LoopStorage(counter, carried, tuple(new))

    def _branch(self, node: Branch) -> BranchStorage:
        new: list[Variable] = []
        results: list[Place | Variable] = []
        for result in node.results:
            if result.type.shape or (result in self.places or not self.block.scope.is_body):
                results.append(self.place(result))
            else:
                hint = result.name or "chosen"
                results.append(self._place_of_number(result, hint, None, new)[0])
        for part in node.parts:
            places = dict(zip(part.block.graph.outputs, results, strict=True))
            self._body(node, part, places, {}, (), 0)
        return BranchStorage(tuple(results), tuple(new))

    def _body(
        self,
        node: Region,
        part: Loops,
        places: Places,
        own: Mapping[Symbol, Index],
        names: tuple[str, ...],
        where: Index,
    ) -> None:
        """Decide for a body, which reads operands of the loop or branch where they are."""
        inputs = inputs_of(node.equation, part.block.graph)
        consts = zip(inputs.consts, node.consts, strict=True)
        views: dict[Atom, View] = {v: View(atom, node.fixed.get(atom)) for v, atom in consts}
        if isinstance(node, Loop):
            xs = zip(inputs.xs, node.xs, strict=True)
            views.update((v, View(atom, node.fixed.get(atom), (where,))) for v, atom in xs)
        around, counters = {**self.around, **own}, (*self.counters, *names)
        allowed = self.aliases.inner[part]
        body = _Assignment(allowed, self.memory, places, views, self, around, counters)
        body.decide()
        self.bodies[part] = body

    def _counter(self, node: Loop) -> Symbol | None:
        """The counter of a loop, called as in the user's body if nothing else is."""
        symbol, names = node.symbol, self.memory.names
        if symbol is None:
            return None
        scope = node.body.block.scope
        hint = next((v.name for v in scope.graph.inputs if v in scope.given and v.name), "")
        number = next((v for v in scope.graph.inputs if _is_counter(scope, v, symbol)), None)
        hint = hint if number is None else number.name
        taken = hint in names or hint in self.counters
        if taken or not hint:
            hint = loop_name(names, self.counters, 0)
        elif hint not in LOOP_NAMES:
            hint = names.new(hint)
        extent = None if symbol.extent is None else substitute(symbol.extent, self.around)
        return Symbol(hint, symbol.lower, extent)

    # ----------------------------------------------------------------------------- the carry

    def _is_small(self, var: Var) -> bool:
        """Tell whether an array is so small that it is copied rather than exchanged by pointers:
        its elements can then live in registers."""
        size = var.type.size
        return isinstance(size, int) and size <= self.machine.most_copied_elements

    def _carry(
        self, node: Loop, part: Loops, counter: Symbol | None, new: list[Variable]
    ) -> Iterator[Carried]:
        settled = self.aliases.inner[part].settled
        for k, (before, after) in enumerate(part.block.scope.carry):
            result, is_settled = node.results[k], before in settled
            current: Place | Variable
            final: Place | Variable
            following = None
            if result.type.shape:
                current, following, final = self._places_of_array(result, is_settled, node.length)
            else:
                hint = before.name or result.name or getattr(after, "name", "") or "carry"
                current, final = self._place_of_number(result, hint, counter, new)
            yield Carried(
                node.carry[k],
                node.initial[k],
                result,
                before,
                after,
                is_settled,
                current,
                following,
                final,
                self._is_small(result),
            )

    def _places_of_array(
        self, result: Var, settled: bool, length: int | None
    ) -> tuple[Place, Place | None, Place]:
        """Where an array is in an iteration, where the iteration writes the next one, and where it
        is when the loop has ended. With an even number of exchanges it ends where it began."""
        if not settled and not self.aliases.is_read(result) and self.places.get(result) is None:
            current = self.memory.temporary(result)
            return current, self.memory.temporary(result), current
        final = self.stored(result)
        if settled:
            return final, None, final
        spare = self.memory.temporary(result)
        if length is None or final.prefix or self._is_small(result):
            return spare, self.memory.temporary(result), final
        return (spare, final, final) if length % 2 else (final, spare, final)

    def _place_of_number(
        self, result: Var, hint: str, counter: Symbol | None, new: list[Variable]
    ) -> tuple[Variable, Place | Variable]:
        """The variable for a result that is a number, one of the `new` ones if there is none yet,
        and where that is to go in the end."""
        final = self.places.get(result)
        if isinstance(final, Variable):
            return final, final
        own = () if counter is None else (counter.name,)
        name = self.memory.names.new(hint)
        while name in (*self.counters, *own):  # what the user calls `i` stands in the loop over i
            name = self.memory.names.new(hint)
        variable = Variable(name, result.type.dtype)
        new.append(variable)
        if final is None and (self.block.scope.is_body or not self.aliases.is_read(result)):
            self.places[result] = final = variable
        return variable, final or self.stored(result)


def _is_counter(scope: Scope, var: Var, symbol: Symbol) -> bool:
    """Tell whether an input of a body is the number of the iteration."""
    given = scope.given.get(var)
    return given is not None and as_index(given) == Dim.of(symbol)
