"""Pause the garbage collector while compiling. It would traverse many live objects repeatedly and
find hardly any cycle, for up to a third of the time."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable

from transpile.util.interrupt_safety import Result, between

_pausing: set[int] = set()  # the threads that have disabled it


def without_collector(run: Callable[[], Result]) -> Result:
    """The result of `run()`, with the collector disabled; reference counting goes on."""
    return between(_pause, run, _resume) if gc.isenabled() else run()


def _pause() -> None:
    _pausing.add(threading.get_ident())
    gc.disable()


def _resume() -> None:
    _pausing.discard(threading.get_ident())
    if not _pausing:
        gc.enable()


def _forget_others() -> None:
    """In a forked child: the other threads do not exist to enable it again."""
    if _pausing:
        _pausing.intersection_update((threading.get_ident(),))
        if not _pausing:
            gc.enable()


os.register_at_fork(after_in_child=_forget_others)
