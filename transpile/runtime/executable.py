"""From a graph to a loaded program (`Executable`), or to a saved library.

`Lowering` has the cache key of a graph with its options, so that a program in the cache is loaded
without lowering, rendering or compiling it. The phases of `build/driver.py` run only where their
results are needed.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from transpile.build import toolchain
from transpile.disk_cache.cache import Entry, default_cache
from transpile.disk_cache.cache_entry import PROGRAM, PROGRAM_OBJECT, DamagedError
from transpile.disk_cache.package_fingerprint import own_digest
from transpile.disk_cache.process_directory import scratch_directory
from transpile.errors import CompilerNotFoundError
from transpile.ir.dims import Index, evaluate
from transpile.ir.graph import Donated, Equation, Graph
from transpile.ir.graph_rewrite import returned_lengths, rooms_of
from transpile.ir.indices.size_solver import evaluated, solved
from transpile.ir.indices.size_text import LONGEST, parsed
from transpile.ir.types import INT64
from transpile.options import Options
from transpile.runtime import program_call
from transpile.runtime.callbacks import site_for_sizes
from transpile.runtime.loader import Library, load_entry, with_tables
from transpile.runtime.program_call import ProgramCall, output_kind, rooms_of_call, shaping
from transpile.trace.history.record import Record
from transpile.util.atomic_files import replace_files
from transpile.util.fork_safe_lock import Lock
from transpile.util.frozen_records import cached_property, dataclass
from transpile.util.lazy.imports import Later

if TYPE_CHECKING:
    from transpile.build import driver, link_libraries, pool_linking, processors
    from transpile.build.driver import Pipeline
    from transpile.codegen.render import Text
    from transpile.ir.loop_ir import Program
    from transpile.symbols import identifiers
    from transpile.symbols.blas import SharedLibrary
else:
    identifiers = Later("transpile.symbols.identifiers")
    driver = Later("transpile.build.driver")
    link_libraries = Later("transpile.build.link_libraries")
    pool_linking = Later("transpile.build.pool_linking")
    processors = Later("transpile.build.processors")

_Used = TypeVar("_Used")
# Calls with other runtime sizes that an executable keeps; one takes microseconds to make.
_MOST_CALLS = 256


@dataclass(frozen=True)
class MemoryAnalysis:
    """Sizes in bytes: of arguments, results, workspace, results in the memory of donated arguments,
    and compiled code."""

    argument_size_in_bytes: int
    output_size_in_bytes: int
    temp_size_in_bytes: int
    alias_size_in_bytes: int
    generated_code_size_in_bytes: int


@dataclass(frozen=True)
class BuildInfo:
    """What it took to build a program, in the process that built it.

    from_cache        False if that was this process
    trace_seconds     of tracing the function
    lower_seconds     of the passes over graph and loops
    render_seconds    of writing C
    compile_seconds   of the C compiler, and of waiting for that of other C files
    commands          the compiler's command lines: of the one that compiled the program and, where
                      that was another one, of the one that linked it
    flags             the compiler's flags
    c_size            the bytes of the C text
    retreats          how often the compiler was stopped because it took too long, and started again
                      with fewer optimizations
    """

    from_cache: bool
    trace_seconds: float
    lower_seconds: float
    render_seconds: float
    compile_seconds: float
    commands: tuple[str, ...]
    flags: tuple[str, ...]
    c_size: int
    retreats: int

    @classmethod
    def of(cls, entry: Entry, source: str, flags: Sequence[str], *, from_cache: bool) -> BuildInfo:
        """What an entry of the cache says, whose program is of this source file."""
        meta = entry.meta["build"]
        return cls(
            from_cache,
            **{f"{phase}_seconds": seconds for phase, seconds in meta["seconds"].items()},
            commands=tuple(meta["commands"]),
            flags=tuple(flags),
            c_size=entry.meta["files"][source]["size"],
            retreats=meta["retreat"],
        )


class Lowering:
    """A graph with the options that it is compiled with.

    donated         the positions of inputs whose memory the program may take; (input, output) for
                    an argument that is assigned to, and the output with its new value
    record          what the trace has met of the user's Python, and how long it took
    takes_layouts    True: there may be a program for arrays whose axes lie in another order
    dialect         the language that it is compiled from
    """

    takes_layouts = True
    dialect = "c"

    def __init__(
        self, graph: Graph, options: Options, donated: Donated = (), record: Record | None = None
    ) -> None:
        self.graph = graph
        self.options = options
        self.donated = donated
        self.record = record or Record()

    def changed(self, options: Options) -> Lowering:
        """The graph with other options."""
        return Lowering(self.graph, options, self.donated, self.record)

    @cached_property
    def _pipeline(self) -> Pipeline:
        return driver.Pipeline(self.graph, self.options, self.donated, self.record.seconds)

    def optimised(self) -> Graph:
        """The graph after the passes of `passes/`."""
        return self._pipeline.optimised

    def program(self) -> Program:
        """The loops after the passes of `schedule/`."""
        return self._pipeline.program

    def rendered(self, header: str, *, for_c: bool = False) -> Text:
        """The texts of the C file and of its header, which the C file includes by this name; those
        `for_c` have what callers in C ask of a program."""
        return self._pipeline.rendered(header, for_c=for_c)

    def c_text(self) -> str:
        """The text of program.c."""
        return self._pipeline.text.source

    def cost_analysis(self) -> dict[str, float]:
        """Operations and memory traffic of the fused program: the counts `flops` and
        `transcendentals`, and `bytes accessed` (`analysis/cost_model.py`)."""
        return self._pipeline.cost()

    def ingredients(self) -> dict[str, str]:
        """The named texts of the cache key: all that the bytes of the program depend on."""
        compiler = toolchain.find_compiler(self.options)
        return {**toolchain.ingredients(compiler, self.options), **self._parts(self.options)}

    def _parts(self, options: Options) -> dict[str, str]:
        """The ingredients that do not follow from the compiler."""
        blas = toolchain.find_blas(options)
        return {
            "target": toolchain.target(options),
            "graph": self.graph.fingerprint(paths=options.debug),
            "options": json.dumps(options.settings(), sort_keys=True),
            "donated": ",".join(map(str, self.donated)),
            "transpile": own_digest(),
            "blas": blas.identity if blas is not None else "none",
            "lapack": self._lapack_identity(),
        }

    def standalone(self) -> dict[str, bytes]:
        """The files, by name, for processes without Python. Parallel loops use OpenMP's library."""
        files = processors.files_of(self.program().name, self.options)
        return dict(zip(files, self._standalone(files.values()), strict=True))

    def objects(self) -> dict[str, bytes]:
        """The object files of that shared object, by names that begin with the program's."""
        wanted = processors.processors_of(self.options)
        names = {self.program().name: PROGRAM_OBJECT}
        if processors.asks_processor(wanted):
            names |= {f"{self.program().name}.{p}": processors.version_file(p) for p in wanted}
        return dict(zip(names, self._standalone(names.values()), strict=True))

    def _standalone(self, files: Iterable[str]) -> list[bytes]:
        link_libraries.check_there(self.graph.name, self._pipeline.libraries, self.options)
        wanted = processors.processors_of(self.options)

        def build(directory: Path) -> None:
            self._pipeline.write_standalone(directory, wanted)

        return self._obtain(
            build,
            lambda entry: [entry.read(file) for file in files],
            {"for": f"anyone, made of {self._pipeline.origin}"},
            processors.compiled_for(self.options, wanted[0]),
        )

    def file(self, name: str) -> bytes:
        """A file of the program's entry, which is built again where it was evicted or damaged."""
        return self._obtain(self._write, lambda entry: entry.read(name))

    def _write(self, directory: Path) -> None:
        def write(directory: Path) -> None:
            with pool_linking.begun(self.graph, self.options, directory) as tools:
                self._pipeline.write(directory, *tools)

        with_tables(write)(directory)

    def _obtain(
        self,
        build: Callable[[Path], None],
        use: Callable[[Entry], _Used],
        further: Mapping[str, str] | None = None,
        options: Options | None = None,
    ) -> _Used:
        """The result of `use` on the program's entry, see `Cache.obtain`; without a compiler, on an
        entry that any compiler has built."""
        cache, name = default_cache(), self.graph.name
        options = options or self.options
        parts = {**self._parts(options), **(further or {})}
        try:
            compiler = toolchain.find_compiler(options)
        except CompilerNotFoundError as missing:
            return cache.find(name, parts, toolchain.COMPILER_INGREDIENTS, use, missing)
        ingredients = {**toolchain.ingredients(compiler, options), **parts}
        limit = toolchain.time_limit()

        def use_best(entry: Entry) -> _Used:
            how = entry.meta["build"]
            if how["retreat"] and (limit == 0 or limit > how["limit"]):
                raise DamagedError("it was compiled with fewer optimizations, to save time")
            return use(entry)

        return cache.obtain(name, ingredients, build, use_best)

    def is_cached(self) -> bool:
        """True if the program is in the cache, so that `build` loads it and runs no compiler."""
        if not toolchain.is_probed(self.options):
            return False
        return default_cache().get(self.graph.name, self.ingredients()) is not None

    def prepare(self) -> None:
        """Compile the program where the cache does not have it; it is not loaded."""
        self._obtain(self._write, Entry.verify)

    def _lapack_identity(self) -> str:
        """The LAPACK that the program is linked with, or "none"."""
        if next(_routines(self.graph), None) is None:
            return "none"
        return toolchain.find_lapack(self.options).identity

    def save(
        self,
        directory: str | Path,
        name: str | None = None,
        *,
        private_libraries: bool = False,
        communicator: str | None = None,
    ) -> list[Path]:
        """Write NAME.so, NAME.h and NAME.c, which do not need Python; returns their paths, and then
        those of further files, such as the import library of Windows. NAME.c includes NAME.h and,
        where constants are too long to write out, NAME.bin.

        Files and function are called `name`, by default as the Python function. Where that is a
        name of C or its libraries (`fwrite`), the function's ends with an underscore, and the
        comment of the header says so. A name that is no C identifier raises ValueError. Files of an
        earlier `save` are replaced all together; processes that have loaded them keep the old ones.
        Where an OSError is raised, the old ones stay.

        A program that decomposes matrices is linked with LAPACK. A LAPACK that belongs to this
        installation of Python, such as NumPy's, is refused (LibraryNotFoundError) unless an option
        or an environment variable names it or `private_libraries` is given.

        communicator   "mpi": for a program of several devices, mpi_devices.h and mpi_devices.c, by
                       which processes of an MPI program are the devices, and NAME_main.c, an
                       example of such a program
        """
        lowering = self.called(name)
        if not private_libraries:
            lowering.check_public()
        # In this order: what the C file includes before it, and the library, which processes load,
        # directly after the header that it has to agree with.
        *further, library = lowering.standalone().items()
        contents = {**lowering.communicators(communicator), **dict(further), **lowering.sources()}
        return replace_files(Path(directory), contents | dict([library]))[::-1]

    def called(self, name: str | None) -> Lowering:
        """The program with another name of its C function; TypeError or ValueError for what is
        none."""
        if not isinstance(name, str | None):
            raise TypeError(f"the name of a saved program is a str, not {name!r}")
        if name is not None and identifiers.identifier(name) != name:
            raise ValueError(
                f"the name of a saved program, {name!r}, is not a C identifier; "
                f"{identifiers.program_name(name)!r} would do"
            )
        if name is None or identifiers.program_name(name) == self._pipeline.program.name:
            return self
        return Lowering(replace(self.graph, name=name), self.options, self.donated)

    def sources(self) -> dict[str, bytes]:
        """The C file by its name, after what it includes and before its header."""
        name = self.program().name
        text = self.rendered(f"{name}.h", for_c=True)
        return {
            **({f"{name}.bin": text.constants} if text.constants else {}),
            f"{name}.c": text.source.encode(),
            f"{name}.h": text.header.encode(),
        }

    @property
    def libraries(self) -> list[SharedLibrary]:
        """The BLAS and LAPACK that the program is linked with."""
        return self._pipeline.libraries

    def communicators(self, name: str | None) -> dict[str, bytes]:
        """The files of a communicator for the program; ValueError where there is none such."""
        if name is None:
            return {}
        if name != "mpi":
            raise ValueError(f"the communicator of a saved program is 'mpi', not {name!r}")
        if not self.graph.devices:
            raise ValueError(f"{self.graph.name} runs on one device, and needs no communicator")
        return {file: text.encode() for file, text in self._pipeline.for_mpi().items()}

    def check_public(self) -> None:
        """Raise LibraryNotFoundError where the program is linked with a library of this
        installation of Python that the user has not named."""
        first = next(_routines(self.graph), None)
        link_libraries.check_public(self._pipeline.libraries, self.graph.name, first)

    def build(self) -> Executable:
        """The program, loaded into the process; compiled first where the cache does not have it.

        Raises CompilerNotFoundError, LibraryNotFoundError and CompilationError.
        """
        toolchain.check_runs_here(self.graph.name, self.options)
        built = []

        def build(directory: Path) -> None:
            self._write(directory)
            built.append(True)

        entry, library = self._obtain(build, load_entry)
        return Executable(self, entry, library, from_cache=not built)


def _routines(graph: Graph) -> Iterator[Equation]:
    """The equations that call LAPACK."""
    for equation in graph.equations:
        if equation.primitive.library == "lapack":
            yield equation
    for inner in graph.subgraphs():
        yield from _routines(inner)


class Executable:
    """A loaded program. Safe to call from several threads and in forked children."""

    def __init__(
        self, lowering: Lowering, entry: Entry, library: Library, *, from_cache: bool
    ) -> None:
        self.lowering = lowering
        self.entry = entry
        self.from_cache = from_cache
        self._library = library
        self._calls: OrderedDict[tuple[int, ...], ProgramCall] = OrderedDict()
        self._lock = Lock()
        graph = lowering.graph
        self._sizes = [size.name for size in graph.sizes]
        self._rooms = [room.name for room in rooms_of(graph).values()]

    @property
    def call(self) -> ProgramCall:
        """The call of a program without runtime sizes."""
        return self.for_sizes({})

    def for_sizes(self, sizes: dict[str, int]) -> ProgramCall:
        """The call of the program with these values of its runtime sizes; those that were asked for
        last are kept."""
        sizes = {**dict.fromkeys(self._rooms, 0), **sizes}
        key = tuple(sizes[name] for name in (*self._sizes, *self._rooms))
        with self._lock:
            if key not in self._calls:
                self._calls[key] = self._call_with(sizes, key)
                if len(self._calls) > _MOST_CALLS:
                    self._calls.popitem(last=False)
            self._calls.move_to_end(key)
            return self._calls[key]

    def _call_with(self, sizes: dict[str, int], values: tuple[int, ...]) -> ProgramCall:
        graph, meta, library = self.lowering.graph, self.entry.meta, self._library
        lengths = returned_lengths(graph)
        aliases = {int(o): int(d) for o, d in meta["aliases"]}
        call = ProgramCall(
            library,
            meta["function"],
            [(v.type.dtype, evaluated(v.type.shape, sizes)) for v in graph.inputs],
            [output_kind(a, sizes) for a in graph.outputs] + [(INT64, ())] * len(lengths),
            [aliases.get(output, -1) for output in range(len(graph.outputs) + len(lengths))],
            self._workspace(values),
            self._is_brief(sizes),
            [site_for_sizes(site, sizes) for site in dict.fromkeys(graph.sites())],
            bool(meta["communicates"]),
            values,
            shaping(graph, lengths, sizes) if lengths else None,
            rooms_of_call(graph, sizes, self.for_sizes) if self._rooms else None,
        )
        options = self.lowering.options
        if options.num_threads and meta["libraries"]:
            call.limit_threads(meta["libraries"], options.num_threads)
        return call

    def _is_brief(self, sizes: dict[str, int]) -> bool:
        """True if the program takes microseconds for these runtime sizes."""
        least = self.lowering.options.machine.least_lengthy_work
        return any(evaluate(work, sizes) < least for work in self._brief_work)

    @cached_property
    def _brief_work(self) -> list[Index]:
        return [parsed(text) for text in self.entry.meta["brief_work"] if len(text) <= LONGEST]

    def _workspace(self, values: tuple[int, ...]) -> int:
        """The bytes of the workspace for these runtime sizes."""
        meta, library = self.entry.meta, self._library
        if not values:
            return int(meta["workspace"])
        function = library.function(f"{meta['function']}_call_workspace")
        return int(function(library.ffi.new("int64_t[]", list(values))))

    def __call__(self, leaves: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        """Run the program on the flat inputs of the graph; see `ProgramCall.run`."""
        graph = self.lowering.graph
        if not graph.sizes:
            return self.call.run(leaves)
        arguments = [
            (v.name, v.type.shape, np.shape(x)) for v, x in zip(graph.inputs, leaves, strict=True)
        ]
        return self.for_sizes(solved(graph.sizes, arguments)).run(leaves)

    def source_text(self) -> str:
        """The text of program.c as it was built."""
        return self._file("program.c").decode()

    def assembly(self) -> str:
        """The compiler's assembly for program.c."""
        compiler = toolchain.find_compiler(self.lowering.options)
        with scratch_directory() as directory:
            for name in ("program.c", "program.h"):
                Path(directory, name).write_bytes(self._file(name))
            return toolchain.assembly(compiler, Path(directory, "program.c"), self._flags())

    def _flags(self) -> tuple[str, ...]:
        return tuple(self.entry.meta["build"]["flags"])

    def build_info(self) -> BuildInfo:
        """What it took to build the program."""
        return BuildInfo.of(self.entry, "program.c", self._flags(), from_cache=self.from_cache)

    def _file(self, name: str) -> bytes:
        try:
            return self.entry.read(name)
        except DamagedError:
            return self.lowering.file(name)

    def memory_analysis(self, **sizes: int) -> MemoryAnalysis:
        """The sizes of arguments, results, workspace and code, in bytes, for these runtime sizes.
        Raises TypeError for others than the program has."""
        program_call.check_sizes(sizes, [*self._sizes, *self._rooms])
        call = self.for_sizes(sizes)
        return MemoryAnalysis(
            program_call.bytes_of(call.inputs),
            program_call.bytes_of(call.outputs),
            call.workspace,
            program_call.bytes_of(
                kind for kind, a in zip(call.outputs, call.aliases, strict=True) if a >= 0
            ),
            self.entry.meta["files"][PROGRAM]["size"],
        )
