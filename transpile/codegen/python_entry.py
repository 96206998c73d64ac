"""The C file that is built for Python: the program, and the one entry that Python calls."""

from __future__ import annotations

from transpile.codegen.templates import filled_in
from transpile.ir.loop_ir import Program


def python_entry(program: Program, source: str, header: str) -> str:
    """The text of that file, which includes the program's by these names; see
    `transpile.runtime.program_call`."""
    return filled_in("python_entry.c.j2", program=program, header=header, source=source)


def declarations(program: Program) -> str:
    """What cffi is told of the functions that Python calls, and of that which Python gives."""
    return filled_in("declarations.h.j2", program=program)
