"""Commands: child processes without a shell, without pipes, that end with the work they are for.

What a command prints goes to a file without a name. The end of a pipe is seen only when every
process has closed it, and a process that another thread forks meanwhile, or a server that the
compiler's wrapper leaves behind, keeps it open for as long as it lives.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transpile.disk_cache.process_directory import scratch_directory
from transpile.util.fork_safe_lock import Lock, undivided
from transpile.util.lazy_imports import Later

if TYPE_CHECKING:
    import signal
    import subprocess
    import tempfile
else:
    signal = Later("signal")
    subprocess = Later("subprocess")
    tempfile = Later("tempfile")


class Running:
    """A command that `start` starts, and that has ended or is killed at the end of a `with` block.

    It runs in `directory`, reads nothing, and what it prints (with `errors`: and complains about)
    is kept in a file there. It leads a process group of its own, so that the processes which it
    starts go with it.

    Python raises KeyboardInterrupt in the main thread only, and there also between the start of a
    process and the assignment of its number, which would then be lost. So the main thread has
    another one start it.
    """

    def __init__(
        self,
        command: Sequence[str],
        directory: Path,
        environment: Mapping[str, str],
        *,
        errors: bool = True,
    ) -> None:
        with undivided():
            self._said = tempfile.TemporaryFile(dir=directory)
        self._words: dict[str, Any] = {
            "args": command,
            "cwd": directory,
            "stdin": subprocess.DEVNULL,
            "stdout": self._said,
            "stderr": subprocess.STDOUT if errors else subprocess.DEVNULL,
            "env": environment,
            "process_group": 0,
        }
        self._starting = Lock()
        self._is_over = False  # from then on nothing is started
        self._process: subprocess.Popen[bytes] | None = None
        self._error: OSError | ValueError | None = None

    def start(self) -> None:
        """Start it; OSError where that is not possible."""
        if threading.current_thread() is not threading.main_thread():
            self._start()
        else:
            # Not threading.Thread: an interrupt can leave its start and join half done. And a lock
            # that another thread opens, which no fork finds locked: `_start` is undivided.
            is_done = _thread.allocate_lock()
            is_done.acquire()
            try:
                _thread.start_new_thread(self._start, (is_done,))
            except RuntimeError:  # no thread is to be had: without one, then
                self._start()
            else:
                is_done.acquire()
        if self._error:
            raise self._error

    def _start(self, is_done: _thread.LockType | None = None) -> None:
        # Popen learns by a pipe of its own whether a command could be started; a child that was
        # forked just then would hold that pipe too.
        with undivided():
            try:
                with self._starting:
                    if not self._is_over:
                        self._process = subprocess.Popen(**self._words)
            except (OSError, ValueError) as error:  # ValueError: a zero byte in the command
                self._error = error
            finally:
                if is_done:
                    is_done.release()

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._end()
        finally:  # once more, where an interrupt came
            self._end()

    def _end(self) -> None:
        with self._starting:
            self._is_over = True
        self._said.close()
        if self._process and self._process.poll() is None:
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def wait(self) -> tuple[int, str]:
        """Its exit status, or minus the signal that killed it, and what it said."""
        assert self._process
        status = self._process.wait()
        self._said.seek(0)
        return status, os.fsdecode(self._said.read())


def run(command: Sequence[str], directory: Path) -> tuple[int, str]:
    """Run a command in a directory, which its temporary files go to: (exit status, what it said).

    Raises OSError where it cannot be started.
    """
    with Running(command, directory, environment(directory)) as running:
        running.start()
        return running.wait()


def output_of(command: Sequence[str]) -> str:
    """What a command prints, or nothing where it cannot be run."""
    with scratch_directory() as temporary:
        directory = Path(temporary)
        try:
            with Running(command, directory, environment(directory), errors=False) as running:
                running.start()
                return running.wait()[1]
        except OSError:
            return ""


def environment(directory: Path) -> dict[str, str]:
    """For the compiler: English messages, its temporary files in `directory`, and no program or
    file by a path that depends on where it runs."""
    paths = os.environ.get("PATH", os.defpath).split(os.pathsep)
    values = {name: value for name, value in os.environ.items() if name not in _WRITING}
    values["PATH"] = os.pathsep.join(filter(os.path.isabs, paths)) or os.defpath
    return {**values, "LC_ALL": "C", "TMPDIR": str(directory)}


# gcc writes to the files that these variables name.
_WRITING = {"DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES"}
