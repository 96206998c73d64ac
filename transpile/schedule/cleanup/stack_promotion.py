"""Local arrays: a small temporary that one kernel uses is an array of that kernel, in the innermost
sequence of statements in which all its uses stand.

Compilers keep the elements of a small array in registers when they see that nobody else can; and
iterations that have arrays of their own may run on several threads.
"""

from __future__ import annotations

from collections.abc import Callable

from transpile.ir.loop_ir import Alloc, Buffer, Kernel, Program, Statement, Swap
from transpile.ir.loop_rewrite import (
    is_sequence,
    of_one_kernel,
    used_buffers,
    walk,
    with_bodies,
    written,
)
from transpile.options import Options
from transpile.schedule.cleanup.scalar_replacement import by_sequence, touched
from transpile.util.frozen_records import replace

Body = tuple[Statement, ...]


def promote_to_stack(program: Program, options: Options) -> Program:
    """The program with such temporaries declared where they are used."""
    alone = of_one_kernel(program)
    statements = (s for k in program.kernels for s in walk(k.body))
    fixed = {n for s in statements if isinstance(s, Swap) for n in written(s)}
    small = {
        b.name: b
        for b in program.temporaries
        if b.name in alone
        and b.name not in fixed
        and isinstance(b.size_in_bytes, int)
        and b.size_in_bytes <= options.machine.promoted_bytes
    }
    gone: set[str] = set()

    def changed(kernel: Kernel) -> Kernel:
        if not any(map(is_sequence, walk(kernel.body))):
            return kernel
        seen = dict(kernel.shapes)
        own = {
            n: replace(small[n], shape=seen.get(n, small[n].shape))
            for n in used_buffers(kernel)[0]
            if n in small
        }
        gone.update(own)
        shapes = tuple((n, s) for n, s in kernel.shapes if n not in own)
        return replace(kernel, body=_declared(kernel.body, own), shapes=shapes)

    kernels = tuple(map(changed, program.kernels))
    temporaries = tuple(b for b in program.temporaries if b.name not in gone)
    return replace(program, kernels=kernels, temporaries=temporaries)


def _declared(body: Body, own: dict[str, Buffer]) -> Body:
    """The statements with these arrays declared here, or in the only sequence that uses them."""
    here, inside = by_sequence(body, own)
    changed = tuple(
        with_bodies(s, _within({n: own[n] for n in inside[k]})) if k in inside else s
        for k, s in enumerate(body)
    )
    return (*(Alloc(own[n]) for n in here), *changed)


def _within(own: dict[str, Buffer]) -> Callable[[Body], Body]:
    def used(body: Body) -> Body:
        names = touched(body)
        found = {n: b for n, b in own.items() if n in names}
        return _declared(body, found)

    return used
