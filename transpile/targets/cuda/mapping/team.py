"""Statements as a team runs them: the threads of a block or of a warp, together.

All have the same scalars: those declared outside of the loops that they share. A loop with
independent iterations is dealt out (`Spread`); one that is independent but for accumulators is,
too, and its parts are combined behind it. A loop or branch around such loops is run by all. What is
left is sequential: if it only computes scalars, all threads do so; if it writes memory, the first
one does, and the others take its scalars.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from transpile.analysis.cost_model import trips
from transpile.analysis.loop_dependences import accumulators
from transpile.ir.calls import Call
from transpile.ir.dims import bounds, symbols_of
from transpile.ir.indices.row_major import product
from transpile.ir.loop_ir import (
    Alloc,
    Buffer,
    Declare,
    For,
    If,
    Kernel,
    Literal,
    Ref,
    Statement,
    Store,
    Swap,
    Update,
    While,
)
from transpile.ir.loop_rewrite import declared_names, indices, map_statement, parts, walk, written
from transpile.ir.types import FLOAT64
from transpile.primitives.reductions import identity
from transpile.symbols.identifiers import Names
from transpile.targets.cuda.device_ir import (
    Body,
    Combine,
    DeviceStatement,
    FromFirst,
    Over,
    Shared,
    Single,
    Slice,
    Team,
    Together,
    walk_device,
)
from transpile.targets.cuda.gpu import Gpu
from transpile.targets.cuda.mapping.launches import may_be_spread
from transpile.targets.cuda.mapping.members import Members, dealt_out
from transpile.targets.cuda.mapping.registers import with_registers
from transpile.targets.cuda.routines.functions import routine
from transpile.util.frozen_records import replace

_OVER = {Team.WARP: Over.WARP_LANES, Team.BLOCK: Over.BLOCK_THREADS}


def rectangular(
    loop: For, may_join: Callable[[Statement], bool]
) -> tuple[tuple[For, ...], tuple[Statement, ...]]:
    """The loops of a perfect nest whose bounds do not depend on each other, and its body."""
    loops = [loop]
    while len(loops[-1].body) == 1:
        inner = loops[-1].body[0]
        if not (isinstance(inner, For) and may_join(inner)):
            break
        outside = {f.symbol for f in loops}
        ends = symbols_of(inner.start) | symbols_of(inner.stop)
        if ends & outside or inner.limit is not None or loops[-1].limit is not None:
            break
        loops.append(inner)
    return tuple(loops), loops[-1].body


class TeamBody:
    """Makes the bodies that a team runs, of one kernel."""

    def __init__(self, members: Members, kernel: Kernel, gpu: Gpu, names: Names) -> None:
        self.members = members
        self.team = members.team
        self.source = kernel.source
        self.reads = Counter(_names_read(kernel.body))
        self.gpu = gpu
        self.names = names
        self.own = names.inner()  # of the kernel
        self.shared_bytes = 0

    def whole(self, statements: tuple[Statement, ...]) -> Body:
        """Statements, in order, with what a thread reads again in registers."""
        return with_registers(self.body(statements), self.gpu, self.own)

    def body(self, statements: tuple[Statement, ...]) -> Body:
        """Statements, in order."""
        made: list[DeviceStatement] = []
        for statement in statements:
            for one in self._statement(statement, statements):
                if isinstance(one, Single) and made and isinstance(made[-1], Single):
                    one = Single((*made.pop().body, *one.body), self.team)  # type: ignore[union-attr]
                made.append(one)
        return tuple(made)

    def _statement(
        self, statement: Statement, around: tuple[Statement, ...]
    ) -> Iterator[DeviceStatement]:
        match statement:
            case Declare() | Update(target=Ref()) | Swap():
                yield statement
            case Store() | Update():
                yield Single((statement,), self.team)
            case Alloc():
                yield self._array(statement.buffer)
            case Call():
                yield routine(statement, self.source, self.gpu).call
            case For():
                yield from self._loop(statement, around)
            case If() if self._is_for_all(statement):
                yield Together(statement, (self.body(statement.body), self.body(statement.orelse)))
            case While() if self._is_for_all(statement):
                yield Together(statement, (self.body(statement.test), self.body(statement.body)))
            case _:
                yield from self._sequential(statement)

    # ------------------------------------------------------------------------------------- loops

    def _loop(self, loop: For, around: tuple[Statement, ...]) -> Iterator[DeviceStatement]:
        inner_is_longer = trips(loop) < self.gpu.shortest_of_team and any(
            trips(f) > trips(loop) for f in self._shared_loops(loop.body)
        )
        if self._may_spread(loop) and not inner_is_longer:
            yield from self._spread(loop, around)
        elif self._is_for_all(loop):
            yield Together(loop, (self.body(loop.body),))
        elif self._may_spread(loop):
            yield from self._spread(loop, around)
        else:
            yield from self._sequential(loop)

    def _may_spread(self, loop: For) -> bool:
        """True if threads may have iterations each, and arrays of their own in these."""
        inside = list(walk(loop.body))
        if any(isinstance(s, Call | Swap) for s in inside):
            return False
        if any(not self._is_small(s.buffer) for s in inside if isinstance(s, Alloc)):
            return False
        return is_independent_or_sum(loop)

    def _is_small(self, buffer: Buffer) -> bool:
        size = bounds(buffer.size_in_bytes)[1]
        return size is not None and size <= self.gpu.local_bytes

    def _shared_loops(self, body: tuple[Statement, ...]) -> Iterator[For]:
        return (s for s in walk(body) if isinstance(s, For) and self._may_spread(s))

    def _is_for_all(self, statement: For | If | While) -> bool:
        """True if there is something inside that a team shares, or has to run together."""
        return any(isinstance(s, Swap | Call) for s in walk((statement,))) or any(
            f is not statement for f in self._shared_loops((statement,))
        )

    def _spread(self, loop: For, around: tuple[Statement, ...]) -> Iterator[DeviceStatement]:
        sums = accumulators(loop) or {}
        renamed: dict[str, Ref] = {}
        for name, update in sums.items():
            if not _starts_neutral(name, update, around, loop):
                part = Ref(self.own.new(f"{name}_part"), update.target.dtype)
                start = identity(update.op, part.dtype).value
                yield Declare(part.name, Literal(start[()], part.dtype), constant=False)
                renamed[name] = part
        if renamed:
            loop = _renamed(loop, renamed)
        loops, body = rectangular(loop, self._joins(loop))
        item = self.own.new("item") if len(loops) > 1 else ""
        yield dealt_out(
            loops, _OVER[self.team], body, item, self.members.count, self.own, self.gpu.most_turns
        )
        for name, update in sums.items():
            target = Ref(name, update.target.dtype)
            yield Combine(target, update.op, renamed.get(name, target), self.team)

    def _joins(self, loop: For) -> Callable[[Statement], bool]:
        """Whether an inner loop shares the iterations of a loop."""

        def joins(inner: Statement) -> bool:
            if not isinstance(inner, For) or not self._may_spread(inner):
                return False
            return set(accumulators(inner) or ()) == set(accumulators(loop) or ())

        return joins

    # ------------------------------------------------------------------------- sequential parts

    def _sequential(self, statement: Statement) -> Iterator[DeviceStatement]:
        """A statement that one thread at a time can run."""
        inside = list(walk((statement,)))
        if any(isinstance(s, Call | Swap) for s in inside):
            raise AssertionError(f"{statement} is for all threads")
        own = declared_names((statement,))
        if all(name in own for s in inside for name in written(s)):
            yield statement  # scalars: all threads compute them
            return
        yield Single((statement,), self.team)
        updated = {
            s.target.name: s.target
            for s in inside
            if isinstance(s, Update) and isinstance(s.target, Ref) and s.target.name not in own
        }
        here = Counter(_names_read((statement,)))
        for name, target in updated.items():
            if self.reads[name] > here[name]:
                yield FromFirst(target, self.team)

    # ------------------------------------------------------------------------------------ arrays

    def _array(self, buffer: Buffer) -> DeviceStatement:
        """An array that the team shares: in shared memory while there is some left."""
        teams = self.members.teams
        size = bounds(buffer.size_in_bytes)[1]
        aligned = None if size is None else -(-size // FLOAT64.itemsize) * FLOAT64.itemsize * teams
        if aligned is not None and self.shared_bytes + aligned <= self.gpu.shared_bytes:
            self.shared_bytes += aligned
            return Shared(buffer, self.team, teams)
        return Slice(buffer, self.names.new(f"{buffer.name}_slices"))


def slices(body: Body, count: int) -> list[Buffer]:
    """The buffers of a body that have a slice for each of so many blocks."""
    return [
        replace(s.buffer, name=s.home, shape=(product(s.buffer.shape) * count,))
        for s in walk_device(body)
        if isinstance(s, Slice)
    ]


def is_independent_or_sum(loop: For) -> bool:
    """True if the iterations of a loop are independent, but for accumulators at most."""
    return may_be_spread(loop) or bool(accumulators(loop))


def _names_read(body: tuple[Statement, ...]) -> Iterator[str]:
    """The scalars that statements read, as often as they do."""
    for statement in walk(body):
        yield from (part.name for part in parts(statement) if isinstance(part, Ref))
        for index in indices(statement):
            yield from (symbol.name for symbol in symbols_of(index))


def _renamed(loop: For, parts: dict[str, Ref]) -> For:
    mapped = map_statement(loop, lambda e: parts.get(e.name, e) if isinstance(e, Ref) else e)
    assert isinstance(mapped, For)
    return mapped


def _starts_neutral(name: str, update: Update, around: tuple[Statement, ...], loop: For) -> bool:
    """True if an accumulator has its neutral start when the loop begins: the statements around it
    declare it so, and none before the loop updates it."""
    start = Literal(identity(update.op, update.target.dtype).value[()], update.target.dtype)
    is_neutral = False
    for statement in around:
        if statement is loop:
            return is_neutral
        if isinstance(statement, Declare) and statement.name == name:
            is_neutral = statement.value == start
        elif any(isinstance(s, Update) and s.target == update.target for s in walk((statement,))):
            is_neutral = False
    return False
