"""Sharing: which values may be made in the memory of another one, that nothing reads any more.

An update of an array needs no copy when it is the last to read it. A loop's carry needs one place,
and not two, when an iteration is done with what it was handed before it writes what it hands on;
the stages of its body are then said to *settle* the carry.
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.fusion.in_place_updates import loads_of, updates_in_time
from transpile.fusion.loop_fusion import Fused, Nest
from transpile.fusion.materialize import Stage
from transpile.ir.dims import Dim, substitute
from transpile.ir.graph import Atom, Var
from transpile.ir.loop_ir import Load
from transpile.primitives.control import rows as rows
from transpile.util.frozen_records import cached_property


class Sharing:
    """What the order of a graph's stages allows."""

    def __init__(self, fused: Fused) -> None:
        self.fused = fused
        self.placement = fused.placement
        self.item = {s: k for k, item in enumerate(fused.items) for s in stages_of([item])}
        self.ordered = list(self.item)
        self.position = {s: k for k, s in enumerate(self.ordered)}
        self.outputs = set(self.placement.graph.outputs)
        self.inputs = {v: k for k, v in reversed([*enumerate(self.placement.graph.inputs)])}
        self._parts: dict[Fused, Sharing] = {}
        self.late: set[Stage] = set()  # whose elements are written when the iteration ends
        self.last = {key: stage for stage in self.ordered for key in stage.reads}

    def of(self, part: Fused) -> Sharing:
        """What the order of the stages of a body allows."""
        if part not in self._parts:
            self._parts[part] = Sharing(part)
        return self._parts[part]

    @cached_property
    def pairs(self) -> dict[Stage, list[tuple[Atom, Var]]]:
        """For each stage that can change a value where it lies: the values, and its results that
        they become."""
        return {stage: list(self._pairs(stage)) for stage in self.ordered}

    def _pairs(self, stage: Stage) -> Iterator[tuple[Atom, Var]]:
        if stage.scatter is not None:
            yield stage.equation.inputs[0], stage.var
        if stage.control is not None and stage.equation.primitive is not rows.cond:
            yield from zip(stage.control.carry, stage.results, strict=False)
        elif stage.control is not None:
            yield from self._changed_by_branches(stage)

    def _changed_by_branches(self, stage: Stage) -> Iterator[tuple[Atom, Var]]:
        """A result is an operand changed, if one branch begins with it, and all settle it."""
        assert stage.control is not None
        branches = [self.of(part) for part in stage.control.parts]
        taken: set[int] = set()
        for number, result in enumerate(stage.results):
            roots = [b.root(b.placement.graph.outputs[number]) for b in branches]
            found = next((r for r in roots if r is not None and r not in taken), None)
            if found is None or stage.control.consts[found].type.strong != result.type.strong:
                continue
            if all(
                b.settles(b.placement.graph.inputs[found], b.placement.graph.outputs[number])
                for b in branches
            ):
                taken.add(found)
                yield stage.control.consts[found], result

    def may_take(self, stage: Stage, x: Atom) -> bool:
        """Tell whether a stage may change a value of this graph where it lies."""
        key = self.placement.keys.get(x, "")
        return (
            key in self.placement.by_key
            and x not in self.outputs
            and self.last.get(key) is stage
            and self._reads_in_time(stage, key)
        )

    def _reads_in_time(self, stage: Stage, key: str) -> bool:
        """Tell whether a stage reads nothing of a value that it has changed already."""
        if stage.scatter is not None:
            return updates_in_time(stage.scatter, key)
        assert stage.control is not None
        control = stage.control
        if stage.equation.primitive is rows.cond:
            named = [a for a in control.consts if self.placement.keys.get(a, "") == key]
            reads = sum(load.buffer == key for load in _fixed_loads(self, stage))
            return len(named) == 1 and reads <= 1 and not _reads(stage.starts, key)
        if any(load.buffer == key for load in _fixed_loads(self, stage)):
            return False
        reading = [s for s in stage.starts if _reads((s,), key)]
        return len(reading) == 1 and _is_whole(reading[0])

    # ---------------------------------------------------------------------------- the carry

    def writers(self, var: Atom) -> tuple[list[Stage], Atom | None]:
        """The stages that write the memory of a value, the last one first; and what the first of
        them finds there: an input of the graph, or nothing."""
        stages: list[Stage] = []
        while True:
            stage = self.placement.by_key.get(self.placement.keys.get(var, ""))
            if stage is None:
                return stages, var
            stages.append(stage)
            x = next((x for x, result in self.pairs[stage] if result is var), None)
            if x is None:
                return stages, None
            if self.placement.keys.get(x, "") in self.placement.by_key and not self.may_take(
                stage, x
            ):
                return stages, None
            if x not in self.inputs and x not in self.placement.producers:
                return stages, None  # a constant
            if isinstance(x, Var) and x in self.placement.producers and x not in self._stored:
                return stages, None
            var = x

    @cached_property
    def _stored(self) -> set[Var]:
        return {v for s in self.placement.stages for v in s.results}

    def root(self, var: Atom) -> int | None:
        """The number of the input that a result is, changed or as it was."""
        stages, x = self.writers(var)
        if x is None and stages[-1].kind == "map":  # a copy
            body = stages[-1].body
            if isinstance(body, Load) and _is_whole(stages[-1]):
                x = self.placement.atoms[body.buffer]
        return self.inputs.get(x) if isinstance(x, Var) else None

    def settles(self, before: Var, after: Atom) -> bool:
        """Tell whether a body may write what it hands on where it was handed something: no stage
        reads that any more, or each element just before it is overwritten."""
        stages, x = self.writers(after)
        if not stages:
            return x is before
        head, key = stages[-1], self.placement.keys.get(before, "")
        late = False
        for reader in (s for s in self.ordered if key in s.reads):
            if self.item[reader] < self.item[head]:
                continue
            if x is before:
                if reader is not head or not self._reads_in_time(head, key):
                    return False
            elif self.item[reader] > self.item[head]:
                return False
            elif self._is_late(reader, head, key):
                late = True
            elif not self._is_in_step(reader, head, key):
                return False
        if late:
            self.late.add(head)
        return True

    def _is_late(self, reader: Stage, head: Stage, key: str) -> bool:
        """Tell whether a stage reads an element in the innermost loop that writes it, but after
        that: then all elements are computed first, and written when the iteration ends."""
        path = self.fused.paths[head]
        return (
            head.kind == "map"
            and bool(path)
            and len(path) == len(head.order)
            and self.fused.paths[reader] == path
            and self.position[reader] > self.position[head]
            and self._reads_own_elements(reader, head, key, head.rank)
        )

    def _is_in_step(self, reader: Stage, head: Stage, key: str) -> bool:
        """Tell whether a stage in the loops of another one reads, before that writes anything in
        the iteration of the loops that they share, only elements of this iteration."""
        if head.kind not in ("map", "reduce", "scan"):
            return False
        if head.kind == "reduce" and head.rank == 0:
            return True  # which is written when the loop has ended
        if self.position[reader] > self.position[head]:
            return False
        shared = 0
        for mine, theirs in zip(self.fused.paths[reader], self.fused.paths[head], strict=False):
            if mine is not theirs or shared == head.rank:
                break
            shared += 1
        is_together = shared > 0 or head.rank == 0
        return is_together and self._reads_own_elements(reader, head, key, shared)

    def _reads_own_elements(self, reader: Stage, head: Stage, key: str, shared: int) -> bool:
        """Tell whether the elements that a stage reads have the subscripts of those that another
        one writes in the same iteration of the loops that they share."""
        values = {
            mine: Dim.of(theirs)
            for mine, theirs in zip(reader.order[:shared], head.order[:shared], strict=True)
        }
        inner = {Dim.of(s) for s in head.order[shared:]}
        return all(
            target in inner or substitute(i, values) == target
            for load in reader.reads[key]
            for i, target in zip(load.index, head.index, strict=True)
        )


def _fixed_loads(sharing: Sharing, stage: Stage) -> Iterator[Load]:
    """The elements that the parts of a loop or branch read of its fixed operands."""
    assert stage.control is not None
    placement = sharing.placement
    for atom in stage.control.fixed:
        index = tuple(Dim.symbol(f"a{k}", 0, d) for k, d in enumerate(atom.type.shape))
        yield from loads_of(placement.element(atom, index))


def _is_whole(stage: Stage) -> bool:
    """Tell whether the elements of a stage are those of another value."""
    return isinstance(stage.body, Load) and stage.body.index == stage.index


def _reads(stages: tuple[Stage, ...], key: str) -> bool:
    expressions = [e for s in stages for e in (s.body, *s.bound.values()) if e is not None]
    return any(load.buffer == key for load in loads_of(*expressions))


def stages_of(items: list[Nest | Stage]) -> Iterator[Stage]:
    """The stages of loops and of what stands between them, in order."""
    for item in items:
        if isinstance(item, Nest):
            yield from _leaves(item.items)
        else:
            yield item


def _leaves(items: list[Nest | Stage]) -> Iterator[Stage]:
    for item in items:
        if isinstance(item, Nest):
            yield from _leaves(item.items)
        else:
            yield item
