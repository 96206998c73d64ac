"""From a graph to a loaded program, and how to call it on arrays.

`Lowering` is the way down, each step done when it is asked for; `Executable` is a program in the
process. A program that is in the cache is loaded without lowering, rendering or compiling anything.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from transpile import toolchain
from transpile.cache import Entry, default_cache
from transpile.errors import InternalError
from transpile.graph import Graph
from transpile.load import PROGRAM, Library, call_safely, load_or_build, needs_safe_calls
from transpile.names import identifier
from transpile.options import Options
from transpile.paths import PACKAGE, data_directory

if TYPE_CHECKING:  # see Lowering._steps
    from transpile.loops import Program
    from transpile.pipeline import Steps
    from transpile.render import Text

# C-contiguous and aligned, in numpy.ndarray.flags.num.
_IN_PLACE = 0x0001 | 0x0100
_BYTE = np.dtype(np.uint8)


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
    """A graph on its way to C; see `transpile.pipeline` for the steps.

    donated   the positions of the inputs whose memory the caller gives up
    """

    def __init__(self, graph: Graph, options: Options, donated: tuple[int, ...] = ()) -> None:
        self.graph = graph
        self.options = options
        self.donated = donated

    @cached_property
    def _steps(self) -> Steps:
        from transpile.pipeline import Steps  # a warm start lowers nothing and does without it

        return Steps(self.graph, self.options, self.donated)

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

    def header_text(self) -> str:
        """The text of program.h."""
        return self._steps.text.header

    def cost_analysis(self) -> dict[str, float]:
        """The operations of the fused program and the memory that it touches.

        `flops` and `transcendentals` are counts, `bytes accessed` is in bytes; see
        `transpile.cost`.
        """
        return self._steps.cost()

    def ingredients(self) -> dict[str, str]:
        """The named parts of the cache key: everything that the program's bytes depend on."""
        compiler = toolchain.find_compiler(self.options)
        blas = toolchain.find_blas(self.options)
        return {
            **toolchain.ingredients(compiler, self.options),
            "graph": self.graph.fingerprint(),
            "options": json.dumps(asdict(self.options), sort_keys=True),
            "donated": ",".join(map(str, self.donated)),
            "transpile": _own_digest(),
            "blas": blas.identity if blas is not None else "none",
        }

    def build(self) -> Executable:
        """The program, loaded from the cache, or compiled first.

        Raises CompilerNotFoundError and CompilationError.
        """
        entry, library = load_or_build(
            default_cache(), self.graph.name, self.ingredients(), lambda d: self._steps.write(d)
        )
        return Executable(self, entry, library)


@cache
def _own_digest() -> str:
    """A hash of transpile itself: whatever changes in it may change the programs it makes."""
    digest = hashlib.blake2b(digest_size=16)
    files = [
        *PACKAGE.rglob("*.py"),
        *data_directory("templates").iterdir(),
        *data_directory("runtime_c").iterdir(),
    ]
    for path in sorted(files):
        if path.is_file():
            digest.update(f"{path.name}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


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
        self._run = self._in_place(library) if self._aliases else self._caller(library)

    def __call__(self, leaves: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        """Run the program on the flat inputs of the graph; the flat outputs are new arrays.

        Arrays of any memory layout are accepted: those in row-major order, aligned and in native
        byte order are read where they are, others are copied first. The GIL is released meanwhile.
        """
        return self._run(leaves)

    def _caller(self, library: Library) -> Callable[[Sequence[Any]], list[np.ndarray[Any, Any]]]:
        """The function that runs the program. Everything it needs is a local variable: for small
        arrays looking things up would take longer than the program."""
        function: Callable[..., int] = library.function(self.entry.meta["function"])
        from_buffer: Callable[[Any], Any] = library.ffi.from_buffer
        types, outputs, workspace_size = self._types, self._results, self._workspace
        ndarray, empty, nothing = np.ndarray, np.empty, library.ffi.NULL
        # A call takes a workspace from here and gives it back; list methods are atomic.
        spare: list[Any] = []

        def run(leaves: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
            pointers = []
            for leaf, (dtype, shape) in zip(leaves, types, strict=True):
                if not (
                    type(leaf) is ndarray
                    and leaf.dtype is dtype
                    and leaf.flags.num & _IN_PLACE == _IN_PLACE
                ):
                    leaf = _row_major(leaf, dtype, shape)
                pointers.append(from_buffer(leaf))  # the pointer keeps the array alive
            results = []
            for shape, dtype in outputs:
                result = empty(shape, dtype)
                results.append(result)
                pointers.append(from_buffer(result))
            workspace = nothing
            if workspace_size:
                workspace = spare.pop() if spare else from_buffer(empty(workspace_size, _BYTE))
            if needs_safe_calls():
                code = call_safely(function, *pointers, workspace)
            else:
                code = function(*pointers, workspace)
            if workspace_size:
                spare.append(workspace)
            if code:
                self._fail(library, code)
            return results

        return run

    def _in_place(self, library: Library) -> Callable[[Sequence[Any]], list[np.ndarray[Any, Any]]]:
        """The function that runs a program some of whose results take the memory of arguments. An
        argument that cannot be written, or not by C, is copied first, and the copy returned."""
        function: Callable[..., int] = library.function(self.entry.meta["function"])
        from_buffer: Callable[[Any], Any] = library.ffi.from_buffer

        def run(leaves: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
            held = [_row_major(x, d, s) for x, (d, s) in zip(leaves, self._types, strict=True)]
            results = []
            for position, (shape, dtype) in enumerate(self._results):
                source = held[self._aliases[position]] if position in self._aliases else None
                if source is None or not source.flags.writeable:
                    source = np.empty(shape, dtype)
                results.append(source)
            workspace = from_buffer(np.empty(self._workspace, _BYTE))
            code = call_safely(function, *map(from_buffer, (*held, *results)), workspace)
            if code:
                self._fail(library, code)
            return results

        return run

    def _fail(self, library: Library, code: int) -> NoReturn:
        message = library.ffi.string(library.function(f"{self.entry.meta['function']}_error")(code))
        raise InternalError(f"{self.entry.name} failed with code {code}: {message.decode()}")

    def c_text(self) -> str:
        """The text of program.c as it was built."""
        return self.entry.path("program.c").read_text(encoding="utf-8")

    def assembly(self) -> str:
        """The compiler's assembly for program.c."""
        options = self.lowering.options
        compiler = toolchain.find_compiler(options)
        return toolchain.assembly(
            compiler, self.entry.path("program.c"), toolchain.flags(compiler, options)
        )

    def memory_analysis(self) -> MemoryAnalysis:
        """The sizes of arguments, results, workspace and code, in bytes."""

        def size(arrays: Sequence[tuple[tuple[int, ...], np.dtype[Any]]]) -> int:
            return sum(int(np.prod(s, dtype=np.int64)) * d.itemsize for s, d in arrays)

        return MemoryAnalysis(
            size([(s, d) for d, s in self._types]),
            size(self._results),
            self._workspace,
            size([self._results[output] for output in self._aliases]),
            self.entry.path(PROGRAM).stat().st_size,
        )

    def save(self, directory: str | Path, name: str | None = None) -> list[Path]:
        """Write NAME.so, NAME.h and NAME.c, which need nothing of Python; their paths are returned.

        NAME.c includes NAME.h and, where constants are too long to write out, NAME.bin.

        The function in them is called `name`, by default that of the Python function.
        """
        chosen = identifier(name) if name is not None else self.entry.meta["function"]
        lowering = self.lowering
        if chosen != lowering.graph.name:
            lowering = Lowering(
                replace(lowering.graph, name=chosen), lowering.options, lowering.donated
            )
        executable = self if lowering is self.lowering else lowering.build()
        target = Path(directory)
        target.mkdir(parents=True, exist_ok=True)
        text = lowering.rendered(f"{chosen}.h")
        paths = [target / f"{chosen}.{ending}" for ending in ("so", "h", "c")]
        shutil.copyfile(executable.entry.path(PROGRAM), paths[0])
        paths[1].write_text(text.header, encoding="utf-8")
        paths[2].write_text(text.source, encoding="utf-8")
        if text.constants:
            paths.append(target / f"{chosen}.bin")
            paths[-1].write_bytes(text.constants)
        return paths


def _row_major(leaf: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """The values of an argument in an array that C can read."""
    array = np.require(leaf, dtype, ["C", "ALIGNED"])
    if array.shape != shape:
        raise InternalError(f"the program takes an array of shape {shape}, not {array.shape}")
    return array
