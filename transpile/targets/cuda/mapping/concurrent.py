"""One launch for kernels that do not depend on each other: each has some blocks of the grid.

A launch takes longer than a small kernel, and a kernel that does not fill the device leaves the
rest of it idle: a step of an optimiser has one for each of its parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from transpile.ir.indices.row_major import blocks_of
from transpile.symbols.identifiers import Names
from transpile.targets.cuda.device_ir import (
    DeviceKernel,
    Over,
    Section,
    Slice,
    Spread,
    Step,
    TeamCall,
    used_by,
    with_steps,
)
from transpile.targets.cuda.gpu import Gpu
from transpile.util.frozen_records import replace

_OF_GRID = (Over.GRID_THREADS, Over.GRID_WARPS, Over.GRID_BLOCKS)


def side_by_side(steps: Iterable[Step], gpu: Gpu, names: Names) -> tuple[Step, ...]:
    """The steps with kernels that may run at once in one launch."""
    made: list[Step] = []
    group: list[DeviceKernel] = []

    def close() -> None:
        if group:
            made.append(_together(group, names))
        group.clear()

    for step in steps:
        if not isinstance(step, DeviceKernel):
            close()
            made.append(with_steps(step, lambda inner: side_by_side(inner, gpu, names)))
            continue
        if not _may_join(step, group, gpu):
            close()
        group.append(step)
    close()
    return tuple(made)


def _may_join(kernel: DeviceKernel, group: Sequence[DeviceKernel], gpu: Gpu) -> bool:
    """True if a kernel may run beside all of a group."""
    every = [*group, kernel]
    if len({(k.threads, k.lanes) for k in every}) > 1 or not all(map(_has_own_blocks, every)):
        return False
    pointers = {name for k in every for name in used_by(k)[0]}
    if len(every) > gpu.most_sections or len(pointers) > gpu.most_pointers:
        return False
    used, writes = used_by(kernel)
    for other in group:
        others_used, others_writes = used_by(other)
        if not (writes.isdisjoint(others_used) and others_writes.isdisjoint(used)):
            return False
    return True


def _has_own_blocks(kernel: DeviceKernel) -> bool:
    """True if it is known how many blocks a kernel has, and nothing else in it depends on that."""
    if not isinstance(_blocks(kernel), int):
        return False
    return not any(
        isinstance(s, Slice | TeamCall)
        or (isinstance(s, Spread) and s.over in _OF_GRID and not s.turns)
        for s in kernel.walk()
    )


def _blocks(kernel: DeviceKernel) -> int | None:
    needed = blocks_of(kernel.items, kernel.per_block)
    return max(needed, 1) if isinstance(needed, int) else None


def _together(group: Sequence[DeviceKernel], names: Names) -> DeviceKernel:
    """The kernel of a group."""
    first, *others = group
    if not others:
        return first
    sections: list[Section] = []
    start = 0
    number = names.inner().new("block")
    for kernel in group:
        blocks = _blocks(kernel)
        assert blocks is not None
        sections.append(Section(start, blocks, kernel.body, number))
        start += blocks
    comment = dict.fromkeys(line for k in group for line in k.kernel.comment)
    whole = replace(
        first.kernel,
        name=names.new(f"{first.kernel.name}_and_others"),
        body=tuple(s for k in group for s in k.kernel.body),
        comment=tuple(comment),
    )
    mapping = dict.fromkeys(k.mapping for k in group)
    return DeviceKernel(
        whole, tuple(sections), start, 1, first.threads, first.lanes, start, ", ".join(mapping)
    )
