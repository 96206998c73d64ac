"""The calling convention of kernels: which runtime sizes and buffers are parameters, and how they
are passed."""

from __future__ import annotations

from transpile.ir.dims import Symbol, symbols_of
from transpile.ir.loop_ir import Alloc, Buffer, Kernel, Program, Swap
from transpile.ir.loop_rewrite import (
    bools_as_bytes,
    seen_by,
    symbols_read,
    used_buffers,
    walk,
    written,
)
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True)
class Parameter:
    """A buffer that a kernel takes.

    buffer      with the kernel's shape
    outer       with the program's shape
    is_written  the kernel writes it; others are const
    is_swapped  the kernel swaps its pointer with another one's, which `restrict` would forbid
    by_value    it is a number, not a pointer
    as_bytes    its bools are read as integers
    is_constant it is a global constant of the program
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
        """True if the kernel and the program have different types of pointers for the array."""
        if len(self.buffer.shape) >= 2:
            return True
        return len(self.outer.shape) > 1 if self.is_constant else self.as_bytes


class CallingConvention:
    """The parameters of a program's kernels, worked out once for each."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._order = {name: k for k, name in enumerate(program.buffers())}
        self._bytes = bools_as_bytes(program)
        self.constants = frozenset(b.name for b in program.constants)
        self._of_kernels: dict[str, tuple[Parameter, ...]] = {}

    def reads_bytes(self, buffer: Buffer) -> bool:
        """True if the bools of a buffer are read as integers, as compilers vectorise."""
        return bool(buffer.shape) and buffer.name in self._bytes

    def all_bytes(self, kernel: Kernel) -> frozenset[str]:
        """The arrays of bools that a kernel reads as integers, constants among them."""
        taken = {p.buffer.name for p in self.parameters(kernel) if p.as_bytes}
        return frozenset(taken | (self.constants & self._bytes))

    def parameters(self, kernel: Kernel) -> tuple[Parameter, ...]:
        """The parameters of a kernel, in the order of the program's buffers. Constants are global,
        so only one that the kernel sees in another shape is a parameter."""
        if kernel.name not in self._of_kernels:
            self._of_kernels[kernel.name] = self._taken(kernel)
        return self._of_kernels[kernel.name]

    def sizes(self, kernel: Kernel) -> tuple[Symbol, ...]:
        """The runtime sizes that a kernel takes: those in its subscripts and in the shapes of its
        arrays."""
        sizes = (*self._program.sizes, *(length for length, _ in self._program.lengths))
        if not sizes:
            return ()
        read = set().union(*map(symbols_read, kernel.body))
        local = (s.buffer.shape for s in walk(kernel.body) if isinstance(s, Alloc))
        for shape in (*local, *(p.buffer.shape for p in self.parameters(kernel))):
            read.update(*map(symbols_of, shape))
        return tuple(size for size in sizes if size in read)

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
