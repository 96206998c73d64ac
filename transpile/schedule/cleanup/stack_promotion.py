"""Stack promotion: small temporaries of one kernel become local arrays of it.

A local array is allocated in the innermost statement sequence that contains all uses. Compilers
keep the elements of small ones in registers, because nothing can alias them, and iterations that
own their arrays are independent.
"""

from __future__ import annotations

from collections.abc import Callable

from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import (
    PROMOTED,
    SCALARS_REPLACED,
    STACK_BOUNDED,
    WORKSPACE_PLANNED,
)
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
from transpile.schedule.cleanup.scalar_replacement import accessed_buffers, by_sequence
from transpile.util.frozen_records import replace

Body = tuple[Statement, ...]


# A variable is better than an array of one element.
@contract(
    requires=(SCALARS_REPLACED,),
    provides=(PROMOTED,),
    destroys=(WORKSPACE_PLANNED, STACK_BOUNDED),
)
def promote_to_stack(program: Program, options: Options) -> Program:
    """The program with such temporaries allocated where they are used."""
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
    promoted: set[str] = set()

    def changed(kernel: Kernel) -> Kernel:
        if not any(map(is_sequence, walk(kernel.body))):
            return kernel
        seen = dict(kernel.shapes)
        own = {
            n: replace(small[n], shape=seen.get(n, small[n].shape))
            for n in used_buffers(kernel)[0]
            if n in small
        }
        promoted.update(own)
        shapes = tuple((n, s) for n, s in kernel.shapes if n not in own)
        return replace(kernel, body=_with_allocs(kernel.body, own), shapes=shapes)

    kernels = tuple(map(changed, program.kernels))
    temporaries = tuple(b for b in program.temporaries if b.name not in promoted)
    return replace(program, kernels=kernels, temporaries=temporaries)


def _with_allocs(body: Body, own: dict[str, Buffer]) -> Body:
    """The statements with these arrays allocated here, or in the only nested sequence that uses
    them."""
    here, inside = by_sequence(body, own)
    changed = tuple(
        with_bodies(s, _within({n: own[n] for n in inside[k]})) if k in inside else s
        for k, s in enumerate(body)
    )
    return (*(Alloc(own[n]) for n in here), *changed)


def _within(own: dict[str, Buffer]) -> Callable[[Body], Body]:
    def nested(body: Body) -> Body:
        names = accessed_buffers(body)
        return _with_allocs(body, {n: b for n, b in own.items() if n in names})

    return nested
