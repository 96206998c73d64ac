"""The texts of a page: Python, graph, loops, C and assembly. Each line has the numbers of the lines
of Python that it comes from, or that come from it."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from transpile.explore.colours import coloured
from transpile.explore.places import Places
from transpile.ir.graph import Graph, to_text
from transpile.util.escapes import shown_path
from transpile.util.frozen_records import dataclass

# More lines of assembly than this are cut: a browser has to lay out all of them.
MOST_LINES = 6000

_LEAST_WIDTH, _MOST_WIDTH = 40, 90  # columns
_NUMBER = 6  # columns of the number of a line

_DIRECTIVE = re.compile(r'#line (\d+) (".*")$')
_SHOWN = re.compile(r"  # (.*)$")
_FILE = re.compile(r'\s*\.file (\d+) (?:".*" )?(".*?")')
_LOCATION = re.compile(r"\s*\.loc (\d+) (\d+)")
_LABEL = re.compile(r"([A-Za-z_.$][\w.$]*):")


@dataclass(frozen=True)
class Line:
    """A line, with its number in its file if it has one."""

    text: str
    places: tuple[int, ...] = ()
    number: int | None = None


@dataclass(frozen=True)
class Pane:
    """A text under a title."""

    name: str
    title: str
    lines: tuple[Line, ...]

    @property
    def html(self) -> list[str]:
        """The lines, with colours for what they are written in."""
        return coloured("\n".join(line.text for line in self.lines), self.name).split("\n")

    @property
    def width(self) -> int:
        """Its share of the page: the columns of its longest line, with numbers of lines before it,
        within limits."""
        margin = _NUMBER if any(line.number for line in self.lines) else 0
        longest = max(len(line.text.expandtabs()) for line in self.lines)
        return min(max(_LEAST_WIDTH, margin + longest), _MOST_WIDTH)


# ---------------------------------------------------------------------------------------- Python


def python_pane(places: Places) -> Pane:
    """The functions that have lines of the program, whole, in the order of files."""
    by_file: dict[str, list[int]] = {}
    for file, line in places.all:
        by_file.setdefault(file, []).append(line)
    lines: list[Line] = []
    for file, numbers in by_file.items():
        lines.append(Line(f"# {shown_path(Path(file))}"))
        lines += _of_file(file, numbers, places)
    return Pane("python", "Python", tuple(lines))


def _of_file(file: str, numbers: list[int], places: Places) -> Iterator[Line]:
    text = linecache.getlines(file)
    if not text:  # the file is gone: the trace has the lines that it met
        for number in numbers:
            yield Line(places.texts[file, number], places.at(file, number), number)
        return
    shown: set[int] = set()
    spans = list(_functions("".join(text)))
    for number in numbers:
        around = [span for span in spans if span[0] <= number <= span[1]]
        first, last = max(around, default=(number, number))
        shown.update(range(first, last + 1))
    before = 0
    for number in sorted(shown):
        if before and number != before + 1:
            yield Line("")
        yield Line(text[number - 1].rstrip("\n"), places.at(file, number), number)
        before = number


def _functions(text: str) -> Iterator[tuple[int, int]]:
    """The first and last lines of the functions of a module; none of one that Python refuses."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            decorators = [d.lineno for d in getattr(node, "decorator_list", ())]
            yield min([node.lineno, *decorators]), node.end_lineno or node.lineno


# ----------------------------------------------------------------------------------- graph, loops


def graph_pane(graph: Graph, places: Places) -> Pane:
    """The equations."""
    sources = iter([equation.source for equation in graph.equations])
    lines: list[Line] = []
    depth = 0
    for text in to_text(graph).splitlines():
        is_equation = depth == 1 and not text.startswith("  in ")
        source = next(sources, None) if is_equation else None
        found = places.at(source.file, source.line) if source else ()
        inherited = lines[-1].places if lines and depth > 1 else ()
        lines.append(Line(text, found or inherited))
        depth += text.count("{ lambda") - text.count(" }")
    return Pane("graph", "Graph", tuple(lines))


def loops_pane(text: str, places: Places) -> Pane:
    """The loops, from their text with sources."""
    lines: list[Line] = []
    for line in text.splitlines():
        match = _SHOWN.search(line)
        found = places.shown_as(match[1].partition(": ")[0]) if match else ()
        is_statement = match is not None and found and not line.lstrip().startswith("#")
        lines.append(Line(line[: match.start()] if match and is_statement else line, found))
    return Pane("loops", "Loops", tuple(_with_headers(lines)))


def _with_headers(lines: list[Line]) -> list[Line]:
    """The lines, in which heads of loops and branches have the places of what they begin with."""
    following: tuple[int, ...] = ()
    result: list[Line] = []
    for line in reversed(lines):
        is_head = line.text.lstrip().startswith(("for ", "if ", "while ", "repeat", "local "))
        following = line.places or following
        result.append(Line(line.text, following if is_head else line.places, line.number))
    return result[::-1]


# --------------------------------------------------------------------------------- C, assembly


def c_pane(text: str, places: Places) -> Pane:
    """The C without its `#line` directives, with numbers as in the file that is saved."""
    lines: list[Line] = []
    place: tuple[int, ...] = ()
    for line in text.splitlines():
        match = _DIRECTIVE.match(line)
        if match:
            place = places.in_directive(match[2], int(match[1]))
            continue
        lines.append(Line(line, place if line.strip(" {}") else (), len(lines) + 1))
        if not line.strip():
            place = ()
    return Pane("c", "C", tuple(lines))


def assembly_pane(text: str, places: Places) -> Pane:
    """The instructions, and the labels that they jump to. Those of a helper belong to the line of
    Python that calls it."""
    files: dict[str, str] = {}
    lines: list[Line] = []
    place: tuple[int, ...] = ()
    for line in _code(text.splitlines()):
        if file := _FILE.match(line):
            files[file[1]] = file[2]
        elif location := _LOCATION.match(line):
            literal = files.get(location[1], "")
            place = places.in_directive(literal, int(location[2])) or place
        elif label := _LABEL.match(line):
            place = place if label[1].startswith(".") else ()
            if not re.match(r"\.L[A-Z]+\d+$", label[1]):
                lines.append(Line(line))
        elif line.startswith("\t") and not line.startswith("\t."):
            lines.append(Line(line.expandtabs(8), place))
    if len(lines) > MOST_LINES:
        left = len(lines) - MOST_LINES
        lines = [*_own_first(lines)[:MOST_LINES], Line(f"({left} more lines)")]
    return Pane("assembly", "Assembly", tuple(_used(lines)))


def _own_first(lines: list[Line]) -> list[Line]:
    """Functions that have lines of Python before helpers that have none."""
    functions: list[list[Line]] = [[]]
    for line in lines:
        if line.text[:1] not in (" ", "."):
            functions.append([])
        functions[-1].append(line)
    functions.sort(key=lambda function: not any(line.places for line in function))
    return [line for function in functions for line in function]


def _code(lines: Iterable[str]) -> Iterator[str]:
    """The lines before the debug information."""
    for line in lines:
        if line.startswith("\t.section\t.debug"):
            return
        yield line


def _used(lines: list[Line]) -> Iterator[Line]:
    """The lines without labels that nothing jumps to."""
    called = set(re.findall(r"\.L\w+", "\n".join(x.text for x in lines if x.text[:1] == " ")))
    for line in lines:
        if not line.text.startswith(".L") or line.text[:-1] in called:
            yield line
