"""The pipeline from a graph to a shared object: passes, lowering, schedule, rendering, compilation.

Each phase runs at the first use of its result. Only a program that is not in the cache needs them;
so this module, which imports all of them, is imported then.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from transpile.analysis.cost_model import program_cost, work_of_brief
from transpile.build import toolchain
from transpile.build.commands import TimeLimitError
from transpile.build.communicators import for_mpi
from transpile.build.compiler_probe import Compiler
from transpile.build.helper_objects import helper_objects
from transpile.build.link_libraries import check_there, link_words, staying_words, without_time
from transpile.build.pool_linking import Pool
from transpile.build.processors import (
    asks_processor,
    compiled_for,
    dispatch_source,
    processors_of,
    version_file,
    version_source,
)
from transpile.build.stopwatch import Stopwatch
from transpile.codegen.compile_budget import MOST_RETREATS, retreat_flags
from transpile.codegen.dialect import C
from transpile.codegen.plan.provenance import Origin, origin_of
from transpile.codegen.plan.small_machines import check_float_only
from transpile.codegen.plan.summary import summary_of
from transpile.codegen.python_entry import declarations, python_entry
from transpile.codegen.render import Text, render
from transpile.disk_cache.cache_entry import LINKED, PROGRAM, PROGRAM_OBJECT
from transpile.disk_cache.concurrent_steps import SideBySide, Steps, finished
from transpile.ir.calls import Call
from transpile.ir.graph import Donated, Graph
from transpile.ir.graph_rewrite import with_returned_lengths
from transpile.ir.loop_ir import Program
from transpile.lower.kernels import lower
from transpile.machine.platforms import platform_of
from transpile.options import Options
from transpile.passes import optimise
from transpile.schedule import schedule
from transpile.schedule.domain.index_set_split import split_index_sets
from transpile.symbols.blas import Blas, SharedLibrary
from transpile.symbols.identifiers import exported_in
from transpile.symbols.lapack import Lapack
from transpile.util.frozen_records import cached_property, dataclass, replace
from transpile.util.gc_pause import without_collector
from transpile.util.hashing import blake2b
from transpile.util.lazy.loggers import Log
from transpile.util.terminal.status_line import waiting

logger = Log("transpile.build")

_LONGEST_SHOWN = 70  # characters of a program that devices name in messages
_SLOW = 10.0  # seconds of processors' time, above which a user will want to know


@dataclass(frozen=True)
class _Compilation:
    """What the compiler said, the flags it had, how often it was stopped before, and after how many
    seconds that would have been."""

    log: str
    flags: tuple[str, ...]
    retreat: int
    limit: float

    def as_json(self, *logs: str) -> dict[str, object]:
        """How the program was built, for meta.json; each log begins with its command."""
        return {
            "commands": [log.partition("\n")[0] for log in logs if log],
            "flags": self.flags,
            "retreat": self.retreat,
            "limit": self.limit,
        }


class Pipeline:
    """The phases of one graph, compiled with some options.

    donated         the inputs whose memory the program may write to, see `ir.graph.Donated`
    trace_seconds   how long it took to trace the graph, for meta.json
    """

    dialect = C

    def __init__(
        self, graph: Graph, options: Options, donated: Donated, trace_seconds: float
    ) -> None:
        self.graph = graph
        self.options = options
        self.donated = donated
        self._times = Stopwatch(trace=trace_seconds, lower=0.0, render=0.0, compile=0.0)

    @cached_property
    def optimised(self) -> Graph:
        """The graph after the passes of `passes/`."""
        with self._working("lower"):
            graph = with_returned_lengths(self.graph)
            made = without_collector(lambda: optimise(graph, self.options.machine))
        check_float_only(made, self.options)
        return made

    @cached_property
    def lowered(self) -> Program:
        """The fused loops, before the schedule."""
        with self._working("lower"):
            program = without_collector(
                lambda: lower(self.optimised, self.donated, self.options.machine)
            )
        return replace(program, sites=tuple(dict.fromkeys(self.graph.sites())))

    @cached_property
    def program(self) -> Program:
        """The loops after the passes of `schedule/`."""
        with self._working("lower"):
            return without_collector(lambda: schedule(self.lowered, self.options))

    @cached_property
    def text(self) -> Text:
        """The texts of program.c and program.h."""
        with self._working("render"):
            return self.rendered("program.h")

    @cached_property
    def text_for_c(self) -> Text:
        """The texts for processes without Python."""
        with self._working("render"):
            return self.rendered("program.h", for_c=True)

    def title(self, program: Program) -> str:
        """The function, and where it is."""
        source, name = self.graph.source, self.graph.name
        if program.name != name:
            name = f"{name} (in C {program.name})"
        return f"{name}, from {source}" if source.line else name

    @cached_property
    def origin(self) -> Origin:
        """What a program for C says that it was made of."""
        processors = processors_of(self.options)
        return origin_of(self.graph.name, self.graph.source, processors, paths=self.options.debug)

    def rendered(self, header: str, *, for_c: bool = False) -> Text:
        """The texts of the C file and its header, which the C file includes by this name; `for_c`
        with what callers in C ask of a program."""
        title = self.title(self.program)
        libraries = (self._blas, self._lapack)
        return without_collector(
            lambda: render(
                self.program,
                self.options,
                header,
                title,
                libraries,
                self._identity(),
                self.graph.devices,
                for_c=self.origin if for_c else None,
                dialect=self.dialect,
            )
        )

    def _identity(self) -> tuple[str, ...]:
        """What a program that exchanges values with other devices is, and must be on all of them:
        its function with types, where that is defined, and a digest of the graph."""
        graph = self.graph
        if not graph.communicates:
            return ()
        types = [", ".join(str(a.type) for a in atoms) for atoms in (graph.inputs, graph.outputs)]
        shown = f"{graph.name}({types[0]}) -> ({types[1]})"
        shown = shown if len(shown) <= _LONGEST_SHOWN else f"{shown[: _LONGEST_SHOWN - 3]}..."
        digest = blake2b(graph.fingerprint().encode(), digest_size=8).hexdigest()
        return shown, f" of {graph.source.file_name}:{graph.source.line}", f" ({digest})"

    def for_mpi(self) -> dict[str, str]:
        """The texts of files by which processes of an MPI program run the program."""
        return for_mpi(self.program, self.graph.devices)

    @property
    def libraries(self) -> list[SharedLibrary]:
        """The BLAS and LAPACK that the program is linked with."""
        return [library for library in (self._blas, self._lapack) if library is not None]

    @cached_property
    def _blas(self) -> Blas | None:
        """The library for matrix products; None without products, or unless the options name it."""
        calls = any(call.has("blas") for call in self._intrinsics())
        return toolchain.find_blas(self.options) if calls else None

    @cached_property
    def _lapack(self) -> Lapack | None:
        """The library for decompositions; None for a program without them."""
        calls = any(call.has("lapack") for call in self._intrinsics())
        return toolchain.find_lapack(self.options) if calls else None

    def _intrinsics(self) -> Collection[type[Call]]:
        return summary_of(self.program.kernels).intrinsics

    def cost(self) -> dict[str, float]:
        """Operations and bytes of memory traffic of the fused program."""
        cost = program_cost(split_index_sets(self.lowered, self.options))
        return {
            "flops": float(cost.flops),
            "transcendentals": float(cost.transcendentals),
            "bytes accessed": float(cost.bytes),
        }

    def write(self, directory: Path, compiler: Compiler, jobs: SideBySide, pool: Pool) -> None:
        """Write and compile the program for Python: with the entry that `program_call.py` calls,
        and linked with the pool of threads. See `begun` of `pool_linking.py` for the arguments."""
        toolchain.check_runs_here(self.graph.name, self.options)
        source = _write_sources(directory, self.text)
        # The pool before the helpers, in all processes: see `Cache.obtaining`.
        pool.settle(runs_threads=self.text.runs_threads)
        objects_for = helper_objects(compiler, self.options, source, self.text, jobs)
        with objects_for as (included, objects):
            entry = directory / "entry.c"
            text = python_entry(self.program, included, "program.h")
            entry.write_text(text, encoding="utf-8")
            before = _children_seconds()
            with self._times.phase("compile"), waiting(self._waits_for(self.text)):
                build = self._compile(entry, (*objects, *pool.link_flags), jobs)
        self._log(_children_seconds() - before)
        _write_meta(directory, self._meta() | {"build": build | {"seconds": self._times.seconds}})

    def write_standalone(self, directory: Path, wanted: Sequence[str]) -> None:
        """Write and compile the program for processes without Python, for these processors: object
        files, and the shared object of them. They export the functions of its header, and use the
        system's OpenMP."""
        check_there(self.program.name, self.libraries, self.options)
        compiler, text = toolchain.find_compiler(self.options), self.text_for_c
        source = _write_sources(directory, text)
        parts = [(source.name, PROGRAM_OBJECT, wanted[0])]
        if asks_processor(wanted):
            parts = [("dispatch.c", PROGRAM_OBJECT, "x86-64")]
            asking = dispatch_source(self.program, self.options, text, wanted, self.origin)
            source.with_name("dispatch.c").write_text(asking, encoding="utf-8")
            source.with_name("version.c").write_text(text.of_version, encoding="utf-8")
            for name in wanted:
                parts.append((f"program.{name}.c", version_file(name), name))
                version = version_source(self.program, name)
                source.with_name(f"program.{name}.c").write_text(version, encoding="utf-8")
        done: list[_Compilation] = []
        for file, built, processor in parts:
            path, output = source.with_name(file), source.with_name(built)
            build = partial(toolchain.building_object, compiler, path, output)
            options = compiled_for(self.options, processor)
            with waiting(self._waits_for(text)):
                finished(self._compiling(compiler, build, done, text, options))
        objects = [source.with_name(built) for _, built, _ in parts]
        link = self._link(compiler, objects, done[0].flags)
        logs = [one.log for one in done]
        (directory / "build.log").write_text("".join([*logs, link]), encoding="utf-8")
        _write_meta(directory, {"build": done[-1].as_json(*logs, link)})

    def _link(self, compiler: Compiler, objects: Sequence[Path], flags: tuple[str, ...]) -> str:
        """Make what is loaded of object files, PROGRAM beside them, and LINKED where programs are
        linked with another file; the log, which is empty where object files are all there is."""
        platform, name = platform_of(self.options.target), self.program.name
        first, *others = objects
        program = first.with_name(PROGRAM)
        if not platform.links:
            program.write_bytes(first.read_bytes())
            return ""
        words = [*(path.name for path in others), *link_words(self.libraries)]
        exported = exported_in(self.text_for_c.header, name)
        words += platform.link_words(name, exported, is_gcc=compiler.kind == "gcc")
        words += staying_words((path.read_bytes() for path in objects), self.options)
        # The file has its name in it on some platforms.
        output = first.with_name(platform.file(name))
        log = finished(toolchain.linking(compiler, first, first, output, flags, words))
        content = without_time(output.read_bytes())
        output.unlink()  # first: a library may be called `program`, too
        program.write_bytes(content)
        if further := platform.import_library(name):
            first.with_name(further).rename(first.with_name(LINKED))
        return log

    def _compile(
        self, source: Path, link_flags: tuple[str, ...], jobs: SideBySide
    ) -> dict[str, object]:
        """Compile a C file into the shared object PROGRAM beside it, which is linked with what
        `jobs` make; returns how, for meta.json.

        Where a compiler runs for them, that is a command beside it and one to link. Otherwise it is
        one command, which takes less.
        """
        directory = source.parent
        compiler = toolchain.find_compiler(self.options)
        own = platform_of("").link_words(self.program.name)
        words = [*link_words(self.libraries), *own, *link_flags]
        output, built = directory / PROGRAM, source.with_suffix(".o")
        done: list[_Compilation] = []
        if jobs.may_gain():
            build = partial(toolchain.building_object, compiler, source, built)
            jobs.begin(self._compiling(compiler, build, done, self.text, self.options))
            jobs.finish()
            flags = done[0].flags
            link = finished(toolchain.linking(compiler, source, built, output, flags, words))
            built.unlink()
        else:
            jobs.finish()
            build = partial(toolchain.building_shared, compiler, source, output, libraries=words)
            jobs.begin(self._compiling(compiler, build, done, self.text, self.options))
            jobs.finish()
            link = ""
        (directory / "build.log").write_text(done[0].log + link, encoding="utf-8")
        return done[0].as_json(done[0].log, link)

    def _compiling(
        self,
        compiler: Compiler,
        build: Callable[..., Steps[str]],
        done: list[_Compilation],
        text: Text,
        options: Options,
    ) -> Steps[None]:
        """The steps of `build(flags, limit=seconds)`, which compiles this text with these
        options; the outcome is put into `done`.

        Where the compiler takes too long it is stopped, and started again with fewer optimizations.
        Those that nobody asked for are not given up.
        """
        limit = toolchain.time_limit() if options.opt_level else 0.0
        for retreat in range(MOST_RETREATS + 1):
            flags = toolchain.flags(compiler, options, text.effort, text.gcc_flags, retreat)
            try:
                log = yield from build(flags, limit=limit if retreat < MOST_RETREATS else 0.0)
            except TimeLimitError:
                less = " ".join(retreat_flags(compiler.kind, retreat + 1))
                logger.warning(
                    "%s: the C compiler was stopped after %g s (TRANSPILE_COMPILE_SECONDS), with "
                    "%d characters of C; it starts again with %s, and the program will be slower",
                    *(self.graph.name, limit, len(text.source), less),
                )
            else:
                done.append(_Compilation(log, flags, retreat, limit))
                return

    @contextlib.contextmanager
    def _working(self, phase: str) -> Iterator[None]:
        """A phase in Python, of which people see the line as they do of the compiler's."""
        count = len(self.graph.equations)
        words = f"preparing {self.graph.name}, {count:,} operations"
        with self._times.phase(phase), waiting(words, is_last=False):
            yield

    def _waits_for(self, text: Text) -> str:
        """What the line says that people see while the compiler works."""
        return f"compiling {self.graph.name}, {len(text.source):,} characters of C"

    def _meta(self) -> dict[str, object]:
        """The fields of meta.json from which `runtime.executable` calls the program."""
        program = self.program
        inputs = [b.name for b in program.inputs]
        outputs = [b.name for b in program.outputs]
        return {
            "declarations": declarations(program),
            "function": program.name,
            # With runtime sizes the program has a function for it.
            "workspace": None if program.sizes else program.workspace,
            "brief_work": [*map(str, work_of_brief(program, self.options.machine))],
            "communicates": program.communicates,
            "libraries": [library.library for library in self.libraries],
            "aliases": [[outputs.index(o), inputs.index(i)] for o, i in program.aliases],
        }

    def _log(self, busy: float) -> None:
        """Log how long the phases took, and warn about a compiler that was busy for long: on a
        machine with much else to do, that is less than the time that has passed."""
        name, size, seconds = self.graph.name, len(self.text.source), self._times.seconds
        phases = ", ".join(f"{phase} {time:.2f}" for phase, time in seconds.items())
        total = sum(seconds.values())
        logger.info("%s: built in %.2f s (%s), %d characters of C", name, total, phases, size)
        if busy > _SLOW:
            logger.warning(
                "%s: the C compiler took %.0f s for %d characters of C, which the cache keeps. "
                "Loops of Python are unrolled; those of `fori_loop` and `scan` are not",
                *(name, busy, size),
            )


def _children_seconds() -> float:
    """The processors' time of the processes that this one has started, those that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def _write_sources(directory: Path, text: Text) -> Path:
    """Write program.c, program.h and program.bin; the path of the C file."""
    source = directory / "program.c"
    source.write_text(text.source, encoding="utf-8")
    (directory / "program.h").write_text(text.header, encoding="utf-8")
    if text.constants:
        (directory / "program.bin").write_bytes(text.constants)
    return source


def _write_meta(directory: Path, fields: Mapping[str, object]) -> None:
    (directory / "meta.json").write_text(json.dumps(fields, sort_keys=True), encoding="utf-8")
