"""The calling convention of kernels: which runtime sizes and buffers are parameters, and how they
are passed."""

from __future__ import annotations

from transpile.ir.calls import Call
from transpile.ir.dims import Symbol, symbols_of
from transpile.ir.loop_ir import Alloc, Apply, Buffer, Kernel, Program, Statement, Swap
from transpile.ir.loop_rewrite import (
    loads,
    parts,
    seen_by,
    symbols_read,
    used_buffers,
    walk,
    written,
)
from transpile.ir.types import BOOL
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True)
class Parameter:
    """A buffer that a kernel takes.

    buffer      with the kernel's shape
    outer       with the program's shape
    is_written  the kernel writes it; others are const
    is_swapped  the kernel swaps its pointer with another one's, which `restrict` would forbid
    by_value    it is a number, not a pointer
    as_bytes    its bools are read, and written, as integers
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
        self._bytes = _bools_as_bytes(program)
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
        reads = {load.buffer for s in walk(kernel.body) for load in loads(s)}
        swapped = {n for s in walk(kernel.body) if isinstance(s, Swap) for n in written(s)}
        return tuple(
            Parameter(
                seen[name],
                outer[name],
                is_written=name in writes,
                is_swapped=name in swapped,
                by_value=not seen[name].shape and name not in writes,
                as_bytes=name in reads | swapped and self.reads_bytes(seen[name]),
                is_constant=name in self.constants,
            )
            for name in sorted((n for n in used if n not in globals_), key=self._order.__getitem__)
        )


def _bools_as_bytes(program: Program) -> set[str]:
    """The arrays of bools whose elements compilers had better load as integers.

    A bool that is loaded from memory has no vector type of its own in gcc: neither a conversion nor
    a choice by it is vectorised, nor its negation, nor its conjunction with a comparison of
    numbers. So they are those of the programs that compute other numbers, too, in a loop that loads
    bools, or that negate bools; routines take them as they are. Arrays that exchange their memory
    have one type of pointers: both or neither.
    """
    read: set[str] = set()
    taken: set[str] = set()
    swaps: list[set[str]] = []
    is_mixed = False
    for kernel in program.kernels:
        dtypes = set()
        for statement in walk(kernel.body):
            if isinstance(statement, Swap):
                swaps.append({*written(statement)})
            names = {load.buffer for load in loads(statement) if load.dtype == BOOL}
            if isinstance(statement, Call):
                taken |= names.union(written(statement))
            else:
                read |= names
                dtypes |= {p.dtype for p in parts(statement)}
        is_mixed |= BOOL in dtypes and len(dtypes) > 1
        is_mixed |= any(map(_negates_a_bool, walk(kernel.body)))
    for _ in swaps:
        for pair in swaps:
            read |= set() if read.isdisjoint(pair) else pair
            taken |= set() if taken.isdisjoint(pair) else pair
    return read - taken if is_mixed else set()


def _negates_a_bool(statement: Statement) -> bool:
    """True if a statement computes with the negation of a bool, of which gcc makes no vector."""
    return any(
        isinstance(p, Apply) and p.primitive.involution and p.args[0].dtype == BOOL
        for p in parts(statement)
    )
