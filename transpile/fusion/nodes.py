"""Nodes: the values of a graph that are materialised, and the loops that they share.

The phases of lowering hand these on, and never change them. `materialise` makes a `Block` of a
graph: its nodes, in order. `fuse` makes `Loops` of a block: a tree of loops with the nodes in it,
and for each node where its value lives. A node that is a loop or a branch of the user's holds the
`Loops` of its bodies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from transpile.fusion.elements import Values, length_key
from transpile.fusion.index_lambda import IndexLambda
from transpile.fusion.scopes import Scope
from transpile.ir.dims import Index, Shape, Symbol, symbols_of
from transpile.ir.graph import Atom, Equation, Graph, Source, Var
from transpile.ir.graph_rewrite import counts_of, lengths_read
from transpile.ir.indices.lengths import Length
from transpile.ir.loop_ir import Expr, Load
from transpile.ir.loop_rewrite import indices_in, loads_of
from transpile.library.plan import CallPlan
from transpile.util.frozen_records import cached_property, dataclass


@dataclass(frozen=True, eq=False)
class Node:
    """What computes values that are materialised."""

    equation: Equation

    @property
    def results(self) -> tuple[Var, ...]:
        """The values that it computes."""
        return self.equation.outputs

    @property
    def lambdas(self) -> tuple[IndexLambda, ...]:
        """The elements that it computes in loops."""
        return ()

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """All that it evaluates in loops of its own."""
        return tuple(e for value in self.lambdas for e in value.expressions)

    @property
    def operand_loads(self) -> tuple[Load, ...]:
        """What it reads elsewhere."""
        return ()

    @cached_property
    def loads(self) -> tuple[Load, ...]:
        """What it reads in loops of its own."""
        return tuple(loads_of(*self.expressions))

    @cached_property
    def reads(self) -> Mapping[str, Sequence[Load]]:
        """What it reads of each value, by the value's key."""
        reads: dict[str, list[Load]] = {}
        for load in (*self.loads, *self.operand_loads):
            reads.setdefault(load.buffer, []).append(load)
        for length in sorted(self.lengths, key=str):
            reads.setdefault(length_key(length), [])
        return reads

    @cached_property
    def lengths(self) -> frozenset[Length]:
        """The lengths that depend on values without which it cannot run."""
        read = _lengths_of(self.lambdas, self.expressions) | self.lengths_inside
        return (read | lengths_read(self.equation)) - self.counted

    @property
    def lengths_inside(self) -> frozenset[Length]:
        """Those that what it has inside it needs, and does not find."""
        return frozenset()

    @property
    def counted(self) -> frozenset[Length]:
        """The lengths that it finds."""
        return frozenset(counts_of([self.equation]))

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """The lines of Python that it comes from."""
        inlined = (source for value in self.lambdas for source in value.sources)
        return tuple(dict.fromkeys((self.equation.source, *inlined)))


def _lengths_of(values: Iterable[IndexLambda], expressions: Iterable[Expr]) -> frozenset[Length]:
    """The lengths that values have for extents, and that expressions read."""
    indices = [s.extent or 0 for value in values for s in value.order]
    indices += (i for e in expressions for i in indices_in(e))
    symbols = {s for index in indices for s in symbols_of(index)}
    bounds = {s for symbol in symbols for s in symbols_of(symbol.extent or 0)}
    return frozenset(s for s in symbols | bounds if isinstance(s, Length))


@dataclass(frozen=True, eq=False)
class LoopNode(Node):
    """One value, made in loops that other nodes may share: first over its own axes (those longer
    than one), then over those that it reduces over."""

    value: IndexLambda

    @cached_property
    def var(self) -> Var:
        """The value."""
        return self.equation.output

    @cached_property
    def order(self) -> tuple[Symbol, ...]:
        """The loops, from the outside in."""
        return self.value.order

    @cached_property
    def index(self) -> Shape:
        """The element that an iteration computes, or adds to."""
        return self.value.index

    @cached_property
    def rank(self) -> int:
        """How many of its loops go over its own axes."""
        return len(self.order)

    @property
    def lambdas(self) -> tuple[IndexLambda, ...]:
        """Its elements, or what they combine."""
        return (self.value,)


@dataclass(frozen=True, eq=False)
class Map(LoopNode):
    """Each element is that of `value`."""


@dataclass(frozen=True, eq=False)
class Reduce(LoopNode):
    """Each element combines those of `value` over `reduced` more loops."""

    combine: str
    reduced: int

    @cached_property
    def rank(self) -> int:
        """How many of its loops go over its own axes."""
        return len(self.order) - self.reduced


@dataclass(frozen=True, eq=False)
class Scan(LoopNode):
    """Each element combines those of `value` so far in the innermost loop."""

    combine: str


@dataclass(frozen=True, eq=False)
class Scatter(Node):
    """All elements of the result by `first`; then, in order, `then` combines its elements into
    those of the result at its index, where the tests hold."""

    first: IndexLambda
    then: IndexLambda
    tests: tuple[Expr, ...]
    combine: str

    @cached_property
    def var(self) -> Var:
        """The value."""
        return self.equation.output

    @property
    def lambdas(self) -> tuple[IndexLambda, ...]:
        """The elements that it begins with, and those that it updates."""
        return (self.first, self.then)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """All that it evaluates, tests included."""
        return (*self.first.expressions, *self.then.expressions, *self.tests)


@dataclass(frozen=True, eq=False)
class Compact(Node):
    """The elements of vectors, `values`, where a mask holds; their number is the first result."""

    mask: IndexLambda
    values: tuple[IndexLambda, ...]

    @property
    def lambdas(self) -> tuple[IndexLambda, ...]:
        """The elements of the mask, and those that it selects."""
        return (self.mask, *self.values)


@dataclass(frozen=True, eq=False)
class Measure(Node):
    """A number that is a length from here on."""

    value: IndexLambda

    @property
    def lambdas(self) -> tuple[IndexLambda, ...]:
        """The number."""
        return (self.value,)


@dataclass(frozen=True, eq=False)
class LibraryCall(Node):
    """Calls of a library, which read their operands as arrays in memory.

    keys  those of the operands
    """

    plan: CallPlan
    keys: tuple[str, ...]

    @cached_property
    def operand_loads(self) -> tuple[Load, ...]:
        """What stands for its operands: they are read as a whole."""
        named = zip(self.keys, self.operands, strict=True)
        return tuple(Load(key, (), atom.type.dtype) for key, atom in named)

    @property
    def operands(self) -> tuple[Atom, ...]:
        """What it reads."""
        return tuple(self.plan.reads.values())

    @cached_property
    def var(self) -> Var:
        """The value, of a call that has one."""
        return self.equation.output


@dataclass(frozen=True, eq=False)
class CallBack(Node):
    """A call into Python, with the elements of its operands; its results are arrays in memory."""

    operands: tuple[IndexLambda, ...]

    @property
    def lambdas(self) -> tuple[IndexLambda, ...]:
        """The elements of its operands."""
        return self.operands


@dataclass(frozen=True, eq=False)
class Region(Node):
    """A loop or a branch of the user's.

    parts   its bodies: the branches, or the condition and the body, or the body
    consts  operands that all iterations read, or that the branches read
    fixed   those operands that the bodies read as they are, with their elements
    wholes  those of them that a body hands to a library, as arrays in memory
    """

    parts: tuple[Loops, ...]
    consts: tuple[Atom, ...]
    fixed: Mapping[Atom, IndexLambda]
    wholes: frozenset[Atom]

    @cached_property
    def operand_loads(self) -> tuple[Load, ...]:
        """What the bodies read of the operands."""
        return tuple(loads_of(*(e for value in self.fixed.values() for e in value.expressions)))

    @cached_property
    def lengths_inside(self) -> frozenset[Length]:
        """Those of its bodies: a condition may read one that no array has."""
        blocks = [part.block for part in self.parts]
        results = [value for block in blocks for value in block.results]
        read = _lengths_of(results, (e for value in results for e in value.expressions))
        nodes = [node for block in blocks for node in block.nodes]
        found = frozenset(s for node in nodes for s in node.counted)
        return read.union(*(node.lengths for node in nodes)) - found


@dataclass(frozen=True, eq=False)
class Loop(Region):
    """A scan, a loop over a range, or one with a condition.

    limits   the bounds of a loop over a range
    carry    what the first iteration is handed, with the elements `initial`
    xs       operands of which each iteration reads its part, at `where`
    symbol   the counter, in terms of which the bodies are placed
    """

    limits: tuple[IndexLambda, ...]
    carry: tuple[Atom, ...]
    initial: tuple[IndexLambda, ...]
    xs: tuple[Atom, ...]
    symbol: Symbol | None
    where: Index

    @property
    def body(self) -> Loops:
        """What an iteration does."""
        return self.parts[-1]

    @property
    def condition(self) -> Loops | None:
        """What tells whether there is another iteration, of a loop that asks."""
        return self.parts[0] if len(self.parts) > 1 else None

    @property
    def length(self) -> int | None:
        """How many iterations there are, where that is known."""
        length: int | None = self.equation.params.get("length")
        return length

    @property
    def lambdas(self) -> tuple[IndexLambda, ...]:
        """The elements of its bounds, and of what the first iteration is handed."""
        return (*self.limits, *self.initial)


@dataclass(frozen=True, eq=False)
class Branch(Region):
    """One of several bodies, that with the number `chosen`."""

    chosen: IndexLambda

    @property
    def lambdas(self) -> tuple[IndexLambda, ...]:
        """The number."""
        return (self.chosen,)


# Nodes that stand between loops, and read their operands from memory.
BETWEEN_LOOPS = (LibraryCall, Region, CallBack)


@dataclass(frozen=True)
class Choices:
    """What is to be materialised other than by the rules: values that are computed again in each
    use (`inlined`), and values that get memory (`kept`)."""

    inlined: frozenset[Var] = frozenset()
    kept: frozenset[Var] = frozenset()

    def __or__(self, other: Choices) -> Choices:
        return Choices(self.inlined | other.inlined, self.kept | other.kept)


@dataclass(frozen=True, eq=False)
class Block:
    """A graph, or a body in one, whose values are materialised or inlined.

    values   all of them
    nodes    what computes those that are materialised, in order
    results  the elements of the results of a condition, which are not materialised
    """

    scope: Scope
    choices: Choices
    values: Values
    nodes: tuple[Node, ...]
    results: tuple[IndexLambda, ...]

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self.scope.graph

    def key(self, atom: Atom) -> str:
        """The name by which expressions refer to a value; none if no expression does."""
        return self.values.keys.get(atom, "")

    @cached_property
    def in_memory(self) -> dict[str, Atom]:
        """The values that nodes read or compute, by their keys, in the order in which those that
        are stored get their buffers."""
        loads = [load for node in self.nodes for load in node.loads]
        loads += (load for value in self.results for load in loads_of(*value.expressions))
        operands = (load for node in reversed(self.nodes) for load in node.operand_loads)
        computed = (v for node in self.nodes for v in node.results)
        keys = (
            *(load.buffer for load in loads),
            *map(self.key, self.graph.outputs),
            *(load.buffer for load in operands),
            *map(self.key, computed),
        )
        return {key: self.values.atoms[key] for key in dict.fromkeys(keys)}

    @cached_property
    def by_key(self) -> dict[str, Node]:
        """The node that computes a value."""
        found: dict[str, Node] = {self.key(v): n for n in self.nodes for v in n.results}
        found.update((length_key(s), node) for node in self.nodes for s in node.counted)
        return found

    @cached_property
    def position(self) -> dict[Node, int]:
        """The place of each node in the order."""
        return {node: k for k, node in enumerate(self.nodes)}

    @cached_property
    def readers(self) -> dict[str, list[Node]]:
        """The nodes that read the result of one."""
        readers: dict[str, list[Node]] = {}
        computed = self.by_key
        for node in self.nodes:
            for key in node.reads:
                if key in computed:
                    readers.setdefault(key, []).append(node)
        return readers

    def node_of(self, atom: Atom) -> Node | None:
        """The node that computes a value."""
        return self.by_key.get(self.key(atom))


@dataclass(frozen=True, eq=False)
class Nest:
    """A loop shared by nodes; its items are loops and, innermost, the nodes themselves."""

    symbol: Symbol
    depth: int
    nodes: tuple[LoopNode, ...]
    items: tuple[Nest | Node, ...]


@dataclass(frozen=True)
class InScalar:
    """A value that lives in a scalar, inside `depth` loops."""

    depth: int


@dataclass(frozen=True)
class InRow:
    """A value that lives in a local array, inside `depth` loops, of which `loop` is the innermost:
    the axes `kept`, of this `shape`."""

    depth: int
    loop: Nest
    kept: tuple[int, ...]
    shape: Shape


@dataclass(frozen=True)
class InMemory:
    """A value that is stored; its readers share `depth` loops with it."""

    depth: int


Home = InScalar | InRow | InMemory


@dataclass(frozen=True, eq=False)
class Loops:
    """The loops of a block, around each node `paths`, and where the value of each node lives.

    forwarded  pairs of nodes, of which the second finds the elements of the first in a scalar,
               which is stored all the same
    """

    block: Block
    items: tuple[Nest | Node, ...]
    paths: Mapping[Node, Sequence[Nest]]
    homes: Mapping[Node, Home]
    forwarded: frozenset[tuple[Node, Node]]

    @cached_property
    def forwarding(self) -> frozenset[Node]:
        """The nodes whose elements are in scalars, and stored as well."""
        return frozenset(producer for producer, _ in self.forwarded)


def nodes_of(items: Sequence[Nest | Node]) -> Iterator[Node]:
    """The nodes of loops and of what stands between them, in order."""
    for item in items:
        if isinstance(item, Nest):
            yield from nodes_of(item.items)
        else:
            yield item


def array_operands(nodes: Sequence[Node]) -> set[Atom]:
    """The values that nodes read as arrays in memory, all elements at once."""
    operands: set[Atom] = set()
    for node in nodes:
        match node:
            case LibraryCall():
                operands.update(node.operands)
            case Region():
                operands |= node.wholes
            case _:
                pass
    return operands
