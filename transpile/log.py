"""A log for people, on standard error: what was traced, compiled and why, a line for each event.

    transpile.log.enable()             from here on
    with transpile.log.enable(): ...   in this block
    TRANSPILE_LOG=info python ...      from the beginning; "debug" has more

The lines are messages of Python's `logging`, of the logger "transpile" and those below it
(docs/environment.md lists them): a program that configures these needs nothing of this module.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import TextIO

__all__ = ["disable", "enable"]

_LEVELS = {"info": logging.INFO, "debug": logging.DEBUG, "warning": logging.WARNING}
_logger = logging.getLogger("transpile")


class _Lines(logging.Formatter):
    """The time, the message on one line, and what is no more than a warning."""

    def __init__(self) -> None:
        super().__init__(datefmt="%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        said = " ".join(record.getMessage().split())
        word = f"{record.levelname.lower()}: " if record.levelno >= logging.WARNING else ""
        return f"{self.formatTime(record, self.datefmt)} transpile: {word}{said}"


class _Handler(logging.StreamHandler[TextIO]):
    """Writes to a stream, or to what `sys.stderr` is at the moment."""

    def __init__(self, stream: TextIO | None) -> None:
        super().__init__(stream or sys.stderr)
        self._follows = stream is None
        self.setFormatter(_Lines())

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        if self._follows:
            self.stream = sys.stderr
        if self.stream is not None:
            super().emit(record)


# The handler that `enable` has added, and the level that the logger had before.
_enabled: list[tuple[logging.Handler, int]] = []


class enable:  # used as a function and as a context
    """Write a line for each event: a trace and why, what the cache has, a compilation.

    `enable()` begins, `disable()` ends; as a context it ends with the block.

    level   "info", "debug" (also each program that the cache has), or "warning"
    stream  a file that is open for texts; by default standard error

    Raises ValueError for another level.
    """

    def __init__(self, level: str = "info", *, stream: TextIO | None = None) -> None:
        if level not in _LEVELS:
            raise ValueError(f"a level of the log is one of {', '.join(_LEVELS)}, not {level!r}")
        disable()
        _enabled.append((_Handler(stream), _logger.level))
        _logger.addHandler(_enabled[-1][0])
        _logger.setLevel(_LEVELS[level])

    def __enter__(self) -> None:
        """The constructor has begun."""

    def __exit__(self, *exception: object) -> None:
        disable()


def disable() -> None:
    """Write no more lines; the logger has the level that it had before `enable`."""
    while _enabled:
        handler, level = _enabled.pop()
        _logger.removeHandler(handler)
        _logger.setLevel(level)


def begin_as_asked() -> None:
    """Begin if the environment variable TRANSPILE_LOG asks for it. ValueError for a word that it
    does not take."""
    word = os.environ.get("TRANSPILE_LOG", "").lower()
    if word in ("", "0"):
        return
    if word not in ("1", *_LEVELS):
        raise ValueError(f"TRANSPILE_LOG takes {', '.join(_LEVELS)} or 0, not {word!r}")
    enable("info" if word == "1" else word)
