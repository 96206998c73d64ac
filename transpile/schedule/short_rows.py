"""Short rows: loops over rows too short for vectors go over many rows at a time.

A softmax over ten classes would use vectors for ten elements, and put sums together across lanes
for each row. Where the rows are short, the lanes are rows instead: a strip of rows is copied on its
side, the nest over a row is turned inside out (as for columns), and what it makes is copied back:
`for strip: for column: for row in strip: acc[row - first] += x_strip[column][row - first]`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from transpile.cost import trips
from transpile.dims import Dim, Index, Shape, Symbol, product, symbols_of
from transpile.loops import (
    Alloc,
    Buffer,
    Call,
    Declare,
    Expr,
    For,
    If,
    Kernel,
    Load,
    Program,
    Statement,
    Store,
    Swap,
    Update,
    While,
)
from transpile.names import Names
from transpile.options import Options
from transpile.records import replace
from transpile.schedule.columns import Turner
from transpile.walks import (
    is_independent,
    loads,
    map_statement,
    names_in,
    seen_by,
    walk,
    with_bodies,
    written,
)

# Rows of no more elements than this are short.
LONGEST = 24
_PLAIN = {"add", "logical_or", "logical_and"}
# How many rows go together: one of these numbers if they are a multiple of it, else the first.
STRIPS = (32, 16, 24, 40, 48)
FEWEST_STRIPS = 4
# All arrays of a strip together, in bytes: they should stay in the first cache.
LARGEST = 24576


def short_rows(program: Program, options: Options) -> Program:
    """The program with such nests turned inside out."""
    names = Names(names_in(program))
    kernels = []
    for kernel in program.kernels:
        strips = _Strips(program, kernel, names)
        kernels.append(replace(kernel, body=tuple(map(strips.statement, kernel.body))))
    return replace(program, kernels=tuple(kernels))


class _Strips:
    """Turns the nests of a kernel."""

    def __init__(self, program: Program, kernel: Kernel, names: Names) -> None:
        self.buffers = seen_by(program, kernel)
        self.names = names

    def statement(self, statement: Statement) -> Statement:
        """The statement with the outermost nests in it turned that can be."""
        if isinstance(statement, For) and not statement.ordered:
            turned = _strip(statement, self) if _has_short_rows(statement) else None
            return statement if turned is None else turned
        return with_bodies(statement, lambda body: tuple(map(self.statement, body)))

    def on_side(self, name: str, index: Shape, row: Symbol) -> int | None:
        """The axis along which an access goes from row to row, if that strides through memory and
        the rows are short: then a strip is copied on its side."""
        axes = [a for a, i in enumerate(index) if row in symbols_of(i)]
        if name not in self.buffers or len(axes) != 1 or axes[0] == len(index) - 1:
            return None
        shape = self.buffers[name].shape
        length = product((*shape[: axes[0]], *shape[axes[0] + 1 :]))
        is_short = isinstance(length, int) and length <= LONGEST
        return axes[0] if is_short and index[axes[0]] == Dim.of(row) else None


def _has_short_rows(loop: For) -> bool:
    """Tell whether a loop over independent rows computes numbers of each row, of few elements."""
    if not isinstance(loop.stop, int) or loop.start != 0 or loop.limit is not None:
        return False
    if loop.stop < STRIPS[0] * FEWEST_STRIPS or not is_independent(loop):
        return False
    inside = list(walk(loop.body))
    if any(isinstance(s, If | While | Call | Swap) for s in inside):
        return False
    if any(isinstance(s, Declare) and s.symbol is not None for s in inside):
        return False
    if not any(isinstance(s, Declare) for s in loop.body):
        return False
    nests = [s for s in loop.body if isinstance(s, For)]
    if not nests or _is_one_sum(nests):
        return False
    return all(_is_short(s, loop.symbol) for s in nests)


def _is_one_sum(nests: list[For]) -> bool:
    """Tell whether all there is to do is to add, or to find one that is true: compilers make good
    use of vectors for that even in short rows."""
    inside = list(walk(tuple(nests)))
    ops = {s.op for s in inside if isinstance(s, Update)}
    stores = any(isinstance(s, Store) for s in inside)
    return len(nests) == 1 and bool(ops) and ops <= _PLAIN and not stores


def _is_short(nest: For, row: Symbol) -> bool:
    """Tell whether a nest goes over a few elements, the same ones in each row."""
    loops = [s for s in walk((nest,)) if isinstance(s, For)]
    ends = [i for s in loops for i in (s.start, s.stop, s.limit) if i is not None]
    return (
        not any(row in symbols_of(i) for i in ends)
        and not any(s.ordered for s in loops)
        and math.prod(map(trips, loops)) <= LONGEST
    )


def _strip(loop: For, kernel: _Strips) -> For | None:
    """The loop over strips of rows; None where their arrays would be too large, or what is written
    is also read."""
    if not isinstance(loop.stop, int):
        return None
    changed = {name for s in walk(loop.body) for name in written(s)}
    local = {s.buffer.name for s in walk(loop.body) if isinstance(s, Alloc)}
    if not (changed - local).isdisjoint(load.buffer for s in walk(loop.body) for load in loads(s)):
        return None
    rows = loop.stop
    width = next((w for w in STRIPS if rows % w == 0), STRIPS[0])
    names = kernel.names.inner()
    strip = Symbol(names.new("strip"), 0, -(-rows // width))
    first = Dim.of(strip) * width
    turned = list(Turner(loop, first, width).body(loop.body))
    body = tuple(_Sides(kernel, loop, first, width, names).body(turned))
    size = product(())
    for statement in walk(body):
        if isinstance(statement, Alloc):
            size = size + statement.buffer.size_in_bytes
    if not isinstance(size, int) or size > LARGEST:
        return None
    return For(strip, -(-rows // width), body)


class _Sides:
    """Copies what a strip reads, and what it makes, between memory and arrays on their sides."""

    def __init__(self, kernel: _Strips, loop: For, first: Index, width: int, names: Names) -> None:
        self.kernel = kernel
        self.row = loop.symbol
        self.width = width
        self.names = names
        self.first = first
        self.limit = loop.stop if isinstance(loop.stop, int) and loop.stop % width else None
        self.read: dict[tuple[str, int], Buffer] = {}
        self.made: dict[tuple[str, int], Buffer] = {}

    def body(self, statements: list[Statement]) -> Iterator[Statement]:
        """The statements with those copies around them."""
        rest: list[Statement] = []
        for statement in statements:
            found: list[tuple[tuple[For, ...], Store]] = []
            rest.append(self._inside(statement, (), found))
            rest += [self._back(loops, store) for loops, store in found]
        yield from map(Alloc, (*self.read.values(), *self.made.values()))
        for (name, axis), copy in self.read.items():
            yield self._copy(name, axis, copy)
        yield from rest

    def _inside(
        self,
        statement: Statement,
        loops: tuple[For, ...],
        found: list[tuple[tuple[For, ...], Store]],
    ) -> Statement:
        if isinstance(statement, For):
            around = loops if statement.symbol == self.row else (*loops, statement)
            body = tuple(self._inside(s, around, found) for s in statement.body)
            return replace(statement, body=body)
        if loops:
            statement = map_statement(statement, self._load, lambda i: i)
        if isinstance(statement, Store) and loops:
            axis = self.kernel.on_side(statement.buffer, statement.index, self.row)
            if axis is not None:
                copy = self._side(self.made, statement.buffer, axis, statement.value.dtype)
                found.append((loops, statement))
                return Store(copy.name, self._turned(statement.index, axis), statement.value)
        return statement

    def _load(self, expr: Expr) -> Expr:
        if not isinstance(expr, Load):
            return expr
        axis = self.kernel.on_side(expr.buffer, expr.index, self.row)
        if axis is None:
            return expr
        copy = self._side(self.read, expr.buffer, axis, expr.dtype)
        return Load(copy.name, self._turned(expr.index, axis), expr.dtype)

    def _side(
        self, copies: dict[tuple[str, int], Buffer], name: str, axis: int, dtype: object
    ) -> Buffer:
        if (name, axis) not in copies:
            buffer = self.kernel.buffers[name]
            shape = (*buffer.shape[:axis], *buffer.shape[axis + 1 :], self.width)
            copies[name, axis] = Buffer(self.names.new(f"{name}_strip"), shape, buffer.dtype)
        return copies[name, axis]

    def _turned(self, index: Shape, axis: int) -> Shape:
        return (*index[:axis], *index[axis + 1 :], Dim.of(self.row) - self.first)

    def _copy(self, name: str, axis: int, copy: Buffer) -> Statement:
        """The rows of a strip, on their side."""
        names = self.names.inner()
        inner = [Symbol(names.new("column"), 0, extent) for extent in copy.shape[:-1]]
        index = [Dim.of(s) for s in inner]
        index.insert(axis, Dim.of(self.row))
        load = Load(name, tuple(index), copy.dtype)
        body: Statement = Store(copy.name, self._turned(load.index, axis), load)
        for symbol in reversed(inner):
            body = For(symbol, symbol.extent or 0, (body,))
        return self._rows(body)

    def _back(self, loops: tuple[For, ...], store: Store) -> Statement:
        """What a nest has made, in its place."""
        axis = self.kernel.on_side(store.buffer, store.index, self.row)
        if axis is None:
            return store
        copy = self.made[store.buffer, axis]
        load = Load(copy.name, self._turned(store.index, axis), copy.dtype)
        body: Statement = replace(store, value=load)
        for loop in reversed(loops):
            body = replace(loop, body=(body,))
        return self._rows(body)

    def _rows(self, body: Statement) -> Statement:
        return For(self.row, self.first + self.width, (body,), start=self.first, limit=self.limit)
