"""`python -m transpile explore`: the page of a function."""

from __future__ import annotations

import argparse
from pathlib import Path

from transpile.command_line.arguments import UsageError
from transpile.command_line.build import lowered_of
from transpile.command_line.imports import guarded


def _sizes(words: list[str]) -> dict[str, int]:
    """The runtime sizes of `--measure-size n=1000`s."""
    sizes = {}
    for word in words:
        name, _, number = word.partition("=")
        if not name.isidentifier() or not number.isdecimal():
            raise UsageError(
                f"--measure-size {word!r} is not of the form NAME=NUMBER, such as n=1000"
            )
        sizes[name] = int(number)
    return sizes


def explore(chosen: argparse.Namespace) -> int:
    """Run the command; the exit code is returned."""

    def work() -> None:
        lowered = lowered_of(chosen)
        path = Path(chosen.output or f"{lowered.compiler_ir('graph').name}.html")
        print(lowered.explore(path, measure=_sizes(chosen.measure_size) or chosen.measure))

    return guarded(chosen.function, work)
