"""Pause the garbage collector while compiling: it would traverse many live objects again and again,
and find hardly any cycle, for up to a third of the time."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable

from transpile.util.interrupt_safety import Result, between

_pausing: set[int] = set()  # the threads that have switched it off


def without_collector(run: Callable[[], Result]) -> Result:
    """The result of `run()`, without the collector, where it is on; what no cycle holds goes at
    once, as always."""
    return between(_pause, run, _resume) if gc.isenabled() else run()


def _pause() -> None:
    _pausing.add(threading.get_ident())
    gc.disable()


def _resume() -> None:
    _pausing.discard(threading.get_ident())
    if not _pausing:
        gc.enable()


def _forget_others() -> None:
    """In a forked child: the other threads are not there to switch it on again."""
    if _pausing:
        _pausing.intersection_update((threading.get_ident(),))
        if not _pausing:
            gc.enable()


os.register_at_fork(after_in_child=_forget_others)
