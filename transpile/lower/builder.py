"""Emission: the loop nests of a graph, or of a body inside one, become statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, count, islice

from transpile.errors import InternalError
from transpile.fusion.buffer_reuse import Aliases
from transpile.fusion.loop_fusion import reads_in_scalar
from transpile.fusion.nodes import (
    Effect,
    IndexLambda,
    InMemory,
    InRow,
    InScalar,
    LibraryCall,
    LoopNode,
    Loops,
    Nest,
    Node,
    Reduce,
    Region,
    Scan,
    Scatter,
    nodes_of,
)
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

# Nodes that have a running value.
ACCUMULATIONS = (Reduce, Scan)


class Emitter:
    """Writes the statements of one graph.

    places   where its results go, and where those inputs are that it changes
    views    the other inputs of a body
    loops    the names of the counters around a body, `around` their symbols
    """

    def __init__(
        self,
        aliases: Aliases,
        memory: Memory,
        places: Mapping[Atom, Place | Variable],
        views: Mapping[Atom, View] | None = None,
        around: Mapping[Symbol, Index] | None = None,
        loops: tuple[str, ...] = (),
    ) -> None:
        self.aliases = aliases
        self.fused = aliases.loops
        self.block = aliases.loops.block
        self.memory = memory
        self.places = dict(places)
        self.views = dict(views or {})
        self.around = dict(around or {})
        self.loops = loops
        self.repeats: dict[Node, Repeat] = {}
        self.updated_in_place = self._share()
        for key, atom in list(self.block.atoms.items()):  # global names before local ones
            producer = self.block.by_key.get(key)
            is_stored = producer is None or isinstance(self.fused.homes[producer], InMemory)
            if is_stored and atom not in self.views:
                self.place(atom)
        self._read_in_place: dict[tuple[Node, Node], bool] = {}
        self.in_place = self._values_read_in_place()
        self.delayed: list[Statement] = []  # what ends the iteration
        self.scalars: dict[Node, str] = {}
        self.tested: dict[Expr, Ref] = {}  # what tests of the present scatter ask for again
        self.rows: dict[Node, Buffer] = {}
        self.symbols: dict[IndexLambda, dict[Symbol, Index]] = {}
        self.scope = memory.names.inner()
        self.calls = Calls(memory, self.stored, self.loop_name)

    @property
    def is_body(self) -> bool:
        """Tell whether the graph is that of a loop or branch."""
        return self.block.scope.is_body

    def _share(self) -> set[Node]:
        """Give values the memory of what becomes of them; the updates that find their operand
        there."""
        updates: set[Node] = set()
        for node in reversed(self.aliases.order):
            if isinstance(node, Region):
                self.repeats[node] = plan(self, node)
            for change in self.aliases.changes.get(node, ()):
                x = change.operand
                wanted = self._wanted(node, change.result)
                is_free = x not in self.places and change.is_last
                if is_free and (isinstance(wanted, Place) or self._may_be(x, wanted, node)):
                    self.places[x] = wanted
                if isinstance(node, Scatter) and self.known(x) == wanted:
                    updates.add(node)
        return updates

    def _wanted(self, node: Node, result: Atom) -> Place | Variable:
        """Where an operand would best be that becomes a result."""
        repeat = self.repeats.get(node)
        return self.place(result) if repeat is None else repeat.wanted(result)

    def _may_be(self, x: Atom, variable: Variable, node: Node) -> bool:
        """Tell whether a number may live in the variable of the loop that goes on with it: in one
        that is there before, and if it comes from a loop."""
        is_there = variable not in self.repeats[node].new
        return is_there and isinstance(self.block.node_of(x), Region)

    def _values_read_in_place(self) -> set[Node]:
        producers: set[Node] = set()
        for node in self.block.nodes:
            for key in node.reads:
                producer = self.block.by_key.get(key)
                if (
                    producer is not None
                    and isinstance(self.fused.homes[producer], InMemory)
                    and self._is_read_in_place(producer, node)
                ):
                    producers.add(producer)
        return producers

    def _is_read_in_place(self, producer: Node, reader: Node) -> bool:
        """Tell whether a node reads all elements of another one where they are in a scalar."""
        pair = producer, reader
        if pair not in self._read_in_place:
            self._read_in_place[pair] = reads_in_scalar(self.fused, producer, reader)
        return self._read_in_place[pair]

    @cached_property
    def depth(self) -> int:
        """How deep loops may stand in one another."""
        return _depth(self.fused)

    # ------------------------------------------------------------------------------ places

    def is_read(self, atom: Atom) -> bool:
        """Tell whether anything reads a value, or gives it as a result."""
        return self.aliases.is_read(atom)

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
        return self._resolved(self.block.elements.element(atom, index), self.around, None)

    def child(
        self,
        part: Loops,
        places: Mapping[Atom, Place | Variable],
        views: Mapping[Atom, View],
        around: Mapping[Symbol, Index],
        loops: tuple[str, ...],
    ) -> Emitter:
        """What writes the statements of a body in this graph."""
        around, loops = {**self.around, **around}, (*self.loops, *loops)
        return Emitter(self.aliases.inner[part], self.memory, places, views, around, loops)

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

    def items(self, items: Sequence[Nest | Node], depth: int = 0) -> Iterator[Statement]:
        """The statements of loops, and of what stands between them."""
        for item in items:
            match item:
                case Nest():
                    yield from self._loop(item)
                case LoopNode():
                    yield from self._leaf(item, depth)
                case Region():
                    yield from self.repeats[item].statements()
                case LibraryCall():
                    yield from self.calls.statements(item)
                case Effect():
                    yield from effect(self, item)
                case Scatter():
                    yield from self._scatter(item)
                case _:
                    raise InternalError(f"no statements for {item}")

    def _loop(self, nest: Nest) -> Iterator[Statement]:
        depth = nest.depth
        symbol = Symbol(self.loop_name(depth), 0, nest.symbol.extent)
        accumulating: list[Reduce | Scan] = []
        for node in nest.nodes:
            self.symbols.setdefault(node, {})[node.order[depth]] = Dim.of(symbol)
            match node:
                case Reduce() if depth == node.rank:
                    accumulating.append(node)
                case Scan() if depth == node.rank - 1:
                    accumulating.append(node)
                case _:
                    pass
        for node in accumulating:
            yield Declare(self._scalar(node), _start(node), constant=False)
        body: list[Statement] = []
        for node in nest.nodes:
            home = self.fused.homes[node]
            if isinstance(home, InRow) and home.loop is nest:
                body.append(Alloc(self._row(node, home)))
        around, self.delayed = self.delayed, []
        body += self.items(nest.items, depth + 1)
        body += self.delayed
        self.delayed = around
        if symbol.extent is None:
            raise InternalError(f"the loop {symbol} has no extent")
        if body:
            yield For(symbol, symbol.extent, tuple(body))
        for node in accumulating:
            if isinstance(node, Reduce):
                yield from self._keep(node, Ref(self.scalars[node], node.var.type.dtype))

    def _leaf(self, node: LoopNode, depth: int) -> Iterator[Statement]:
        yield from self.subscripts(node, node)
        value = self.expression(node, node.body, node)
        dtype = node.var.type.dtype
        if isinstance(node, ACCUMULATIONS):
            accumulator = Ref(self._scalar(node), dtype)
            if not node.order:
                yield Declare(accumulator.name, _start(node), constant=False)
            yield self._accumulated(node, accumulator, value)
            if isinstance(node, Scan) or not node.order:
                yield from self._keep(node, accumulator)
        elif self._has_name(node):
            name = self._scalar(node)
            yield Declare(name, value)
            yield from self._keep(node, Ref(name, dtype))
        else:
            yield from self._keep(node, value)

    def _accumulated(self, node: Reduce | Scan, accumulator: Ref, value: Expr) -> Statement:
        """What adds an element. A running product of complex numbers begins with the first one as
        it is: 1 times an infinity would have a NaN."""
        is_complex = accumulator.dtype.kind == "c"
        if not (isinstance(node, Scan) and node.combine == "multiply" and is_complex):
            return Update(accumulator, node.combine, value)
        place = IndexValue(self.symbols[node][node.order[-1]])
        is_first = Apply("equal", (place, Literal(0, INT64)), BOOL)
        product = Apply("multiply", (accumulator, value), accumulator.dtype)
        chosen = Apply("select", (is_first, value, product), accumulator.dtype)
        return Update(accumulator, "set", chosen)

    def _has_name(self, node: LoopNode) -> bool:
        """Tell whether an element is put into a variable first, for those who read it next."""
        if node in self.in_place or node in self.aliases.late:
            return True
        if not isinstance(self.fused.homes[node], InScalar):
            return False
        place = self.places.get(node.var)
        if place is None or isinstance(place, Variable):
            return place is None
        return self.block.key(node.var) in self.aliases.live

    def subscripts(
        self, value: IndexLambda, reader: Node | None, tests: tuple[Expr, ...] = ()
    ) -> Iterator[Statement]:
        """The variables for subscripts that are read from arrays."""
        for symbol, subscript in value.bound.items():
            named = self.expression(value, subscript, reader)
            tested = _tested(subscript, tests)
            if tested is not None:
                made = self.expression(value, tested, reader)
                self.tested[made] = Ref(self.scope.new("place"), made.dtype)
                yield Declare(self.tested[made].name, made)
                named = map_expr(named, lambda e: self.tested.get(e, e))
            variable = Symbol(self.scope.new("at"), symbol.lower, symbol.extent)
            yield Declare(variable.name, named, symbol=variable)
            self.symbols.setdefault(value, {})[symbol] = Dim.of(variable)

    def _keep(self, node: LoopNode, value: Expr) -> Iterator[Statement]:
        """Put a computed element where it lives, unless it is there."""
        home = self.fused.homes[node]
        index = self._index(node)
        if isinstance(home, InRow):
            yield Store(self.rows[node].name, tuple(index[a] for a in home.kept), value)
        elif isinstance(home, InMemory) or node.var in self.places:
            place = self.place(node.var)
            if place.load(index) != value and node in self.aliases.late:
                self.delayed.append(place.store(index, value))
            elif place.load(index) != value:
                yield place.store(index, value)

    # ------------------------------------------------------------------------- names, values

    def _scalar(self, node: LoopNode) -> str:
        if node not in self.scalars:
            default = "acc" if isinstance(node, ACCUMULATIONS) else "t"
            self.scalars[node] = self.scope.new(node.var.name or default)
        return self.scalars[node]

    def _row(self, node: LoopNode, home: InRow) -> Buffer:
        name = self.scope.new(node.var.name or "row")
        self.rows[node] = Buffer(name, home.shape, node.var.type.dtype)
        return self.rows[node]

    def _index(self, value: IndexLambda) -> Shape:
        values = {**self.around, **self.symbols.get(value, {})}
        return tuple(substitute(i, values) for i in value.index)

    def expression(self, value: IndexLambda, expr: Expr, reader: Node | None) -> Expr:
        """An expression of a value in the names of the program, where a node reads it."""
        values = {**self.around, **self.symbols.get(value, {})}
        return self._resolved(expr, values, reader)

    def number(self, value: IndexLambda, reader: Node | None) -> tuple[list[Statement], Expr]:
        """A value without loops, and the declarations of its subscripts."""
        declared = list(self.subscripts(value, reader))
        return declared, self.expression(value, value.body, reader)

    def _resolved(self, expr: Expr, values: Mapping[Symbol, Index], reader: Node | None) -> Expr:
        def resolve(part: Expr) -> Expr:
            part = loop_rewrite.map_indices(part, lambda i: substitute(i, values))
            return self._load(reader, part) if isinstance(part, Load) else part

        return map_expr(expr, resolve)

    def _load(self, reader: Node | None, load: Load) -> Expr:
        """A read of a value, from wherever it lives."""
        atom = self.block.atoms[load.buffer]
        producer = self.block.by_key.get(load.buffer)
        if isinstance(producer, LoopNode):
            home = self.fused.homes[producer]
            if isinstance(home, InRow):
                kept = tuple(load.index[a] for a in home.kept)
                return Load(self.rows[producer].name, kept, load.dtype)
            place = self.places.get(atom)
            if isinstance(home, InScalar) and isinstance(place, Variable):
                return place.load()
            here = (
                reader is not None
                and producer in self.in_place
                and self._is_read_in_place(producer, reader)
            )
            if isinstance(home, InScalar) or here:
                return Ref(self._scalar(producer), load.dtype)
        if atom not in self.places and atom in self.views:
            return self.views[atom].read(load.index)
        return self.place(atom).load(load.index)

    # ---------------------------------------------------------------------------- parts of nodes

    def _scatter(self, node: Scatter) -> Iterator[Statement]:
        """All elements first, unless they are there already; then the updates, in order."""
        out = self.stored(node.var)
        self.tested = {}
        if node not in self.updated_in_place:
            yield from self.nest(node.first, node, lambda i, v: [out.store(i, v)], node.tests)

        def update(index: Shape, value: Expr) -> list[Statement]:
            statement: Statement = out.store(index, value)
            if node.combine != "set":
                statement = Update(out.load(index), node.combine, value)
            for test in node.tests:
                condition = self.expression(node.then, test, node)
                condition = map_expr(condition, lambda e: self.tested.get(e, e))
                statement = If(condition, (statement,))
            return [statement]

        yield from self.nest(node.then, node, update, node.tests)

    def nest(
        self,
        value: IndexLambda,
        reader: Node,
        write: Callable[[Shape, Expr], list[Statement]],
        tests: tuple[Expr, ...] = (),
    ) -> Iterator[Statement]:
        """The loops of a part of a node around what `write` makes of its element."""
        loops = [Symbol(self.loop_name(d), 0, s.extent) for d, s in enumerate(value.order)]
        named = zip(value.order, loops, strict=True)
        self.symbols[value] = {symbol: Dim.of(loop) for symbol, loop in named}
        body = list(self.subscripts(value, reader, tests))
        body += write(self._index(value), self.expression(value, value.body, reader))
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


def _start(node: Reduce | Scan) -> Literal:
    """What an accumulation begins with."""
    dtype = node.var.type.dtype
    start = (scan_start if isinstance(node, Scan) else identity)(node.combine, dtype)
    return Literal(start.value[()], dtype)


def _depth(loops: Loops) -> int:
    """How deep loops may stand in one another."""
    deepest = 0
    for node in nodes_of(loops.items):
        own = max((len(value.order) for value in node.lambdas), default=0)
        inside = [_depth(part) for part in node.parts] if isinstance(node, Region) else []
        deepest = max(deepest, own, 1 + max(inside, default=-1))
    return deepest
