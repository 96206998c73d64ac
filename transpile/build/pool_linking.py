"""The threads of parallel loops: one pool for all the programs that Python loads.

gcc makes of OpenMP's directives calls of the functions of a library. `runtime_c/python/threads.c`
has these functions, too, and waits less than the library that comes with gcc (decision k). They
have names of their own there, to which the linker leads the calls: a process may well have another
OpenMP library, loaded before. A program is linked to the pool by name alone, and finds it because
`runtime/loader.py` has loaded it before. It stands in the program's entry of the cache, so that a
warm start has nothing to look for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from transpile.build.compiler_probe import Compiler
from transpile.build.elf import read_dynamic
from transpile.build.support_libraries import own_library
from transpile.disk_cache.cache_entry import PROGRAM, THREADS
from transpile.errors import InternalError
from transpile.options import Options
from transpile.util.data_files import data_directory

_NAME = "libtranspile-threads.so"
# What gcc asks the linker for.
_GNU = "libgomp.so"
_ENTRY = re.compile(r"\bENTRY\((\w+)\)\(")


def wrapping() -> tuple[str, ...]:
    """What makes a linker lead calls of OpenMP's functions to the pool's."""
    text = (data_directory("runtime_c") / "python" / "threads.c").read_text(encoding="utf-8")
    return tuple(f"-Wl,--wrap={name}" for name in dict.fromkeys(_ENTRY.findall(text)))


@contextmanager
def pool_for(
    compiler: Compiler, options: Options, directory: Path, *, runs_threads: bool
) -> Iterator[tuple[str, ...]]:
    """Link a program to the pool: what the compiler has to be told while it builds the program in
    its directory. Afterwards the pool is there too, if the program `runs_threads`.

    Compilers other than gcc keep the OpenMP that comes with them.
    """
    if compiler.kind != "gcc" or not (options.threaded and compiler.openmp):
        yield ()
        return
    linked = directory / _GNU
    if runs_threads:
        words = ("-pthread", "-fvisibility=default", f"-Wl,-soname,{_NAME}")
        linked.write_bytes(
            own_library("threads", words, lambda entry: entry.read(THREADS), cc=options.cc)
        )
    yield ("-L.", "-Wl,--as-needed", *wrapping())
    needed = read_dynamic(directory / PROGRAM).needed
    if any(name.startswith(_GNU) for name in needed):
        raise InternalError(f"{directory / PROGRAM} was not linked to transpile's threads")
    if _NAME in needed:
        linked.rename(directory / THREADS)
    else:
        linked.unlink(missing_ok=True)
