"""Nodes: the values of a graph that are materialised, and the loops that they share.

The phases of lowering hand these on, and never change them. `materialise` makes a `Block` of a
graph: its nodes, in order. `fuse` makes `Loops` of a block: a tree of loops with the nodes in it,
and for each node where its value lives. A node that is a loop or a branch of the user's holds the
`Loops` of its bodies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from transpile.fusion.index_lambda import Elements
from transpile.fusion.scopes import Scope
from transpile.ir.dims import Index, Shape, Symbol
from transpile.ir.graph import Atom, Equation, Graph, Source, Var
from transpile.ir.loop_ir import Expr, Load
from transpile.library.plan import CallPlan
from transpile.util.frozen_records import cached_property, dataclass


@dataclass(frozen=True, eq=False)
class IndexLambda:
    """In each iteration of loops the element of an array at an index.

    order   the loops, from the outside in
    index   the element that an iteration computes
    body    its value
    bound   the subscripts in it that are themselves read from arrays
    """

    order: tuple[Symbol, ...]
    index: Shape
    body: Expr
    bound: Mapping[Symbol, Expr]

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """All that an iteration evaluates."""
        return (*self.bound.values(), self.body)

    @property
    def is_copy(self) -> bool:
        """Whether the elements are those of another array, at the same indices."""
        return isinstance(self.body, Load) and self.body.index == self.index


@dataclass(frozen=True, eq=False)
class Node:
    """What computes values that are materialised.

    reads    what it reads of each value, by the value's key
    sources  the lines of Python that it comes from
    """

    equation: Equation
    reads: Mapping[str, Sequence[Load]]
    sources: tuple[Source, ...]

    @property
    def results(self) -> tuple[Var, ...]:
        """The values that it computes."""
        return self.equation.outputs

    @property
    def lambdas(self) -> tuple[IndexLambda, ...]:
        """The elements that it computes in loops."""
        return ()


@dataclass(frozen=True, eq=False)
class LoopNode(IndexLambda, Node):
    """One value, made in loops that other nodes may share: first over its own axes (those longer
    than one), then over those that it reduces over."""

    @cached_property
    def var(self) -> Var:
        """The value."""
        return self.equation.output

    @cached_property
    def rank(self) -> int:
        """How many of its loops go over its own axes."""
        return len(self.order)

    @property
    def lambdas(self) -> tuple[IndexLambda, ...]:
        """Itself."""
        return (self,)


@dataclass(frozen=True, eq=False)
class Map(LoopNode):
    """Each element is `body`."""


@dataclass(frozen=True, eq=False)
class Reduce(LoopNode):
    """Each element combines those of `body` over `reduced` more loops."""

    combine: str
    reduced: int

    @cached_property
    def rank(self) -> int:
        """How many of its loops go over its own axes."""
        return len(self.order) - self.reduced


@dataclass(frozen=True, eq=False)
class Scan(LoopNode):
    """Each element combines those of `body` so far in the innermost loop."""

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


@dataclass(frozen=True, eq=False)
class LibraryCall(Node):
    """Calls of a library, which read their operands as arrays in memory."""

    plan: CallPlan

    @property
    def operands(self) -> tuple[Atom, ...]:
        """What it reads."""
        return tuple(self.plan.reads.values())

    @cached_property
    def var(self) -> Var:
        """The value, of a call that has one."""
        return self.equation.output


@dataclass(frozen=True, eq=False)
class Effect(Node):
    """A call into Python, with the elements of its operands."""

    operands: tuple[IndexLambda, ...]

    @property
    def lambdas(self) -> tuple[IndexLambda, ...]:
        """The elements of its operands."""
        return self.operands


@dataclass(frozen=True, eq=False)
class Region(Node):
    """A loop or a branch of the user's.

    parts        its bodies: the branches, or the condition and the body, or the body
    consts       operands that all iterations read, or that the branches read
    fixed        those operands that the bodies read as they are
    wholes       those of them that a body hands to a library, as arrays in memory
    fixed_loads  what the bodies read of them, by elements
    """

    parts: tuple[Loops, ...]
    consts: tuple[Atom, ...]
    fixed: tuple[Atom, ...]
    wholes: frozenset[Atom]
    fixed_loads: tuple[Load, ...]


@dataclass(frozen=True, eq=False)
class Loop(Region):
    """A scan, a loop over a range, or one with a condition.

    limits   the bounds of a loop over a range, as indices where they are arithmetic on such
    carry    what the first iteration is handed, with the elements `initial`
    xs       operands of which each iteration reads its part, at `where`
    symbol   the counter, in terms of which the bodies are placed
    """

    limits: tuple[Index | IndexLambda, ...]
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
        return (*(x for x in self.limits if isinstance(x, IndexLambda)), *self.initial)


@dataclass(frozen=True, eq=False)
class Branch(Region):
    """One of several bodies, that with the number `chosen`."""

    chosen: IndexLambda

    @property
    def lambdas(self) -> tuple[IndexLambda, ...]:
        """The number."""
        return (self.chosen,)


# Nodes that stand between loops, and read their operands from memory.
BETWEEN_LOOPS = (LibraryCall, Region, Effect)


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

    nodes         what computes the former, in order
    materialised  all of them, also those that nothing reads
    results       the elements of the results of a condition, which are not materialised
    elements      the elements of any value, in terms of those of the materialised ones
    """

    scope: Scope
    choices: Choices
    nodes: tuple[Node, ...]
    materialised: frozenset[Var]
    results: tuple[IndexLambda, ...]
    elements: Elements

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self.scope.graph

    @property
    def atoms(self) -> Mapping[str, Atom]:
        """The value of each key."""
        return self.elements.atoms

    @property
    def producers(self) -> Mapping[Var, Equation]:
        """The equation of each value."""
        return self.elements.producers

    def key(self, atom: Atom) -> str:
        """The name by which expressions refer to a value; none if no expression does."""
        return self.elements.keys.get(atom, "")

    @cached_property
    def by_key(self) -> dict[str, Node]:
        """The node that computes a value."""
        return {self.key(v): node for node in self.nodes for v in node.results}

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

    def is_inlined(self, atom: Atom) -> bool:
        """Tell whether a value is computed wherever it is read."""
        return atom in self.elements.producers and atom not in self.materialised


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
