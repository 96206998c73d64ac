"""From a graph to a loaded program, and how to call it on arrays.

`Lowering` is the way down, each step done when it is asked for; `Executable` is a program in the
process. A program that is in the cache is loaded without lowering, rendering or compiling anything.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar

import numpy as np

from transpile.build import toolchain
from transpile.disk_cache.cache import Entry, default_cache
from transpile.disk_cache.cache_entry import PROGRAM, THREADS, DamagedError
from transpile.disk_cache.package_fingerprint import own_digest
from transpile.disk_cache.process_directory import scratch_directory
from transpile.errors import CompilerNotFoundError, InternalError, LibraryNotFoundError
from transpile.ir.graph import Donated, Equation, Graph
from transpile.options import Options
from transpile.runtime import memory_pool
from transpile.runtime.callbacks import Calls
from transpile.runtime.loader import Library, load_entry, with_tables
from transpile.runtime.memory_overlap import unshared
from transpile.util.atomic_files import replace_files
from transpile.util.frozen_records import cached_property, dataclass
from transpile.util.lazy_imports import Later

if TYPE_CHECKING:
    from transpile.build import driver
    from transpile.build.driver import Steps
    from transpile.codegen.render import Text
    from transpile.ir.loop_ir import Program
    from transpile.symbols import identifiers
else:
    identifiers = Later("transpile.symbols.identifiers")
    driver = Later("transpile.build.driver")

_Used = TypeVar("_Used")
# C-contiguous and aligned, in numpy.ndarray.flags.num.
_IN_PLACE = 0x0001 | 0x0100
_BYTE = np.dtype(np.uint8)
# Small workspaces are kept by their program, large ones are lent by
# `transpile.runtime.memory_pool`.
Workspace = Literal["none", "kept", "lent"]


@dataclass(frozen=True)
class Direct:
    """What it takes to call a program by its address.

    inputs     (dtype, shape) of each input, and `outputs` of each output
    aliases    for each output, the input whose memory it takes where that can be written to, or -1
    workspace  its size in bytes; `spare` is a list of arrays of that size, from which a call takes
               one, if there is one, and to which it gives it back
    makers     what makes the arrays of the outputs, and the workspace, where they are large; the
               others are None (`transpile.runtime.memory_pool`)
    fail       raises the error for a code
    is_brief   whether it takes a few microseconds, on one thread
    """

    address: int
    inputs: tuple[tuple[np.dtype[Any], tuple[int, ...]], ...]
    outputs: tuple[tuple[np.dtype[Any], tuple[int, ...]], ...]
    aliases: tuple[int, ...]
    workspace: int
    makers: tuple[Callable[[], np.ndarray[Any, Any]] | None, ...]
    spare: list[np.ndarray[Any, Any]]
    fail: Callable[[int], NoReturn]
    is_brief: bool


@dataclass(frozen=True)
class MemoryAnalysis:
    """Sizes in bytes: the arguments and results, the workspace, results that take the memory of a
    donated argument, and the compiled code."""

    argument_size_in_bytes: int
    output_size_in_bytes: int
    temp_size_in_bytes: int
    alias_size_in_bytes: int
    generated_code_size_in_bytes: int


class Lowering:
    """A graph on its way to C; see `transpile.build.driver` for the steps.

    donated   the positions of the inputs whose memory the caller gives up; (input, output) for one
              that is assigned to, and what it holds afterwards
    """

    def __init__(self, graph: Graph, options: Options, donated: Donated = ()) -> None:
        self.graph = graph
        self.options = options
        self.donated = donated

    @cached_property
    def _steps(self) -> Steps:
        return driver.Steps(self.graph, self.options, self.donated)

    def optimised(self) -> Graph:
        """The graph after the passes."""
        return self._steps.optimised

    def program(self) -> Program:
        """The scheduled loops."""
        return self._steps.program

    def rendered(self, header: str) -> Text:
        """The C text, with this name of the header file in it."""
        return self._steps.rendered(header)

    def c_text(self) -> str:
        """The text of program.c."""
        return self._steps.text.source

    def cost_analysis(self) -> dict[str, float]:
        """The operations of the fused program and the memory that it touches.

        `flops` and `transcendentals` are counts, `bytes accessed` is in bytes; see
        `transpile.analysis.cost_model`.
        """
        return self._steps.cost()

    def ingredients(self) -> dict[str, str]:
        """The named parts of the cache key: everything that the program's bytes depend on."""
        compiler = toolchain.find_compiler(self.options)
        return {**toolchain.ingredients(compiler, self.options), **self._parts()}

    def _parts(self) -> dict[str, str]:
        """Those parts that do not follow from the compiler."""
        blas = toolchain.find_blas(self.options)
        return {
            "target": toolchain.target(self.options),
            "graph": self.graph.fingerprint(),
            "options": json.dumps(asdict(self.options), sort_keys=True),
            "donated": ",".join(map(str, self.donated)),
            "transpile": own_digest(),
            "blas": blas.identity if blas is not None else "none",
            "lapack": self._lapack_identity(),
        }

    def standalone(self) -> bytes:
        """The program as a shared object for processes without Python: its parallel loops run on
        the threads of the system's OpenMP."""

        def build(directory: Path) -> None:
            self._steps.write(directory, pooled=False)

        return self._obtain(build, lambda entry: entry.read(PROGRAM), {"threads": "OpenMP"})

    def file(self, name: str) -> bytes:
        """A file of the program's entry; where the cache has evicted that, it is built again."""
        return self._obtain(self._write, lambda entry: entry.read(name))

    def _write(self, directory: Path) -> None:
        with_tables(self._steps.write)(directory)

    def _obtain(
        self,
        build: Callable[[Path], None],
        use: Callable[[Entry], _Used],
        further: Mapping[str, str] | None = None,
    ) -> _Used:
        """What `use` makes of the program's entry, built first where it is missing (see
        `Cache.obtain`). Where there is no compiler, what any has made of the program serves."""
        cache, name = default_cache(), self.graph.name
        parts = {**self._parts(), **(further or {})}
        try:
            compiler = toolchain.find_compiler(self.options)
        except CompilerNotFoundError as missing:
            return cache.find(name, parts, toolchain.OF_COMPILER, use, missing)
        ingredients = {**toolchain.ingredients(compiler, self.options), **parts}
        return cache.obtain(name, ingredients, build, use)

    def _lapack_identity(self) -> str:
        """Which library decomposes matrices, if there are any."""
        if next(_routines(self.graph), None) is None:
            return "none"
        return toolchain.find_lapack(self.options).identity

    def check_public(self) -> None:
        """Raise LibraryNotFoundError where the program is linked with a library that belongs to
        this installation of Python and that nobody has named."""
        for library in self._steps.libraries:
            if library.private:
                first = next(_routines(self.graph), None)
                calls = "multiplies matrices"
                if (kind := library.kind) == "lapack" and first is not None:
                    line = first.source.text or first.primitive.name
                    calls = f"takes matrices apart (`{line}`, {first.source})"
                raise LibraryNotFoundError(
                    f"{self.graph.name} {calls} and would be saved linked with "
                    f"{library.library} ({library.origin}), which other machines and other "
                    f"installations of Python do not have: name one that is where the program will "
                    f"run, such as compiler_options={{'{kind}': '{library.usual}'}} or a path, or "
                    "ask for this one with private_libraries=True (--private-libraries)"
                )

    def build(self) -> Executable:
        """The program, loaded from the cache, or compiled first.

        Raises CompilerNotFoundError, LibraryNotFoundError and CompilationError.
        """
        entry, library = self._obtain(self._write, load_entry)
        return Executable(self, entry, library)


def _routines(graph: Graph) -> Iterator[Equation]:
    """The equations that call LAPACK."""
    for equation in graph.equations:
        if equation.primitive.kind == "routine":
            yield equation
    for inner in graph.subgraphs():
        yield from _routines(inner)


class Executable:
    """A program in the process. Safe to call from several threads and in forked children."""

    def __init__(self, lowering: Lowering, entry: Entry, library: Library) -> None:
        self.lowering = lowering
        self.entry = entry
        graph = lowering.graph
        self._types = [(v.type.dtype, v.type.static_shape()) for v in graph.inputs]
        self._results = [(a.type.static_shape(), a.type.dtype) for a in graph.outputs]
        self._workspace = int(entry.meta["workspace"])
        self._aliases = {int(o): int(d) for o, d in entry.meta["aliases"]}
        self._makers = (
            *(memory_pool.maker(shape, dtype) for shape, dtype in self._results),
            memory_pool.maker((self._workspace,), _BYTE),
        )
        # A call takes a small workspace from here and gives it back; list methods are atomic.
        self._spare: list[np.ndarray[Any, Any]] = []
        self._library = library
        self.run = self._caller(library)

    def __call__(self, leaves: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        """Run the program on the flat inputs of the graph; the flat outputs are new arrays.

        Arrays of any memory layout are accepted: those in row-major order, aligned and in native
        byte order are read where they are, others are copied first. The GIL is released meanwhile.
        A result that takes the memory of a donated argument is that argument, or the copy that was
        made of it; it takes none that is read-only, or in which another argument lies.
        """
        return self.run(leaves)

    def direct(self) -> Direct | None:
        """How to call it by its address; None for a program with callbacks."""
        if self.lowering.graph.sites():
            return None
        function = self._library.function(self.entry.meta["function"])
        return Direct(
            int(self._library.ffi.cast("intptr_t", function)),
            tuple(self._types),
            tuple((dtype, shape) for shape, dtype in self._results),
            tuple(self._aliases.get(output, -1) for output in range(len(self._results))),
            self._workspace,
            self._makers,
            self._spare,
            lambda code: self._fail(self._library, code),
            bool(self.entry.meta.get("is_brief")),
        )

    def _caller(self, library: Library) -> Callable[[Sequence[Any]], list[np.ndarray[Any, Any]]]:
        """The function that runs the program, written out for its arguments: for small arrays a
        loop over them would take longer than the program."""
        name, sites = self.entry.meta["function"], list(dict.fromkeys(self.lowering.graph.sites()))
        values: dict[str, Any] = {
            "function": library.function(f"{name}_with_callback" if sites else name),
            "from_buffer": library.ffi.from_buffer,
            "row_major": _row_major,
            "ndarray": np.ndarray,
            "no_workspace": library.ffi.NULL,
            "workspace": self._makers[-1] or partial(np.empty, self._workspace, _BYTE),
            "fail": lambda code: self._fail(library, code),
            "spare": self._spare,
            "give_back": memory_pool.RESERVE.give_back,
            "given": partial(unshared, wanted=tuple(self._aliases.values())),
        }
        if sites:
            values["calls"] = Calls(library.ffi, sites)
        for position, (dtype, shape) in enumerate(self._types):
            values |= {f"dtype{position}": dtype, f"shape{position}": shape}
        for position, (shape, dtype) in enumerate(self._results):
            made = self._makers[position] or partial(np.empty, shape, dtype)
            values[f"result{position}"] = made
        text = _caller_text(
            len(self._types), len(self._results), self._aliases, self._kind(), bool(sites)
        )
        exec(compile(text, f"<call of {self.entry.name}>", "exec"), values)
        run: Callable[[Sequence[Any]], list[np.ndarray[Any, Any]]] = values["run"]
        return run

    def _kind(self) -> Workspace:
        if not self._workspace:
            return "none"
        return "kept" if self._makers[-1] is None else "lent"

    def _fail(self, library: Library, code: int) -> NoReturn:
        message = library.ffi.string(library.function(f"{self.entry.meta['function']}_error")(code))
        raise InternalError(f"{self.entry.name} failed with code {code}: {message.decode()}")

    def c_text(self) -> str:
        """The text of program.c as it was built."""
        return self._file("program.c").decode()

    def assembly(self) -> str:
        """The compiler's assembly for program.c."""
        options = self.lowering.options
        compiler = toolchain.find_compiler(options)
        meta = self.entry.meta
        flags = toolchain.flags(compiler, options, meta["effort"], meta["gcc_flags"])
        with scratch_directory() as directory:
            for name in ("program.c", "program.h"):
                Path(directory, name).write_bytes(self._file(name))
            return toolchain.assembly(compiler, Path(directory, "program.c"), flags)

    def _file(self, name: str) -> bytes:
        try:
            return self.entry.read(name)
        except DamagedError:
            return self.lowering.file(name)

    def memory_analysis(self) -> MemoryAnalysis:
        """The sizes of arguments, results, workspace and code, in bytes."""

        def size(arrays: Sequence[tuple[tuple[int, ...], np.dtype[Any]]]) -> int:
            return sum(int(np.prod(s, dtype=np.int64)) * d.itemsize for s, d in arrays)

        return MemoryAnalysis(
            size([(s, d) for d, s in self._types]),
            size(self._results),
            self._workspace,
            size([self._results[output] for output in self._aliases]),
            self.entry.meta["files"][PROGRAM]["size"],
        )

    def save(
        self, directory: str | Path, name: str | None = None, *, private_libraries: bool = False
    ) -> list[Path]:
        """Write NAME.so, NAME.h and NAME.c, which need nothing of Python; their paths are returned.

        NAME.c includes NAME.h and, where constants are too long to write out, NAME.bin.

        The function in them, and the files, are called `name`, by default that of the Python
        function. Where that is a name of C or of its libraries (`fwrite`), an underscore follows,
        and the comment of the header says so; the paths have the name that was given. Files of an
        earlier `save` are replaced together, and processes that have loaded them keep the old
        ones; where anything fails (OSError), they stay as they were.

        A program that takes matrices apart is linked with LAPACK. One that belongs to this
        installation of Python, as NumPy's own, is refused (LibraryNotFoundError), unless it was
        named by an option or an environment variable, or `private_libraries` is given.
        """
        chosen = identifiers.program_name(name) if name is not None else self.entry.meta["function"]
        lowering = self.lowering
        if name is not None and chosen != self.entry.meta["function"]:
            graph = replace(lowering.graph, name=name)
            lowering = Lowering(graph, lowering.options, lowering.donated)
        if not private_libraries:
            lowering.check_public()
        executable = self if lowering is self.lowering else lowering.build()
        has_threads = executable.entry.has(THREADS)
        library = lowering.standalone() if has_threads else executable._file(PROGRAM)
        text = lowering.rendered(f"{chosen}.h")
        # What the C file reads before it; the header and the library, a pair that has to fit when
        # a program is compiled and run, one after the other; what processes load comes last.
        contents = {
            **({f"{chosen}.bin": text.constants} if text.constants else {}),
            f"{chosen}.c": text.source.encode(),
            f"{chosen}.h": text.header.encode(),
            f"{chosen}.so": library,
        }
        return replace_files(Path(directory), contents)[::-1]


def _caller_text(
    inputs: int, outputs: int, aliases: Mapping[int, int], workspace: Workspace, has_sites: bool
) -> str:
    """The Python text of `run(leaves)` for a program with so many inputs and outputs; `has_sites`:
    with callbacks. What takes memory is done once more where that which is kept for later arrays
    has been in the way."""
    lines = []
    for i in range(inputs):
        lines += [
            f"        if not (type(x{i}) is ndarray and x{i}.dtype is dtype{i}",
            f"                and x{i}.flags.num & {_IN_PLACE} == {_IN_PLACE}):",
            f"            x{i} = row_major(x{i}, dtype{i}, shape{i})",
        ]
    if aliases:
        arrays = "".join(f"x{i}, " for i in range(inputs))
        lines.append(f"        {''.join(f'g{i}, ' for i in aliases)}= given(({arrays}))")
    for i in range(outputs):
        made = f"result{i}()"
        made = f"{made} if g{i} is None else g{i}" if i in aliases else made
        lines.append(f"        r{i} = {made}")
    names = [f"x{i}" for i in range(inputs)] + [f"r{i}" for i in range(outputs)]
    further = ["calls.function", "running.context"] if has_sites else []
    pointer = "no_workspace" if workspace == "none" else "from_buffer(scratch)"
    arguments = ", ".join([*(f"from_buffer({n})" for n in names), pointer, *further])
    taken = {"kept": ["spare.pop() if spare else workspace()"], "lent": ["workspace()"], "none": []}
    lines += [f"        scratch = {made}" for made in taken[workspace]]
    return "\n".join(
        [
            "def run(leaves):",
            *([f"    {', '.join(f'x{i}' for i in range(inputs))}, = leaves"] if inputs else []),
            "    try:",
            *(lines or ["        pass"]),
            "    except MemoryError:",
            "        if not give_back():",
            "            raise",
            *lines,
            *(["    running = calls.begin()"] if has_sites else []),
            f"    code = function({arguments})",
            *(["    spare.append(scratch)"] if workspace == "kept" else []),
            "    if code:",
            "        fail(code)",
            *(["    running.finish()"] if has_sites else []),
            f"    return [{', '.join(f'r{i}' for i in range(outputs))}]",
        ]
    )


def _row_major(leaf: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """The values of an argument in an array that C can read."""
    array = np.asarray(np.require(leaf, dtype, ["C", "ALIGNED"]))
    if array.shape != shape:
        raise InternalError(f"the program takes an array of shape {shape}, not {array.shape}")
    return array
