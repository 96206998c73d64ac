"""Buffers: each temporary gets a place in the workspace; those that never live together share."""

from __future__ import annotations

from dataclasses import replace

from transpile.cost import count
from transpile.loops import Program
from transpile.options import Options
from transpile.walks import used_buffers

ALIGNMENT = 64


def buffers(program: Program, options: Options) -> Program:
    """The program with offsets for its temporaries, first fit in the order of their first use."""
    lives: dict[str, tuple[int, int]] = {}
    for position, kernel in enumerate(program.kernels):
        for name in used_buffers(kernel)[0]:
            first, _ = lives.get(name, (position, position))
            lives[name] = (first, position)
    temporaries = tuple(
        sorted((b for b in program.temporaries if b.name in lives), key=lambda b: lives[b.name])
    )
    placed: list[tuple[int, int, tuple[int, int]]] = []
    offsets = []
    for buffer in temporaries:
        size = -(-count(buffer.size_in_bytes) // ALIGNMENT) * ALIGNMENT
        start, end = lives[buffer.name]
        offset = 0
        for low, high, (other_start, other_end) in sorted(placed):
            apart = end < other_start or start > other_end
            if not apart and low < offset + size and offset < high:
                offset = high
        placed.append((offset, offset + size, (start, end)))
        offsets.append(offset)
    return replace(
        program,
        temporaries=temporaries,
        offsets=tuple(offsets),
        workspace=max((high for _, high, _ in placed), default=0),
    )
