"""Layout of C text: line breaks in declarations, statements and initialisers; safe comments and
string literals."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from transpile.ir.loop_ir import Buffer, Program
from transpile.ir.types import ArrayType, is_half
from transpile.util.escapes import one_line

# The longest line.
WIDTH = 100


def hanging(text: str, width: int = WIDTH, margin: str = "") -> str:
    """A declaration, broken between parameters where it is too long. Later lines begin with the
    margin; without one, under the first parameter."""
    if len(text) <= width:
        return text
    head, *others = text.split(", ")
    margin = margin or " " * (head.index("(") + 1)
    lines, line = [], f"{head}, " if others else head
    for position, parameter in enumerate(others, 1):
        part = parameter + (", " if position < len(others) else "")
        if len(line) + len(part) > width:
            lines.append(line.rstrip())
            line = margin
        line += part
    return "\n".join([*lines, line])


def filled(literals: Iterable[str], margin: str) -> str:
    """Literals with commas between them, in lines; each after the first begins with the margin."""
    lines, line = [], ""
    for literal in literals:
        if len(line) + len(literal) > WIDTH - 10:
            lines.append(line.rstrip())
            line = ""
        line += literal + ", "
    return f"\n{margin}".join([*lines, line.rstrip(", ")])


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


# A line may be broken before these operators, by precedence, and after a comma, the loosest.
_LOOSENESS = {
    word: level
    for level, words in enumerate(
        ("? :", "||", "&&", "| ^ &", "== !=", "< > <= >=", "<< >>", "+ -", "* / %"), start=1
    )
    for word in words.split()
}


def _break(text: str, room: int) -> int | None:
    """The position at which to break a line: at the least depth of parentheses, there at the
    loosest operator, of these the last; None where there is none."""
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


# The inside of */ and /*, and of ??, which begins a trigraph such as ??/, a backslash.
_OF_COMMENTS = re.compile(r"(?<=\*)(?=/)|(?<=/)(?=\*)|(?<=\?)(?=\?)")


def comment_text(text: str) -> str:
    """The text as it can be in a comment: on one line, without the end of a comment or a trigraph.
    Characters that cannot be printed are escaped as in Python. The function is idempotent."""
    return _OF_COMMENTS.sub(" ", one_line(text.replace("\t", " ")))


def comment_line(text: str) -> str:
    """The text as a line of a comment, cut where it is too long."""
    room = WIDTH - len("/* ") - len(" */")
    text = comment_text(text)
    return text if len(text) <= room else text[: room - 3].rstrip() + "..."


_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "?": "\\?"}


def string_literal(text: str) -> str:
    """The text as a C string literal; characters other than ASCII are the octal escapes of their
    bytes, see `text_bytes`."""
    parts = [_ESCAPES.get(c, c) if " " <= c <= "~" or c in _ESCAPES else _octal(c) for c in text]
    return f'"{"".join(parts)}"'


def _octal(character: str) -> str:
    """Three octal digits a byte, so that a digit that follows is no part of the escape."""
    return "".join(f"\\{byte:03o}" for byte in text_bytes(character))


def text_bytes(text: str) -> bytes:
    """The bytes of a text: UTF-8. Surrogates that stand for undecodable bytes of a file name are
    these bytes; others have the three bytes of their code point."""
    return b"".join(
        c.encode("utf-8", "surrogateescape" if "\udc80" <= c <= "\udcff" else "surrogatepass")
        for c in text
    )


def complex_types(program: Program, types: Mapping[Any, str]) -> list[tuple[str, str, str]]:
    """(type in C, a name that C and C++ share, type of the parts) of the complex types of a
    program's arrays: C++ has no `double complex`."""
    dtypes = {b.dtype for b in (*program.inputs, *program.outputs)}
    return [
        (types[d], f"{program.name}_{d.name}", types[part])
        for d, part in ((np.dtype("c8"), np.dtype("f4")), (np.dtype("c16"), np.dtype("f8")))
        if d in dtypes
    ]


def renamed(text: str, types: Sequence[tuple[str, ...]]) -> str:
    """A declaration with the first type of each tuple replaced by the second."""
    for before, after, *_ in types:
        text = text.replace(before, after)
    return text


def type_text(buffer: Buffer | ArrayType) -> str:
    """An array's dtype and shape, as in the comment of a program."""
    bits = " as bits" if is_half(buffer.dtype) else ""
    return f"{buffer.dtype.name}[{', '.join(map(str, buffer.shape))}]{bits}"


def with_own_lines(text: str, name: str) -> str:
    """The text of the file `name`, in which `#line 0` has become what says that the lines after it
    are the file's own: those before it are Python's."""
    before, marker, after = text.partition("#line 0\n")
    number = before.count("\n") + 2
    return f'{before}#line {number} "{name}"\n{after}' if marker else text
