"""Loop fusion: nodes share loops, and with them where the value of each lives.

A node joins the loop of its producer when, in each iteration, it reads only the part of it that
the same iteration computed: its subscripts along the producer's axis are the loop's own index.
Applied to the outermost loops first and then inside each of them, this one rule makes softmax a
single loop over rows, keeps a loop's sibling reductions together, and leaves a value that all its
consumers read in the innermost loop in a scalar.

A value lives
* in a scalar, when all who read it stand inside the innermost loop over its axes;
* in a row (a local array), when they share some outer loops with it;
* in memory, otherwise, and when it is a result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from transpile.fusion.nodes import (
    BETWEEN_LOOPS,
    Block,
    Home,
    InMemory,
    InRow,
    InScalar,
    LibraryCall,
    LoopNode,
    Loops,
    Nest,
    Node,
    Reduce,
    Scan,
)
from transpile.ir.dims import Dim, Index, Shape, Symbol, bounds, symbols_of
from transpile.ir.graph import Equation, Var
from transpile.ir.indices.estimates import estimate
from transpile.ir.indices.row_major import product
from transpile.ir.loop_ir import Apply, Load
from transpile.ir.loop_rewrite import loads_of, subexpressions
from transpile.machine import Machine
from transpile.primitives.indexing import gather


def fuse(block: Block) -> Loops:
    """The loops of a block."""
    items = _shared_loops(block, block.nodes, 0)
    paths = dict(_paths(items, ()))
    outputs = {block.key(v) for v in block.graph.outputs}
    outputs.update(load.buffer for r in block.results for load in loads_of(*r.expressions))
    homes: dict[Node, Home] = {}
    for node in block.nodes:
        if isinstance(node, LoopNode):
            key = block.key(node.var)
            readers = block.readers.get(key, ())
            homes[node] = _home(block, node, readers, paths, key in outputs)
        else:
            homes[node] = InMemory(0)
    return Loops(block, items, paths, homes, _forwarded(block, paths, homes))


def _paths(
    items: Sequence[Nest | Node], path: tuple[Nest, ...]
) -> Iterator[tuple[Node, tuple[Nest, ...]]]:
    """The loops around each node."""
    for item in items:
        if isinstance(item, Nest):
            yield from _paths(item.items, (*path, item))
        else:
            yield item, path


# ------------------------------------------------------------------------------ shared loops


def _shared_loops(block: Block, nodes: Sequence[Node], depth: int) -> tuple[Nest | Node, ...]:
    """The loops at one depth, for nodes that share all loops further out."""
    level = _Level(block, depth)
    for node in nodes:
        level.add(node)
    items: list[Nest | Node] = []
    for item in level.items:
        if isinstance(item, Node):
            items.append(item)
        elif item:
            inner = _shared_loops(block, item, depth + 1)
            items.append(Nest(item[0].order[depth], depth, tuple(item), inner))
    return tuple(items)


class _Level:
    """The loops at one depth in the making: each item is a node, or the nodes that share a loop, of
    which there are none any more if they moved into another one."""

    def __init__(self, block: Block, depth: int) -> None:
        self.block = block
        self.machine = block.scope.machine
        self.depth = depth
        self.items: list[Node | list[LoopNode]] = []
        self.place: dict[Node, int] = {}

    def add(self, node: Node) -> None:
        """Put a node into the first of the latest loops that it may join, or into a new one."""
        if not isinstance(node, LoopNode) or len(node.order) == self.depth:
            self.place[node] = len(self.items)
            self.items.append(node)
            return
        by_key = self.block.by_key
        producers = [p for k in node.reads if (p := by_key.get(k)) is not None and p in self.place]
        self._bring_together(node, producers)
        earliest = max((self.place[p] for p in producers), default=0)
        first = max(earliest, len(self.items) - self.machine.most_candidates)
        for position in range(first, len(self.items)):
            group = self.items[position]
            if isinstance(group, Node) or not group:
                continue
            inside = [p for p in producers if self.place[p] == position]
            if self._may_join(group, node, inside):
                group.append(node)
                self.place[node] = position
                return
        self.place[node] = len(self.items)
        self.items.append([node])

    def _extent(self, group: Sequence[LoopNode]) -> Index | None:
        return group[0].order[self.depth].extent

    def _bring_together(self, node: LoopNode, producers: Sequence[Node]) -> None:
        """Move the loops of a node's producers into the latest of them, or the latest into the
        other, where all can run together and the node with them: `x[j] - x[i]` and `y[j] - y[i]`
        have nothing in common until a sum reads both.
        """
        positions = sorted({self.place[p] for p in producers})
        if len(positions) < 2:
            return
        last, end = self.items[positions[-1]], positions[-1]
        if (
            isinstance(last, Node)
            or self._extent(last) != node.order[self.depth].extent
            or not all(_is_aligned(self.block, p, node, self.depth) for p in producers)
        ):
            return
        for position in positions[:-1]:
            group = self.items[position]
            if (
                isinstance(group, Node)
                or self._extent(group) != self._extent(last)
                or not self._has_room(group, last)
            ):
                continue
            if not self._is_read(group, range(position + 1, end + 1)):
                self._merge(group, last, end)
            elif len(positions) == 2 and not self._reads(last, range(position, end)):
                self._merge(last, group, position)

    def _is_read(self, nodes: Sequence[Node], where: range) -> bool:
        """Tell whether what stands at some places reads any of these nodes."""
        keys = (self.block.key(v) for node in nodes for v in node.results)
        readers = (r for key in keys for r in self.block.readers.get(key, ()))
        return any(self.place.get(r, -1) in where for r in readers)

    def _reads(self, nodes: Sequence[Node], where: range) -> bool:
        """Tell whether any of these nodes reads what stands at some places."""
        read = (self.block.by_key.get(key) for node in nodes for key in node.reads)
        return any(p is not None and self.place.get(p, -1) in where for p in read)

    def _merge(self, source: list[LoopNode], target: list[LoopNode], position: int) -> None:
        """Move the nodes of one loop into another, at a position."""
        target[:] = sorted((*source, *target), key=self.block.position.__getitem__)
        source.clear()
        for node in target:
            self.place[node] = position

    def _may_join(self, group: Sequence[LoopNode], node: LoopNode, inside: Sequence[Node]) -> bool:
        """Tell whether a node may stand in a loop, in which these of its producers are."""
        if node.order[self.depth].extent != self._extent(group) or not self._has_room(
            group, [node]
        ):
            return False
        if not all(_is_aligned(self.block, p, node, self.depth) for p in inside):
            return False
        if inside or self.depth > 0:
            return True
        sharing = [n for n in group if not node.reads.keys().isdisjoint(n.reads)]
        if any(_crosses(n, node) for n in sharing):
            return False
        if sharing:
            return any(_same_walk(n, node) for n in (*sharing, group[-1]))
        return all(self._is_short(n) for n in (node, *group))

    def _has_room(self, group: Sequence[LoopNode], others: Sequence[LoopNode]) -> bool:
        """Tell whether further nodes may stand in a loop, by what a loop can hold: all nodes that
        come to share one have been asked this."""
        return len(group) + len(others) <= self.machine.most_fused

    def _is_short(self, node: LoopNode) -> bool:
        """Tell whether a node's loops are over before what another one costs is made up for. In the
        body of a loop that is likely of a runtime size, too: that of a batch."""
        extents = [s.extent for s in node.order if s.extent is not None]
        if self.block.scope.is_body:
            extents = [d for d in extents if isinstance(d, int) or bounds(d)[1] is not None]
        return estimate(product(extents)) <= self.machine.most_unrelated_iterations


def _is_aligned(block: Block, producer: Node, reader: LoopNode, depth: int) -> bool:
    """Tell whether each iteration of the loop reads only what it has itself computed."""
    if not isinstance(producer, LoopNode) or depth >= producer.rank:
        return False
    is_last = depth == producer.rank - 1
    if isinstance(producer, Reduce) and isinstance(reader, Scan) and depth == reader.rank - 1:
        return False  # the running value would keep the loop out of lanes, and off other threads
    is_running = isinstance(producer, Scan) and is_last
    if is_running and own_cost(reader) > block.scope.machine.cheap_scan_reader:
        return False  # the running value keeps its loop out of vector lanes; the reader need not be
    loop = Dim.of(producer.order[depth])
    if loop not in producer.index:
        return False
    axis = producer.index.index(loop)
    wanted = Dim.of(reader.order[depth])
    return all(load.index[axis] == wanted for load in reader.reads[block.key(producer.var)])


def own_cost(node: LoopNode) -> int:
    """What it costs to compute one element of a node, what it reads being there."""
    return gather.weight * len(node.value.bound) + sum(
        part.primitive.weight
        for expression in node.value.expressions
        for part in subexpressions(expression)
        if isinstance(part, Apply)
    )


def _same_walk(a: LoopNode, b: LoopNode) -> bool:
    """Tell whether two nodes that share an operand walk it in the same order: all their loops have
    the same extents, so that the shared loop makes one stream of it."""
    return [s.extent for s in a.order] == [s.extent for s in b.order]


def _crosses(a: LoopNode, b: LoopNode) -> bool:
    """Tell whether two nodes walk an operand in different orders, as `x @ v` and `w @ x` do: along
    its rows one of them, along its columns the other."""
    return any(
        len(load.index) > 1 and _walks(a, a.reads[key]).isdisjoint(_walks(b, b.reads[key]))
        for key in a.reads.keys() & b.reads.keys()
        for load in a.reads[key][:1]
    )


def _walks(node: LoopNode, loads: Sequence[Load]) -> set[tuple[tuple[int, ...], ...]]:
    """For each load, by which of the node's loops each of its subscripts varies."""
    return {
        tuple(
            tuple(depth for depth, symbol in enumerate(node.order) if symbol in symbols_of(index))
            for index in load.index
        )
        for load in loads
    }


# -------------------------------------------------------------------------------------- homes


def _home(
    block: Block,
    node: LoopNode,
    readers: Sequence[Node],
    paths: Mapping[Node, Sequence[Nest]],
    is_result: bool,
) -> Home:
    is_number = block.scope.is_body and not node.var.type.shape
    if is_number and not any(isinstance(r, LibraryCall) for r in readers):
        return InScalar(0)  # a body is one sequence of statements: a number is a variable of it
    path, rank = paths[node], node.rank
    shared = min((_common(path, paths[r]) for r in readers), default=rank)
    shared = min(shared, rank)
    if is_result or any(isinstance(r, BETWEEN_LOOPS) for r in readers) or shared == 0:
        return InMemory(shared)
    if shared == rank:
        return InScalar(shared)
    bound = {Dim.of(s) for s in node.order[:shared]}
    kept = tuple(a for a, i in enumerate(node.index) if i not in bound and i != 0)
    shape = tuple(node.var.type.shape[a] for a in kept)
    size: Index = product(shape) * node.var.type.dtype.itemsize
    if _fits_a_row(size, node.order[:shared], block.scope.machine):
        return InRow(shared, path[shared - 1], kept, shape)
    return InMemory(shared)


def _fits_a_row(size: Index, outer: Sequence[Symbol], machine: Machine) -> bool:
    """Tell whether so many bytes are kept for a row. One of unknown size, which lies in the
    workspace, is where the whole array would be as many times larger: of n rows of n."""
    most = bounds(size)[1]
    if most is not None:
        return most <= machine.row_bytes
    around = frozenset[Symbol]().union(*(symbols_of(s.extent or 0) for s in outer))
    return {s for s in symbols_of(size) if s.extent is None} <= around


def _common(a: Sequence[Nest], b: Sequence[Nest]) -> int:
    """How many loops two nodes share."""
    shared = 0
    for mine, theirs in zip(a, b, strict=False):
        if mine is not theirs:
            break
        shared += 1
    return shared


def explain(loops: Loops) -> Iterator[str]:
    """For each computed value where it lives, and why: what `as_text("loops")` shows."""
    block = loops.block
    nodes = {v: node for node in block.nodes for v in node.results}
    uses = block.graph.uses()
    for equation, var in ((e, v) for e in block.graph.equations for v in e.outputs):
        if equation.primitive.kind in ("view", "generate"):
            continue
        label = f"{var.name or equation.primitive.name} ({equation.primitive.name}, {var.type})"
        if var not in nodes:
            yield f"{label}: inline, {_why_inline(block, equation, var, uses.get(var, 0))}"
            continue
        match loops.homes[nodes[var]]:
            case InScalar(depth=depth):
                shared = "loop" if depth == 1 else f"{depth} loops"
                yield f"{label}: scalar, its readers share its {shared}"
            case InRow(depth=depth, shape=shape):
                kept = f"{list(shape)} is kept, {_bytes(shape, var)}"
                yield f"{label}: row, its readers share {depth} of its loops; {kept}"
            case InMemory(depth=depth):
                yield f"{label}: stored, {_why_stored(block, nodes[var], var, depth)}"


def _why_inline(block: Block, equation: Equation, var: Var, uses: int) -> str:
    """Why a value is computed where it is read, and what an element costs each time."""
    if var not in block.choices.inlined and uses < 2:
        return f"read in one place, saves {_bytes(var.type.shape, var)}"
    return f"cheap, price {equation.primitive.weight} at {uses} uses"


def _why_stored(block: Block, node: Node, var: Var, depth: int) -> str:
    """Why a value is in memory, and what it would cost to compute an element again."""
    size = _bytes(var.type.shape, var)
    if var in block.graph.outputs:
        return f"a result, {size}"
    if depth:
        return f"too large for a row, {size}"
    price = f", price {own_cost(node)}" if isinstance(node, LoopNode) else ""
    return f"a reader stands in another kernel, {size}{price}"


def _bytes(shape: Shape, var: Var) -> str:
    size = product(shape) * var.type.dtype.itemsize
    return f"{size:,} bytes" if isinstance(size, int) else f"{size} bytes"


def _forwarded(
    block: Block, paths: Mapping[Node, Sequence[Nest]], homes: Mapping[Node, Home]
) -> frozenset[tuple[Node, Node]]:
    """The nodes whose values are stored, each with a reader that stands where its elements are
    still in a scalar."""
    pairs: set[tuple[Node, Node]] = set()
    for key, readers in block.readers.items():
        producer = block.by_key[key]
        if isinstance(producer, LoopNode) and isinstance(homes[producer], InMemory):
            pairs.update((producer, r) for r in readers if _in_scalar(block, paths, producer, r))
    return frozenset(pairs)


def _in_scalar(
    block: Block, paths: Mapping[Node, Sequence[Nest]], producer: LoopNode, reader: Node
) -> bool:
    """Tell whether a reader stands where the element that it reads is in a scalar."""
    if not isinstance(reader, LoopNode):
        return False
    rank, path, other = producer.rank, paths[producer], paths[reader]
    if rank == 0 or len(other) < rank or path[:rank] != other[:rank]:
        return False
    return all(_is_aligned(block, producer, reader, depth) for depth in range(rank))
