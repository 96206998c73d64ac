"""What a program for C says of itself at run time: its sizes, and the version of its interface."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Literal

from transpile.codegen.callback_messages import places_of
from transpile.codegen.plan.provenance import Origin, lines_of
from transpile.codegen.plan.small_machines import most_workspace
from transpile.codegen.plan.tensors import tensor_faults
from transpile.errors import UnsupportedError
from transpile.ir.dims import Dim, Index, Shape, Symbol, bounds
from transpile.ir.indices.lengths import lengths_in
from transpile.ir.loop_ir import Buffer, Program
from transpile.ir.types import BOOL
from transpile.options import Options
from transpile.util.frozen_records import dataclass
from transpile.util.hashing import blake2b

# Another one where functions are called in another way although their declarations are the same.
_CONVENTION = 1


@dataclass(frozen=True)
class SizeRange:
    """The values that a runtime size may have; no `most` where none is declared."""

    name: str
    least: int
    most: int | None
    multiple_of: int


@dataclass(frozen=True)
class Metadata:
    """What a saved program has that others have not.

    version  a number, in C, that follows from all that a caller has to know: where it is the same,
             a header and a library go together
    sizes    the runtime sizes
    threads  whether calls may say on how many they run: "many", "one" where there are no parallel
             loops to ask, or "" where the options have fixed it
    strided  whether there is an entry for arrays of any strides
    dlpack   whether there is one for tensors of DLPack
    lists    whether it has lists of its arrays and sizes, and its version
    faults   the codes and texts of what may be wrong with these
    provenance  its lines (`provenance.py`)
    """

    version: str
    sizes: tuple[SizeRange, ...]
    threads: Literal["many", "one", ""]
    strided: bool
    dlpack: bool
    lists: bool
    faults: tuple[tuple[int, str], ...]
    provenance: tuple[str, ...]


def range_of(size: Symbol) -> SizeRange:
    """The range of a runtime size."""
    least, most = bounds(Dim.of(size) * size.unit)
    return SizeRange(size.name, least or 0, most, size.unit)


def metadata_of(program: Program, options: Options, runs_threads: bool, origin: Origin) -> Metadata:
    """What a program says of itself. UnsupportedError for a layout that it cannot have."""
    strided = options.layout != "contiguous"
    inner = any(lengths_in([shape[1:]]) for _, shape in program.results)
    if strided and (inner or program.communicates):
        what = "has results whose length along an axis behind the first one depends on values"
        if program.communicates:
            what = "exchanges values with other devices"
        raise UnsupportedError(
            f"{program.name} {what}: it has no entry for layout={options.layout!r}"
        )
    names = [b.name for b in (*program.inputs, *program.outputs)]
    further = {f"{name}_{of}" for name in names for of in ("strides", "shape", "packed", "near")}
    if strided and (taken := sorted(further.intersection(names))):
        raise UnsupportedError(
            f"{program.name} has an array {taken[0]!r}, a name that the entry for "
            f"layout={options.layout!r} needs: rename it"
        )
    threads: Literal["many", "one", ""] = "many" if runs_threads else "one"
    version, sizes = interface_version(program), tuple(map(range_of, program.sizes))
    dlpack = options.layout == "dlpack"
    faults = tuple(tensor_faults(program)) if dlpack else ()
    threads = "" if options.num_threads or options.freestanding else threads
    lists = not options.freestanding
    provenance = tuple(lines_of(program.name, origin, options))
    return Metadata(f"0x{version:08x}U", sizes, threads, strided, dlpack, lists, faults, provenance)


def interface_version(program: Program) -> int:
    """A number of 32 bits, a digest of what callers have to know."""
    sizes = map(range_of, program.sizes)
    known = {
        "convention": _CONVENTION,
        "sizes": [(s.name, s.least, s.most, s.multiple_of) for s in sizes],
        "arrays": [_listed(program.inputs), _listed(program.returned)],
        "shared": program.aliases,
        "places": places_of(program),
        "communicates": program.communicates,
        "workspace": most_workspace(program),  # which a caller's array may have
    }
    return int.from_bytes(blake2b(json.dumps(known).encode(), digest_size=4).digest(), "big")


def strided_buffers(program: Program) -> list[tuple[Buffer, Index]]:
    """The arrays that may have strides, and the bytes before the memory of each in the workspace of
    the entry for them; the last element has no array, but the bytes of all."""
    offset: Index = 0
    places: list[tuple[Buffer, Index]] = []
    for buffer in (*program.inputs, *program.outputs):
        if buffer.shape:
            places.append((buffer, offset))
            offset = offset + (buffer.size_in_bytes + 63) // 64 * 64
    return [*places, (Buffer("", (), BOOL), offset)]


@dataclass(frozen=True)
class CountedResult:
    """The shape of a result that has lengths for extents, and where a caller finds these."""

    shape: Shape
    lengths: tuple[tuple[Symbol, str], ...]


def counted_results(program: Program) -> dict[str, CountedResult]:
    """The results that have lengths for extents, by their names."""
    found = {}
    for name, shape in program.results:
        own = lengths_in([shape])
        lengths = tuple((s, b) for s, b in program.returned_lengths if s in own)
        found[name] = CountedResult(shape, lengths)
    return found


def _listed(buffers: Iterable[Buffer]) -> list[tuple[str, str, list[str]]]:
    return [(b.name, b.dtype.name, [str(extent) for extent in b.shape]) for b in buffers]
