"""A place in a text: what tokens stand there, and what line and column that is."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NoReturn

from transpile.errors import HloError
from transpile.ir.graph import Source

MOST_NESTED = 64  # regions, lists and tuples in each other; a program of JAX's has a few
_BLANK = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_LONGEST_SOURCE = 100  # characters of an instruction that comments in C show
_SHOWN = 40  # characters of a text that an error shows
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
# What a balanced part of a text is made of; an arrow has no bracket in it.
_PIECE = re.compile(r'"(?:[^"\\]|\\.)*"|->|[()\[\]{}<>]|[^"()\[\]{}<>\-]+|-', re.DOTALL)


class Cursor:
    """A text and a position in it, always behind blanks and comments."""

    def __init__(self, text: str) -> None:
        self.text, self.position, self.nested = text, 0, 0
        self._lines: list[int] = []
        self.skip()

    def skip(self) -> None:
        """Go on behind blanks and comments."""
        found = _BLANK.match(self.text, self.position)
        assert found is not None
        self.position = found.end()

    @property
    def is_at_end(self) -> bool:
        """True if nothing is left."""
        return self.position >= len(self.text)

    # -------------------------------------------------------------------------------------- errors

    def line(self, position: int) -> tuple[int, int]:
        """The number of a position's line, and the position where that begins."""
        if not self._lines:
            self._lines = [0, *(m.end() for m in re.finditer("\n", self.text))]
        number = bisect_right(self._lines, position)
        return number, self._lines[number - 1]

    def where(self, position: int | None = None) -> str:
        """The line and the column of a position."""
        at = self.position if position is None else position
        number, begin = self.line(at)
        return f"line {number}, column {at - begin + 1}"

    def source(self, file_name: str, module: str, position: int) -> Source:
        """A position as the source of an instruction, with the text of its line from there on."""
        end = self.text.find("\n", position)
        end = len(self.text) if end < 0 else end
        shown = self.text[position : min(end, position + 4 * _LONGEST_SOURCE)].strip()
        shown = shown.split(", metadata=")[0]
        if len(shown) > _LONGEST_SOURCE:
            shown = f"{shown[: _LONGEST_SOURCE - 3]}..."
        return Source(file_name, self.line(position)[0], module, shown)

    def fail(self, message: str, position: int | None = None) -> NoReturn:
        """Raise the error about a position."""
        raise HloError(f"{self.where(position)}: {message}")

    def expected(self, what: str) -> NoReturn:
        """Raise the error that something else stands here."""
        rest = self.text[self.position : self.position + _SHOWN].split("\n")[0]
        self.fail(f"expected {what}, not {rest!r}" if rest else f"expected {what}, not the end")

    # -------------------------------------------------------------------------------------- tokens

    def at(self, token: str) -> bool:
        """True if these characters are next."""
        return self.text.startswith(token, self.position)

    def take(self, token: str) -> bool:
        """Go on behind these characters, if they are next."""
        if not self.text.startswith(token, self.position):
            return False
        self.position += len(token)
        self.skip()
        return True

    def need(self, token: str) -> None:
        """Go on behind these characters, which are next."""
        if not self.take(token):
            self.expected(repr(token))

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Go on behind what a pattern matches, if it is next."""
        found = pattern.match(self.text, self.position)
        if found is not None:
            self.position = found.end()
            self.skip()
        return found

    def needed(self, pattern: re.Pattern[str], what: str) -> str:
        """What a pattern matches, which is next."""
        found = self.match(pattern)
        if found is None:
            self.expected(what)
        return found.group()

    def enter(self) -> None:
        """Go into what nests; raises an error where that is too deep."""
        self.nested += 1
        if self.nested > MOST_NESTED:
            self.fail(f"this is nested deeper than {MOST_NESTED} levels")

    def leave(self) -> None:
        """Come back from what nests."""
        self.nested -= 1

    def balanced(self) -> str:
        """The text between the bracket that is next and the one that closes it."""
        begin, open_brackets = self.position, []
        at = begin
        while True:
            found = _PIECE.match(self.text, at)
            if found is None:
                self.fail("this bracket is not closed", begin)
            at, piece = found.end(), found.group()
            if piece in _CLOSING:
                open_brackets.append(_CLOSING[piece])
            elif piece in _CLOSING.values() and (not open_brackets or open_brackets.pop() != piece):
                self.fail(f"this {piece!r} closes no bracket", found.start())
            if not open_brackets:
                self.position = at
                self.skip()
                return self.text[begin + 1 : at - 1]
