"""`python -m transpile watch`: what a function becomes, again whenever its file is saved.

A process of its own shows it each time, so that a module is imported anew with all that it imports,
and nothing that it does ends the watch. Files are looked at five times a second: no package that
watches them is needed, and it works on every file system.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from transpile.command_line.imports import loaded_files
from transpile.util.lazy.imports import Later

if TYPE_CHECKING:
    import multiprocessing
else:
    multiprocessing = Later("multiprocessing")

_EVERY = 0.2  # seconds between two looks
_SETTLED = 0.05  # seconds without a change, after which a file has been saved
_CLEAR = "\x1b[H\x1b[2J\x1b[3J"

_State = dict[str, tuple[int, int] | None]


def watch(main: Callable[[Sequence[str]], int], chosen: argparse.Namespace) -> int:
    """Run the command until it is interrupted; the exit code is returned. `main` runs another one,
    of these words."""
    try:
        known = _candidates(chosen.function)
        while True:
            before = _state(known)
            text = _shown(main, chosen, known)
            before = {**_state(known), **before}
            print(text, flush=True)
            while _state(known) == before:
                time.sleep(_EVERY)
            _settle(known)
    except KeyboardInterrupt:
        print()
        return 0


def _shown(
    main: Callable[[Sequence[str]], int], chosen: argparse.Namespace, known: set[str]
) -> str:
    """What a process says; the files that it has read are noted."""
    sys.stdout.flush()
    with tempfile.TemporaryDirectory() as folder:
        said, listed = Path(folder, "said"), Path(folder, "files")
        words = ["show", *_words(chosen), "--files-to", str(listed)]
        begin = time.perf_counter()
        # Forked: the package has been imported. None of the user's modules has.
        process = multiprocessing.get_context("fork").Process(
            target=_show, args=(main, words, said)
        )
        process.start()
        process.join()
        seconds = time.perf_counter() - begin
        if listed.exists():
            known.update(listed.read_text(encoding="utf-8").splitlines())
        text = said.read_text(encoding="utf-8", errors="replace")
    title = f"{chosen.function}, {time.strftime('%H:%M:%S')}, {seconds:.1f} s"
    clear = _CLEAR if sys.stdout.isatty() else ""
    return f"{clear}/* {title} */\n{text.rstrip()}\n"


def _show(main: Callable[[Sequence[str]], int], words: Sequence[str], said: Path) -> None:
    """Run a command whose output goes to a file."""
    with said.open("w", encoding="utf-8") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.dont_write_bytecode = True  # a file that is saved twice in a second may seem the same
    importlib.invalidate_caches()
    code = main(words)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _words(chosen: argparse.Namespace) -> Iterator[str]:
    """The words of a command `show` for the same function."""
    yield chosen.function
    yield from ("--dialect", chosen.dialect)
    for name in ("arg", "size", "static", "option"):
        for text in getattr(chosen, name):
            yield f"--{name}={text}"


def _candidates(function: str) -> set[str]:
    """The files that the module of MODULE:FUNCTION may be, also where it cannot be imported."""
    place = function.rpartition(":")[0] or function
    if place.endswith((".py", ".mlir", ".hlo", ".pb")):
        return {os.path.abspath(place)}
    path = os.path.abspath(place.replace(".", "/"))
    return {f"{path}.py", f"{path}/__init__.py"}


def _state(files: Iterable[str]) -> _State:
    """What changes when files are saved, or come and go."""
    found: _State = {}
    for name in files:
        try:
            status = os.stat(name)
            found[name] = status.st_mtime_ns, status.st_size
        except OSError:
            found[name] = None
    return found


def _settle(files: Iterable[str]) -> None:
    """Wait for the end of a change: some editors write a file in parts."""
    before = _state(files)
    while True:
        time.sleep(_SETTLED)
        now = _state(files)
        if now == before:
            return
        before = now


def write_files(path: Path) -> None:
    """Write the list of files that this process has imported, but for packages."""
    path.write_text("\n".join(loaded_files()), encoding="utf-8")
