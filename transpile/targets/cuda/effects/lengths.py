"""Lengths that depend on values: numbers in the memory of the device, which each kernel reads that
runs to one. The host knows their bounds, by which it plans memory and grids, and waits for none.

What is required of lengths is a kernel of one thread behind those that find them, what is required
of the caller's sizes one before all others: where it does not hold, the program has failed
(`failures.py`), and nothing is written that there is no memory for.
"""

from __future__ import annotations

from transpile.ir.dims import Symbol, symbols_of
from transpile.ir.graph import UNKNOWN_SOURCE
from transpile.ir.loop_ir import (
    Apply,
    Declare,
    If,
    IndexValue,
    Kernel,
    Load,
    Program,
)
from transpile.ir.loop_rewrite import names_in, used_buffers
from transpile.ir.types import BOOL, INT64
from transpile.symbols.identifiers import Names
from transpile.targets.cuda.device_ir import DeviceKernel, symbols_of_kernel
from transpile.util.frozen_records import replace

# The codes of a program whose lengths are not as required: downwards from here, by their numbers.
FIRST_REFUSED = -4


class Lengths:
    """The lengths of a program.

    program       the program, with kernels for what is required
    requirements  by the names of these the codes of the program
    """

    def __init__(self, program: Program) -> None:
        self._places = dict(program.lengths)
        self.requirements: dict[str, int] = {}
        self.program = self._with_requirements(program)

    def _with_requirements(self, program: Program) -> Program:
        names = Names(names_in(program))
        kernels: list[Kernel] = []
        known: set[Symbol] = set()
        for kernel in (None, *program.kernels):  # sizes of the caller's are known before the first
            if kernel is None:
                now = {*program.sizes}
            else:
                kernels.append(kernel)
                written = used_buffers(kernel)[1]
                now = {s for s, b in program.lengths if b in written and s not in known}
            known |= now
            for number, (smaller, larger, text) in enumerate(program.required):
                asked = symbols_of(larger - smaller)
                if now & asked and asked <= known:
                    values = IndexValue(larger), IndexValue(smaller)
                    name = names.new(f"{program.name}_required")
                    body = (If(Apply("less", values, BOOL), ()),)
                    source = UNKNOWN_SOURCE if kernel is None else kernel.source
                    kernels.append(Kernel(name, body, source, (f"Fails where {text}.",)))
                    self.requirements[name] = FIRST_REFUSED - number
        return replace(program, kernels=tuple(kernels))

    def read(self, kernel: DeviceKernel) -> DeviceKernel:
        """A mapped kernel that knows the lengths that it uses."""
        used = symbols_of_kernel(kernel) & self._places.keys()
        if not used:
            return kernel
        declared = tuple(
            Declare(s.name, Load(self._places[s], (), INT64), symbol=s)
            for s in sorted(used, key=str)
        )
        loops = replace(kernel.kernel, body=(*declared, *kernel.kernel.body))
        return replace(kernel, kernel=loops, body=(*declared, *kernel.body))
