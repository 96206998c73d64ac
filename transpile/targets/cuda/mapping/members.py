"""How many threads a team has, and how many of its iterations each: the longest row decides.

A thread has a few elements of a row, so that several loads are on their way at a time, and no more
than its registers hold: a short row has part of a warp, a long one a block of up to 1024 threads.
"""

from __future__ import annotations

from transpile.analysis.cost_model import work
from transpile.ir.dims import Index, Symbol
from transpile.ir.indices.row_major import product
from transpile.ir.loop_ir import For, Statement
from transpile.symbols.identifiers import Names
from transpile.targets.cuda.device_ir import Body, Over, Spread, Team
from transpile.targets.cuda.gpu import WARP, Gpu
from transpile.util.frozen_records import dataclass

# The work (`analysis.cost_model.work`) of all iterations of a loop that is unrolled.
_MOST_UNROLLED = 1 << 11


@dataclass(frozen=True)
class Members:
    """The threads of a block, and who of them is a team; `lanes` of a warp."""

    team: Team
    threads: int
    lanes: int = WARP

    @property
    def count(self) -> int:
        """The threads of a team."""
        return {Team.THREAD: 1, Team.WARP: self.lanes, Team.BLOCK: self.threads}[self.team]

    @property
    def words(self) -> str:
        """Who a team is, in words."""
        if self.team is Team.WARP and self.lanes < WARP:
            return f"{self.lanes} lanes of a warp"
        return f"a {self.team.value}"

    @property
    def teams(self) -> int:
        """The teams of a block."""
        return self.threads // self.count


def of_warp(longest: int, gpu: Gpu) -> Members:
    """The part of a warp for rows of so many elements."""
    lanes = min(WARP, _power_of_two(-(-longest // gpu.elements_of_lane)))
    return Members(Team.WARP, gpu.block, lanes)


def of_block(longest: int, gpu: Gpu) -> Members:
    """The block for rows of so many elements."""
    wanted = _power_of_two(-(-longest // gpu.elements_of_thread))
    return Members(Team.BLOCK, max(min(gpu.block, 2 * WARP), min(wanted, gpu.most_threads)))


def _power_of_two(count: int) -> int:
    """The least power of two that is as large."""
    return 1 << max(0, count - 1).bit_length()


def dealt_out(
    loops: tuple[For, ...], over: Over, body: tuple[Statement, ...], item: str, members: int,
    names: Names, most_turns: int,
) -> Spread:  # fmt: skip
    """The iterations of a nest, dealt out to so many members: in an unrolled loop where there are
    few for each."""
    total = product(loop.extent for loop in loops)
    device: Body = body
    if not isinstance(total, int) or total < 1:
        return Spread(loops, over, device, item)
    turns = -(-total // members)
    if turns > most_turns or turns * sum(map(work, body)) > _MOST_UNROLLED:
        return Spread(loops, over, device, item)
    turn = Symbol(names.new("turn"), 0, turns) if turns > 1 else None
    fills = loops[0].limit is None and turns > 1
    whole = is_whole(loops, total, members)
    return Spread(loops, over, device, item, turns, turn, whole, fills)


def is_whole(loops: tuple[For, ...], total: Index, members: int) -> bool:
    """True if each of so many members has an iteration in each turn."""
    is_full = isinstance(total, int) and total > 0 and total % members == 0
    return is_full and loops[0].limit is None
