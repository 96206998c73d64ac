"""From a graph to a program on a GPU, or to a saved library for one: `Lowering`, with CUDA in the
place of C."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from transpile.build import toolchain
from transpile.build.driver import Pipeline
from transpile.build.stopwatch import Stopwatch
from transpile.codegen.plan.provenance import origin_of
from transpile.codegen.templates.filling import filled_in
from transpile.disk_cache.cache import Entry, default_cache
from transpile.disk_cache.cache_entry import PROGRAM
from transpile.disk_cache.concurrent_steps import SideBySide, Steps, most_commands
from transpile.disk_cache.package_fingerprint import own_digest
from transpile.errors import CompilerNotFoundError, UnsupportedError
from transpile.ir.graph import Donated, Graph
from transpile.ir.loop_ir import Program
from transpile.options import Options
from transpile.runtime.executable import Lowering
from transpile.runtime.loader import Library, load_entry, with_tables
from transpile.symbols import identifiers
from transpile.targets.cuda.executable import CudaExecutable
from transpile.targets.cuda.gpu import USUAL, Gpu, options_for
from transpile.targets.cuda.render import CudaFile, cuda_file, header_text
from transpile.targets.cuda.reserved_names import renamed
from transpile.targets.cuda.runtime.device import CudaDevice, device_named
from transpile.targets.cuda.toolchain import nvcc
from transpile.targets.cuda.toolchain.cublas import (
    find_cublas,
    identity_of,
    load_cublas,
    uses_cublas,
)
from transpile.targets.cuda.toolchain.cudart import cudart
from transpile.trace.history.record import Record
from transpile.util.atomic_files import replace_files
from transpile.util.frozen_records import cached_property
from transpile.util.gc_pause import without_collector
from transpile.util.terminal.status_line import waiting

_Used = TypeVar("_Used")
# What the key has of nvcc: a program from the cache runs where there is none.
_COMPILER_INGREDIENTS = frozenset({"compiler", "flags"})
# The files of an entry beside PROGRAM, which is the part of the host.
SOURCE, HOST, KERNELS = "program.cu", "host.cpp", "program.fatbin"
_PLACE = re.compile(r"\S+:\d+: ")  # a line of Python, with which messages begin
_HOST_FLAGS = ("-std=c++17", "-O1", "-fPIC", "-shared", "-Wall")


class CudaLowering(Lowering):
    """A graph with the options that it is compiled with for a GPU.

    gpu   the thresholds of the mapping: part of the key
    """

    takes_layouts = False
    dialect = "cuda"

    def __init__(
        self,
        graph: Graph,
        options: Options,
        donated: Donated = (),
        record: Record | None = None,
        gpu: Gpu = USUAL,
    ) -> None:
        super().__init__(graph, options, donated, record)
        self.gpu = gpu

    def changed(self, options: Options) -> CudaLowering:
        """The graph with other options."""
        return CudaLowering(self.graph, options, self.donated, self.record, self.gpu)

    @cached_property
    def _times(self) -> Stopwatch:
        return Stopwatch(trace=self.record.seconds, lower=0.0, render=0.0, compile=0.0)

    @cached_property
    def _loops(self) -> Pipeline:
        graph, options = renamed(self.graph), options_for(self.options)
        return Pipeline(graph, options, self.donated, self.record.seconds)

    @property
    def loops(self) -> Program:
        """The fused loops, before they are mapped to a grid."""
        return self._loops.lowered

    @cached_property
    def readable(self) -> CudaFile:
        """The CUDA file, for readers."""
        return self._rendered()

    @cached_property
    def _file_for_python(self) -> CudaFile:
        return self._rendered(for_python=True)

    def _gpu(self, *, for_python: bool) -> Gpu:
        """The thresholds, and whether products may be those of NVIDIA's library."""
        has_cublas = self.gpu.has_cublas or uses_cublas(self.options, by_default=for_python)
        return replace(self.gpu, has_cublas=has_cublas)

    def _rendered(self, *, for_python: bool = False, **how: Any) -> CudaFile:
        gpu = self._gpu(for_python=for_python)
        how["for_python"] = for_python
        with self._times.phase("lower"):
            loops = self.loops
        with self._times.phase("render"):
            title = self._loops.title(loops)
            try:
                return without_collector(lambda: cuda_file(loops, self.options, title, gpu, **how))
            except UnsupportedError as error:
                raise UnsupportedError(self._explained(str(error))) from None

    def _explained(self, problem: str) -> str:
        """What is not supported, with a line of Python and the device."""
        where = "" if _PLACE.match(problem) else f"{self.graph.source}: "
        device = "" if "device=" in problem else f" (device={self.options.device!r})"
        return f"{where}{problem}{device}"

    def program(self) -> Program:
        """The loops that kernels are made of, with the plan of memory."""
        return self.readable.program

    def cuda_text(self) -> str:
        """The text of the CUDA file."""
        return self.readable.source

    def cost_analysis(self) -> dict[str, float]:
        """As for C, of these loops."""
        return self._loops.cost()

    # ------------------------------------------------------------------------------- the cache

    def device(self) -> CudaDevice:
        """The device that the program is for. Raises DeviceNotFoundError where it is not there."""
        return device_named(self.options.device)

    def _architectures(self) -> tuple[str, ...]:
        return nvcc.named_architectures(self.options) or (self.device().architecture,)

    def _parts(self, options: Options, *, for_python: bool = True) -> dict[str, str]:
        """The ingredients that do not follow from nvcc. All devices of a generation share a
        program."""
        gpu = self._gpu(for_python=for_python)
        library = find_cublas() if gpu.has_cublas else None
        settings = options.settings() | {"device": "cuda", "march": ""}
        return {
            "target": toolchain.target(replace(options, march="")),
            "architectures": ",".join(self._architectures()),
            "gpu": repr(gpu),
            "libraries": "" if library is None else identity_of(library),
            "graph": self.graph.fingerprint(paths=options.debug),
            "options": json.dumps(settings, sort_keys=True),
            "donated": ",".join(map(str, self.donated)),
            "transpile": own_digest(),
        }

    def ingredients(self) -> dict[str, str]:
        """The named texts of the cache key."""
        return {**self._of_compiler(nvcc.find_nvcc()), **self._parts(self.options)}

    def _of_compiler(self, compiler: nvcc.Nvcc) -> dict[str, str]:
        chosen = nvcc.flags(self.options, self._architectures())
        identity = toolchain.compiler_identity(Options())
        return {
            "compiler": f"{compiler.identity}, {identity}",
            "flags": " ".join((*chosen, *_HOST_FLAGS)),
        }

    def _obtain(
        self,
        build: Callable[[Path], None],
        use: Callable[[Entry], _Used],
        further: Mapping[str, str] | None = None,
        options: Options | None = None,
    ) -> _Used:
        cache, name = default_cache(), self.graph.name
        parts = {
            **self._parts(options or self.options, for_python=further is None),
            **(further or {}),
        }
        try:
            compiler = nvcc.find_nvcc()
        except CompilerNotFoundError as missing:
            return cache.find(name, parts, _COMPILER_INGREDIENTS, use, missing)
        ingredients = {**self._of_compiler(compiler), **parts}
        return cache.obtain(name, ingredients, build, use)

    def is_cached(self) -> bool:
        """True if the program is in the cache, so that `build` loads it and runs no compiler."""
        return default_cache().get(self.graph.name, self.ingredients()) is not None

    def _write(self, directory: Path) -> None:
        with_tables(self._compile)(directory)

    def _compile(self, directory: Path) -> None:
        """Write and compile the program with the entry for Python."""
        made = self._file_for_python
        name = made.program.name
        (directory / HOST).write_text(made.host, encoding="utf-8")
        log = self._compiled(made, directory, directory / KERNELS)
        meta = {
            "declarations": filled_in(
                "cuda/declarations.h.j2", name=name, calls_back=bool(made.program.sites)
            ),
            "function": name,
            "launches": made.launches,
            "kernels": made.kernels,
            "libraries": self._libraries(made),
            "required": [text for _, _, text in made.program.required],
            "build": {
                "commands": [log.partition("\n")[0]],
                "flags": nvcc.flags(self.options, self._architectures()),
                "retreat": 0,
                "limit": 0.0,
                "seconds": self._times.seconds,
            },
        }
        (directory / "meta.json").write_text(json.dumps(meta, sort_keys=True), encoding="utf-8")

    def _compiled(
        self, made: CudaFile, directory: Path, output: Path, *, for_host: bool = False
    ) -> str:
        """Compile a CUDA file, to what the device runs, and beside it the part of the host; or
        `for_host` to a shared object. The log."""
        path = directory / SOURCE
        path.write_text(made.source, encoding="utf-8")
        chosen = nvcc.flags(self.options, self._architectures(), for_host=for_host)
        libraries = self._libraries(made)
        if for_host:
            chosen = (*chosen, *nvcc.linking(libraries))
        logs: list[str] = []

        def kept(steps: Steps[str]) -> Steps[None]:
            logs.append((yield from steps))

        words = f"compiling {self.graph.name} by nvcc, {len(made.source):,} characters of CUDA C++"
        compiles = self._times.phase("compile")
        with compiles, waiting(words), SideBySide(most_commands()) as jobs:
            jobs.begin(kept(nvcc.compiling(nvcc.find_nvcc(), path, output, chosen)))
            if not for_host:
                jobs.begin(kept(self._host_part(directory, libraries)))
            jobs.finish()
        (directory / "build.log").write_text("".join(logs), encoding="utf-8")
        return "".join(logs)

    def _libraries(self, made: CudaFile) -> list[str]:
        """The files of the libraries that a program is linked with, beside CUDA's."""
        library = find_cublas() if made.uses_library else None
        return [] if library is None else [str(library)]

    def _host_part(self, directory: Path, libraries: list[str]) -> Steps[str]:
        """The steps that compile the part of the host, by the compiler of C."""
        command = toolchain.find_compiler(Options()).command
        linked = [cudart().path, *libraries]
        words = ["-x", "c++", *_HOST_FLAGS, HOST, "-x", "none", *linked, "-o", PROGRAM]
        return toolchain.run([*command, *words], directory.resolve(), directory / HOST)

    def build(self) -> CudaExecutable:  # type: ignore[override]
        """The program, loaded into the process; compiled first where the cache does not have it.

        Raises DeviceNotFoundError, CompilerNotFoundError and CompilationError.
        """
        built = []

        def build(directory: Path) -> None:
            self._write(directory)
            built.append(True)

        device = self.device()
        entry, library = self._obtain(build, _loaded)
        return CudaExecutable(self, device, entry, library, from_cache=not built)

    # ------------------------------------------------------------------------------- saved files

    def save(
        self,
        directory: str | Path,
        name: str | None = None,
        *,
        private_libraries: bool = False,
        communicator: str | None = None,
    ) -> list[Path]:
        """Write NAME.so, NAME.h and NAME.cu, which do not need Python; returns their paths. The
        library has machine code for the architectures of the option `march`, or for that of the
        device, and PTX, which drivers compile for later ones."""
        if communicator is not None:
            raise UnsupportedError("programs of a GPU exchange no values with other devices yet")
        lowering = self.called(name)
        assert isinstance(lowering, CudaLowering)
        return replace_files(Path(directory), lowering.saved_files())[::-1]

    def called(self, name: str | None) -> Lowering:
        """The program with another name of its function; TypeError or ValueError for what is
        none."""
        if name is None or name == self.graph.name:
            return self
        if not isinstance(name, str):
            raise TypeError(f"the name of a saved program is a str, not {name!r}")
        if identifiers.identifier(name) != name:
            raise ValueError(
                f"the name of a saved program, {name!r}, is not a C identifier; "
                f"{identifiers.program_name(name)!r} would do"
            )
        graph = replace(self.graph, name=name)
        return CudaLowering(graph, self.options, self.donated, self.record, self.gpu)

    def saved_files(self) -> dict[str, bytes]:
        """The contents of the files of a saved program by their names."""
        name = self.loops.name
        graph, paths = self.graph, self.options.debug
        origin = origin_of(graph.name, graph.source, (self.options.march,), paths=paths)
        made = self._rendered(header=f"{name}.h", origin=origin)
        header = header_text(made, self.loops, self._loops.title(self.loops))
        files = {f"{name}.cu": made.source.encode(), f"{name}.h": header.encode()}

        def build(directory: Path) -> None:
            (directory / f"{name}.h").write_text(header, encoding="utf-8")
            self._compiled(made, directory, directory / PROGRAM, for_host=True)
            (directory / "meta.json").write_text("{}", encoding="utf-8")

        further = {"for": f"anyone, made of {origin}"}
        files[f"{name}.so"] = self._obtain(build, lambda entry: entry.read(PROGRAM), further)
        return files

    def sources(self) -> dict[str, bytes]:
        """The CUDA file and the header by their names."""
        return {n: text for n, text in self.saved_files().items() if not n.endswith(".so")}

    def standalone(self) -> dict[str, bytes]:
        """The shared object for processes without Python."""
        return {n: data for n, data in self.saved_files().items() if n.endswith(".so")}

    def objects(self) -> dict[str, bytes]:
        """Raise UnsupportedError: there are no object files of programs for a GPU."""
        raise UnsupportedError(f"{self.graph.name}: a program for a GPU is saved by itself")

    def check_public(self) -> None:
        """Nothing to check: the program is linked with CUDA's library alone."""

    @property
    def libraries(self) -> list[Any]:
        """None: neither a BLAS nor a LAPACK."""
        return []


def _loaded(entry: Entry) -> tuple[Entry, Library]:
    """An entry and its program, loaded behind the libraries that it is linked with."""
    path = find_cublas() if entry.meta["libraries"] else None
    if path is not None:
        load_cublas(path)
    return load_entry(entry)


def cuda_text_of(lowering: Lowering) -> str:
    """The CUDA file of a lowered program, whatever device that is for."""
    if isinstance(lowering, CudaLowering):
        return lowering.cuda_text()
    known = lowering.graph, lowering.options, lowering.donated, lowering.record
    return CudaLowering(*known).cuda_text()
