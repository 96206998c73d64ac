"""Work that waits for commands, in steps, so that one thread has several commands run side by side.

`Steps` are a generator that starts a command, yields it, and waits for its end where it goes on.
There are no threads: a fork could come while one of them holds a lock, and an interrupt reaches the
main thread alone. What is under way has its clean-up in the generator, which `close` runs.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Generator
from typing import Protocol, TypeVar

from transpile.util.terminal.status_line import tick

_Result = TypeVar("_Result")
_Argument = TypeVar("_Argument")

# More compilers than this gain little, and each needs a hundred megabytes.
_MOST_COMMANDS = 4
# How long it is waited before it is looked again which command has ended: the share of the time
# waited so far, and the least and the most seconds.
_SHARE, _SHORTEST, _LONGEST = 1 / 50, 0.0005, 0.02


class Command(Protocol):
    """A command that has been started."""

    def has_ended(self) -> bool:
        """True if nothing is left to wait for."""


Steps = Generator[Command, None, _Result]


def finished(steps: Steps[_Result]) -> _Result:
    """The result of steps, each waited for in turn."""
    try:
        while True:
            next(steps)
    except StopIteration as end:
        result: _Result = end.value
        return result
    finally:
        _close(steps)


def in_one_step(function: Callable[[_Argument], _Result]) -> Callable[[_Argument], Steps[_Result]]:
    """A function as one that returns steps, of which there is one."""

    def steps(argument: _Argument) -> Steps[_Result]:
        return function(argument)
        yield  # a generator without values

    return steps


def pause(begin: float) -> None:
    """Sleep before it is looked again whether a command has ended that was started at `begin`.
    Who waits at a terminal is told for what."""
    tick()
    time.sleep(min(max((time.monotonic() - begin) * _SHARE, _SHORTEST), _LONGEST))


def most_commands() -> int:
    """How many commands can run at a time: the processors of this process, at most four."""
    count = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return min(count, _MOST_COMMANDS)


class SideBySide:
    """Steps whose commands run at the same time, at most `most` of them.

    At the end of a `with` block those that are under way are closed.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._every: list[Steps[None]] = []
        self._running: dict[Steps[None], Command] = {}

    def __enter__(self) -> SideBySide:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._close()
        finally:  # once more, where an interrupt came
            self._close()

    def _close(self) -> None:
        for steps in self._every:
            steps.close()

    def begin(self, steps: Steps[None]) -> None:
        """Go on until a command of theirs runs, or to their end; waits first where already as many
        commands run as may."""
        self._every.append(steps)
        while len(self._running) >= self._most:
            self._go_on()
        self._next(steps)

    def drop(self, steps: Steps[None]) -> None:
        """End steps whose result is not needed."""
        self._running.pop(steps, None)
        steps.close()

    def may_gain(self) -> bool:
        """True if a command runs beside which another one may."""
        for steps in [s for s, command in self._running.items() if command.has_ended()]:
            del self._running[steps]
            self._next(steps)
        return bool(self._running) and self._most > 1

    def finish(self) -> None:
        """Wait for the end of all."""
        while self._running:
            self._go_on()

    def _go_on(self) -> None:
        """Wait for one of the commands, and go on with the steps that it belongs to."""
        steps = self._ended()
        del self._running[steps]
        self._next(steps)

    def _next(self, steps: Steps[None]) -> None:
        with contextlib.suppress(StopIteration):
            self._running[steps] = next(steps)

    def _ended(self) -> Steps[None]:
        """The first steps whose command has ended; the only ones at once: they wait themselves."""
        begin = time.monotonic()
        while len(self._running) > 1:
            for steps, command in self._running.items():
                if command.has_ended():
                    return steps
            pause(begin)
        return next(iter(self._running))


def _close(steps: Steps[_Result]) -> None:
    try:
        steps.close()
    finally:  # once more, where an interrupt came
        steps.close()
