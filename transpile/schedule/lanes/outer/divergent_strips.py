"""Strips of a loop with loops inside: its scalars in arrays, an element for each lane, and the
inner loops around the lanes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

import numpy as np

from transpile.ir.dims import Dim, Shape, Symbol, substitute
from transpile.ir.graph import UNKNOWN_SOURCE, Source
from transpile.ir.indices.row_major import blocks_of, limit_of_blocks
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
    Buffer,
    Declare,
    Expr,
    For,
    If,
    Literal,
    Load,
    Ref,
    Statement,
    Store,
    Update,
    While,
)
from transpile.ir.loop_rewrite import (
    declared_name,
    declared_names,
    map_expr,
    map_statement,
    symbols_read,
    walk,
    with_bodies,
    written,
)
from transpile.ir.types import BOOL
from transpile.primitives.elementwise import COMPLEX_PARTS, convert, make_complex, select
from transpile.schedule.lanes.outer.branches import updated, without_branches
from transpile.schedule.lanes.outer.scopes import read_of_others, updated_of_others
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import cached_property, changed, dataclass, replace

Body = tuple[Statement, ...]


def front_of(loop: For) -> Body:
    """The body of a loop up to its last inner loop."""
    return loop.body[: max(k for k, s in enumerate(loop.body) if isinstance(s, For | While)) + 1]


@dataclass(frozen=True)
class _Run:
    """Statements without loops, of all lanes at a time; scalars of those that are not `active` stay
    as they are. Where the run declares what says so, it is known `around` it which are. Those that
    stand in no inner loop are `before` all of them, or `behind`."""

    body: Body
    active: Ref | None = None
    around: Ref | None = None
    place: str = ""

    @property
    def used(self) -> frozenset[str]:
        """The scalars declared elsewhere that it reads or updates."""
        masks = {mask.name for mask in (self.active, self.around) if mask is not None}
        return read_of_others(self.body) | masks - declared_names(self.body)

    def masked(self) -> Iterator[tuple[Body, Ref | None]]:
        """Its statements up to what says which lanes are active, and behind that, each with what
        says it for them."""
        declared = [declared_name(s) for s in self.body]
        if self.active is None or self.active.name not in declared:
            yield self.body, self.active
            return
        end = declared.index(self.active.name) + 1
        yield self.body[:end], self.around
        yield self.body[end:], self.active


@dataclass(frozen=True)
class _Inner:
    """An inner loop, around lanes: the statement, and its body's parts. A `while` runs as long as
    any lane is `going`."""

    loop: For | While
    parts: tuple[_Run | _Inner, ...]
    going: Ref | None = None


class Strips:
    """The loop over strips of `width` iterations of a loop, one in each lane. Declarations in the
    loop have names of their own.

    The last strip may have fewer. Its other lanes repeat its first iteration and store nothing, or
    are left out, where inner loops read the number of the iteration.
    """

    def __init__(self, loop: For, width: int, names: Names) -> None:
        self.source = loop
        self.width = width
        self.names = names
        self.strip = Symbol(names.new("strip"), 0, blocks_of(loop.extent, width))
        self.first = Dim.of(self.strip) * width + loop.start
        self.limit = limit_of_blocks(loop.stop, loop.extent, width)
        scalars = (s for s in walk(self.source.body) if isinstance(s, Declare))
        widest = max((_of_part(s.dtype).itemsize for s in scalars), default=8)
        self.mask = np.dtype(f"i{max(widest, 4)}")
        self.parts = (*self._front(), *self._rest())
        self.dtypes = _expanded([*_runs(self.parts)])
        self.lanes = {name: self._arrays(name, dtype) for name, dtype in self.dtypes.items()}

    def _front(self) -> Iterator[_Run | _Inner]:
        for part in self._tree(front_of(self.source), None):
            yield replace(part, place="before") if isinstance(part, _Run) else part

    def _rest(self) -> Iterator[_Run]:
        rest = self.source.body[len(front_of(self.source)) :]
        if rest:
            yield _Run(rest, place="behind")

    def _tree(self, body: Body, active: Ref | None) -> Iterator[_Run | _Inner]:
        """The parts of a body: its loops, and the runs of statements between them."""
        for is_loop, group in groupby(body, lambda s: isinstance(s, For | While)):
            if not is_loop:
                yield _Run(tuple(group), active)
                continue
            for loop in group:
                if isinstance(loop, While):
                    yield self._until_all_ended(loop, active)
                elif isinstance(loop, For):
                    yield _Inner(loop, tuple(self._tree(loop.body, active)))

    def _until_all_ended(self, loop: While, around: Ref | None) -> _Inner:
        """The loop that runs as long as its condition holds in any lane that is active."""
        going = Ref(self.names.new("going"), self.mask)
        active = Ref(self.names.new("active"), BOOL)
        holds = loop.condition
        if around is not None:
            holds = Apply("logical_and", (around, holds), BOOL)
        noted = Update(going, "bitwise_or", Apply(convert.name, (active,), self.mask))
        asked = (*loop.test, Declare(active.name, holds), noted)
        first, *others = self._tree((*asked, *loop.body), active)
        return _Inner(loop, (replace(first, around=around), *others), going)

    def _arrays(self, name: str, dtype: np.dtype[Any]) -> tuple[Buffer, ...]:
        """The array of a scalar, or those of the parts of a complex one. Bools are as wide as the
        widest number, so that vectors match."""
        hints = [f"{name}_lanes"]
        if dtype.kind == "c":
            hints = [f"{name}_{part.name}s" for part in COMPLEX_PARTS]
        wide = self.mask if dtype == BOOL else _of_part(dtype)
        return tuple(Buffer(self.names.new(hint), (self.width,), wide) for hint in hints)

    @cached_property
    def has_absent_lanes(self) -> bool:
        """True if lanes without an iteration repeat the first one."""
        inside = (run for run in _runs(self.parts) if not run.place)
        read = frozenset[Symbol]().union(*(symbols_read(s) for run in inside for s in run.body))
        return self.limit is not None and self.source.symbol not in read

    @property
    def has_own_subscripts(self) -> bool:
        """True if no run uses subscripts that another one has computed."""
        declared = [
            {s.symbol for s in walk(run.body) if isinstance(s, Declare) and s.symbol is not None}
            for run in _runs(self.parts)
        ]
        computed = frozenset[Symbol]().union(*declared)
        read = [frozenset[Symbol]().union(*map(symbols_read, r.body)) for r in _runs(self.parts)]
        names = {symbol.name for symbol in computed}
        is_own = all(own.issuperset(r & computed) for own, r in zip(declared, read, strict=True))
        return is_own and self.lanes.keys().isdisjoint(names)

    def loop(self) -> For:
        """The loop over the strips."""
        body = [Alloc(b) for arrays in self.lanes.values() for b in arrays]
        stop = blocks_of(self.source.extent, self.width)
        inside = tuple(s for part in self.parts for s in self._statements(part))
        return replace(self.source, symbol=self.strip, start=0, stop=stop, body=(*body, *inside))

    def _statements(self, part: _Run | _Inner) -> Iterator[Statement]:
        match part:
            case _Inner(loop=For() as loop):
                body = tuple(s for inner in part.parts for s in self._statements(inner))
                yield replace(loop, body=body)
            case _Inner(loop=While(), going=Ref() as going):
                none = Literal(0, self.mask)
                yield Declare(going.name, Literal(1, self.mask), constant=False)
                body = tuple(s for inner in part.parts for s in self._statements(inner))
                any_goes_on = Apply("not_equal", (going, none), BOOL)
                yield While(any_goes_on, (Update(going, "set", none), *body))
            case _Run(place="before"):
                yield from self._before_loops(part.body)
            case _Run(place="behind"):
                yield self._behind_loops(part.body)
            case _Run():
                yield self._in_lanes(part)

    # ------------------------------------------------------------------- around the inner loops

    def _before_loops(self, part: Body) -> Iterator[Statement]:
        """Statements for each iteration of the strip, and what they assign to for other lanes."""
        loop = self._each(part)
        yield loop
        stored = {name for s in walk(loop.body) for name in written(s)}
        arrays = [b for own in self.lanes.values() for b in own if b.name in stored]
        if self.has_absent_lanes and arrays:
            lane = Symbol(self.names.new("absent"), 0, self.width)
            copies = (Store(b.name, (Dim.of(lane),), Load(b.name, (0,), b.dtype)) for b in arrays)
            yield For(lane, self.width, tuple(copies), start=self.source.stop - self.first)

    def _behind_loops(self, part: Body) -> For:
        """Statements for each iteration of the strip, in the order of iterations."""
        ordered, independent = self.source.ordered, self.source.independent
        return replace(self._each(part), ordered=ordered, independent=independent)

    def _each(self, part: Body) -> For:
        symbol = self.source.symbol
        index = (Dim.of(symbol) - self.first,)
        body = tuple(after for s in part for after in self._with_elements(s, index))
        stop = self.first + self.width
        return For(symbol, stop, body, start=self.first, limit=self.limit)

    def _with_elements(self, statement: Statement, index: Shape) -> Iterator[Statement]:
        """A statement with elements in place of scalars."""

        def element(expr: Expr) -> Expr:
            if isinstance(expr, Ref) and expr.name in self.lanes:
                return self._read(expr.name, index)
            return expr

        def inner(body: Body) -> Body:
            return tuple(after for s in body for after in self._with_elements(s, index))

        match statement:
            case Declare(name=name, value=value, source=source) if name in self.lanes:
                yield from self._stored(name, index, map_expr(value, element), source)
            case Update(target=Ref(name=name), source=source) as update if name in self.lanes:
                yield from self._stored(name, index, map_expr(updated(update), element), source)
            case Declare() | Update() | Store():
                yield changed(statement, value=map_expr(statement.value, element))
            case If() | While():
                condition = map_expr(statement.condition, element)
                yield changed(with_bodies(statement, inner), condition=condition)
            case _:
                yield with_bodies(statement, inner)

    # ------------------------------------------------------------------------- the inner loops

    def _in_lanes(self, run: _Run) -> For:
        """Statements of an inner loop, in all lanes."""
        symbol = Symbol(self.names.new("lane"), 0, self.width)
        index = (Dim.of(symbol),)
        own = {self.source.symbol: self.first + Dim.of(symbol)}
        used = [name for name in self.lanes if name in run.used]
        changing = updated_of_others(run.body)
        new = [s.name for s in run.body if isinstance(s, Declare) and s.name in self.lanes]
        before = (Declare(n, self._read(n, index), constant=n not in changing) for n in used)
        inside = (
            map_statement(s, lambda e: e, lambda i: substitute(i, own))
            for part, mask in run.masked()
            for s in without_branches(part, self.names, used, mask=mask)
        )
        stores = [(n, run.active) for n in used if n in changing] + [(n, None) for n in new]
        after = (
            store
            for n, active in stores
            for store in self._stored(n, index, Ref(n, self.dtypes[n]), active=active)
        )
        limit = None
        if self.limit is not None and not self.has_absent_lanes:
            limit = self.source.stop - self.first
        return For(symbol, self.width, (*before, *inside, *after), limit=limit)

    # ---------------------------------------------------------------------- scalars of a lane

    def _read(self, name: str, index: Shape) -> Expr:
        """The scalar of a lane."""
        loads = tuple(Load(b.name, index, b.dtype) for b in self.lanes[name])
        dtype = self.dtypes[name]
        if dtype.kind == "c":
            return Apply(make_complex.name, loads, dtype)
        if dtype == BOOL:
            return Apply("not_equal", (loads[0], Literal(0, self.mask)), BOOL)
        return loads[0]

    def _stored(
        self,
        name: str,
        index: Shape,
        value: Expr,
        source: Source = UNKNOWN_SOURCE,
        active: Ref | None = None,
    ) -> Iterator[Store]:
        """The assignment to the scalar of a lane, where it is `active`."""
        arrays = self.lanes[name]
        values = [value]
        if value.dtype.kind == "c":
            values = [Apply(part.name, (value,), arrays[0].dtype) for part in COMPLEX_PARTS]
        elif value.dtype == BOOL:
            values = [Apply(convert.name, (value,), self.mask)]
        for array, new in zip(arrays, values, strict=True):
            kept = Load(array.name, index, array.dtype)
            chosen = new if active is None else Apply(select.name, (active, new, kept), array.dtype)
            yield Store(array.name, index, chosen, source)


def _runs(parts: Iterable[_Run | _Inner]) -> Iterator[_Run]:
    """The runs in parts, those of inner loops too."""
    for part in parts:
        if isinstance(part, _Run):
            yield part
        else:
            yield from _runs(part.parts)


def _expanded(runs: list[_Run]) -> Mapping[str, np.dtype[Any]]:
    """The scalars that one run declares and another one uses."""
    used = [run.used for run in runs]
    return {
        s.name: s.dtype
        for k, run in enumerate(runs)
        for s in run.body
        if isinstance(s, Declare) and any(s.name in u for j, u in enumerate(used) if j != k)
    }


def _of_part(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the parts of complex numbers; that of other numbers."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype
