"""What each kernel computes and moves, and when the arrays of the workspace are in use."""

from __future__ import annotations

from collections.abc import Mapping

from transpile.analysis.cost_model import Cost, body_cost, kernel_bytes
from transpile.explore.places import Places
from transpile.ir.dims import Dim, Index, Shape, substitute
from transpile.ir.indices.estimates import estimate
from transpile.ir.loop_ir import LOCATED, Buffer, Kernel, Program
from transpile.ir.loop_rewrite import map_statement, used_buffers, walk
from transpile.util.frozen_records import dataclass, replace


@dataclass(frozen=True)
class KernelCost:
    """A kernel, its costs for nominal runtime sizes, and its lines of Python."""

    name: str
    cost: Cost
    places: tuple[int, ...]

    @property
    def operations(self) -> int:
        """The operations, elementary functions as one each."""
        return self.cost.flops + self.cost.transcendentals

    @property
    def intensity(self) -> float:
        """Operations for a byte that is moved."""
        return self.operations / self.cost.bytes if self.cost.bytes else 0.0


@dataclass(frozen=True)
class Lifetime:
    """A temporary in the workspace: its bytes, and the first and the last kernel that use it."""

    name: str
    offset: int
    size: int
    first: int
    last: int


def kernel_costs(program: Program, places: Places) -> tuple[KernelCost, ...]:
    """The kernels in their order."""
    found = []
    for kernel in program.kernels:
        sources = [kernel.source, *(s.source for s in walk(kernel.body) if isinstance(s, LOCATED))]
        numbers = {n for s in sources for n in places.at(s.file, s.line)}
        cost = body_cost(kernel.body) + Cost(bytes=kernel_bytes(program, kernel))
        found.append(KernelCost(kernel.name, cost, tuple(sorted(numbers))))
    return tuple(found)


def for_sizes(program: Program, sizes: Mapping[str, int]) -> Program:
    """A program with numbers for its runtime sizes, to be counted: what it needs of memory, and
    what it refuses, stays as it is."""
    known = {s: sizes[s.name] // s.unit for s in program.sizes if s.name in sizes}
    if not known:
        return program

    def counted(index: Index) -> Index:
        return substitute(index, known) if isinstance(index, Dim) else index

    def shaped(shape: Shape) -> Shape:
        return tuple(map(counted, shape))

    def of(buffers: tuple[Buffer, ...]) -> tuple[Buffer, ...]:
        return tuple(replace(b, shape=shaped(b.shape)) for b in buffers)

    def of_kernel(kernel: Kernel) -> Kernel:
        body = tuple(map_statement(s, lambda e: e, counted) for s in kernel.body)
        shapes = tuple((name, shaped(shape)) for name, shape in kernel.shapes)
        return replace(kernel, body=body, shapes=shapes)

    return replace(
        program,
        inputs=of(program.inputs),
        outputs=of(program.outputs),
        temporaries=of(program.temporaries),
        offsets=shaped(program.offsets),
        kernels=tuple(map(of_kernel, program.kernels)),
    )


def lifetimes(program: Program) -> tuple[Lifetime, ...]:
    """The temporaries that kernels use, in the order of their offsets."""
    users: dict[str, list[int]] = {}
    for number, kernel in enumerate(program.kernels):
        for name in used_buffers(kernel)[0]:
            users.setdefault(name, []).append(number)
    found = [
        Lifetime(
            b.name, estimate(offset), estimate(b.size_in_bytes), users[b.name][0], users[b.name][-1]
        )
        for b, offset in zip(program.temporaries, program.offsets, strict=True)
        if b.name in users
    ]
    return tuple(sorted(found, key=lambda one: one.offset))
