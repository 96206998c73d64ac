"""Linearise subscripts: access a reshaped contiguous array by its flat index where that is simpler.

Reading x (6, 4) through a reshape to (3, 8) gives the subscripts x[(8*i + j)//4][(8*i + j)%4]; as
one flat array it is x[8*i + j]. Legal for whole buffers of a kernel, which then sees them in one
dimension.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import COALESCED, LINEAR_SUBSCRIPTS, OWN_SHAPES
from transpile.ir.dims import Index, Shape, Symbol
from transpile.ir.indices.row_major import product, recombine, row_major
from transpile.ir.loop_ir import Alloc, Buffer, Kernel, Program, Swap
from transpile.ir.loop_rewrite import accesses, map_accesses, map_kernels, seen_by, walk
from transpile.options import Options
from transpile.util.frozen_records import replace


@contract(provides=(LINEAR_SUBSCRIPTS,), destroys=(OWN_SHAPES, COALESCED))
def linearize(program: Program, options: Options) -> Program:
    """The program with such buffers one-dimensional, kernel by kernel."""
    return map_kernels(program, lambda kernel: _kernel(program, kernel))


def _kernel(program: Program, kernel: Kernel) -> Kernel:
    local = {s.buffer.name for s in walk(kernel.body) if isinstance(s, Alloc)}
    buffers = seen_by(program, kernel)
    chosen: dict[str, Shape] = {}
    for statement in walk(kernel.body):
        for name, index in accesses(statement):
            if (
                name not in local
                and not all(map(is_polynomial, index))
                and is_polynomial(recombine(row_major(index, buffers[name].shape)))
            ):
                chosen[name] = buffers[name].shape
    _complete(chosen, kernel, buffers, local)
    if not chosen:
        return kernel

    def flat(name: str, index: Shape) -> Shape:
        return (recombine(row_major(index, chosen[name])),) if name in chosen else index

    views = {name: (product(shape),) for name, shape in chosen.items()}
    return replace(
        kernel,
        body=tuple(map_accesses(s, flat) for s in kernel.body),
        shapes=tuple(sorted((dict(kernel.shapes) | views).items())),
    )


def _complete(
    chosen: dict[str, Shape], kernel: Kernel, buffers: Mapping[str, Buffer], local: Set[str]
) -> None:
    """Buffers that are exchanged have one shape: they are chosen together, or neither of them where
    one is local."""
    swaps = [{s.first, s.second} for s in walk(kernel.body) if isinstance(s, Swap)]
    kept = {*local}
    while halves := [swap for swap in swaps if chosen.keys() & swap and swap - chosen.keys()]:
        if halves[0] & kept:
            kept |= halves[0]
        for name in halves[0]:
            if name in kept:
                chosen.pop(name, None)
            else:
                chosen[name] = buffers[name].shape


def is_polynomial(index: Index) -> bool:
    """True if an index has neither quotients nor remainders."""
    return isinstance(index, int) or all(
        isinstance(atom, Symbol) for monomial, _ in index.terms for atom in monomial
    )
