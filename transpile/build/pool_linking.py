"""Link programs with one pool of threads for all parallel loops in the process.

gcc compiles OpenMP directives to calls of libgomp. `runtime_c/python/threads.c` implements the same
functions with shorter waits (decision k), under names of its own: the process may have loaded
another OpenMP library. The linker redirects the calls (`--wrap`). A program depends on the pool by
its soname alone; `runtime/loader.py` loads the pool before the program. A copy of the pool is in
the cache entry of every program with parallel loops, so that a warm start needs no second entry.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from transpile.build.compiler_probe import Compiler, find_compiler
from transpile.build.elf import read_dynamic
from transpile.build.support_libraries import obtaining_library
from transpile.disk_cache.cache_entry import PROGRAM, THREADS
from transpile.disk_cache.concurrent_steps import SideBySide, Steps, most_commands
from transpile.errors import InternalError
from transpile.ir.graph import Equation, Graph
from transpile.options import Options
from transpile.util.data_files import data_directory

_NAME = "libtranspile-threads.so"
# Of the pool. The first program of a machine waits for it: with -Og gcc takes half the time that it
# takes with -O2, and a region 5 ns more.
FLAGS = ("-Og", "-pthread", "-fvisibility=default", f"-Wl,-soname,{_NAME}")
# The library that gcc links with -fopenmp.
_GNU = "libgomp.so"
_ENTRY = re.compile(r"\bENTRY\((\w+)\)\(")


def wrap_flags() -> tuple[str, ...]:
    """The linker's flags that redirect calls of OpenMP functions to those of the pool."""
    text = (data_directory("runtime_c") / "python" / "threads.c").read_text(encoding="utf-8")
    return tuple(f"-Wl,--wrap={name}" for name in dict.fromkeys(_ENTRY.findall(text)))


class Pool:
    """The pool of threads for a program that is being built.

    link_flags   with which the program uses it; none for other compilers than gcc, which keep their
                 own OpenMP
    """

    def __init__(
        self, link_flags: tuple[str, ...], jobs: SideBySide, steps: Steps[None] | None
    ) -> None:
        self.link_flags = link_flags
        self._jobs = jobs
        self._steps = steps
        self._is_begun = False

    def begin(self) -> None:
        """Begin to obtain it; it is there when the jobs are finished."""
        if self._steps is not None and not self._is_begun:
            self._is_begun = True
            self._jobs.begin(self._steps)

    def settle(self, *, runs_threads: bool) -> None:
        """Begin to obtain it if the program needs it, and end what has been begun if not."""
        if runs_threads:
            self.begin()
        elif self._steps is not None:
            self._jobs.drop(self._steps)


@contextmanager
def begun(
    graph: Graph, options: Options, directory: Path
) -> Iterator[tuple[Compiler, SideBySide, Pool]]:
    """Yield what the program of a graph is built with in `directory`: the compiler, what runs its
    commands, and the pool.

    Where the pool has to be compiled and the program is likely to need it, its compiler runs from
    now on, beside what makes the program, and beside the imports of that.
    """
    compiler, most = find_compiler(options), most_commands()
    with SideBySide(most) as jobs, pool_for(compiler, options, directory, jobs) as pool:
        if most > 1 and is_large(graph, options):
            pool.begin()
        yield compiler, jobs, pool


def is_large(graph: Graph, options: Options) -> bool:
    """True if an equation has enough work for threads, as far as a look at it can tell: then the
    program is likely to have parallel loops."""
    least = options.machine.least_parallel_work
    return any(_work(equation) >= least for equation in graph.equations)


def _work(equation: Equation) -> float:
    """The operations of an equation: those for each element of its largest array; of a product of
    matrices of m, k and n rows and columns, (mk kn mn)**0.5."""
    sizes = [
        math.prod(extent for extent in atom.type.shape if isinstance(extent, int))
        for atom in (*equation.inputs, *equation.outputs)
    ]
    if equation.primitive.kind == "contract":
        return math.sqrt(math.prod(sizes))
    return float(max(sizes, default=0) * equation.primitive.weight)


@contextmanager
def pool_for(
    compiler: Compiler, options: Options, directory: Path, jobs: SideBySide
) -> Iterator[Pool]:
    """Yield the pool for a program that is built in `directory`, which has a copy of it at the end
    if it is linked to it."""
    if compiler.kind != "gcc" or not (options.threaded and compiler.openmp):
        yield Pool((), jobs, None)
        return
    linked = directory / _GNU  # found by -L. in the place of gcc's
    flags = ("-L.", "-Wl,--as-needed", *wrap_flags())
    yield Pool(flags, jobs, _obtaining_pool(linked, options.cc))
    needed = read_dynamic(directory / PROGRAM).needed
    if any(name.startswith(_GNU) for name in needed):
        raise InternalError(f"{directory / PROGRAM} was not linked to transpile's threads")
    if _NAME in needed:
        linked.rename(directory / THREADS)
    else:
        linked.unlink(missing_ok=True)


def _obtaining_pool(path: Path, cc: str) -> Steps[None]:
    """The steps that write the pool of threads to a path."""
    path.write_bytes(
        (yield from obtaining_library("threads", FLAGS, lambda entry: entry.read(THREADS), cc=cc))
    )
