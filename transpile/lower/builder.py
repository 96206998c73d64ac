"""Emission: the loop nests of a graph, or of a body inside one, become statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain, count, islice

from transpile.errors import InternalError
from transpile.fusion.buffer_reuse import Sharing, stages_of
from transpile.fusion.loop_fusion import WHOLE, Fused, Home, Nest, reads_in_place
from transpile.fusion.materialize import Scatter, Stage
from transpile.ir import loop_rewrite
from transpile.ir.dims import Dim, Index, Shape, Symbol, substitute
from transpile.ir.graph import Atom, Const
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
    Buffer,
    Declare,
    Expr,
    For,
    If,
    IndexValue,
    Literal,
    Load,
    Ref,
    Statement,
    Store,
    Update,
)
from transpile.ir.loop_rewrite import map_expr
from transpile.ir.types import BOOL, INT64
from transpile.lower.callbacks import effect
from transpile.lower.control_flow import Repeat, plan
from transpile.lower.library_calls import Calls
from transpile.lower.storage import Memory, Place, Variable, View
from transpile.primitives.reductions import identity, scan_start
from transpile.symbols.identifiers import LOOP_NAMES, Names
from transpile.util.frozen_records import cached_property


class Emitter:
    """Writes the statements of one graph.

    places   where its results go, and where those inputs are that it changes
    views    the other inputs of a body
    loops    the names of the counters around a body, `around` their symbols
    """

    def __init__(
        self,
        sharing: Sharing,
        memory: Memory,
        places: Mapping[Atom, Place | Variable],
        views: Mapping[Atom, View] | None = None,
        around: Mapping[Symbol, Index] | None = None,
        loops: tuple[str, ...] = (),
    ) -> None:
        self.sharing = sharing
        self.fused = sharing.fused
        self.placement = sharing.placement
        self.memory = memory
        self.places = dict(places)
        self.views = dict(views or {})
        self.around = dict(around or {})
        self.loops = loops
        self.repeats: dict[Stage, Repeat] = {}
        self.updated_in_place = self._share()
        for key, atom in list(self.placement.atoms.items()):  # global names before local ones
            producer = self.placement.by_key.get(key)
            is_stored = producer is None or self.fused.homes[producer].kind == "stored"
            if is_stored and atom not in self.views:
                self.place(atom)
        self._read_in_place: dict[tuple[Stage, Stage], bool] = {}
        self.in_place = self._values_read_in_place()
        self.delayed: list[Statement] = []  # what ends the iteration
        self.scalars: dict[Stage, str] = {}
        self.tested: dict[Expr, Ref] = {}  # what tests of the present scatter ask for again
        self.rows: dict[Stage, Buffer] = {}
        self.symbols: dict[Stage, dict[Symbol, Index]] = {}
        self.scope = memory.names.inner()
        self.calls = Calls(memory, self.stored, self.loop_name)

    @property
    def is_body(self) -> bool:
        """Tell whether the graph is that of a loop or branch."""
        return self.placement.bodies.is_body

    def _share(self) -> set[Stage]:
        """Give values the memory of what becomes of them; the updates that find their operand
        there."""
        found: set[Stage] = set()
        for stage in reversed(self.sharing.ordered):
            if stage.control is not None:
                self.repeats[stage] = plan(self, stage)
            for x, result in self.sharing.pairs[stage]:
                wanted = self._wanted(stage, x, result)
                is_free = x not in self.places and self.sharing.may_take(stage, x)
                if is_free and (isinstance(wanted, Place) or self._may_be(x, wanted, stage)):
                    self.places[x] = wanted
                if stage.scatter is not None and self.known(x) == wanted:
                    found.add(stage)
        return found

    def _wanted(self, stage: Stage, x: Atom, result: Atom) -> Place | Variable:
        """Where an operand would best be that becomes a result."""
        repeat = self.repeats.get(stage)
        return self.place(result) if repeat is None else repeat.wanted(x, result)

    def _may_be(self, x: Atom, variable: Variable, stage: Stage) -> bool:
        """Tell whether a number may live in the variable of the loop that goes on with it: in one
        that is there before, and if it comes from a loop."""
        producer = self.placement.by_key.get(self.placement.keys.get(x, ""))
        is_there = variable not in self.repeats[stage].new
        return is_there and producer is not None and producer.control is not None

    def _values_read_in_place(self) -> set[Stage]:
        found: set[Stage] = set()
        for stage in self.placement.stages:
            for key in stage.reads:
                producer = self.placement.by_key.get(key)
                if (
                    producer is not None
                    and self.fused.homes[producer].kind == "stored"
                    and self._is_read_in_place(producer, stage, key)
                ):
                    found.add(producer)
        return found

    def _is_read_in_place(self, producer: Stage, reader: Stage, key: str) -> bool:
        """Tell whether a stage reads all elements of another one where they are in a scalar."""
        pair = producer, reader
        if pair not in self._read_in_place:
            self._read_in_place[pair] = all(
                reads_in_place(self.fused, producer, reader, load) for load in reader.reads[key]
            )
        return self._read_in_place[pair]

    @cached_property
    def depth(self) -> int:
        """How deep loops may stand in one another."""
        return _depth(self.fused)

    # ------------------------------------------------------------------------------ places

    def is_read(self, atom: Atom) -> bool:
        """Tell whether anything reads a value, or gives it as a result."""
        return atom in self.sharing.outputs or self.placement.keys.get(atom) in self.sharing.last

    def known(self, atom: Atom) -> Place | Variable | None:
        """Where a value is, if it has a place already."""
        if atom not in self.places and atom in self.views:
            return self.views[atom].known()
        return self.places.get(atom)

    def place(self, atom: Atom) -> Place | Variable:
        """Where a value is; a temporary gets its place when first met."""
        found = self.places.get(atom)
        if found is not None:
            return found
        if atom in self.views:
            return self.views[atom].place()
        if isinstance(atom, Const):
            return self.memory.constant(atom)
        self.places[atom] = self.memory.temporary(atom)
        return self.places[atom]

    def stored(self, atom: Atom) -> Place:
        """The place in memory of a value."""
        found = self.place(atom)
        if not isinstance(found, Place):
            raise InternalError(f"{found} is a variable, not an array in memory")
        return found

    def read(self, atom: Atom, index: Shape) -> Expr:
        """An element of a value, at an index in the program's own symbols."""
        if atom in self.places:
            return self.places[atom].load(index)
        return self._resolved(self.placement.element(atom, index), self.around, None)

    def child(
        self,
        part: Fused,
        places: Mapping[Atom, Place | Variable],
        views: Mapping[Atom, View],
        around: Mapping[Symbol, Index],
        loops: tuple[str, ...],
    ) -> Emitter:
        """What writes the statements of a body in this graph."""
        around, loops = {**self.around, **around}, (*self.loops, *loops)
        return Emitter(self.sharing.of(part), self.memory, places, views, around, loops)

    # ------------------------------------------------------------------------------ statements

    def loop_name(self, depth: int) -> str:
        """The name of the loops at a depth: i, j, k and so on, where nothing is called that."""
        taken = self.memory.names
        free = (
            n
            for n in chain(LOOP_NAMES, map("i{}".format, count(1)))
            if n not in taken and n not in self.loops
        )
        return next(islice(free, depth, None))

    def items(self, items: list[Nest | Stage], depth: int = 0) -> Iterator[Statement]:
        """The statements of loops, and of what stands between them."""
        for item in items:
            if isinstance(item, Nest):
                yield from self._loop(item)
            elif item in self.repeats:
                yield from self.repeats[item].statements()
            elif item.kind == "call":
                yield from self.calls.statements(item)
            elif item.kind == "effect":
                yield from effect(self, item)
            elif item.scatter is not None:
                yield from self._scatter(item, item.scatter)
            else:
                yield from self._leaf(item, depth)

    def _loop(self, nest: Nest) -> Iterator[Statement]:
        depth = nest.depth
        symbol = Symbol(self.loop_name(depth), 0, nest.symbol.extent)
        accumulating: list[Stage] = []
        for stage in nest.stages:
            self.symbols.setdefault(stage, {})[stage.order[depth]] = Dim.of(symbol)
            if (depth == stage.rank and stage.kind == "reduce") or (
                depth == stage.rank - 1 and stage.kind == "scan"
            ):
                accumulating.append(stage)
        for stage in accumulating:
            yield Declare(self._scalar(stage), self._start(stage), constant=False)
        body: list[Statement] = []
        for stage in nest.stages:
            home = self.fused.homes[stage]
            if home.kind == "row" and home.loop is nest:
                body.append(Alloc(self._row(stage, home)))
        around, self.delayed = self.delayed, []
        body += self.items(nest.items, depth + 1)
        body += self.delayed
        self.delayed = around
        if symbol.extent is None:
            raise InternalError(f"the loop {symbol} has no extent")
        if body:
            yield For(symbol, symbol.extent, tuple(body))
        for stage in accumulating:
            if stage.kind == "reduce":
                yield from self._keep(stage, Ref(self.scalars[stage], stage.var.type.dtype))

    def _leaf(self, stage: Stage, depth: int) -> Iterator[Statement]:
        if stage.body is None:
            raise InternalError(f"{stage.equation.primitive} has no expression")
        yield from self.subscripts(stage)
        value = self.expression(stage, stage.body)
        dtype = stage.var.type.dtype
        if stage.kind in ("reduce", "scan"):
            accumulator = Ref(self._scalar(stage), dtype)
            if stage.rank + (stage.kind == "reduce") > depth and not stage.order:
                yield Declare(accumulator.name, self._start(stage), constant=False)
            yield self._accumulated(stage, accumulator, value)
            if stage.kind == "scan" or not stage.order:
                yield from self._keep(stage, accumulator)
        elif self._has_name(stage):
            name = self._scalar(stage)
            yield Declare(name, value)
            yield from self._keep(stage, Ref(name, dtype))
        else:
            yield from self._keep(stage, value)

    def _accumulated(self, stage: Stage, accumulator: Ref, value: Expr) -> Statement:
        """What adds an element. A running product of complex numbers begins with the first one as
        it is: 1 times an infinity would have a NaN."""
        if stage.kind != "scan" or stage.combine != "multiply" or accumulator.dtype.kind != "c":
            return Update(accumulator, stage.combine, value)
        place = IndexValue(self.symbols[stage][stage.order[-1]])
        is_first = Apply("equal", (place, Literal(0, INT64)), BOOL)
        product = Apply("multiply", (accumulator, value), accumulator.dtype)
        chosen = Apply("select", (is_first, value, product), accumulator.dtype)
        return Update(accumulator, "set", chosen)

    def _has_name(self, stage: Stage) -> bool:
        """Tell whether an element is put into a variable first, for those who read it next."""
        if stage in self.in_place or stage in self.sharing.late:
            return True
        if self.fused.homes[stage].kind != "scalar":
            return False
        place = self.places.get(stage.var)
        if place is None or isinstance(place, Variable):
            return place is None
        return self.placement.keys[stage.var] in self.sharing.last

    def subscripts(self, stage: Stage, whole: Stage | None = None) -> Iterator[Statement]:
        """The variables for subscripts that are read from arrays."""
        tests = whole.scatter.tests if whole is not None and whole.scatter is not None else ()
        for symbol, value in stage.bound.items():
            named: Expr = self.expression(stage, value, whole)
            tested = _tested(value, tests)
            if tested is not None:
                made = self.expression(stage, tested, whole)
                self.tested[made] = Ref(self.scope.new("place"), made.dtype)
                yield Declare(self.tested[made].name, made)
                named = map_expr(named, lambda e: self.tested.get(e, e))
            variable = Symbol(self.scope.new("at"), symbol.lower, symbol.extent)
            yield Declare(variable.name, named, symbol=variable)
            self.symbols.setdefault(stage, {})[symbol] = Dim.of(variable)

    def _keep(self, stage: Stage, value: Expr) -> Iterator[Statement]:
        """Put a computed element where it lives, unless it is there."""
        home = self.fused.homes[stage]
        index = self._index(stage, stage.index)
        if home.kind == "row":
            yield Store(self.rows[stage].name, tuple(index[a] for a in home.kept), value)
        elif home.kind == "stored" or (home.kind == "scalar" and stage.var in self.places):
            place = self.place(stage.var)
            if place.load(index) != value and stage in self.sharing.late:
                self.delayed.append(place.store(index, value))
            elif place.load(index) != value:
                yield place.store(index, value)

    # ------------------------------------------------------------------------- names, values

    def _scalar(self, stage: Stage) -> str:
        if stage not in self.scalars:
            default = "acc" if stage.kind in ("reduce", "scan") else "t"
            self.scalars[stage] = self.scope.new(stage.var.name or default)
        return self.scalars[stage]

    def _row(self, stage: Stage, home: Home) -> Buffer:
        name = self.scope.new(stage.var.name or "row")
        self.rows[stage] = Buffer(name, home.shape, stage.var.type.dtype)
        return self.rows[stage]

    def _start(self, stage: Stage) -> Literal:
        dtype = stage.var.type.dtype
        start = (scan_start if stage.kind == "scan" else identity)(stage.combine, dtype)
        return Literal(start.value[()], dtype)

    def _index(self, stage: Stage, index: Shape) -> Shape:
        values = {**self.around, **self.symbols.get(stage, {})}
        return tuple(substitute(i, values) for i in index)

    def expression(self, stage: Stage, expr: Expr, whole: Stage | None = None) -> Expr:
        """The expression in the names of the program; `whole` is what the stage is a part of."""
        values = {**self.around, **self.symbols.get(stage, {})}
        return self._resolved(expr, values, whole or stage)

    def number(self, stage: Stage, whole: Stage | None = None) -> tuple[list[Statement], Expr]:
        """The value of a stage without loops, and the declarations of its subscripts."""
        if stage.body is None:
            raise InternalError(f"{stage.equation.primitive} has no expression")
        declared = list(self.subscripts(stage, whole))
        return declared, self.expression(stage, stage.body, whole)

    def _resolved(self, expr: Expr, values: Mapping[Symbol, Index], reader: Stage | None) -> Expr:
        def resolve(part: Expr) -> Expr:
            part = loop_rewrite.map_indices(part, lambda i: substitute(i, values))
            return self._load(reader, part) if isinstance(part, Load) else part

        return map_expr(expr, resolve)

    def _load(self, reader: Stage | None, load: Load) -> Expr:
        """A read of a value, from wherever it lives."""
        atom = self.placement.atoms[load.buffer]
        producer = self.placement.by_key.get(load.buffer)
        if producer is not None and producer.kind not in WHOLE:
            home = self.fused.homes[producer]
            if home.kind == "row":
                return Load(
                    self.rows[producer].name, tuple(load.index[a] for a in home.kept), load.dtype
                )
            here = (
                reader is not None
                and producer in self.in_place
                and self._is_read_in_place(producer, reader, load.buffer)
            )
            place = self.places.get(atom)
            if home.kind == "scalar" and isinstance(place, Variable):
                return place.load()
            if home.kind == "scalar" or here:
                return Ref(self._scalar(producer), load.dtype)
        if atom not in self.places and atom in self.views:
            return self.views[atom].read(load.index)
        return self.place(atom).load(load.index)

    # ---------------------------------------------------------------------------- parts of stages

    def _scatter(self, stage: Stage, found: Scatter) -> Iterator[Statement]:
        """All elements first, unless they are there already; then the updates, in order."""
        out = self.stored(stage.var)
        self.tested = {}
        if stage not in self.updated_in_place:
            yield from self.nest(found.first, stage, lambda i, v: [out.store(i, v)])

        def update(index: Shape, value: Expr) -> list[Statement]:
            step: Statement = out.store(index, value)
            if found.then.combine != "set":
                step = Update(out.load(index), found.then.combine, value)
            for test in found.tests:
                condition = self.expression(found.then, test, stage)
                step = If(map_expr(condition, lambda e: self.tested.get(e, e)), (step,))
            return [step]

        yield from self.nest(found.then, stage, update)

    def nest(
        self, part: Stage, whole: Stage, write: Callable[[Shape, Expr], list[Statement]]
    ) -> Iterator[Statement]:
        """The loops of a part of a stage around what `write` makes of its element."""
        loops = [Symbol(self.loop_name(d), 0, s.extent) for d, s in enumerate(part.order)]
        self.symbols[part] = {s: Dim.of(named) for s, named in zip(part.order, loops, strict=True)}
        if part.body is None:
            raise InternalError(f"{part.equation.primitive} has no expression")
        body = list(self.subscripts(part, whole))
        body += write(self._index(part, part.index), self.expression(part, part.body, whole))
        for symbol in reversed(loops):
            body = [For(symbol, symbol.extent or 0, tuple(body))]
        yield from body


def _tested(subscript: Expr, tests: tuple[Expr, ...]) -> Expr | None:
    """What a subscript was made of, if it is computed and a test asks whether they are equal."""
    sides = {arg for t in tests if isinstance(t, Apply) and t.op == "equal" for arg in t.args}
    parts = (p for p in loop_rewrite.subexpressions(subscript) if isinstance(p, Apply))
    return next((p for p in parts if p in sides), None)


def kernel_scope(emitter: Emitter) -> Names:
    """The scope of a kernel, in which no number has the name of a loop."""
    scope = emitter.memory.names.inner()
    for depth in range(emitter.depth):
        scope.new(emitter.loop_name(depth))
    return scope


def _depth(fused: Fused) -> int:
    """How deep loops may stand in one another."""
    deepest = 0
    for stage in stages_of(fused.items):
        own = max((len(s.order) for s in (stage, *stage.parts())), default=0)
        inside = [_depth(part) for part in stage.control.parts] if stage.control else []
        deepest = max(deepest, own, 1 + max(inside, default=-1))
    return deepest
