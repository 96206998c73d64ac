"""Places: where a value is while a program runs, and how statements read and write it there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.ir.dims import Index, Shape, unravel
from transpile.ir.graph import Atom, Const
from transpile.ir.loop_ir import Apply, Buffer, Expr, Load, Ref, Statement, Store, Update
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import dataclass, replace


@dataclass(frozen=True)
class Place:
    """A buffer, or the part of it at an index into its leading axes."""

    buffer: Buffer
    prefix: Shape = ()

    @property
    def name(self) -> str:
        """The name of the buffer."""
        return self.buffer.name

    @property
    def shape(self) -> Shape:
        """The shape of the value."""
        return self.buffer.shape[len(self.prefix) :]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the value."""
        return self.buffer.dtype

    def load(self, index: Shape) -> Load:
        """The element at an index."""
        return Load(self.buffer.name, (*self.prefix, *index), self.buffer.dtype)

    def at(self, offset: Index) -> Load:
        """The element at a place in row-major order."""
        return self.load(unravel(offset, self.shape))

    @property
    def first(self) -> Load:
        """The first element, at whose address the value begins."""
        return self.load((0,) * len(self.shape))

    def store(self, index: Shape, value: Expr) -> Statement:
        """What puts a value there."""
        return Store(self.buffer.name, (*self.prefix, *index), value)

    def part(self, prefix: Shape) -> Place:
        """The part at an index into the leading axes."""
        return Place(self.buffer, (*self.prefix, *prefix))


@dataclass(frozen=True)
class Variable:
    """A number in a variable that loops change."""

    name: str
    dtype: np.dtype[Any]

    def load(self, _: Shape = ()) -> Ref:
        """Its value."""
        return Ref(self.name, self.dtype)

    def store(self, _: Shape, value: Expr) -> Statement:
        """What gives it a value: `x += y` where that is `x + y` or `y + x`, and so on."""
        target = self.load()
        match value:
            case Apply(op=op, args=(left, right)) if value.primitive.may_combine(self.dtype):
                if target in (left, right):
                    return Update(target, op, left if right == target else right)
            case Apply(op="subtract", args=(left, right)) if left == target:
                return Update(target, "subtract", right)
            case _:
                pass
        return Update(target, "set", value)


@dataclass(frozen=True)
class View:
    """The value of the surrounding graph that an input of a body stands for: `read` gives its
    elements, `place` says where they are when they must be in memory, and `known` where they are
    as matters stand."""

    read: Callable[[Shape], Expr]
    place: Callable[[], Place | Variable]
    known: Callable[[], Place | Variable | None]


class Memory:
    """The buffers of a program, and its names."""

    def __init__(self) -> None:
        self.names = Names()
        self.temporaries: list[Buffer] = []
        self.constants: dict[Const, Place] = {}

    def buffer(self, atom: Atom, hint: str) -> Buffer:
        """A buffer for a value."""
        value = atom.value if isinstance(atom, Const) else None
        return Buffer(self.names.new(hint), atom.type.shape, atom.type.dtype, value)

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
        return Place(buffer)

    def scratch(self, size: int) -> Place:
        """Bytes that a call may use."""
        buffer = Buffer(self.names.new("scratch"), (size,), np.dtype("uint8"))
        self.temporaries.append(buffer)
        return Place(buffer)
