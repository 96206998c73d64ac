"""The executable: a built program and how to call it on arrays. (Interface; being replaced.)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transpile.graph import Graph
from transpile.loops import Program
from transpile.options import Options
from transpile.transforms.interpret import interpret


@dataclass(frozen=True)
class MemoryAnalysis:
    """Sizes in bytes."""

    argument_size_in_bytes: int
    output_size_in_bytes: int
    temp_size_in_bytes: int
    alias_size_in_bytes: int
    generated_code_size_in_bytes: int


class Lowering:
    """A graph on its way to C: the optimised graph, the loops and the text, each made when asked for."""

    def __init__(self, graph: Graph, options: Options, donated: tuple[int, ...] = ()) -> None:
        self.graph = graph
        self.options = options
        self.donated = donated

    def optimised(self) -> Graph:
        """The graph after the passes."""
        return self.graph

    def program(self) -> Program:
        """The scheduled loops."""
        raise NotImplementedError

    def c_text(self) -> str:
        """program.c"""
        return "int f(void);"

    def header_text(self) -> str:
        """program.h"""
        return "int f(void);"

    def cost_analysis(self) -> dict[str, float]:
        """flops, transcendentals, bytes accessed."""
        return {"flops": 0.0, "transcendentals": 0.0, "bytes accessed": 0.0}

    def build(self) -> Executable:
        """Compile (or find in the cache) and load."""
        return Executable(self)


class Executable:
    """A loaded program."""

    def __init__(self, lowering: Lowering) -> None:
        self.lowering = lowering

    def __call__(self, leaves: Sequence[Any]) -> list[Any]:
        """Run on the flat inputs of the graph (arrays of the right shape and dtype in any layout, or
        Python scalars); the flat outputs are new ndarrays."""
        return interpret(self.lowering.graph, leaves)

    def c_text(self) -> str:
        """program.c as it was built."""
        return self.lowering.c_text()

    def assembly(self) -> str:
        """The compiler's assembly."""
        return ""

    def memory_analysis(self) -> MemoryAnalysis:
        """The sizes of arguments, results, workspace and code."""
        return MemoryAnalysis(0, 0, 0, 0, 0)

    def save(self, directory: str | Path, name: str | None = None) -> list[Path]:
        """Write NAME.so, NAME.h and NAME.c."""
        return []
