"""The C file that is built for Python, which adds the entry NAME_call to the program."""

from __future__ import annotations

from transpile.codegen.templates.filling import filled_in
from transpile.ir.loop_ir import Program


def python_entry(program: Program, source: str, header: str) -> str:
    """The text of that file, which includes those of the program by these names; see
    `runtime/program_call.py`."""
    return filled_in("python_entry.c.j2", program=program, header=header, source=source)


def declarations(program: Program) -> str:
    """The C declarations for cffi: the functions that Python calls, and the type of callbacks."""
    return filled_in("declarations.h.j2", program=program)
