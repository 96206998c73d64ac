"""A line that says what a call waits for, if that takes longer than two seconds.

It stands on standard error where that is a terminal, or in a notebook's cell, and is erased at the
end. There is no thread: whoever waits or works looks at the clock (`tick`), and the main thread
alone draws, in the process that has begun. Phases that follow each other at once, a trace and what
compiles it, are one wait. TRANSPILE_PROGRESS=0 draws nothing.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from transpile.util.escapes import one_line

_PATIENCE = 2.0  # seconds before the line is drawn
_EVERY = 0.5  # seconds between two of them
_AT_ONCE = 0.1  # seconds between the end of a phase and the begin of the next one of a wait


class _Line:
    """A line that may be drawn.

    text    what is waited for
    begin   when that began, in seconds of the monotonic clock
    """

    begin: float
    _next: float

    def __init__(self, text: str) -> None:
        self.text = text
        self.owner = os.getpid()
        now = time.monotonic()
        before = _lines[-1] if _lines else _wait.line if now - _wait.end < _AT_ONCE else None
        self.begin = now if before is None else before.begin
        self._next = now + _PATIENCE if before is None else before._next
        self._cell: Any = None
        self._is_drawn = False

    def tick(self) -> None:
        """Draw it, if it is time to."""
        now = time.monotonic()
        if now < self._next or os.getpid() != self.owner:
            return
        self._next = now + _EVERY
        self._draw(f"transpile: {self.text}, {now - self.begin:.0f} s")

    def erase(self) -> None:
        """Leave nothing of it."""
        if not self._is_drawn or os.getpid() != self.owner:
            return
        self._is_drawn = False
        if self._cell is not None:
            self._cell.update(_shown(""), raw=True)
        else:
            _write("\r\x1b[K")

    def _draw(self, text: str) -> None:
        display = _notebook()
        if display is not None:
            if self._cell is None:
                self._cell = display.display(_shown(text), raw=True, display_id=True)
            else:
                self._cell.update(_shown(text), raw=True)
        elif not _is_terminal():
            return
        else:
            _write(f"\r\x1b[K{_fitting(text)}")
        self._is_drawn = True


class _Wait:
    """The line of the last phase that another one is to follow, and when that phase ended."""

    line: _Line | None = None
    end = float("-inf")


_wait = _Wait()
# The lines of what the main thread waits for, the innermost last; that one is drawn.
_lines: list[_Line] = []


@contextlib.contextmanager
def waiting(text: str, *, is_last: bool = True) -> Iterator[None]:
    """In this block, `tick` may draw a line with this text. What follows one that `is_last` is a
    wait of its own."""
    if not _is_wanted():
        yield
        return
    line = _Line(one_line(text))
    _lines.append(line)
    try:
        yield
    finally:
        _lines.remove(line)
        line.erase()
        _wait.line, _wait.end = None if is_last else line, time.monotonic()


def is_waiting() -> bool:
    """True if there is a line that may be drawn."""
    return bool(_lines) and threading.current_thread() is threading.main_thread()


def tick() -> None:
    """Draw the line, if it is time to."""
    if _lines and is_waiting():
        _lines[-1].tick()


def _is_wanted() -> bool:
    return (
        os.environ.get("TRANSPILE_PROGRESS", "") != "0"
        and threading.current_thread() is threading.main_thread()
        and (_is_terminal() or _notebook() is not None)
    )


def _is_terminal() -> bool:
    stream = sys.stderr
    with contextlib.suppress(ValueError, OSError):  # it is closed
        return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"
    return False


def _write(text: str) -> None:
    with contextlib.suppress(ValueError, OSError):
        sys.stderr.write(text)
        sys.stderr.flush()


def _fitting(text: str) -> str:
    """As much of a text as fits a line: a longer one could not be erased."""
    width = 0
    with contextlib.suppress(ValueError, OSError, AttributeError):
        width = os.get_terminal_size(sys.stderr.fileno()).columns
    width = width or 80
    return text if len(text) < width else f"{text[: max(width - 4, 0)]}..."


def _notebook() -> Any:
    """The module by which a notebook shows something; None where this is none."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    return None if getattr(shell, "kernel", None) is None else sys.modules.get("IPython.display")


def _shown(text: str) -> dict[str, str]:
    """A text as notebooks take it. An empty one takes no room there."""
    if not text:
        return {"text/plain": "", "text/html": ""}
    return {"text/plain": text}
