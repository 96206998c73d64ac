"""The record of a trace: the functions that it called, and what became of their statements.

A `Recorder` belongs to a thread that traces; a `Record`, which never changes, to the stages that
the trace gives. The text of a function is looked up when it is asked for.
"""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable, Sequence
from dataclasses import field
from types import CodeType
from typing import Any

from transpile.ir.graph import Source
from transpile.util.frozen_records import dataclass

Lines = tuple[tuple[str, int], ...]  # with the line of the statement that a comment is for, or 0
Met = dict[tuple[str, int, str], dict[str, None]]


@dataclass(frozen=True)
class Called:
    """A function that a trace has called.

    lines         of its text
    is_converted  whether this is what its source was converted to, and not the source
    """

    file: str
    line: int
    name: str
    lines: Lines
    is_converted: bool


@dataclass(frozen=True)
class Statement:
    """A loop or a branch that a trace has met, and what became of it: each outcome once.

    kind  "for", "while", "if", or "choose" for a conditional expression
    """

    file: str
    line: int
    kind: str
    outcomes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Record:
    """What a trace has met.

    seconds     how long it took, in this process
    functions   in the order of their first calls
    statements  of those that were converted
    notes       what else there is to say, a line each
    """

    seconds: float = 0.0
    later: Callable[[], tuple[Called, ...]] = tuple
    statements: tuple[Statement, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def functions(self) -> tuple[Called, ...]:
        """The functions, in the order of their first calls."""
        return self.later()

    def __reduce__(self) -> tuple[Any, ...]:
        return _record, (self.functions, self.statements, self.notes)


def _record(functions: tuple[Called, ...], *others: Any) -> Record:
    return Record(0.0, lambda: functions, *others)


@dataclass(eq=False)
class Recorder:
    """Collects what a trace meets."""

    functions: dict[CodeType, Callable[[], Lines] | None] = field(default_factory=dict)
    statements: Met = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    counting: set[str] = field(default_factory=set)  # arguments by which lengths are counted

    def called(self, code: CodeType) -> None:
        """A function is called."""
        self.functions.setdefault(code, None)

    def converted(self, code: CodeType, lines: Callable[[], Lines]) -> None:
        """A function that is called is converted from its source, which has these lines."""
        self.functions[code] = lines

    def met(self, source: Source, kind: str, outcome: str) -> None:
        """A loop or a branch has become something."""
        outcomes = self.statements.setdefault((source.file, source.line, kind), {})
        outcomes[outcome] = None

    def attempted(self, attempt: Callable[..., Any]) -> Callable[..., Any]:
        """An attempt that begins with what is known now."""
        functions, notes = dict(self.functions), dict(self.notes)
        statements = {key: dict(outcomes) for key, outcomes in self.statements.items()}

        def begun(*args: Any) -> Any:
            self.functions, self.notes, self.counting = dict(functions), dict(notes), set()
            self.statements = {key: dict(outcomes) for key, outcomes in statements.items()}
            return attempt(*args)

        return begun

    def record(self, seconds: float) -> Record:
        """What has been collected."""
        functions = dict(self.functions)
        return Record(
            seconds,
            lambda: tuple(_called(code, lines) for code, lines in functions.items()),
            tuple(Statement(*key, tuple(outcomes)) for key, outcomes in self.statements.items()),
            tuple(self.notes),
        )


def _called(code: CodeType, converted: Callable[[], Lines] | None) -> Called:
    lines = converted() if converted else tuple((text, 0) for text in _source(code))
    return Called(code.co_filename, code.co_firstlineno, code.co_name, lines, converted is not None)


def _source(code: CodeType) -> Sequence[str]:
    """The lines of a function; of a lambda those that have it."""
    rest = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]
    block = inspect.getblock(rest) if rest else ["# its source cannot be had"]
    indent = len(block[0]) - len(block[0].lstrip())
    return [line[indent:].rstrip() if line[:indent].isspace() else line.rstrip() for line in block]
