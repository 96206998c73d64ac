"""`python -m transpile explore`: the page of a function."""

from __future__ import annotations

import argparse
from pathlib import Path

from transpile.command_line.build import lowered_of
from transpile.command_line.imports import guarded


def explore(chosen: argparse.Namespace) -> int:
    """Run the command; the exit code is returned."""

    def work() -> None:
        lowered = lowered_of(chosen)
        path = Path(chosen.output or f"{lowered.compiler_ir('graph').name}.html")
        print(lowered.explore(path, measure=chosen.measure))

    return guarded(chosen.function, work)
