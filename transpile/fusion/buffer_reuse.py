"""Alias analysis: which values may be made in the memory of one that nothing reads any more.

An update of an array needs no copy when nothing later reads the elements that it changes. A loop's
carry needs one buffer, and not two, when an iteration is done with what it was handed before it
writes what it hands on; the nodes of its body are then said to *settle* the carry. `aliases`
answers for a program and for all bodies in it; where buffers are is decided by
`transpile.lower.assign_storage`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from transpile.fusion.in_place_updates import are_apart, updates_in_time
from transpile.fusion.index_lambda import IndexLambda
from transpile.fusion.nodes import (
    Branch,
    Loop,
    LoopNode,
    Loops,
    Map,
    Node,
    Reduce,
    Region,
    Scatter,
    nodes_of,
)
from transpile.ir.dims import Dim, substitute
from transpile.ir.graph import Atom, Var
from transpile.ir.loop_ir import Load
from transpile.ir.loop_rewrite import loads_of
from transpile.util.frozen_records import cached_property, dataclass

# Nodes that can change a value where it lies.
CHANGING = (Scatter, Loop, Branch)


@dataclass(frozen=True)
class Change:
    """A value of which a node makes its result: where it lies, if neither the node nor a later one
    reads elements of the value that have been changed by then."""

    operand: Atom
    result: Var
    is_last: bool


@dataclass(frozen=True, eq=False)
class Aliases:
    """What the order of the nodes of a program, or of a body, allows.

    order    the nodes, in the order in which they run
    changes  of the nodes that can make any
    live     the keys of the values that nodes read
    settled  the inputs of a body in whose memory an iteration may write what it hands on
    late     nodes whose elements must then be written when the iteration ends
    inner    the answers for the bodies
    """

    loops: Loops
    order: tuple[Node, ...]
    changes: Mapping[Node, tuple[Change, ...]]
    live: frozenset[str]
    settled: frozenset[Var]
    late: frozenset[Node]
    inner: Mapping[Loops, Aliases]

    def is_read(self, atom: Atom) -> bool:
        """Tell whether a node reads a value, or the graph gives it as a result."""
        block = self.loops.block
        return atom in block.graph.outputs or block.key(atom) in self.live


def aliases(loops: Loops) -> Aliases:
    """What may be made in the memory of what."""
    return _Analysis(loops).answer(())


class _Analysis:
    """The questions about one graph, each answered when it is asked for; nothing else changes."""

    def __init__(self, loops: Loops) -> None:
        self.loops = loops
        self.block = loops.block
        self.producers = loops.block.values.producers
        self.item = {n: k for k, item in enumerate(loops.items) for n in nodes_of([item])}
        self.order = tuple(self.item)
        self.position = {n: k for k, n in enumerate(self.order)}
        self.outputs = set(self.block.graph.outputs)
        self.inputs = {v: k for k, v in reversed([*enumerate(self.block.graph.inputs)])}
        self.readers: dict[str, list[Node]] = {}
        for node in self.order:
            for key in node.reads:
                self.readers.setdefault(key, []).append(node)

    def answer(self, carry: Iterable[tuple[Var, Atom]]) -> Aliases:
        """The answers, for a body that is to settle a carry as far as it can."""
        late: set[Node] = set()
        settled: set[Var] = set()
        for before, after in carry:
            writers = self.settles(before, after)
            if writers is not None:
                settled.add(before)
                late |= writers
        changes = {
            node: tuple(Change(x, result, self.may_take(node, x)) for x, result in pairs)
            for node, pairs in self.pairs.items()
        }
        inner = {
            body.loops: body.answer(pairs)
            for node in self.order
            if isinstance(node, Region)
            for body, pairs in zip(self.bodies[node], self._carried(node), strict=True)
        }
        return Aliases(
            self.loops,
            self.order,
            changes,
            frozenset(self.readers),
            frozenset(settled),
            frozenset(late),
            inner,
        )

    @cached_property
    def bodies(self) -> dict[Node, list[_Analysis]]:
        """The same questions about the bodies of each loop and branch."""
        regions = (node for node in self.order if isinstance(node, Region))
        return {node: list(map(_Analysis, node.parts)) for node in regions}

    def _carried(self, node: Region) -> list[list[tuple[Var, Atom]]]:
        """What each body of a loop or branch is to settle."""
        graphs = [part.block.graph for part in node.parts]
        if isinstance(node, Branch):
            changed = self._changed_by_branches(node)
            return [[(g.inputs[k], g.outputs[n]) for k, n in changed] for g in graphs]
        return [list(part.block.scope.carry) for part in node.parts]

    # --------------------------------------------------------------------- values and results

    @cached_property
    def pairs(self) -> dict[Node, list[tuple[Atom, Var]]]:
        """For each node that can change a value where it lies: the values, and its results that
        they become."""
        nodes = (n for n in self.order if isinstance(n, CHANGING))
        return {node: list(self._pairs(node)) for node in nodes}

    def _pairs(self, node: Node) -> Iterator[tuple[Atom, Var]]:
        match node:
            case Scatter():
                yield node.equation.inputs[0], node.var
            case Loop():
                yield from zip(node.carry, node.results, strict=False)
            case Branch():
                for number, result in self._changed_by_branches(node):
                    yield node.consts[number], node.results[result]
            case _:
                pass

    def _changed_by_branches(self, node: Branch) -> list[tuple[int, int]]:
        """The operands and the results that they become: one branch begins with the operand, and
        all settle it."""
        branches = self.bodies[node]
        changed: dict[int, int] = {}
        for number, result in enumerate(node.results):
            outputs = [b.block.graph.outputs[number] for b in branches]
            roots = [b.root(v) for b, v in zip(branches, outputs, strict=True)]
            operand = next((r for r in roots if r is not None and r not in changed), None)
            if operand is None or node.consts[operand].type.strong != result.type.strong:
                continue
            inputs = [b.block.graph.inputs[operand] for b in branches]
            pairs = zip(branches, inputs, outputs, strict=True)
            if all(b.settles(before, after) is not None for b, before, after in pairs):
                changed[operand] = number
        return list(changed.items())

    def may_take(self, node: Node, x: Atom) -> bool:
        """Tell whether a node may change a value of this graph where it lies."""
        key = self.block.key(x)
        return (
            key in self.block.by_key
            and x not in self.outputs
            and key in node.reads
            and self._reads_in_time(node, key)
            and all(
                self._reads_kept(reader, key, self._changing(x, node, reader))
                for reader in self.readers[key]
                if self.position[reader] > self.position[node]
            )
        )

    def _changing(self, x: Atom, first: Node, reader: Node) -> list[Node]:
        """The nodes that may write the memory of a value before another one reads it."""
        versions = {x}
        nodes = []
        for node in self.order[self.position[first] : self.position[reader] + 1]:
            after = [result for before, result in self.pairs.get(node, ()) if before in versions]
            if after:
                versions.update(after)
                nodes.append(node)
        return nodes

    def _reads_kept(self, reader: Node, key: str, writers: Iterable[Node]) -> bool:
        """Tell whether a node reads only elements of a value that none of these nodes, which write
        its memory, has changed by then."""
        loads = reader.reads[key]
        for writer in writers:
            if writer is reader:
                if not isinstance(reader, Scatter) or not updates_in_time(reader, key):
                    return False
            elif self.item[writer] <= self.item[reader] and not _are_apart(writer, loads):
                return False
        return True

    def _reads_in_time(self, node: Node, key: str) -> bool:
        """Tell whether a node reads nothing of a value that it has changed already."""
        match node:
            case Scatter():
                return updates_in_time(node, key)
            case Branch():
                named = [a for a in node.consts if self.block.key(a) == key]
                reads = sum(load.buffer == key for load in node.operand_loads)
                return len(named) == 1 and reads <= 1  # the number of the branch is known before
            case Loop():
                if any(load.buffer == key for load in node.operand_loads):
                    return False
                reading = [x for x in node.lambdas if _reads(x, key)]
                return len(reading) == 1 and reading[0].is_copy
            case _:
                return False

    # ---------------------------------------------------------------------------- the carry

    def writers(self, var: Atom) -> tuple[list[Node], Atom | None]:
        """The nodes that write the memory of a value, the last one first; and what the first of
        them finds there: an input of the graph, or nothing."""
        nodes: list[Node] = []
        while True:
            node = self.block.node_of(var)
            if node is None:
                return nodes, var
            nodes.append(node)
            x = next((x for x, result in self.pairs.get(node, ()) if result is var), None)
            if x is None:
                return nodes, None
            if self.block.node_of(x) is not None and not self.may_take(node, x):
                return nodes, None
            if x not in self.inputs and x not in self.producers:
                return nodes, None  # a constant
            if x in self.producers and self.block.node_of(x) is None:
                return nodes, None
            var = x

    def root(self, var: Atom) -> int | None:
        """The number of the input that a result is, changed or as it was."""
        nodes, x = self.writers(var)
        if x is None and isinstance(nodes[-1], Map):
            value = nodes[-1].value
            if isinstance(value.body, Load) and value.is_copy:
                x = self.block.values.atoms[value.body.buffer]
        return self.inputs.get(x) if isinstance(x, Var) else None

    def settles(self, before: Var, after: Atom) -> frozenset[Node] | None:
        """The nodes that must write late so that a body may write what it hands on where it was
        handed something: no node reads that any more, or each element just before it is
        overwritten. None where it may not."""
        nodes, x = self.writers(after)
        if not nodes:
            return frozenset() if x is before else None
        head, key = nodes[-1], self.block.key(before)
        if isinstance(head, Map) and head.value.is_copy and _reads(head.value, key):
            return frozenset()  # it writes what is there
        late: frozenset[Node] = frozenset()
        for reader in self.readers.get(key, ()):
            if self.item[reader] < self.item[head]:
                continue
            if x is before:
                is_in_time = reader is head and self._reads_in_time(head, key)
                if not is_in_time and not self._reads_kept(reader, key, nodes):
                    return None
            elif self.item[reader] > self.item[head]:
                return None
            elif self._is_late(reader, head, key):
                late = frozenset((head,))
            elif not self._is_in_step(reader, head, key):
                return None
        return late

    def _is_late(self, reader: Node, head: Node, key: str) -> bool:
        """Tell whether a node reads an element in the innermost loop that writes it, but after
        that: then all elements are computed first, and written when the iteration ends."""
        path = self.loops.paths[head]
        return (
            isinstance(head, Map)
            and bool(path)
            and len(path) == len(head.order)
            and self.loops.paths[reader] == path
            and self.position[reader] > self.position[head]
            and self._reads_own_elements(reader, head, key, head.rank)
        )

    def _is_in_step(self, reader: Node, head: Node, key: str) -> bool:
        """Tell whether a node in the loops of another one reads, before that writes anything in
        the iteration of the loops that they share, only elements of this iteration."""
        if not isinstance(head, LoopNode):
            return False
        if isinstance(head, Reduce) and head.rank == 0:
            return True  # which is written when the loop has ended
        if self.position[reader] > self.position[head]:
            return False
        shared = 0
        for mine, theirs in zip(self.loops.paths[reader], self.loops.paths[head], strict=False):
            if mine is not theirs or shared == head.rank:
                break
            shared += 1
        is_together = shared > 0 or head.rank == 0
        return is_together and self._reads_own_elements(reader, head, key, shared)

    def _reads_own_elements(self, reader: Node, head: LoopNode, key: str, shared: int) -> bool:
        """Tell whether the elements that a node reads have the subscripts of those that another
        one writes in the same iteration of the loops that they share."""
        order = reader.order[:shared] if isinstance(reader, LoopNode) else ()
        values = {
            mine: Dim.of(theirs) for mine, theirs in zip(order, head.order[:shared], strict=True)
        }
        inner = {Dim.of(s) for s in head.order[shared:]}
        return all(
            target in inner or substitute(i, values) == target
            for load in reader.reads[key]
            for i, target in zip(load.index, head.index, strict=True)
        )


def _are_apart(writer: Node, loads: Iterable[Load]) -> bool:
    """Tell whether a node is an update of elements that none of these loads reads."""
    return isinstance(writer, Scatter) and all(
        any(map(are_apart, load.index, writer.then.index)) for load in loads
    )


def _reads(value: IndexLambda, key: str) -> bool:
    return any(load.buffer == key for load in loads_of(*value.expressions))
