"""Restore changed state on exit, wherever an exception or a KeyboardInterrupt comes.

Python raises KeyboardInterrupt between any two lines of the main thread, also between the lines
that would undo something. So what is changed for a while is undone twice, and undoing it twice does
what doing it once does. What is made once for the life of the process is made aside and put in its
place by one assignment, or in steps that can be done again from the first.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")


def between(
    begin: Callable[[], object], run: Callable[[], Result], end: Callable[[], object]
) -> Result:
    """The result of `run()`, after `begin()`, and then `end()`, whatever is raised and wherever.

    `end()` runs twice, and also where `begin()` has not come to its end.
    """
    try:
        try:
            begin()
            return run()
        finally:
            end()
    finally:
        end()


class _Thread(threading.local):
    """What a thread is in the middle of. All values are immutable."""

    traces: tuple[Any, ...] = ()  # under way, the innermost last
    scope: str = ""  # of `named_scope`
    axes: tuple[Any, ...] = ()  # that `vmap` has given names
    most_equations: int | None = None  # which the interpreter may compute; None: as many as it has


THREAD = _Thread()


def as_before() -> Callable[[], None]:
    """What makes this thread be in the middle of what it is in the middle of now."""
    values = THREAD.__dict__
    before = dict(values)

    def end() -> None:
        values.clear()
        values.update(before)

    return end
