"""Map kernels to the grid: whom the iterations of their loops are dealt to.

    independent loops, nothing inside          a thread an iteration
    independent loops around long ones         a warp or a block an iteration: a *team*, which
                                               shares the inner loops (`team.py`)
    anything else                              one block, whose threads share what they can
    a call of a routine                        as many blocks as it has use for

Where neighbouring iterations of the outer loop read neighbouring elements, and the inner loop
strides through memory, as in a sum over columns, a thread an iteration is the better choice once
there are enough of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from transpile.analysis.cost_model import trips, work
from transpile.analysis.loop_dependences import accumulators
from transpile.ir.calls import Call, Strided
from transpile.ir.dims import Index, Symbol, bounds
from transpile.ir.indices.estimates import estimate
from transpile.ir.indices.row_major import blocks_of, product
from transpile.ir.loop_ir import (
    Alloc,
    Buffer,
    Declare,
    For,
    If,
    Kernel,
    Load,
    Statement,
    Store,
    While,
)
from transpile.ir.loop_rewrite import declared_names, loads, walk, written
from transpile.ir.types import FLOAT32, UINT8
from transpile.symbols.identifiers import Names
from transpile.targets.cuda.device_ir import (
    Barrier,
    Body,
    DeviceKernel,
    DeviceStatement,
    LibraryCall,
    Over,
    Shared,
    Slice,
    Spread,
    Team,
    walk_device,
)
from transpile.targets.cuda.gpu import WARP, Gpu
from transpile.targets.cuda.mapping.barriers import with_barriers
from transpile.targets.cuda.mapping.launches import may_be_spread
from transpile.targets.cuda.mapping.members import Members, is_whole, of_block, of_warp
from transpile.targets.cuda.mapping.packs import packed, rows_by_packs
from transpile.targets.cuda.mapping.slices import contiguous
from transpile.targets.cuda.mapping.team import TeamBody, rectangular, slices
from transpile.targets.cuda.mapping.tiles import jammed, tiled
from transpile.targets.cuda.routines.functions import routine
from transpile.targets.cuda.routines.library_products import library_product
from transpile.targets.cuda.scatters.tables import Tables, with_tables
from transpile.util.frozen_records import replace

_OVER = {Team.THREAD: Over.GRID_THREADS, Team.WARP: Over.GRID_WARPS, Team.BLOCK: Over.GRID_BLOCKS}
# A grid of so many blocks has a member for each iteration of any loop.
_ENOUGH_BLOCKS = (1 << 31) - 1


class Mapper:
    """Maps the kernels of a program; `temporaries` are the arrays that this takes in addition."""

    def __init__(self, names: Names, gpu: Gpu, buffers: Mapping[str, Buffer]) -> None:
        self.names = names
        self.buffers = buffers
        self.gpu = gpu
        self.temporaries: list[Buffer] = []

    def library_call(self, kernel: Kernel) -> LibraryCall | None:
        """A kernel that is a call which a library makes; None for others."""
        if len(kernel.body) != 1 or not isinstance(kernel.body[0], Call):
            return None
        call = library_product(kernel.body[0], self.gpu)
        if call is None:
            return None
        room = Buffer(self.names.new("library_workspace"), (self.gpu.library_workspace,), UINT8)
        self.temporaries.append(room)
        call = replace(call, workspace=Strided(Load(room.name, (0,), UINT8)))
        return LibraryCall(replace(kernel, body=(call,)))

    def kernel(self, kernel: Kernel) -> DeviceKernel:
        """The kernel as one launch."""
        *before, last = kernel.body
        if not before and isinstance(last, Call):
            return self._call(kernel, last)
        if (
            isinstance(last, For)
            and may_be_spread(last)
            and all(isinstance(s, Declare) for s in before)
            and _reads_before(before).isdisjoint(n for s in walk((last,)) for n in written(s))
        ):
            return self._spread(kernel, before, last)
        members = self._one_block(kernel.body)
        made = TeamBody(members, kernel, self.gpu, self.names).whole(kernel.body)
        self.temporaries += slices(made, 1)
        body = with_barriers(made, Team.BLOCK)
        body = rows_by_packs(body, members.count, self.gpu, self.names.inner())
        return DeviceKernel(kernel, body, 1, 1, members.threads, WARP, 1, "one block")

    def _call(self, kernel: Kernel, call: Call) -> DeviceKernel:
        """A routine, shared out among blocks."""
        called = routine(call, kernel.source, self.gpu, is_shared_out=True)
        return DeviceKernel(
            kernel, (called.call,), called.items, 1, called.threads or self.gpu.block, WARP,
            self.gpu.most_blocks, called.mapping,
        )  # fmt: skip

    def _spread(self, kernel: Kernel, before: Sequence[Statement], loop: For) -> DeviceKernel:
        loops, inner = rectangular(loop, may_be_spread)
        members = self._members(loops, inner)
        what = " and ".join(f.symbol.name for f in loops)
        names = self.names.inner()
        if members.team is not Team.THREAD:
            made = TeamBody(members, kernel, self.gpu, self.names).whole(inner)
            return self._of_teams(kernel, before, loops, made, members, names, what)
        by_tiles = tiled(loops, inner, self.gpu, names)
        if by_tiles is not None:
            made = (*by_tiles.arrays, *by_tiles.body)
            return self._of_teams(
                kernel, before, by_tiles.loops, made, by_tiles.members, names, f"tile of {what}"
            )
        tables = with_tables(loops, inner, self.buffers, self.gpu, names)
        if tables is not None:
            return self._with_tables(kernel, before, loops, tables, members, names)
        by_packs = packed(loops, inner, self.gpu, names)
        body: Body = inner
        rest = None
        if by_packs is not None:
            loops, body, rest, what = (
                by_packs.loops,
                by_packs.body,
                by_packs.rest,
                f"pack of {what}",
            )
        loops, body = jammed(loops, body, inner, self.gpu, names)
        turns = 1 if by_packs is not None or body is not inner else self._turns(loops, inner)
        return self._launch(
            kernel, before, loops, body, members, names, what, rest=rest, turns=turns
        )

    def _with_tables(
        self, kernel: Kernel, before: Sequence[Statement], loops: tuple[For, ...], tables: Tables,
        members: Members, names: Names,
    ) -> DeviceKernel:  # fmt: skip
        """Blocks that update tables of their own, and with these the elements in memory."""
        by_packs = packed(loops, tables.body, self.gpu, names)
        body: Body = tables.body
        if by_packs is not None:
            loops, body = by_packs.loops, by_packs.body
        item = names.new("item") if len(loops) > 1 else ""
        spreads = [Spread(loops, Over.GRID_THREADS, body, item)]
        if by_packs is not None and by_packs.rest is not None:
            rest = by_packs.rest
            spreads.append(Spread((rest,), Over.GRID_THREADS, rest.body))
        barrier = Barrier(Team.BLOCK)
        whole = (*before, *tables.before, barrier, *spreads, barrier, *tables.behind)
        return DeviceKernel(
            kernel, whole, product(f.extent for f in loops), members.threads, members.threads,
            members.lanes, tables.blocks, "blocks with tables of their own",
        )  # fmt: skip

    def _turns(self, loops: Sequence[For], body: tuple[Statement, ...]) -> int:
        """The iterations of a thread, so that several loads are on their way."""
        total = product(f.extent for f in loops)
        most = self.gpu.turns_of_thread
        is_enough = isinstance(total, int) and total >= most * self.gpu.enough_threads
        is_small = most * sum(map(work, body)) <= self.gpu.most_pack_work
        has_loops = any(isinstance(s, For | While) for s in walk(body))
        return most if is_enough and is_small and not has_loops else 1

    def _of_teams(
        self, kernel: Kernel, before: Sequence[Statement], loops: tuple[For, ...], made: Body,
        members: Members, names: Names, what: str,
    ) -> DeviceKernel:  # fmt: skip
        """A team for each iteration; the arrays that it has are those of the next one, too."""
        arrays = tuple(s for s in made if isinstance(s, Shared | Slice))
        own = (s.buffer.name for s in walk_device(made) if isinstance(s, Shared | Slice))
        in_memory = slices(made, self.gpu.most_slices)
        made = tuple(s for s in made if not isinstance(s, Shared | Slice))
        self.temporaries += in_memory
        most = self.gpu.most_blocks
        most = min(most, self.gpu.most_slices) if in_memory else most
        is_once = self._has_all(product(f.extent for f in loops), members.teams, most)
        body = with_barriers(made, members.team, None if is_once else frozenset(own))
        body = rows_by_packs(body, members.count, self.gpu, names)
        return self._launch(
            kernel, (*before, *arrays), loops, body, members, names, what, most=most
        )

    def _launch(
        self, kernel: Kernel, before: Sequence[DeviceStatement], loops: tuple[For, ...],
        body: Body, members: Members, names: Names, what: str, most: int = 0,
        rest: For | None = None, turns: int = 1,
    ) -> DeviceKernel:  # fmt: skip
        """The iterations of loops dealt to teams of the grid, so many `turns` to each; `rest` has a
        thread for each."""
        most = most or self.gpu.most_blocks
        item = names.new("item") if len(loops) > 1 else ""
        count = product(f.extent for f in loops)
        per_block = members.teams * turns
        turns = turns if self._has_all(count, per_block, most) else 0
        turn = Symbol(names.new("turn"), 0, turns) if turns > 1 else None
        whole = turns > 0 and rest is None and is_whole(loops, count, per_block)
        spread = Spread(loops, _OVER[members.team], body, item, turns, turn, whole)
        behind = () if rest is None else (Spread((rest,), Over.GRID_THREADS, rest.body, "", 1),)
        return DeviceKernel(
            kernel, (*before, spread, *behind), count, per_block, members.threads,
            members.lanes, most, f"{members.words} for each {what}",
        )  # fmt: skip

    def _has_all(self, count: Index, per_block: int, most: int) -> bool:
        """True if a grid of at most so many blocks has a member for each iteration."""
        needed = blocks_of(count, per_block)
        return needed <= most if isinstance(needed, int) else most >= _ENOUGH_BLOCKS

    def _one_block(self, body: tuple[Statement, ...]) -> Members:
        """The block that runs statements by itself."""
        if any(isinstance(s, Call) for s in walk(body)):
            return Members(Team.BLOCK, self.gpu.block)
        longest = max(map(trips, _rows(body, self.gpu)), default=0)
        return Members(Team.BLOCK, max(self.gpu.block, of_block(longest, self.gpu).threads))

    def _members(self, loops: Sequence[For], body: tuple[Statement, ...]) -> Members:
        """Who runs an iteration of these loops."""
        gpu = self.gpu
        inside = list(walk(body))
        arrays = [s.buffer for s in inside if isinstance(s, Alloc)]
        if any(isinstance(s, Call) for s in inside):
            return Members(Team.BLOCK, gpu.block)
        rows = list(_rows(body, gpu))
        # A thread has twice as many halves of a row, which are as many bytes.
        halves = 2 if _widest(body) <= FLOAT32.itemsize // 2 else 1
        longest = max(map(trips, rows), default=0) // halves
        if any(_bytes(b) is None for b in arrays):
            return of_block(longest, gpu)
        shared = sum(_bytes(b) or 0 for b in arrays)
        is_large = shared > gpu.local_bytes
        if not is_large and (longest < gpu.shortest_of_team or self._has_enough(loops, rows)):
            return Members(Team.THREAD, gpu.block)
        members = of_warp(longest, gpu)
        if longest <= gpu.longest_of_warp and shared * members.teams <= gpu.shared_bytes:
            return members
        return of_block(longest, gpu)

    def _has_enough(self, loops: Sequence[For], rows: Sequence[For]) -> bool:
        """True if a thread an iteration reads memory in order, and there are enough of them."""
        if estimate(product(f.extent for f in loops)) < self.gpu.enough_iterations:
            return False
        along = sum(contiguous(row, loops[-1]) for row in rows)
        return along > sum(contiguous(row, row, loops) for row in rows)


def _reads_before(before: Sequence[Statement]) -> set[str]:
    """The arrays that are read before a nest: if it writes one of them, threads of the grid that
    begin late would read what others have written."""
    return {load.buffer for statement in before for load in loads(statement)}


def _rows(body: tuple[Statement, ...], gpu: Gpu) -> Iterator[For]:
    """The loops that a team could share, the outermost ones that are long enough, or that have none
    of these inside."""
    for statement in body:
        match statement:
            case For():
                inner = list(_rows(statement.body, gpu))
                is_shared = may_be_spread(statement) or bool(accumulators(statement))
                is_short = trips(statement) < gpu.shortest_of_team
                if is_shared and not (is_short and any(trips(f) > trips(statement) for f in inner)):
                    yield statement
                else:
                    yield from inner
            case If():
                yield from _rows((*statement.body, *statement.orelse), gpu)
            case While():
                yield from _rows((*statement.test, *statement.body), gpu)
            case _:
                pass


def _widest(body: tuple[Statement, ...]) -> int:
    """The bytes of the largest elements of arrays in memory that statements read or store."""
    inside, own = list(walk(body)), declared_names(body)
    dtypes = [load.dtype for s in inside for load in loads(s) if load.buffer not in own]
    dtypes += [s.value.dtype for s in inside if isinstance(s, Store) and s.buffer not in own]
    return max((dtype.itemsize for dtype in dtypes), default=FLOAT32.itemsize)


def _bytes(buffer: Buffer) -> int | None:
    """The bytes of an array, if that is known."""
    return bounds(buffer.size_in_bytes)[1]
