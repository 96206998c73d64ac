"""Memory: the buffers of a program in the making, and the names that are taken."""

from __future__ import annotations

import numpy as np

from transpile.ir.dims import Index, Shape
from transpile.ir.graph import Atom, Const, Var
from transpile.ir.indices.lengths import Length, lengths_of, most_of, stored_shape
from transpile.ir.indices.row_major import product
from transpile.ir.loop_ir import Buffer
from transpile.ir.types import UINT8
from transpile.lower.storage import Place
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import replace


class Memory:
    """The buffers of a program in the making, and its names.

    counted   the lengths that the graph counts outside of its loops and branches
    counters  the names of loops' counters, which several loops may have, and no array
    """

    def __init__(self, counted: frozenset[Length]) -> None:
        self.counted = counted
        self.names = Names(())
        self.counters: set[str] = set()
        self.temporaries: list[Buffer] = []
        self.constants: dict[Const, Place] = {}

    def buffer(self, atom: Atom, hint: str) -> Buffer:
        """A buffer for a value."""
        value = atom.value if isinstance(atom, Const) else None
        shape = stored_shape(atom.type.shape)
        if self._rows(shape):
            shape = (product(map(most_of, shape)),)
        name = self.names.new(hint)
        while name in self.counters:
            name = self.names.new(hint)
        return Buffer(name, shape, atom.type.dtype, value)

    def _rows(self, shape: Shape) -> Shape:
        """The shape, if a loop's body counts how long rows are; elsewhere none. Calls of libraries
        read rows one behind the other, so that there is no room between them."""
        is_known = all(self.counted.issuperset(lengths_of(d)) for d in shape[1:])
        return () if is_known else shape

    def constant(self, const: Const) -> Place:
        """The place of a constant."""
        if const not in self.constants:
            buffer = self.buffer(const, const.name or "c")
            self.constants[const] = Place(buffer)
            if not buffer.shape:  # C has no constant pointers to numbers: an array of one
                array = replace(buffer, shape=(1,), value=np.reshape(const.value, 1))
                self.constants[const] = Place(array, (0,))
        return self.constants[const]

    def temporary(self, atom: Atom, hint: str = "t") -> Place:
        """A place for a value in the workspace."""
        buffer = self.buffer(atom, atom.name or hint)
        self.temporaries.append(buffer)
        return Place(buffer, rows=self._rows(stored_shape(atom.type.shape)))

    def number(self, atom: Atom, hint: str = "given") -> Place:
        """A place for a number that is passed by its address: an array of one."""
        one = Var(atom.type.with_shape((1,)), atom.name)
        return replace(self.temporary(one, hint), prefix=(0,))

    def scratch(self, size: Index) -> Place:
        """Bytes that calls may use; they go by the first one."""
        buffer = Buffer(self.names.new("scratch"), stored_shape((size,)), UINT8)
        self.temporaries.append(buffer)
        return Place(buffer, (0,))
