"""How the functions of kernels are called: which buffers they take, and how."""

from __future__ import annotations

from transpile.ir.loop_ir import Buffer, Kernel, Program, Swap
from transpile.ir.loop_rewrite import deciding, seen_by, used_buffers, walk, written
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True)
class Parameter:
    """A buffer that a kernel takes.

    buffer      as the kernel sees it
    outer       as the program has it
    is_written  the kernel writes it; others are const
    is_swapped  the kernel exchanges it with another one, which `restrict` would forbid
    by_value    it is one number, which is passed itself
    as_bytes    its bools are read as numbers
    is_constant it has been a global array
    """

    buffer: Buffer
    outer: Buffer
    is_written: bool
    is_swapped: bool
    by_value: bool
    as_bytes: bool
    is_constant: bool

    @property
    def needs_cast(self) -> bool:
        """Tell whether the array has another type for the program than for the kernel."""
        if len(self.buffer.shape) >= 2:
            return True
        return len(self.outer.shape) > 1 if self.is_constant else self.as_bytes


class CallingConvention:
    """The parameters of a program's kernels, worked out once for each."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._order = {name: k for k, name in enumerate(program.buffers())}
        self._deciding = deciding(program)
        self.constants = frozenset(b.name for b in program.constants)
        self._of_kernels: dict[str, tuple[Parameter, ...]] = {}

    def reads_bytes(self, buffer: Buffer) -> bool:
        """Tell whether the bools of a buffer are read as numbers: compilers vectorise a choice by
        loaded numbers, not by loaded bools."""
        return bool(buffer.shape) and buffer.name in self._deciding

    def parameters(self, kernel: Kernel) -> tuple[Parameter, ...]:
        """What a kernel takes, in the order in which the program has its buffers. A constant is
        global, so only one that the kernel sees in another shape is a parameter."""
        if kernel.name not in self._of_kernels:
            self._of_kernels[kernel.name] = self._taken(kernel)
        return self._of_kernels[kernel.name]

    def _taken(self, kernel: Kernel) -> tuple[Parameter, ...]:
        used, writes = used_buffers(kernel)
        seen = seen_by(self._program, kernel)
        outer = self._program.buffers()
        globals_ = self.constants.difference(name for name, _ in kernel.shapes)
        swapped = {n for s in walk(kernel.body) if isinstance(s, Swap) for n in written(s)}
        return tuple(
            Parameter(
                seen[name],
                outer[name],
                is_written=name in writes,
                is_swapped=name in swapped,
                by_value=not seen[name].shape and name not in writes,
                as_bytes=name not in writes and self.reads_bytes(seen[name]),
                is_constant=name in self.constants,
            )
            for name in sorted((n for n in used if n not in globals_), key=self._order.__getitem__)
        )
