"""Local arrays: a small temporary that one kernel uses is an array of that kernel.

Compilers keep the elements of a small array in registers when they see that nobody else can.
"""

from __future__ import annotations

from dataclasses import replace

from transpile.loops import Alloc, For, Kernel, Program, Swap
from transpile.options import Options
from transpile.walks import used_buffers, walk, written

# In bytes.
LARGEST = 256


def local_arrays(program: Program, options: Options) -> Program:
    """The program with such temporaries declared where they are used."""
    users: dict[str, int] = {}
    for kernel in program.kernels:
        for name in used_buffers(kernel)[0]:
            users[name] = users.get(name, 0) + 1
    fixed = {
        n for k in program.kernels for s in walk(k.body) if isinstance(s, Swap) for n in written(s)
    }
    chosen = {
        b.name: b
        for b in program.temporaries
        if users.get(b.name) == 1
        and b.name not in fixed
        and isinstance(b.size_in_bytes, int)
        and b.size_in_bytes <= LARGEST
    }

    def changed(kernel: Kernel) -> Kernel:
        own = [chosen[n] for n in used_buffers(kernel)[0] if n in chosen]
        is_sequence = any(isinstance(s, For) and s.ordered for s in walk(kernel.body))
        if not own or not is_sequence:
            return kernel
        for buffer in own:
            del chosen[buffer.name]
            gone.add(buffer.name)
        shapes = tuple((n, s) for n, s in kernel.shapes if n not in gone)
        seen = dict(kernel.shapes)
        allocs = tuple(Alloc(replace(b, shape=seen.get(b.name, b.shape))) for b in own)
        return replace(kernel, body=(*allocs, *kernel.body), shapes=shapes)

    gone: set[str] = set()
    kernels = tuple(map(changed, program.kernels))
    temporaries = tuple(b for b in program.temporaries if b.name not in gone)
    return replace(program, kernels=kernels, temporaries=temporaries)
