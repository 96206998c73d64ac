"""The C files by which processes of an MPI program run a saved program for several devices."""

from __future__ import annotations

import re
from pathlib import Path

from transpile.codegen.dialect import C
from transpile.codegen.templates.filling import filled_in
from transpile.ir.loop_ir import Program
from transpile.util.data_files import data_directory

_INCLUDED = re.compile(r'^#include "([^"]+)"\n', re.MULTILINE)
_HEADER = "mpi_devices.h"


def for_mpi(program: Program, devices: int) -> dict[str, str]:
    """The texts by the names of their files: the communicator in one C file, its header, and an
    example of a C program with arguments that are made up."""
    folder = data_directory("runtime_c") / "python"
    header = (folder / _HEADER).read_text("utf-8")
    comment, _, declarations = header.partition("*/\n")
    return {
        _HEADER: filled_in(
            "communicator.h.j2",
            comment=f"{comment}*/",
            declarations=declarations.rstrip(),
        ),
        "mpi_devices.c": _in_one(folder / "mpi_devices.c"),
        f"{program.name}_main.c": filled_in(
            "mpi_main.c.j2", program=program, devices=devices, dialect=C
        ),
    }


def _in_one(path: Path) -> str:
    """The text of a C file with all that it includes by quotes in it, but its own header."""

    def included(match: re.Match[str]) -> str:
        if match[1] == _HEADER:
            return match[0]
        return _in_one(path.parent / match[1])

    return _INCLUDED.sub(included, path.read_text("utf-8"))
