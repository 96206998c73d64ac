"""Modules of XLA as functions of the command line: model.mlir, model.hlo, model.pb."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transpile.command_line.arguments import UsageError
from transpile.hlo_import.function import from_hlo, from_stablehlo

_SUFFIXES = (".mlir", ".hlo", ".pb")


def is_module(place: str) -> bool:
    """True if a word of the command line is the path of a module."""
    return place.endswith(_SUFFIXES)


def function_of(place: str) -> Any:
    """The function that the module in a file is; UsageError where there is no such file, or one
    that is no module."""
    path = Path(place)
    if not path.is_file():
        raise UsageError(f"there is no file {place}")
    try:
        if path.suffix == ".pb":
            return from_hlo(path.read_bytes())
        read = from_stablehlo if path.suffix == ".mlir" else from_hlo
        return read(path.read_text(encoding="utf-8"), file_name=path.name)
    except (ValueError, ImportError) as problem:
        raise UsageError(f"{place}: {problem}") from None
