"""Child processes without a shell and without pipes, which do not outlive a `with` block.

The output of a command goes to an unnamed file. A pipe would end only when every process has closed
it, and it is inherited by children that other threads fork meanwhile, and by servers that a wrapper
of the compiler leaves behind.
"""

from __future__ import annotations

import _thread
import contextlib
import errno
import os
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transpile.disk_cache.cache_files import listed, unnamed_file
from transpile.disk_cache.concurrent_steps import Steps, finished, pause
from transpile.disk_cache.process_directory import scratch_directory
from transpile.util.fork_safe_lock import Lock, undivided
from transpile.util.lazy.imports import Later
from transpile.util.terminal.status_line import is_waiting

if TYPE_CHECKING:
    import signal
    import subprocess
else:
    signal = Later("signal")
    subprocess = Later("subprocess")


_CLOCK = 20.0  # as many times the limit in seconds by the clock are too many, too
_PAUSE = 0.5  # in seconds; then it is looked whether the thread that is waited for is there


class TimeLimitError(Exception):
    """A command has taken longer than it may."""


class ChildProcess:
    """A command that `start` starts, and that is killed where it runs at the end of a `with` block.

    It runs in `directory` and reads nothing. Its standard output (with `errors`: and standard
    error) goes to a file there. It leads a process group, which is killed with it.

    A KeyboardInterrupt can be raised between the start of a process and the assignment of its
    number, which would then be lost. Python raises it in the main thread only, so there another
    thread starts the process.

    Signal handlers may fork there, too. In such a child neither that thread nor the process is its
    own: ChildProcessError.

    limit   after how many processor seconds of its group it is not waited for any longer, or after
            twenty times as many by the clock, which tells little on a busy machine: TimeLimitError;
            0: none
    """

    def __init__(
        self,
        command: Sequence[str],
        directory: Path,
        environment: Mapping[str, str],
        *,
        errors: bool = True,
        limit: float = 0.0,
    ) -> None:
        with undivided():
            self._output = unnamed_file(directory)
        self._arguments: dict[str, Any] = {
            "args": command,
            "cwd": directory,
            "stdin": subprocess.DEVNULL,
            "stdout": self._output,
            "stderr": subprocess.STDOUT if errors else subprocess.DEVNULL,
            "env": environment,
            "process_group": 0,
        }
        self._limit = limit
        self._begin = self._next_look = 0.0
        self._is_late = False
        self._owner = os.getpid()
        self._starting = Lock()
        self._is_over = False  # True: nothing is started any more
        self._process: subprocess.Popen[bytes] | None = None
        self._error: OSError | ValueError | None = None

    def start(self) -> None:
        """Start the command; OSError where that is not possible."""
        self._begin = time.monotonic()
        self._next_look = self._begin + self._limit
        if threading.current_thread() is not threading.main_thread():
            self._start()
        else:
            # Not threading.Thread: an interrupt can leave its start and join half done. No fork
            # happens while `_start`, which releases the lock, runs; but one may before it begins.
            is_done = _thread.allocate_lock()
            is_done.acquire()
            try:
                _thread.start_new_thread(self._start, (is_done,))
            except RuntimeError:  # no thread can be started
                self._start()
            else:
                while not is_done.acquire(timeout=_PAUSE):
                    self._check_owner()
        if self._error:
            raise self._error

    def _start(self, is_done: _thread.LockType | None = None) -> None:
        # Popen waits for the end of a pipe of its own, which a child that another thread forks at
        # this moment would inherit.
        with undivided():
            try:
                with self._starting:
                    if not self._is_over:
                        self._process = subprocess.Popen(**self._arguments)
            except (OSError, ValueError) as error:  # ValueError: a zero byte in the command
                self._error = error
            finally:
                if is_done:
                    is_done.release()

    def __enter__(self) -> ChildProcess:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._end()
        finally:  # once more, where an interrupt came
            self._end()

    def _end(self) -> None:
        with self._starting:
            self._is_over = True
        self._output.close()
        # In a forked child `poll` says that it has ended, unless another thread was just asking.
        if self._process and self._process.poll() is None and os.getpid() == self._owner:
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def has_ended(self) -> bool:
        """True if `wait` would not wait."""
        assert self._process
        if self._limit and time.monotonic() > self._next_look and not self._is_late:
            elapsed = time.monotonic() - self._begin
            used = processor_seconds(self._process.pid)
            self._is_late = max(elapsed / _CLOCK, used) > self._limit
            self._next_look += min(self._limit / 10, 1.0)
        return self._process.poll() is not None or self._is_late

    def wait(self) -> tuple[int, str]:
        """The exit status, or minus the signal that killed the command, and its output."""
        assert self._process
        # Popen.wait sleeps for up to 50 ms, and tells nobody what it waits for.
        while (self._limit or is_waiting()) and not self.has_ended():
            pause(self._begin)
        if self._process.poll() is None and self._is_late:
            raise TimeLimitError(f"{self._arguments['args'][0]} took more than {self._limit:g} s")
        status = self._process.wait()
        self._check_owner()  # of another process's child it says that it has succeeded
        self._output.seek(0)
        return status, os.fsdecode(self._output.read())

    def _check_owner(self) -> None:
        if os.getpid() != self._owner:
            raise ChildProcessError(
                errno.ECHILD,
                "a signal handler has forked this process while its parent was running a command; "
                f"that is its parent's: {self._arguments['args'][0]}",
            )


def processor_seconds(group: int) -> float:
    """The processor time that the processes of a group and their children have had; 0 where /proc
    does not tell."""
    ticks = 0
    for process in filter(str.isdecimal, listed(Path("/proc"))):
        with contextlib.suppress(OSError, ValueError, IndexError):  # it has ended meanwhile
            text = Path("/proc", process, "stat").read_text(encoding="utf-8", errors="replace")
            words = text.rpartition(")")[2].split()
            if int(words[2]) == group:
                ticks += sum(map(int, words[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def run(command: Sequence[str], directory: Path) -> tuple[int, str]:
    """Run a command in a directory, where its temporary files are too: (exit status, output).

    Raises OSError where it cannot be started.
    """
    return finished(running(command, directory))


def running(command: Sequence[str], directory: Path, limit: float = 0.0) -> Steps[tuple[int, str]]:
    """The steps of `run`; `limit` as for `ChildProcess`."""
    with ChildProcess(command, directory, environment(directory), limit=limit) as process:
        process.start()
        yield process
        return process.wait()


def output_of(command: Sequence[str]) -> str:
    """The standard output of a command; empty where it cannot be run."""
    with scratch_directory() as temporary:
        directory = Path(temporary)
        try:
            with ChildProcess(command, directory, environment(directory), errors=False) as running:
                running.start()
                return running.wait()[1]
        except OSError:
            return ""


def environment(directory: Path) -> dict[str, str]:
    """The environment of a compiler: English messages, temporary files in `directory`, and no
    relative directory on PATH, which would depend on where the compiler runs."""
    paths = os.environ.get("PATH", os.defpath).split(os.pathsep)
    values = {name: value for name, value in os.environ.items() if name not in _OUTPUT_VARIABLES}
    values["PATH"] = os.pathsep.join(filter(os.path.isabs, paths)) or os.defpath
    return {**values, "LC_ALL": "C", "TMPDIR": str(directory)}


# gcc writes to the files that these variables name.
_OUTPUT_VARIABLES = {"DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES"}
