"""Storage: where each value is while a program runs, and how statements read and write it there."""

from __future__ import annotations

from collections.abc import Container, Mapping
from itertools import chain, count, islice
from typing import Any

import numpy as np

from transpile.fusion.buffer_reuse import Aliases
from transpile.fusion.index_lambda import IndexLambda
from transpile.fusion.nodes import Loops, Node, Region
from transpile.ir.dims import Index, Shape, Symbol
from transpile.ir.graph import Atom, Var
from transpile.ir.indices.row_major import row_major
from transpile.ir.loop_ir import Apply, Buffer, Expr, Load, Ref, Statement, Store, Update
from transpile.symbols.identifiers import LOOP_NAMES, Names
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True)
class Place:
    """A buffer, or the part of it at an index into its leading axes.

    rows    the shape of an array that lies in a flat buffer without gaps between its rows: they are
            as long as a body counts, and C knows the shapes of arrays before it runs
    """

    buffer: Buffer
    prefix: Shape = ()
    rows: Shape = ()

    @property
    def name(self) -> str:
        """The name of the buffer."""
        return self.buffer.name

    @property
    def shape(self) -> Shape:
        """The shape of the value."""
        return (self.rows or self.buffer.shape)[len(self.prefix) :]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the value."""
        return self.buffer.dtype

    def load(self, index: Shape) -> Load:
        """The element at an index."""
        return Load(self.buffer.name, self._index(index), self.buffer.dtype)

    @property
    def first(self) -> Load:
        """The first element, at whose address the value begins."""
        return self.load((0,) * len(self.shape))

    def store(self, index: Shape, value: Expr) -> Statement:
        """What puts a value there."""
        return Store(self.buffer.name, self._index(index), value)

    def part(self, prefix: Shape) -> Place:
        """The part at an index into the leading axes."""
        return Place(self.buffer, (*self.prefix, *prefix), self.rows)

    def _index(self, index: Shape) -> Shape:
        whole = (*self.prefix, *index)
        return (row_major(whole, self.rows),) if self.rows else whole


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
    """The part of a value of the surrounding graph, at an index into its leading axes, that an
    input of a body stands for; and the elements of the value, if the body reads them."""

    atom: Atom
    value: IndexLambda | None
    prefix: Shape = ()


@dataclass(frozen=True, eq=False)
class Carried:
    """One value of a carry.

    initial    the operand, whose elements are those of `start`
    result     what it is when the loop has ended, at the place `final`
    before     the input of the body, at the place `current`
    after      the output of the body that lies there then, at the place `following` if that is
               another one; of carries that exchange their memory, that of another one
    settled    whether `after` is written where `before` is
    copied     whether it is copied there from `following`, or the two buffers are exchanged
    """

    initial: Atom
    start: IndexLambda
    result: Var
    before: Var
    after: Atom
    settled: bool
    current: Place | Variable
    following: Place | None
    final: Place | Variable
    copied: bool


@dataclass(frozen=True, eq=False)
class LoopStorage:
    """Where the values of a loop are.

    counter    of a loop that counts
    declared   the variables of its carry that are its own
    rotated    cycles of numbers of carries, which exchange their memory behind an iteration
    """

    counter: Symbol | None
    carried: tuple[Carried, ...]
    declared: tuple[Variable, ...]
    rotated: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, eq=False)
class BranchStorage:
    """Where the values of a branch are: each of its bodies puts its results at the same places."""

    results: tuple[Place | Variable, ...]
    declared: tuple[Variable, ...]


@dataclass(frozen=True, eq=False)
class Frame:
    """Where the values of a program's graph, or of a body in one, are.

    places     of what is stored, and of numbers in variables that loops change
    views      what the inputs of a body are in the graph around it
    around     the counters around a body, and `counters` their names
    regions    its loops and branches, and `bodies` the frames of their bodies
    arrays     for each call of a library, or of Python, the places of its arrays by their names
    """

    loops: Loops
    aliases: Aliases
    places: Mapping[Atom, Place | Variable]
    views: Mapping[Atom, View]
    around: Mapping[Symbol, Index]
    counters: tuple[str, ...]
    regions: Mapping[Region, LoopStorage | BranchStorage]
    bodies: Mapping[Loops, Frame]
    arrays: Mapping[Node, Mapping[str, Place]]


@dataclass(frozen=True, eq=False)
class Storage:
    """Where the values of a program are: its arguments, its results, the buffers between, scratch
    memory among them, the constants, and all names that these and the program have."""

    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    temporaries: tuple[Buffer, ...]
    constants: tuple[Buffer, ...]
    names: frozenset[str]
    frame: Frame


def loop_name(names: Names, counters: Container[str], depth: int) -> str:
    """The name of the loops at a depth: i, j, k and so on, where nothing is called that."""
    every = chain(LOOP_NAMES, map("i{}".format, count(1)))
    free = (n for n in every if n not in names and n not in counters)
    return next(islice(free, depth, None))
