"""Constant arrays: short ones are written out in C, the bytes of long ones lie in a file."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.codegen.dialect import Dialect
from transpile.codegen.line_wrapping import WIDTH
from transpile.ir.loop_ir import Buffer

# Constants with more elements than this are not written out in C.
LONGEST_CONSTANT = 4096
ALIGNMENT = 64


class Constants:
    """The constants of a program, and the contents of the file `binary_name` beside its source."""

    def __init__(self, dialect: Dialect, prefix: str, binary_name: str) -> None:
        """`prefix` begins the symbols of constants in the file; no name in C contains it."""
        self.binary = bytearray()
        self._dialect = dialect
        self._prefix = prefix
        self._binary_name = binary_name

    def text(self, buffer: Buffer, kind: str) -> str:
        """The declaration of a constant whose elements have this C type."""
        shape = "".join(f"[{d}]" for d in buffer.shape)
        if buffer.value.size > LONGEST_CONSTANT:
            return self._included(buffer, f"{kind} {buffer.name}{shape}")
        values = self._initializer(buffer.value, buffer.dtype)
        return f"static const {kind} {buffer.name}{shape} = {values};"

    def _included(self, buffer: Buffer, declarator: str) -> str:
        """The declaration of a constant whose bytes the assembler takes from the file."""
        self.binary += bytes(-len(self.binary) % ALIGNMENT)
        data = buffer.value.tobytes()
        symbol = f"{self._prefix}{buffer.name}"
        text = (
            f'__asm__(".pushsection .rodata\\n.balign {ALIGNMENT}\\n{symbol}:\\n"\n'
            f'        ".incbin \\"{self._binary_name}\\", {len(self.binary)}, {len(data)}\\n'
            '.popsection");\n'
            f"extern const {declarator} "
            f'__asm__("{symbol}") __attribute__((visibility("hidden")));'
        )
        self.binary += data
        return text

    def _initializer(self, value: Any, dtype: np.dtype[Any], indent: str = "    ") -> str:
        if value.ndim > 1:
            inner = f",\n{indent}".join(self._initializer(v, dtype, indent + " ") for v in value)
            return "{" + inner + "}"
        lines, line = [], ""
        for literal in (self._dialect.literal(v, dtype) for v in value):
            if len(line) + len(literal) > WIDTH - 10:
                lines.append(line.rstrip())
                line = ""
            line += literal + ", "
        return "{" + f"\n{indent}".join([*lines, line.rstrip(", ")]) + "}"
