"""Layout: how lines of C are broken, and what comments say."""

from __future__ import annotations

from transpile.escapes import one_line
from transpile.loops import Buffer
from transpile.types import HALVES

# The longest line.
WIDTH = 100


def signature(name: str, parameters: list[str], before: str = "int ") -> str:
    """A function's name and parameters, wrapped under the opening parenthesis."""
    lines, line = [], f"{name}("
    margin = " " * (len(before) + len(name) + 1)
    width = WIDTH - len(before)
    for position, parameter in enumerate(parameters):
        text = parameter + (", " if position < len(parameters) - 1 else ")")
        if len(line) + len(text) > width and position:
            lines.append(line.rstrip())
            line, width = margin, WIDTH
        line += text
    return "\n".join([*lines, line]) if parameters else f"{name}(void)"


def wrapped(text: str, indent: str) -> str:
    """A statement, indented, broken where it is too long, at the outermost operators or commas."""
    lines = []
    start = indent
    while len(start) + len(text) > WIDTH:
        cut = _break(text, WIDTH - len(start))
        if cut is None:
            break
        lines.append(start + text[:cut].rstrip())
        text = text[cut:].lstrip()
        start = indent + "        "
    return "\n".join([*lines, start + text])


# Where a line may be broken: before these, the loosest first; after a comma, which is looser still.
_LOOSENESS = {
    word: level
    for level, words in enumerate(
        ("? :", "||", "&&", "| ^ &", "== !=", "< > <= >=", "<< >>", "+ -", "* / %"), start=1
    )
    for word in words.split()
}


def _break(text: str, room: int) -> int | None:
    """Where to break a line: outside of most parentheses, at the loosest operator, as late as
    possible."""
    depth = 0
    best: tuple[tuple[int, int, int], int] | None = None
    for position, character in enumerate(text[: room + 1]):
        depth += (character in "([{") - (character in ")]}")
        if character != " " or position <= 12:
            continue
        word = text[position + 1 :].partition(" ")[0]
        level = 0 if text[position - 1] == "," else _LOOSENESS.get(word)
        if level is not None:
            rank = (depth, level, -position)
            if best is None or rank < best[0]:
                best = (rank, position)
    return None if best is None else best[1]


def comment_safe(text: str) -> str:
    """The text as it may stand in a comment, on one line that is not too long."""
    text = comment_line(text)
    room = WIDTH - len("/* ") - len(" */")
    return text if len(text) <= room else text[: room - 3].rstrip() + "..."


def comment_line(text: str) -> str:
    """The text as it may stand in a comment, whole, on one line: what would end the comment or the
    line, cannot be shown or is no UTF-8 (paths may hold anything) is spaced out or escaped."""
    return one_line(text.replace("*/", "* /").replace("/*", "/ *"))


def type_text(buffer: Buffer) -> str:
    """An array's dtype and shape, as the comment of a program has them."""
    bits = " as bits" if buffer.dtype in HALVES else ""
    return f"{buffer.dtype.name}[{', '.join(map(str, buffer.shape))}]{bits}"
