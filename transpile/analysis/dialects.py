"""The dialects that a lowered program has a text in: DIALECTS, by name; OBJECTS, what it is as an
object."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from transpile.analysis.graphviz import to_dot
from transpile.analysis.python_text import control_flow_text, python_text
from transpile.analysis.source_lines import complete_sources
from transpile.ir.graph import Donated, Graph
from transpile.ir.loop_ir import Program, to_text
from transpile.options import Options
from transpile.trace.history.record import Record
from transpile.util.lazy.imports import Later

if TYPE_CHECKING:
    import transpile.hlo.computation as hlo
    from transpile.hlo.computation import XlaComputation
else:
    hlo = Later("transpile.hlo.computation")


class Lowering(Protocol):
    """A lowered program, as its texts see it."""

    @property
    def graph(self) -> Graph:
        """The graph as it was traced."""

    @property
    def options(self) -> Options:
        """The options, of which `debug` adds lines of Python to texts."""

    @property
    def donated(self) -> Donated:
        """The inputs whose memory outputs may take."""

    @property
    def record(self) -> Record:
        """The functions and statements that the trace has met."""

    def optimised(self) -> Graph:
        """The graph after the passes."""

    def program(self) -> Program:
        """The loops."""

    def c_text(self) -> str:
        """The C."""


def _computation(lowering: Lowering) -> XlaComputation:
    return hlo.computation_of(lowering.graph, lowering.donated)


def _loops(lowering: Lowering) -> str:
    if not lowering.options.debug:
        return to_text(lowering.program())
    return to_text(complete_sources(lowering.program()), sources=True)


DIALECTS: dict[str, Callable[[Lowering], str]] = {
    "c": lambda lowering: lowering.c_text(),
    "graph": lambda lowering: str(lowering.optimised()),
    "loops": _loops,
    "python": lambda lowering: python_text(lowering.record),
    "control_flow": lambda lowering: control_flow_text(lowering.record),
    "dot": lambda lowering: to_dot(lowering.optimised()),
    "hlo": lambda lowering: _computation(lowering).as_hlo_text(),
    "stablehlo": lambda lowering: _computation(lowering).as_stablehlo_text(),
}
OBJECTS: dict[str, Callable[[Lowering], Any]] = {
    "graph": lambda lowering: lowering.optimised(),
    "loops": lambda lowering: lowering.program(),
}


def text(
    lowering: Lowering,
    dialect: str,
    others: Mapping[str, Callable[[Any], str]],
    further: tuple[str, ...] = (),
) -> str:
    """The program in a dialect: one of DIALECTS, or of the `others` that targets have.

    Raises ValueError for one that there is not; `further` are those that the caller writes itself.
    """
    write = DIALECTS.get(dialect) or others.get(dialect)
    if write is None:
        known = ", ".join((*DIALECTS, *others, *further))
        raise ValueError(f"unknown dialect: {dialect}; there are: {known}")
    return write(lowering)
