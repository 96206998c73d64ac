"""What a saved program says that it was made of: a text in a section of its own of object files.

It begins with a marker and has lines `name: value`, so that it can be read without the program
being loaded (`artifact/provenance.py`). It says nothing of the machine or the time of the build,
which is reproducible; directories are those of the package that the file belongs to.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

from transpile.ir.graph import Source
from transpile.options import Options
from transpile.util.data_files import VERSION
from transpile.util.escapes import one_line, utf8
from transpile.util.frozen_records import dataclass

MARKER = "transpile-provenance 1"


@dataclass(frozen=True)
class Origin:
    """The Python function that a program was made of, its file and line or "", and the processors
    that the program is compiled for."""

    python: str
    source: str
    processors: tuple[str, ...]


def origin_of(
    python: str, source: Source, processors: Sequence[str], *, paths: bool = False
) -> Origin:
    """That of the function of a source, or of this name where the source has none. `paths`: with
    its directories on this machine, too."""
    file = source.file if paths else path_in_package(source.file)
    place = f"{file}:{source.line}" if source.line else ""
    return Origin(source.function or python, place, tuple(processors))


def path_in_package(file: str) -> str:
    """The path of a file, from the outermost of the packages that it is in: `models/heat.py`."""
    folder, name = os.path.split(file)
    parts = [name]
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, name = os.path.split(folder)
        parts.append(name)
        if not name:
            break
    return "/".join(reversed(parts))


def record_of(function: str, origin: Origin, options: Options) -> dict[str, Any]:
    """What is said of a function of C, but for the compiler, which says itself what it is."""
    return {
        "function": function,
        "python": utf8(one_line(origin.python)),
        "source": utf8(one_line(origin.source)),
        "transpile": VERSION,
        "options": _changes(options, origin.processors),
    }


def lines_of(function: str, origin: Origin, options: Options) -> Iterator[str]:
    """The same as lines of a text, after the marker."""
    yield MARKER
    for name, value in record_of(function, origin, options).items():
        yield f"{name}: {value if isinstance(value, str) else json.dumps(value)}"


def _changes(options: Options, processors: Sequence[str]) -> dict[str, object]:
    """The processors, and the options that are not the usual ones. Where the compiler is on this
    machine, and what the machine is, say nothing about the program."""
    usual = Options()
    left_out = ("cc", "march", "machine")
    changed = {
        field.name: getattr(options, field.name)
        for field in fields(usual)
        if field.name not in left_out and getattr(options, field.name) != getattr(usual, field.name)
    }
    march, machine = ",".join(processors), options.machine.changes
    named = {"march": march} if march else {}
    return {**named, **changed, **({"machine": machine} if machine else {})}
