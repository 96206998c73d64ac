"""Read the table `[tool.transpile]` of a pyproject.toml: which functions become a C library.

[tool.transpile]
name = "models"                  # of the library; by default the project's
output = "build/lib"             # by default "lib"
for = ["cmake", "python"]        # further files, as `--for`
prefix = "acme_"                 # before the names in C
options = { march = "multi" }

[tool.transpile.functions.step]
function = "models/heat.py:step"
args = ["float64[n,n]", "dt=float"]
sizes = ["n % 8 == 0"]
static = { order = 2 }
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transpile.command_line.arguments import UsageError
from transpile.options import Options
from transpile.symbols.identifiers import program_name
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True)
class Wanted:
    """A function and how it is called.

    function  MODULE:FUNCTION, or the file of a module of XLA
    args      the types of arguments, as `--arg` says them, and the constraints of `sizes`
    statics   the values that are part of the program
    """

    function: str
    args: tuple[str, ...]
    sizes: tuple[str, ...]
    statics: Mapping[str, Any]


@dataclass(frozen=True)
class Project:
    """What the table says; paths are relative to the file's directory."""

    place: str
    directory: Path
    name: str
    version: str
    output: Path
    kinds: tuple[str, ...]
    options: Options
    functions: Mapping[str, Wanted]


def read_project(path: Path) -> Project:
    """The table of a file; UsageError that names the file and the key where it cannot be used."""
    place = str(path)
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{place} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{place} is no TOML: {error}") from None
    table = document.get("tool", {}).get("transpile")
    if not isinstance(table, dict):
        raise UsageError(f"{place} has no table [tool.transpile]: it says which functions to build")
    reader = _Reader(place, "[tool.transpile]", table)
    about = document.get("project", {})
    name, prefix = reader.text("name", about.get("name", "")), reader.text("prefix", "")
    functions = reader.table("functions")
    if not name or not functions:
        raise UsageError(f"{place}: {reader.where} needs {'functions' if name else 'a name'}")
    try:
        options = Options().replace(reader.table("options"))
    except ValueError as error:
        raise UsageError(f"{place}: {reader.where}: {error}") from None
    directory = path.resolve().parent
    project = Project(
        place,
        directory,
        program_name(name),
        str(about.get("version", "0")),
        directory / reader.text("output", "lib"),
        tuple(reader.texts("for")),
        options,
        {f"{prefix}{key}": _wanted(place, key, functions[key], directory) for key in functions},
    )
    reader.check_all_known()
    return project


def _wanted(place: str, key: str, value: Any, directory: Path) -> Wanted:
    where = f"[tool.transpile.functions.{key}]"
    if not isinstance(value, dict):
        raise UsageError(f"{place}: {where} is no table")
    reader = _Reader(place, where, value)
    file, colon, name = reader.text("function", "").rpartition(":")
    if not colon:  # the file of a module of XLA
        file, name = name, ""
    if not file:
        raise UsageError(f'{place}: {where} needs function = "MODULE:FUNCTION"')
    if "/" in file or (directory / file).is_file():
        file = str(directory / file)
    args, sizes = tuple(reader.texts("args")), tuple(reader.texts("sizes"))
    wanted = Wanted(f"{file}{colon}{name}", args, sizes, reader.table("static"))
    reader.check_all_known()
    return wanted


class _Reader:
    """Reads the values of a table, by their types."""

    def __init__(self, place: str, where: str, table: Mapping[str, Any]) -> None:
        self.place, self.where = place, where
        self._table, self._known = table, set[str]()

    def _value(self, key: str, kind: type, default: Any, wanted: str) -> Any:
        self._known.add(key)
        value = self._table.get(key, default)
        if not isinstance(value, kind):
            raise UsageError(f"{self.place}: {key} of {self.where} is {wanted}, not {value!r}")
        return value

    def text(self, key: str, default: str) -> str:
        """A string."""
        value: str = self._value(key, str, default, "a string")
        return value

    def texts(self, key: str) -> list[str]:
        """A list of strings, empty by default."""
        wanted = "a list of strings"
        values: list[str] = self._value(key, list, [], wanted)
        if not all(isinstance(value, str) for value in values):
            raise UsageError(f"{self.place}: {key} of {self.where} is {wanted}, not {values!r}")
        return values

    def table(self, key: str) -> dict[str, Any]:
        """A table, empty by default."""
        value: dict[str, Any] = self._value(key, dict, {}, "a table")
        return value

    def check_all_known(self) -> None:
        """UsageError for a key that nothing has asked for."""
        if unknown := sorted(self._table.keys() - self._known):
            known = ", ".join(sorted(self._known))
            raise UsageError(f"{self.place}: {self.where} has {unknown[0]!r}; it may have {known}")
