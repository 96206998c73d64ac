"""Run functions side by side, on a thread for each device of the process.

All of them run at once, as they wait for each other: so one run at a time. A forked child starts
threads of its own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from transpile.util.fork_safe_lock import Lock


class _Pool:
    """The threads of this process, as many as the largest run has needed."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._executor: ThreadPoolExecutor | None = None
        self._process = 0
        self._count = 0
        self._of_device = threading.local()

    def run(
        self, functions: Sequence[Callable[[], None]], stop: Callable[[str], None]
    ) -> list[BaseException | None]:
        """What each function has raised, when all have ended. An interrupt of the caller calls
        `stop(reason)`, which has them end, and is raised then."""
        if getattr(self._of_device, "is_busy", False):
            raise RuntimeError("a device, which runs a program, cannot wait for all devices")
        with self._lock:
            executor = self._threads(len(functions))
            futures = [executor.submit(self._guarded, f) for f in functions]
            self._wait(futures, stop)
            return [future.result() for future in futures]

    def _guarded(self, function: Callable[[], None]) -> BaseException | None:
        self._of_device.is_busy = True
        try:
            function()
        except BaseException as error:  # raised again in the caller's thread
            return error
        finally:
            self._of_device.is_busy = False
        return None

    def _wait(self, futures: list[Future[Any]], stop: Callable[[str], None]) -> None:
        """Wait for all, also where an interrupt comes: the programs use the caller's arrays."""
        try:
            wait(futures)
        except BaseException:
            stop("interrupted")
            wait(futures)
            raise

    def _threads(self, count: int) -> ThreadPoolExecutor:
        if self._executor is None or self._process != os.getpid() or self._count < count:
            if self._executor is not None and self._process == os.getpid():
                self._executor.shutdown()
            self._executor = ThreadPoolExecutor(count, "transpile-device")
            self._process, self._count = os.getpid(), count
        return self._executor


POOL = _Pool()
