"""The user's Python as a trace has met it: the dialects "python" and "control_flow"."""

from __future__ import annotations

import linecache
import os
from collections.abc import Iterator

from transpile.trace.history.record import Called, Record, Statement

_PLAIN = """\
# Nothing was converted, as no traced value decides a statement: Python ran each loop, and chose
# each branch, while tracing."""
_NONE = "# This program was not traced from Python."
# What begins a line that has such a statement.
_KEYWORDS = {
    "for": ("for", "async for"),
    "while": ("while",),
    "if": ("if", "elif", "case", "assert"),
}


def python_text(record: Record) -> str:
    """The functions that were traced, each as it ran: converted, with a comment for each loop and
    branch, or as it was written."""
    functions = record.functions
    blocks = [] if any(f.is_converted for f in functions) else [_PLAIN if functions else _NONE]
    outcomes = {(s.file, s.line): _outcome(s) for s in record.statements if _is_users(s)}
    blocks += ["\n".join(_function(f, outcomes)) for f in functions]
    return "\n\n".join([*blocks, *[f"# {note}" for note in record.notes]]) + "\n"


def _function(function: Called, outcomes: dict[tuple[str, int], str]) -> Iterator[str]:
    how = "converted" if function.is_converted else "as it is"
    yield f"# {os.path.basename(function.file)}:{function.line}: {function.name}, {how}"
    for text, line in function.lines:
        outcome = outcomes.get((function.file, line)) if line else None
        if outcome:
            yield text
            indent = text[: len(text) - len(text.lstrip())]
            yield f"{indent}#     {outcome}"
        else:
            yield text


def control_flow_text(record: Record) -> str:
    """A line for each loop and branch of the converted functions: what it became, and why."""
    functions = record.functions
    files = list(dict.fromkeys(f.file for f in functions))
    ordered = sorted(filter(_is_users, record.statements), key=lambda s: (_place(files, s), s.line))
    lines = [f"{os.path.basename(s.file)}:{s.line}: `{_line(s)}`: {_outcome(s)}" for s in ordered]
    if not any(f.is_converted for f in functions):
        lines = [_PLAIN if functions else _NONE]
    return "\n".join([*lines, *[f"# {note}" for note in record.notes]]) + "\n"


def _place(files: list[str], statement: Statement) -> int:
    return files.index(statement.file) if statement.file in files else len(files)


def _line(statement: Statement) -> str:
    return linecache.getline(statement.file, statement.line).strip()


def _outcome(statement: Statement) -> str:
    return "; ".join(statement.outcomes)


def _is_users(statement: Statement) -> bool:
    """False for a branch that stands for a jump, and has no line of its own."""
    line = _line(statement)
    if statement.kind == "choose":
        return " if " in line
    return line.startswith(_KEYWORDS[statement.kind])
