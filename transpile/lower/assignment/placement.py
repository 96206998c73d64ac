"""Placement: the places of the values of one graph, in the making, inside those around it."""

from __future__ import annotations

from collections.abc import Mapping

from transpile.errors import InternalError
from transpile.fusion.buffer_reuse import Aliases
from transpile.fusion.nodes import Loops, Region
from transpile.ir.dims import Index, Symbol
from transpile.ir.graph import Atom, Const, Var
from transpile.lower.assignment.memory import Memory
from transpile.lower.storage import BranchStorage, LoopStorage, Place, Variable, View

Places = dict[Atom, Place | Variable]


class Placement:
    """The places of the values of a graph: the program's, or that of a body.

    A value gets its place when it is first asked for. An input of a body has none of its own: it is
    a view of a value around the body.

    aliases    which values may share memory
    places     at first of results, and of those inputs that the graph updates
    views      what the inputs of a body are in the graph around it
    parent     the placement around a body
    around     the counters around a body, and `counters` their names
    regions    the storage of loops and branches, and `bodies` the placements of their bodies
    """

    def __init__(
        self,
        aliases: Aliases,
        memory: Memory,
        places: Places,
        views: Mapping[Atom, View] | None = None,
        parent: Placement | None = None,
        around: Mapping[Symbol, Index] | None = None,
        counters: tuple[str, ...] = (),
    ) -> None:
        self.aliases = aliases
        self.block = aliases.loops.block
        self.memory = memory
        self.places = dict(places)
        self.views = dict(views or {})
        self.parent = parent
        self.around = dict(around or {})
        self.counters = counters
        self.regions: dict[Region, LoopStorage | BranchStorage] = {}
        self.bodies: dict[Loops, Placement] = {}

    def place(self, atom: Atom) -> Place | Variable:
        """The place of a value; a temporary if it has none yet."""
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
        """The place of a value that is in memory."""
        place = self.place(atom)
        if not isinstance(place, Place):
            raise InternalError(f"{place} is a variable, not an array in memory")
        return place

    def number(
        self, result: Var, hint: str, counter: Symbol | None, declared: list[Variable]
    ) -> tuple[Variable, Place | Variable]:
        """The variable in which a loop or branch computes a result that is a number, and the place
        of the result itself.

        A new variable is added to those that the region declares. The result stays in it where
        nothing else needs the result in memory.
        """
        final = self.places.get(result)
        if isinstance(final, Variable):
            return final, final
        own = () if counter is None else (counter.name,)
        name = self.memory.names.new(hint)
        while name in (*self.counters, *own):  # a value that the user calls `i`, in the loop over i
            name = self.memory.names.new(hint)
        variable = Variable(name, result.type.dtype)
        declared.append(variable)
        if final is None and (self.block.scope.is_body or not self.aliases.is_read(result)):
            self.places[result] = final = variable
        return variable, final or self.stored(result)
