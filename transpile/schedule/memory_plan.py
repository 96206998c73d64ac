"""Plan the workspace: temporaries whose live ranges do not overlap share memory.

Live ranges are intervals of kernels; offsets are first fit in the order of first use (linear scan).
"""

from __future__ import annotations

from bisect import bisect_left
from heapq import heappop, heappush

from transpile.analysis.cost_model import count
from transpile.errors import UnsupportedError
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import WORKSPACE_PLANNED
from transpile.ir.loop_ir import Program
from transpile.ir.loop_rewrite import used_buffers
from transpile.ir.types import MOST
from transpile.options import Options
from transpile.util.frozen_records import replace

ALIGNMENT = 64


@contract(provides=(WORKSPACE_PLANNED,))
def plan_memory(program: Program, options: Options) -> Program:
    """The program with an offset in the workspace for each temporary."""
    lives: dict[str, tuple[int, int]] = {}
    for position, kernel in enumerate(program.kernels):
        for name in used_buffers(kernel)[0]:
            first, _ = lives.get(name, (position, position))
            lives[name] = (first, position)
    temporaries = tuple(
        sorted((b for b in program.temporaries if b.name in lives), key=lambda b: lives[b.name])
    )
    space = Space()
    alive: list[tuple[int, int, int]] = []  # a heap: last kernel, first byte, end
    offsets = []
    for buffer in temporaries:
        size = -(-count(buffer.size_in_bytes) // ALIGNMENT) * ALIGNMENT
        start, end = lives[buffer.name]
        while alive and alive[0][0] < start:
            space.free(*heappop(alive)[1:])
        offsets.append(space.take(size))
        heappush(alive, (end, offsets[-1], offsets[-1] + size))
    if space.size > MOST:
        largest = max(temporaries, key=lambda b: count(b.size_in_bytes))
        source = program.kernels[lives[largest.name][0]].source
        raise UnsupportedError(
            f"{source}: {program.name} needs a workspace of {space.size} bytes, more than 2**63 - 1"
        )
    return replace(
        program,
        temporaries=temporaries,
        offsets=tuple(offsets),
        workspace=space.size,
    )


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
