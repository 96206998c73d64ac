"""Map kernels to the grid: whom the iterations of their loops are dealt to.

    independent loops, nothing inside          a thread an iteration, striding over the grid
    independent loops around long ones         a warp or a block an iteration: a *team*, which
                                               shares the inner loops (`team.py`)
    anything else                              one block, whose threads share what they can
    a call of a routine                        as many blocks as it has use for

Where neighbouring iterations of the outer loop read neighbouring elements, and the inner loop
strides through memory, as in a sum over columns, a thread an iteration is the better choice once
there are enough of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from transpile.analysis.cost_model import trips
from transpile.analysis.loop_dependences import accumulators
from transpile.ir.calls import Call
from transpile.ir.dims import Dim, bounds, substitute, symbols_of
from transpile.ir.indices.estimates import estimate
from transpile.ir.indices.row_major import product
from transpile.ir.loop_ir import (
    Alloc,
    Buffer,
    Declare,
    For,
    If,
    Kernel,
    Statement,
    While,
)
from transpile.ir.loop_rewrite import accesses, loads, walk, written
from transpile.symbols.identifiers import Names
from transpile.targets.cuda.device_ir import (
    Body,
    DeviceKernel,
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
from transpile.targets.cuda.mapping.team import TeamBody, rectangular
from transpile.targets.cuda.routines import routine

_OVER = {Team.THREAD: Over.GRID_THREADS, Team.WARP: Over.GRID_WARPS, Team.BLOCK: Over.GRID_BLOCKS}
_SAYS = {
    Team.THREAD: "a thread for each {}",
    Team.WARP: "a warp for each {}",
    Team.BLOCK: "a block for each {}",
}


class Mapper:
    """Maps the kernels of a program; `temporaries` are the arrays that this takes in addition."""

    def __init__(self, names: Names, gpu: Gpu) -> None:
        self.names = names
        self.gpu = gpu
        self.temporaries: list[Buffer] = []

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
        team = TeamBody(Team.BLOCK, kernel, self.gpu, self.names)
        body = with_barriers(team.body(kernel.body), Team.BLOCK)
        self.temporaries += team.slices(1)
        return DeviceKernel(kernel, body, 1, 1, self.gpu.block, 1, "one block")

    def _call(self, kernel: Kernel, call: Call) -> DeviceKernel:
        """A routine, shared out among blocks."""
        called = routine(call, kernel.source, self.gpu, is_shared_out=True)
        return DeviceKernel(
            kernel, (called.call,), called.items, 1, self.gpu.block, self.gpu.most_blocks,
            called.mapping,
        )  # fmt: skip

    def _spread(self, kernel: Kernel, before: Sequence[Statement], loop: For) -> DeviceKernel:
        gpu = self.gpu
        loops, inner = rectangular(loop, may_be_spread)
        team = self._team(loops, inner)
        count = product(f.extent for f in loops)
        item = self.names.inner().new("item") if len(loops) > 1 else ""
        body: Body = inner
        arrays: Body = ()
        most, threads = gpu.most_blocks, gpu.block
        if team is not Team.THREAD:
            members = TeamBody(team, kernel, gpu, self.names)
            made = members.body(inner)
            arrays = tuple(s for s in made if isinstance(s, Shared | Slice))
            own = (s.buffer.name for s in walk_device(made) if isinstance(s, Shared | Slice))
            made = tuple(s for s in made if not isinstance(s, Shared | Slice))
            body = with_barriers(made, team, frozenset(own))
            slices = members.slices(gpu.most_slices)
            self.temporaries += slices
            most = gpu.most_slices if slices else most
        per_block = {Team.THREAD: threads, Team.WARP: threads // WARP, Team.BLOCK: 1}[team]
        what = " and ".join(f.symbol.name for f in loops)
        spread = Spread(loops, _OVER[team], body, item)
        return DeviceKernel(
            kernel,
            (*before, *arrays, spread),
            count,
            per_block,
            threads,
            most,
            _SAYS[team].format(what),
        )

    def _team(self, loops: Sequence[For], body: tuple[Statement, ...]) -> Team:
        """Who runs an iteration of these loops."""
        gpu = self.gpu
        inside = list(walk(body))
        arrays = [s.buffer for s in inside if isinstance(s, Alloc)]
        if any(isinstance(s, Call) for s in inside):
            return Team.BLOCK
        if any(_bytes(b) is None for b in arrays):
            return Team.BLOCK
        shared = sum(_bytes(b) or 0 for b in arrays)
        rows = list(_rows(body))
        longest = max(map(trips, rows), default=0)
        is_large = shared > gpu.local_bytes
        if not is_large and (longest < gpu.shortest_of_team or self._has_enough(loops, rows)):
            return Team.THREAD
        warps = gpu.block // WARP
        if longest <= gpu.longest_of_warp and shared * warps <= gpu.shared_bytes:
            return Team.WARP
        return Team.BLOCK

    def _has_enough(self, loops: Sequence[For], rows: Sequence[For]) -> bool:
        """True if a thread an iteration reads memory in order, and there are enough of them."""
        if estimate(product(f.extent for f in loops)) < self.gpu.enough_iterations:
            return False
        along = sum(_contiguous(row, loops[-1]) for row in rows)
        return along > sum(_contiguous(row, row) for row in rows)


def _reads_before(before: Sequence[Statement]) -> set[str]:
    """The arrays that are read before a nest: if it writes one of them, threads of the grid that
    begin late would read what others have written."""
    return {load.buffer for statement in before for load in loads(statement)}


def _rows(body: tuple[Statement, ...]) -> Iterator[For]:
    """The loops that a team could share, the outermost ones."""
    for statement in body:
        if isinstance(statement, For):
            if may_be_spread(statement) or accumulators(statement):
                yield statement
            else:
                yield from _rows(statement.body)
        elif isinstance(statement, If):
            yield from _rows((*statement.body, *statement.orelse))
        elif isinstance(statement, While):
            yield from _rows((*statement.test, *statement.body))


def _contiguous(nest: For, loop: For) -> int:
    """The accesses in a nest that the next iteration of a loop makes one element further on."""
    following = {loop.symbol: Dim.of(loop.symbol) + 1}
    return sum(
        substitute(index[-1], following) - index[-1] == 1
        for statement in walk((nest,))
        for _, index in accesses(statement)
        if index and loop.symbol in symbols_of(index[-1])
    )


def _bytes(buffer: Buffer) -> int | None:
    """The bytes of an array, if that is known."""
    return bounds(buffer.size_in_bytes)[1]
