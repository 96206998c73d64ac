"""Write the statements of single nodes: names, reads and stores of one graph or body.

A `Writer` has the names that a graph's values got so far: scalars, rows and the symbols of loops.
Where values are stored, the `Frame` says, which does not change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from transpile.analysis.source_lines import with_source
from transpile.errors import InternalError
from transpile.fusion.index_lambda import IndexLambda
from transpile.fusion.nodes import (
    InMemory,
    InRow,
    InScalar,
    LoopNode,
    Loops,
    Node,
    Reduce,
    Scan,
)
from transpile.ir import loop_rewrite
from transpile.ir.dims import Dim, Index, Shape, Symbol, sole_symbol, substitute
from transpile.ir.graph import Atom, Const
from transpile.ir.graph_rewrite import counts_of
from transpile.ir.indices.lengths import Length, lengths_of, most_of
from transpile.ir.loop_ir import (
    Apply,
    Buffer,
    Declare,
    Expr,
    For,
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
from transpile.lower.storage import Frame, Place, Variable, loop_name
from transpile.primitives.reductions import identity, scan_start
from transpile.symbols.identifiers import Names

# Nodes that have a running value.
ACCUMULATIONS = (Reduce, Scan)
# What is made of the value of an element, at its index.
Write = Callable[[Shape, Expr], list[Statement]]


class Writer:
    """The names of one graph in a scope, and with them the statements of its nodes.

    names     those of the program
    parent    the writer of the graph around a body
    scalars   the variables of nodes, and `rows` their local arrays
    symbols   what stands for the loops of a node, and for its subscripts from arrays
    tested    what the tests of the present scatter ask for again
    delayed   what ends the present iteration
    """

    def __init__(
        self, frame: Frame, names: Names, scope: Names, parent: Writer | None = None
    ) -> None:
        self.frame = frame
        self.loops = frame.loops
        self.block = frame.loops.block
        self.names = names
        self.scope = scope
        self.parent = parent
        self.scalars: dict[Node, str] = {}
        self.rows: dict[Node, Buffer] = {}
        self.symbols: dict[IndexLambda, dict[Symbol, Index]] = {}
        self.tested: dict[Expr, Ref] = {}
        self.delayed: list[Statement] = []

    def body(self, part: Loops, scope: Names) -> Writer:
        """The writer of a body in this graph."""
        return Writer(self.frame.bodies[part], self.names, scope, self)

    def iteration(self, statements: Iterable[Statement]) -> list[Statement]:
        """The statements of an iteration of a loop, with those that end it."""
        around, self.delayed = self.delayed, []
        body = [*statements, *self.delayed]
        self.delayed = around
        return body

    def name_loop(self, node: LoopNode, depth: int, symbol: Symbol) -> None:
        """Call the loop of a node at a depth by this symbol."""
        self.symbols.setdefault(node.value, {})[node.order[depth]] = Dim.of(symbol)

    def loop_name(self, depth: int) -> str:
        """The name of the loops at a depth."""
        return loop_name(self.names, self.frame.counters, depth)

    # -------------------------------------------------------------------------------- places

    def place(self, atom: Atom) -> Place | Variable:
        """Where a value is."""
        place = self.frame.places.get(atom)
        if place is None:
            raise InternalError(f"{atom} has no place")
        return place

    def stored(self, atom: Atom) -> Place:
        """The place in memory of a value."""
        place = self.place(atom)
        if not isinstance(place, Place):
            raise InternalError(f"{place} is a variable, not an array in memory")
        return place

    def result(self, atom: Atom) -> Expr:
        """A number that the graph gives as a result."""
        if isinstance(atom, Const):
            return Literal(atom.value[()], atom.type.dtype)
        given = self.block.values.given.get(atom)
        if given is not None:
            return self._resolved(given, self.frame.around, None)
        return self._load(None, Load(self.block.key(atom), (), atom.type.dtype))

    # ---------------------------------------------------------------------------- statements

    def element(self, node: LoopNode) -> Iterator[Statement]:
        """What an iteration does for a node."""
        yield from self.subscripts(node.value, node)
        value = self.expression(node.value, node.value.body, node)
        dtype = node.var.type.dtype
        if isinstance(node, ACCUMULATIONS):
            accumulator = Ref(self.scalar(node), dtype)
            if not node.order:
                yield Declare(accumulator.name, start_of(node), constant=False)
            yield self._accumulated(node, accumulator, value)
            if isinstance(node, Scan) or not node.order:
                yield from self.keep(node, accumulator)
        elif self._has_name(node):
            name = self.scalar(node)
            yield Declare(name, value)
            yield from self.keep(node, Ref(name, dtype))
        else:
            yield from self.keep(node, value)

    def _accumulated(self, node: Reduce | Scan, accumulator: Ref, value: Expr) -> Statement:
        """What adds an element. A running product of complex numbers begins with the first one as
        it is: 1 times an infinity would have a NaN."""
        is_complex = accumulator.dtype.kind == "c"
        if not (isinstance(node, Scan) and node.combine == "multiply" and is_complex):
            return Update(accumulator, node.combine, value)
        place = IndexValue(self.symbols[node.value][node.order[-1]])
        is_first = Apply("equal", (place, Literal(0, INT64)), BOOL)
        product = Apply("multiply", (accumulator, value), accumulator.dtype)
        chosen = Apply("select", (is_first, value, product), accumulator.dtype)
        return Update(accumulator, "set", chosen)

    def _has_name(self, node: LoopNode) -> bool:
        """Tell whether an element is put into a variable first, for those who read it next."""
        if node in self.loops.forwarding or node in self.frame.aliases.late:
            return True
        if not isinstance(self.loops.homes[node], InScalar):
            return False
        place = self.frame.places.get(node.var)
        if place is None or isinstance(place, Variable):
            return place is None
        return self.block.key(node.var) in self.frame.aliases.live

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

    def keep(self, node: LoopNode, value: Expr) -> Iterator[Statement]:
        """Put a computed element where it lives, unless it is there."""
        home = self.loops.homes[node]
        index = self._index(node.value)
        if isinstance(home, InRow):
            yield Store(self.rows[node].name, tuple(index[a] for a in home.kept), value)
        elif isinstance(home, InMemory) or node.var in self.frame.places:
            place = self.place(node.var)
            if place.load(index) != value and node in self.frame.aliases.late:
                stored = with_source(place.store(index, value), node.equation.source)
                self.delayed.append(stored)
            elif place.load(index) != value:
                yield place.store(index, value)

    # ------------------------------------------------------------------------- names, values

    def scalar(self, node: LoopNode) -> str:
        """The variable that has an element of a node, or its running value."""
        if node not in self.scalars:
            default = "acc" if isinstance(node, ACCUMULATIONS) else "t"
            self.scalars[node] = self.scope.new(node.var.name or default)
        return self.scalars[node]

    def row(self, node: LoopNode, home: InRow) -> Buffer:
        """A new local array for a part of a node's value, with room for what bodies count."""
        name, inside = self.scope.new(node.var.name or "row"), self._counted_inside()
        shape = tuple(d if inside.isdisjoint(lengths_of(d)) else most_of(d) for d in home.shape)
        self.rows[node] = Buffer(name, shape, node.var.type.dtype)
        return self.rows[node]

    def _counted_inside(self) -> frozenset[Length]:
        """The lengths that this body counts, and those around it."""
        if self.parent is None:
            return frozenset()
        return self.parent._counted_inside() | counts_of(self.block.graph.equations).keys()

    def _index(self, value: IndexLambda) -> Shape:
        values = {**self.frame.around, **self.symbols.get(value, {})}
        return tuple(substitute(i, values) for i in value.index)

    def expression(self, value: IndexLambda, expr: Expr, reader: Node | None) -> Expr:
        """An expression of a value in the names of the program, where a node reads it."""
        values = {**self.frame.around, **self.symbols.get(value, {})}
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
        atom = self.block.values.atoms[load.buffer]
        producer = self.block.by_key.get(load.buffer)
        if isinstance(producer, LoopNode):
            home = self.loops.homes[producer]
            if isinstance(home, InRow):
                kept = tuple(load.index[a] for a in home.kept)
                return Load(self.rows[producer].name, kept, load.dtype)
            place = self.frame.places.get(atom)
            if isinstance(home, InScalar) and isinstance(place, Variable):
                return place.load()
            here = reader is not None and (producer, reader) in self.loops.forwarded
            if isinstance(home, InScalar) or here:
                return Ref(self.scalar(producer), load.dtype)
        place = self.frame.places.get(atom)
        if place is not None:
            return place.load(load.index)
        view = self.frame.views.get(atom)
        if view is None or view.value is None or self.parent is None:
            raise InternalError(f"{atom} has no place")
        return self.parent.inlined(view.value, (*view.prefix, *load.index))

    def inlined(self, value: IndexLambda, index: Shape) -> Expr:
        """An element of a value, at an index in the program's own symbols."""
        axes = zip(value.index, index, strict=True)
        values = {s: i for axis, i in axes if (s := sole_symbol(axis)) is not None}
        return self._resolved(value.body, {**self.frame.around, **values}, None)

    def nest(
        self,
        value: IndexLambda,
        reader: Node,
        write: Write,
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


def start_of(node: Reduce | Scan) -> Literal:
    """What an accumulation begins with."""
    dtype = node.var.type.dtype
    start = (scan_start if isinstance(node, Scan) else identity)(node.combine, dtype)
    return Literal(start.value[()], dtype)
