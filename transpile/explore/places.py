"""The lines of Python that a program comes from. Panes refer to them by number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from transpile.codegen.line_wrapping import string_literal
from transpile.ir.graph import Equation, Graph, Source, graphs_in
from transpile.ir.loop_ir import LOCATED, Program
from transpile.ir.loop_rewrite import walk


class Places:
    """Numbers of lines of Python, in the order of files and lines."""

    def __init__(self, graph: Graph, program: Program | None) -> None:
        of_program = () if program is None else _of_program(program)
        found = {s for s in (*_of_graph(graph), *of_program) if s.line}
        ordered = sorted({(s.file, s.line) for s in found})
        self._numbers = {place: number for number, place in enumerate(ordered)}
        self.texts = {(s.file, s.line): s.text for s in found}
        self._files = {string_literal(file): file for file, _ in ordered}
        self._shown: dict[str, list[int]] = {}
        for source in sorted(found, key=lambda s: (s.file, s.line)):
            number = self._numbers[source.file, source.line]
            numbers = self._shown.setdefault(str(source), [])
            if number not in numbers:
                numbers.append(number)

    @property
    def all(self) -> list[tuple[str, int]]:
        """(file, line) by number."""
        return list(self._numbers)

    def at(self, file: str, line: int) -> tuple[int, ...]:
        """The number of a line, or ()."""
        number = self._numbers.get((file, line))
        return () if number is None else (number,)

    def shown_as(self, text: str) -> tuple[int, ...]:
        """The numbers of the lines that texts for people call so."""
        return tuple(self._shown.get(text, ()))

    def in_directive(self, literal: str, line: int) -> tuple[int, ...]:
        """The number of a line that `#line` or `.loc` names, whose file is a literal of C."""
        return self.at(self._files.get(literal, ""), line)


def equations_of(graph: Graph) -> Iterator[Equation]:
    """The equations of a graph, and of those in its primitives."""
    for equation in graph.equations:
        yield equation
        for inner in graphs_in(equation):
            yield from equations_of(inner)


def _of_graph(graph: Graph) -> Iterable[Source]:
    return (equation.source for equation in equations_of(graph))


def _of_program(program: Program) -> Iterator[Source]:
    for kernel in program.kernels:
        yield kernel.source
        yield from (s.source for s in walk(kernel.body) if isinstance(s, LOCATED))
