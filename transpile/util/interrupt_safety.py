"""Restore changed state on exit, wherever an exception or a KeyboardInterrupt comes.

Python raises KeyboardInterrupt between any two lines of the main thread, also between the lines of
a clean-up. So a clean-up runs twice, and is idempotent. Permanent state is built first and
published by one assignment, or built by operations that can be repeated from the beginning.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")


def between(
    begin: Callable[[], object], run: Callable[[], Result], end: Callable[[], object]
) -> Result:
    """The result of `run()` between `begin()` and `end()`.

    `end()` runs twice, whatever is raised and wherever, also where `begin()` is interrupted.
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
    """The dynamic state of a thread. All values are immutable."""

    traces: tuple[Any, ...] = ()  # the active ones, the innermost last
    scope: str = ""  # of `named_scope`
    axes: tuple[Any, ...] = ()  # that `vmap` has given names
    sites: frozenset[Any] | None = None  # of calls that make traced arrays; None: nobody retries
    refusals: Any = None  # collects errors where Python asked for a value; None: nobody asks
    printed: Any = None  # collects what a traced function prints; None: it is printed at once
    record: Any = None  # collects what a trace meets of the user's Python
    python: Any = None  # how functions are converted from source; None: they are not
    converts: bool = True  # whether they may be
    copies: tuple[Any, ...] = ()  # of known arrays, which the statements around may not change
    longest: int | None = None  # of a trace in equations, beyond which conversion is tried
    checks_bounds: bool = False  # whether an index out of range ends the program
    checks_arithmetic: bool = False  # whether what Python raises for numbers ends the program
    arithmetic: Any = None  # tests numbers for what Python raises exceptions for
    assumed: Any = None  # collects what sizes a trace needs; None: they are as they were declared
    platform: str = "cpu"  # that the program will run on
    precision: Any = None  # of products that name none; None: that of all threads
    most_equations: int | None = None  # which the interpreter may compute; None: as many as it has
    goes_on: Callable[[], bool] | None = None  # which it asks before each equation


THREAD = _Thread()
# An item for each setting, of a thread or of all, because of which a call may mean something else.
# While it is empty, calls in C do not ask Python.
SUSPENDING: list[None] = []


def as_before() -> Callable[[], None]:
    """A function that restores the present dynamic state of this thread."""
    values = THREAD.__dict__
    before = dict(values)

    def end() -> None:
        values.clear()
        values.update(before)

    return end
