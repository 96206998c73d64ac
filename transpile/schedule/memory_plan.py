"""Plan the workspace: temporaries whose live ranges do not overlap share memory.

Live ranges are intervals of kernels; offsets are first fit in the order of first use (linear scan).
Arrays whose sizes depend on runtime sizes lie behind the others, each in a slot, which arrays that
are provably no larger share.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from heapq import heappop, heappush

from transpile.errors import UnsupportedError
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import WORKSPACE_PLANNED
from transpile.ir.dims import Dim, Index, bounds, floor_divide, symbols_of
from transpile.ir.indices.estimates import estimate
from transpile.ir.indices.lengths import Room, most_of
from transpile.ir.loop_ir import Program
from transpile.ir.loop_rewrite import used_buffers
from transpile.ir.types import MOST
from transpile.options import Options
from transpile.util.frozen_records import replace

ALIGNMENT = 64
# The first kernel and the last one that use an array.
Life = tuple[int, int]


@contract(provides=(WORKSPACE_PLANNED,))
def plan_memory(program: Program, options: Options) -> Program:
    """The program with an offset in the workspace for each temporary."""
    lives: dict[str, Life] = {}
    for position, kernel in enumerate(program.kernels):
        for name in used_buffers(kernel)[0]:
            first, _ = lives.get(name, (position, position))
            lives[name] = (first, position)
    temporaries = tuple(
        sorted((b for b in program.temporaries if b.name in lives), key=lambda b: lives[b.name])
    )
    needs = [(lives[b.name], aligned(most_of(b.size_in_bytes))) for b in temporaries]
    known = [(life, size) for life, size in needs if isinstance(size, int)]
    offsets, end = _packed(known)
    if end > MOST:
        largest = max(temporaries, key=lambda b: estimate(b.size_in_bytes))
        source = program.kernels[lives[largest.name][0]].source
        raise UnsupportedError(
            f"{source}: {program.name} needs a workspace of {end} bytes, more than 2**63 - 1"
        )
    unknown = [(life, size) for life, size in needs if not isinstance(size, int)]
    behind, whole = _in_slots(unknown, end)
    placed, behind_them = iter(offsets), iter(behind)
    return replace(
        program,
        temporaries=temporaries,
        offsets=tuple(next(placed if isinstance(size, int) else behind_them) for _, size in needs),
        workspace=whole,
    )


def aligned(size: Index) -> Index:
    """A number of bytes, rounded up to whole lines of the cache."""
    return floor_divide(size + (ALIGNMENT - 1), ALIGNMENT) * ALIGNMENT


def _packed(needs: Sequence[tuple[Life, int]]) -> tuple[list[int], int]:
    """The offsets of arrays, in the order of their first uses, and the end of the last one."""
    space = Space()
    alive: list[tuple[int, int, int]] = []  # a heap: last kernel, first byte, end
    offsets = []
    for (start, end), size in needs:
        while alive and alive[0][0] < start:
            space.free(*heappop(alive)[1:])
        offsets.append(space.take(size))
        heappush(alive, (end, offsets[-1], offsets[-1] + size))
    return offsets, space.size


def _in_slots(needs: Sequence[tuple[Life, Dim]], start: int) -> tuple[list[Index], Index]:
    """The offsets of arrays whose sizes are not known, from a byte on, and the end of the last
    slot. An array takes the first free slot that is provably large enough."""
    slots: list[tuple[Dim, int]] = []  # size, last kernel
    taken: list[int] = []
    for (first, last), size in needs:
        fitting = (k for k, (room, end) in enumerate(slots) if end < first and _fits(size, room))
        number = next(fitting, len(slots))
        if number == len(slots):
            slots.append((size, last))
        slots[number] = (slots[number][0], last)
        taken.append(number)
    ends: list[Index] = [start]
    for room, _ in slots:
        ends.append(ends[-1] + room)
    return [ends[number] for number in taken], ends[-1]


def _fits(size: Dim, room: Dim) -> bool:
    """True if an array fits into a slot: the room for a length says nothing of that for others."""
    if size == room:
        return True
    if any(isinstance(s, Room) for s in symbols_of(size) - symbols_of(room)):
        return False
    slack = bounds(room - size)[0]
    return slack is not None and slack >= 0


class Space:
    """Memory that grows from 0 to `size`; `gaps` are its free intervals [first byte, end), in
    order, none adjacent to another."""

    def __init__(self) -> None:
        self.size = 0
        self.gaps: list[tuple[int, int]] = []

    def take(self, size: int) -> int:
        """The first byte of the first gap that is large enough, or of new memory at the end."""
        if size == 0:
            return 0
        for k, (low, high) in enumerate(self.gaps):
            if high - low >= size:
                self.gaps[k : k + 1] = [(low + size, high)] if high - low > size else []
                return low
        is_last_free = bool(self.gaps) and self.gaps[-1][1] == self.size
        low = self.gaps.pop()[0] if is_last_free else self.size
        self.size = low + size
        return low

    def free(self, low: int, high: int) -> None:
        """Return the bytes from `low` to `high`."""
        if low == high:
            return
        k = bisect_left(self.gaps, (low, high))
        if k < len(self.gaps) and self.gaps[k][0] == high:
            high = self.gaps.pop(k)[1]
        if k and self.gaps[k - 1][1] == low:
            k -= 1
            low = self.gaps.pop(k)[0]
        self.gaps.insert(k, (low, high))
