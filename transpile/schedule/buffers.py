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
    placed: list[tuple[int, int, int]] = []  # first byte, end, last kernel of those alive
    offsets = []
    workspace = 0
    for buffer in temporaries:
        size = -(-count(buffer.size_in_bytes) // ALIGNMENT) * ALIGNMENT
        start, end = lives[buffer.name]
        placed = [p for p in placed if p[2] >= start]  # the others are free from here on
        offset = 0
        for low, high, _ in sorted(placed):
            if low < offset + size and offset < high:
                offset = high
        placed.append((offset, offset + size, end))
        offsets.append(offset)
        workspace = max(workspace, offset + size)
    return replace(
        program,
        temporaries=temporaries,
        offsets=tuple(offsets),
        workspace=workspace,
    )
