"""Constant arrays: short ones are initialisers in C, long ones bytes in a file beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from transpile.codegen.plan.gcc_faults import is_repeated_too_often
from transpile.ir.loop_ir import Buffer, Program
from transpile.util.frozen_records import dataclass

# Constants with more elements than this are in the file.
LONGEST_CONSTANT = 4096


@dataclass(frozen=True)
class Constant:
    """A constant array of a program.

    as_bytes   its bools are read as integers
    offset     of its bytes in the file; None for an initialiser
    """

    buffer: Buffer
    as_bytes: bool
    offset: int | None

    alignment: ClassVar[int] = 64

    @property
    def has_unknown_values(self) -> bool:
        """True if gcc may not know that its values are those of the initialiser."""
        return self.offset is None and is_repeated_too_often(self.buffer.value)


def constants_of(
    program: Program, reads_bytes: Callable[[Buffer], bool], *, in_file: bool = True
) -> tuple[tuple[Constant, ...], bytes]:
    """The constants of a program, and the contents of the file, for compilers that take long ones
    from it."""
    constants: list[Constant] = []
    binary = bytearray()
    for buffer in program.constants:
        offset = None
        if in_file and buffer.value.size > LONGEST_CONSTANT:
            binary += bytes(-len(binary) % Constant.alignment)
            offset = len(binary)
            binary += buffer.value.tobytes()
        constants.append(Constant(buffer, reads_bytes(buffer), offset))
    return tuple(constants), bytes(binary)
