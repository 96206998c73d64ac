"""How stages and graphs look in notebooks: fragments of HTML, and drawings, that load nothing."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from html import escape
from typing import Any

from transpile.explore.colours import coloured
from transpile.explore.pictures import graph_svg
from transpile.explore.places import Places
from transpile.explore.stage import Stage
from transpile.explore.templates import file_text, filled_in
from transpile.ir.graph import Graph
from transpile.util.frozen_records import dataclass

# More lines than this are a file to open, not a cell of a notebook.
MOST_LINES = 1500
MOST_KINDS = 8


@dataclass(frozen=True)
class Section:
    """What stands under a heading that opens; `html` is a fragment."""

    title: str
    html: str
    is_open: bool = False


def fragment(title: str, facts: list[str], rows: list[tuple[str, str]], sections: Any) -> str:
    """A stage: its title, the names and types of arguments and results, and sections."""
    return filled_in(
        "stage.html.j2",
        title=title,
        facts=facts,
        rows=rows,
        sections=[one for one in sections if one.html],
        style=file_text("stage.css"),
    )


def jitted_fragment(title: str, function: Any, traced: Sequence[Stage]) -> str:
    """A jitted function: the types for which it has been traced, the last ones if there are many,
    and its Python."""
    count = len(traced)
    fact = (
        f"traced for {count} kind{'s' * (count != 1)} of arguments" if count else "not yet traced"
    )
    rows = [(str(k + 1), stage._types()) for k, stage in enumerate(traced)][-MOST_KINDS:]
    try:
        source = inspect.getsource(inspect.unwrap(function))
    except (OSError, TypeError):  # it is not in a file, or not a function of Python
        source = ""
    return fragment(title, [fact], rows, [text_section("Python", source)])


def drawing(graph: Graph) -> str:
    """The graph as a drawing with its own style; "" if it has too many equations."""
    svg = graph_svg(graph, Places(graph, None))
    style = file_text("graph.css")
    return svg.replace("<title>", f"<style>{style}</style><title>", 1)


def c_sections(text: str, kernel: str) -> list[Section]:
    """The C of a program in colours: from this kernel on, its first, and the whole file."""
    found = re.search(rf"^static \w+ {kernel}\(", text, re.MULTILINE) if kernel else None
    begin = text.rfind("\n\n", 0, found.start()) + 2 if found else 0
    whole = _c_section("The whole file in C", text)
    return [_c_section("C", text[begin:]), whole] if begin else [whole]


def _c_section(title: str, text: str) -> Section:
    lines = text.splitlines()
    shown = "\n".join(lines[:MOST_LINES])
    rest = f"\n({len(lines) - MOST_LINES} more lines)" if len(lines) > MOST_LINES else ""
    html = f'<pre class="code">{coloured(shown, "c")}{rest}</pre>'
    return Section(f"{title}, {len(lines)} lines", html)


def graph_section(graph: Graph) -> Section:
    """The drawing of a graph, or its text."""
    count = len(graph.equations)
    title = f"Graph, {count} operation{'s' * (count != 1)}"
    svg = drawing(graph)
    html = f'<div class="drawing">{svg}</div>' if svg else f"<pre>{escape(str(graph))}</pre>"
    return Section(title, html)


def text_section(title: str, text: str) -> Section:
    """A text as it is."""
    return Section(title, f"<pre>{escape(text)}</pre>" if text else "")
