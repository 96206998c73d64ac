"""Build a program in the background: another Python process puts it into the cache.

No thread of this process does it: its Python would slow down the user's, and forks would find it
in the middle of something. The process gets the graph as a pickle, and Python's `sys.path`. It does
not outlive this one, whose end waits for it, though not for long; a forked child leaves it to its
parent.
"""

from __future__ import annotations

import atexit
import io
import os
import pickle
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

from transpile.build.commands import ChildProcess, environment
from transpile.disk_cache.cache import default_cache
from transpile.disk_cache.concurrent_steps import Command, Steps, most_commands, pause
from transpile.ir.graph import Donated
from transpile.options import Options
from transpile.primitives.effects.callbacks import Callback
from transpile.runtime.executable import Lowering
from transpile.trace.history.record import Record
from transpile.util.fork_safe_lock import Lock, undivided
from transpile.util.hashing import blake2b
from transpile.util.lazy.imports import Later
from transpile.util.lazy.loggers import Log

if TYPE_CHECKING:
    import shutil
    import tempfile
else:
    shutil = Later("shutil")
    tempfile = Later("tempfile")

logger = Log("transpile.build")

# For how many seconds the end of this process waits for programs that are being built.
_LONGEST_END = 5.0
_CODE = (
    "import sys; sys.path[:] = sys.argv[2:]\n"
    "from transpile.dispatch.background_build import main; main(sys.argv[1])"
)
_FILE = "program.pickle"


class UnavailableError(Exception):
    """The reason why a program cannot be built in the background."""


class BusyError(Exception):
    """As many programs are being built as there are processors for."""


class BackgroundBuild:
    """A program that a process builds."""

    def __init__(self, steps: Steps[None]) -> None:
        self._steps = steps
        self._command: Command | None = next(steps)

    def has_ended(self) -> bool:
        """True if there is nothing to wait for: the program is in the cache, unless its compiler
        has failed."""
        with _lock:
            command = self._command
            if command is not None and command.has_ended():
                self._command = None
                next(self._steps, None)
            return self._command is None

    def wait(self, until: float = float("inf")) -> None:
        """Wait for its end, or until the monotonic clock has this time."""
        begin = time.monotonic()
        while not self.has_ended() and time.monotonic() < until:
            pause(begin)

    def stop(self) -> None:
        """End the process, where it runs."""
        self._command = None
        self._steps.close()

    def forget(self) -> None:
        """Take it for ended, in a forked child, whose process it is not."""
        self._command = None


_under_way: dict[tuple[str, Options, Donated], BackgroundBuild] = {}
_lock = Lock()


def begun(lowering: Lowering) -> BackgroundBuild:
    """The build of a program in the background, which is begun unless it is under way.

    Raises BusyError and UnavailableError.
    """
    identity = (_digest(lowering), lowering.options, lowering.donated)
    with _lock:
        for other, build in list(_under_way.items()):
            if build.has_ended():
                del _under_way[other]
        if identity not in _under_way:
            if len(_under_way) >= most_commands():
                raise BusyError
            _under_way[identity] = BackgroundBuild(_building(lowering))
        return _under_way[identity]


def _building(lowering: Lowering) -> Steps[None]:
    """The steps that build a program."""
    if not sys.executable or default_cache().problem():
        raise UnavailableError("there is no interpreter to start, or no cache that processes share")
    pickled = _pickled(lowering)
    with _directory() as directory:
        path = directory / _FILE
        places = [place for place in sys.path if isinstance(place, str)]
        command = [sys.executable, "-c", _CODE, str(path), _own_place(), *places]
        variables = environment(directory)
        variables["TRANSPILE_CACHE_DIR"] = str(default_cache().directory.absolute())
        with ChildProcess(command, directory, variables) as process:
            try:
                path.write_bytes(pickled)
                process.start()
            except OSError as error:
                raise UnavailableError(str(error)) from error
            yield process
            status, output = process.wait()
    if status:
        logger.info("%s was not built in the background: %s", lowering.graph.name, output)


@contextmanager
def _directory() -> Iterator[Path]:
    """A temporary directory, which a forked child leaves to its parent."""
    owner = os.getpid()
    with undivided():
        made = tempfile.mkdtemp(prefix="transpile-")
    try:
        yield Path(made)
    finally:
        if os.getpid() == owner:
            shutil.rmtree(made, ignore_errors=True)


def _own_place() -> str:
    """The directory that this package is imported from."""
    return str(Path(__file__).parents[2])


# -- what the process gets -------------------------------------------------------------------------


class _Pickler(pickle.Pickler):
    """Leaves out what Python calls and programs do not depend on: a closure cannot be pickled."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self._numbers: dict[Callback, int] = {}

    def persistent_id(self, obj: Any) -> Any:
        """What stands for an object in the pickle."""
        if isinstance(obj, Callback):
            number = self._numbers.setdefault(obj, len(self._numbers))
            return Callback.__name__, obj.__name__, number, obj.message, (), obj.failure
        if isinstance(obj, FunctionType) and not _is_ours(obj):
            return FunctionType.__name__, obj.__name__, obj.__qualname__, obj.__module__
        return None


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, pid: Any) -> Any:
        """A callback that is equal to those that it was equal to, or a function of that name."""
        kind, name, *further = pid
        if kind == Callback.__name__:
            return Callback(name, _not_called, *further)
        function = FunctionType(_not_called.__code__, globals(), name)
        function.__qualname__, function.__module__ = further
        return function


def _is_ours(function: FunctionType) -> bool:
    """True for a function that the process finds by its name."""
    return function.__module__.startswith("transpile.") and "<" not in function.__qualname__


def _not_called(*_: Any) -> None:
    raise AssertionError("a process that builds a program calls nothing of it")


def _pickled(lowering: Lowering) -> bytes:
    """All that the process needs; UnavailableError where that cannot be pickled."""
    file = io.BytesIO()
    state = (lowering.graph, lowering.options, lowering.donated, lowering.record.seconds)
    try:
        _Pickler(file).dump((os.getcwd(), *state, _digest(lowering)))
    except (pickle.PicklingError, AttributeError, TypeError, OSError) as error:
        raise UnavailableError(str(error)) from error
    return file.getvalue()


def _digest(lowering: Lowering) -> str:
    return blake2b(lowering.graph.fingerprint(paths=True).encode()).hexdigest()


def main(path: str) -> None:
    """The process: build the program of a pickle."""
    with open(path, "rb") as file:
        directory, graph, options, donated, seconds, digest = _Unpickler(file).load()
    os.chdir(directory)
    lowering = Lowering(graph, options, donated, Record(seconds))
    if _digest(lowering) != digest:
        raise SystemExit("the graph is another one here, and would have another key")
    lowering.prepare()


# -- ends and forks --------------------------------------------------------------------------------


def _finish() -> None:
    """Let what is being built come to its end: else a process that is always short would never have
    its program."""
    until = time.monotonic() + _LONGEST_END
    for build in list(_under_way.values()):
        build.wait(until)
        build.stop()


def _forget() -> None:
    for build in _under_way.values():
        build.forget()
    _under_way.clear()


os.register_at_fork(after_in_child=_forget)
atexit.register(_finish)
