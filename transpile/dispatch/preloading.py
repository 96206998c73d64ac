"""Import what compiling needs before a first call asks for it, in a thread beside the user's code.

These are two hundred modules that a program from the cache does without. So they are imported where
a function is jitted of whose name the cache has no program, or whose file has changed since these
were last used, once in a process, and what the user does until the call hides how long that takes.

Nobody shall notice the thread. It imports a module after the other and ends between two of them
where it is asked to: a fork and the end of the process wait for it. It holds no lock but Python's
for the module, so that a call that needs this module waits for this one alone. An import that fails
here fails again, and is reported, where the call needs it.
"""

from __future__ import annotations

import _thread
import atexit
import contextlib
import functools
import os
import sys
import time
from types import CodeType
from typing import TYPE_CHECKING, Any

from transpile.trace.call_signature import function_name
from transpile.util.fork_safe_lock import LONGEST_WAIT
from transpile.util.lazy.imports import Later, free_import_lock, imported_beside

if TYPE_CHECKING:
    from transpile.disk_cache import cache_entry, cache_files, concurrent_steps
else:
    cache_entry = Later("transpile.disk_cache.cache_entry")
    cache_files = Later("transpile.disk_cache.cache_files")
    concurrent_steps = Later("transpile.disk_cache.concurrent_steps")

# In the order in which a first call needs them. Each comes with those that it imports.
MODULES = (
    "transpile.runtime.executable",
    "transpile.primitives.memory_orders",
    "transpile.build.pool_linking",
    "transpile.passes",
    "transpile.fusion.materialize",
    "transpile.lower.kernels",
    "transpile.schedule.blocking",
    "transpile.schedule",
    "transpile.codegen.render",
    "transpile.build.driver",
    "subprocess",
)
_PAUSE = 0.0005  # seconds


class _Preloading:
    """The state of this process."""

    def __init__(self) -> None:
        self.has_begun = False  # or there is nothing to begin
        self.is_stopped = False
        self.is_running = False
        # The programs in the cache, at the first look: their directories, by name.
        self.programs: dict[str, list[str]] | None = None

    def run(self) -> None:
        """What the thread does."""
        self.is_running = True
        try:
            for module in MODULES:
                if self.is_stopped:
                    break
                # RuntimeError: two threads want what the other one imports, and Python ends one.
                with contextlib.suppress(ImportError, OSError, MemoryError, RuntimeError, Warning):
                    imported_beside(module)
        finally:
            self.is_running = False

    def stop(self) -> None:
        """End the thread, and wait for its end: for a module, at most."""
        self.is_stopped = True
        free_import_lock()
        end = time.monotonic() + LONGEST_WAIT
        while self.is_running and time.monotonic() < end:
            time.sleep(_PAUSE)


_state = _Preloading()


def begin(function: Any) -> None:
    """Begin to import what compiling this function needs, unless the cache is likely to have its
    programs, or this process has begun before."""
    free_import_lock()  # which an interrupt in a callback of importlib, that Python ignores, keeps
    state = _state
    if state.has_begun:
        return
    is_wanted = os.environ.get("TRANSPILE_PRELOAD", "") != "0"
    if not is_wanted or concurrent_steps.most_commands() < 2 or MODULES[-2] in sys.modules:
        state.has_begun = True
        return
    if state.programs is None:
        state.programs = _programs()
    known = state.programs.get(cache_entry.identifier(function_name(function)), [])
    if known and not _is_newer(function, known):
        return
    state.has_begun, state.is_stopped = True, False
    with contextlib.suppress(RuntimeError):  # no thread can be started
        _thread.start_new_thread(state.run, ())


def _programs() -> dict[str, list[str]]:
    """The directories of the programs in the cache, by name."""
    found: dict[str, list[str]] = {}
    directory = cache_files.cache_directory()
    with contextlib.suppress(OSError):
        for entry in os.listdir(directory):
            found.setdefault(entry.rpartition("-")[0], []).append(f"{directory}/{entry}")
    return found


def _is_newer(function: Any, entries: list[str]) -> bool:
    """True if the file of a function has changed since entries of the cache were used, which it is
    once for each change: they count as used from now on."""
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(function, "__code__", None)
    try:
        changed = os.stat(code.co_filename).st_mtime if isinstance(code, CodeType) else 0
        newest = max(entries, key=lambda entry: os.stat(entry).st_mtime)
        is_newer = changed > os.stat(newest).st_mtime
        if is_newer:
            os.utime(newest)
    except OSError:  # there is no file, or another process has removed an entry
        return False
    return is_newer


def _begin_anew() -> None:
    """In a forked child, which does not have the thread."""
    global _state
    _state = _Preloading()


for _ in range(2):  # an interrupt in `stop` skips the rest of it
    os.register_at_fork(before=lambda: _state.stop(), after_in_child=_begin_anew)
atexit.register(lambda: _state.stop())
