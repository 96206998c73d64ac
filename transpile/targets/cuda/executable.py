"""A loaded program for a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from struct import Struct
from typing import TYPE_CHECKING, Any

import numpy as np

from transpile.disk_cache.cache import Entry
from transpile.disk_cache.cache_entry import PROGRAM, DamagedError
from transpile.disk_cache.concurrent_steps import finished
from transpile.disk_cache.process_directory import scratch_directory
from transpile.ir.graph_rewrite import returned_lengths, rooms_of
from transpile.ir.indices.size_solver import evaluated, solved
from transpile.ir.types import INT64
from transpile.runtime.callbacks import site_for_sizes
from transpile.runtime.executable import BuildInfo, MemoryAnalysis
from transpile.runtime.loader import Library
from transpile.runtime.program_call import (
    bytes_of,
    check_sizes,
    output_kind,
    rooms_of_call,
    shaping,
)
from transpile.targets.cuda.runtime.call import DeviceCall
from transpile.targets.cuda.runtime.device import CudaDevice
from transpile.targets.cuda.toolchain import nvcc

if TYPE_CHECKING:
    from transpile.targets.cuda.lowering import CudaLowering

_SOURCE, _HOST, _KERNELS = "program.cu", "host.cpp", "program.fatbin"


class CudaExecutable:
    """A loaded program. Safe to call from several threads; a forked child cannot use the device."""

    def __init__(
        self,
        lowering: CudaLowering,
        device: CudaDevice,
        entry: Entry,
        library: Library,
        *,
        from_cache: bool,
    ) -> None:
        self.lowering = lowering
        self.device = device
        self.entry = entry
        self.from_cache = from_cache
        self._library = library
        self._calls: dict[tuple[int, ...], DeviceCall] = {}
        self._sizes = [size.name for size in lowering.graph.sizes]
        self._rooms = [room.name for room in rooms_of(lowering.graph).values()]
        handles = device.cuda.kernels(entry.read(_KERNELS), entry.meta["kernels"])
        set_kernels = library.function(f"{entry.meta['function']}_kernels")
        set_kernels(Struct(f"{len(handles)}Q").pack(*handles))

    @property
    def call(self) -> DeviceCall:
        """The call of a program without runtime sizes."""
        return self.for_sizes({})

    def for_sizes(self, sizes: dict[str, int]) -> DeviceCall:
        """The call of the program with these values of its runtime sizes."""
        sizes = {**dict.fromkeys(self._rooms, 0), **sizes}
        key = tuple(sizes[name] for name in (*self._sizes, *self._rooms))
        known = self._calls.get(key)
        if known is None:
            graph, meta = self.lowering.graph, self.entry.meta
            lengths = returned_lengths(graph)
            known = DeviceCall(
                self._library,
                meta["function"],
                self.device,
                [(v.type.dtype, evaluated(v.type.shape, sizes)) for v in graph.inputs],
                [output_kind(a, sizes) for a in graph.outputs] + [(INT64, ())] * len(lengths),
                key,
                meta["launches"],
                meta["required"],
                [site_for_sizes(site, sizes) for site in dict.fromkeys(graph.sites())],
                shaping(graph, lengths, sizes) if lengths else None,
                rooms_of_call(graph, sizes, self.for_sizes) if self._rooms else None,
            )
            self._calls = {**dict(list(self._calls.items())[-_MOST_CALLS:]), key: known}
        return known

    def __call__(self, leaves: Sequence[Any]) -> list[Any]:
        """Run the program on the flat inputs of the graph; see `DeviceCall.run`."""
        graph = self.lowering.graph
        arguments = [
            (v.name, v.type.shape, np.shape(x)) for v, x in zip(graph.inputs, leaves, strict=True)
        ]
        return self.for_sizes(solved(graph.sizes, arguments)).run(leaves)

    def source_text(self) -> str:
        """The text of the CUDA file as it was built, in two parts: of the device, and of the
        host."""
        return "\n".join(self._file(name).decode() for name in (_SOURCE, _HOST))

    def assembly(self) -> str:
        """The PTX of the CUDA file."""
        compiler = nvcc.find_nvcc()
        chosen = ["-std=c++17", "--fmad=false", "-ptx", f"-arch={self.device.architecture}"]
        with scratch_directory() as directory:
            source, output = Path(directory, _SOURCE), Path(directory, "program.ptx")
            source.write_bytes(self._file(_SOURCE))
            finished(nvcc.compiling(compiler, source, output, chosen))
            return output.read_text(encoding="utf-8")

    def build_info(self) -> BuildInfo:
        """What it took to build the program."""
        flags = self.entry.meta["build"]["flags"]
        return BuildInfo.of(self.entry, _SOURCE, flags, from_cache=self.from_cache)

    def _file(self, name: str) -> bytes:
        try:
            return self.entry.read(name)
        except DamagedError:
            return self.lowering.file(name)

    def memory_analysis(self, **sizes: int) -> MemoryAnalysis:
        """The sizes of arguments, results, workspace and code, in bytes, for these runtime sizes.
        Raises TypeError for others than the program has."""
        check_sizes(sizes, [*self._sizes, *self._rooms])
        call = self.for_sizes(sizes)
        argument_size, output_size = bytes_of(call.inputs), bytes_of(call.outputs)
        code = sum(self.entry.meta["files"][file]["size"] for file in (PROGRAM, _KERNELS))
        return MemoryAnalysis(argument_size, output_size, call.workspace, 0, code)


# Calls with other runtime sizes that an executable keeps.
_MOST_CALLS = 255
