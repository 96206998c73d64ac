"""Compaction by all blocks: C's loop stores each element behind the last one that was selected, one
after the other. Here each tile counts its flags, the prefix sums of these say where its elements
begin, and then all tiles move theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from transpile.intrinsics.scans import CumulativeSum
from transpile.ir.calls import Strided
from transpile.ir.dims import Dim, Index, bounds
from transpile.ir.indices.row_major import blocks_of
from transpile.ir.loop_ir import (
    Apply,
    Buffer,
    Declare,
    DType,
    Expr,
    For,
    If,
    IndexValue,
    Kernel,
    Load,
    Program,
    Ref,
    Statement,
    Store,
    Update,
)
from transpile.ir.loop_rewrite import names_in, names_read
from transpile.ir.types import BOOL, INT64
from transpile.symbols.identifiers import Names
from transpile.targets.cuda.gpu import Gpu
from transpile.targets.cuda.routines.calls import CompactElements, CompactPositions, CountFlags
from transpile.util.frozen_records import dataclass, replace

FLAGS = 16  # those of a thread, as in choose_in_tile.cu.j2


def with_compactions(program: Program, gpu: Gpu) -> Program:
    """The program whose loops that compact elements are calls of routines."""
    places = frozenset(place for _, place in program.lengths)
    if not places:
        return program
    maker = _Compactions(Names(names_in(program)), FLAGS * gpu.block, places)
    kernels = tuple(map(maker.kernel, program.kernels))
    return replace(program, kernels=kernels, temporaries=(*program.temporaries, *maker.temporaries))


@dataclass(frozen=True)
class _Compaction:
    """A loop that counts where `mask` holds, and stores elements there."""

    loop: For
    count: Ref
    mask: Expr
    lets: tuple[Declare, ...]
    stores: tuple[Store, ...]


class _Compactions:
    def __init__(self, names: Names, tile: int, places: frozenset[str]) -> None:
        self.names = names
        self.tile = tile
        self.places = places
        self.temporaries: list[Buffer] = []

    def kernel(self, kernel: Kernel) -> Kernel:
        """A kernel with its compactions by routines."""
        body: list[Statement] = []
        for number, statement in enumerate(kernel.body):
            known = _compaction(statement)
            if known is not None and self._is_length(known.count, kernel.body[number + 1 :]):
                body += self._statements(known)
            else:
                body.append(statement)
        return replace(kernel, body=tuple(body))

    def _is_length(self, count: Ref, behind: Sequence[Statement]) -> bool:
        """True if a number becomes a length: nothing reads what the loop stores behind that many
        elements."""
        stored = (s for s in behind if isinstance(s, Store) and s.value == count)
        return any(store.buffer in self.places for store in stored)

    def _statements(self, known: _Compaction) -> Iterator[Statement]:
        n, tiles = known.loop.stop, blocks_of(known.loop.stop, self.tile)
        at = (Dim.of(known.loop.symbol),)
        flags = self._array("flags", n, BOOL)
        stores = [Store(flags.buffer, at, known.mask)]
        moved: list[tuple[Strided | None, Store]] = []
        for store in known.stores:
            x = None
            if isinstance(store.value, Load) and store.value.index == at:
                x = Strided(replace(store.value, index=(0,)))
            elif store.value != IndexValue(at[0]):
                x = self._array("values", n, store.value.dtype)
                stores.append(Store(x.buffer, at, store.value))
            moved.append((x, store))
        yield replace(known.loop, body=(*_needed(known.lets, stores), *stores), simd=False)
        counts, ends = (self._array(name, tiles, INT64) for name in ("counts", "ends"))
        yield CountFlags(n, tiles, flags, counts)
        yield CumulativeSum(1, tiles, 0, counts, ends)
        for x, store in moved:
            out = Strided(Load(store.buffer, (0,), store.value.dtype))
            if x is None:
                yield CompactPositions(n, tiles, flags, ends, out)
            else:
                yield CompactElements(n, tiles, flags, ends, x, out)
        whole = Update(known.count, "set", Load(ends.buffer, (tiles - 1,), INT64))
        if (bounds(n)[0] or 0) > 0:
            yield whole
        else:
            is_some = Apply("less", (IndexValue(0), IndexValue(n)), BOOL)
            yield If(is_some, (whole,))

    def _array(self, name: str, size: Index, dtype: DType) -> Strided:
        buffer = Buffer(self.names.new(name), (size,), dtype)
        self.temporaries.append(buffer)
        return Strided(Load(buffer.name, (0,), dtype))


def _compaction(statement: Statement) -> _Compaction | None:
    """A statement as a compaction; None for another one."""
    if not isinstance(statement, For) or statement.start != 0 or statement.limit is not None:
        return None
    if statement.ordered:  # the user's, who may read all elements
        return None
    *before, last = statement.body
    stores = tuple(s for s in before if isinstance(s, Store))
    lets = tuple(s for s in before if isinstance(s, Declare) and s.constant)
    if not stores or len(stores) + len(lets) < len(before) or not _counts(last):
        return None
    assert isinstance(last, Update) and isinstance(last.target, Ref)
    assert isinstance(last.value, Apply)
    places = [s for s in lets if s.value == last.target and s.symbol is not None]
    if len(places) != 1 or places[0].symbol is None:
        return None
    place = places[0]
    others = tuple(s for s in lets if s is not place)
    values = (*(s.value for s in others), *(s.value for s in stores), last.value)
    read = {name for value in values for name in names_read(Declare("", value))}
    at = (Dim.of(places[0].symbol),)
    if not read.isdisjoint({place.name, last.target.name}) or any(s.index != at for s in stores):
        return None
    return _Compaction(statement, last.target, last.value.args[0], others, stores)


def _counts(statement: Statement) -> bool:
    """True for what adds a truth to a number."""
    if not isinstance(statement, Update) or not isinstance(statement.target, Ref):
        return False
    value = statement.value
    if statement.op != "add" or not isinstance(value, Apply) or len(value.args) != 1:
        return False
    return value.dtype == INT64 and value.args[0].dtype == BOOL


def _needed(lets: Sequence[Declare], stores: Sequence[Store]) -> tuple[Declare, ...]:
    """The variables that are needed for what is stored."""
    needed: list[Declare] = []
    read = {name for store in stores for name in names_read(store)}
    for let in reversed(lets):
        if let.name in read:
            needed.append(let)
            read |= names_read(let)
    return tuple(reversed(needed))
