"""Which processors a saved program is compiled for, and the choice between them when it is called.

A library is used on other machines than the one that compiles it. So it is compiled for a level
that processors share, x86-64-v3 unless the options name another, and asks the processor before it
runs anything. What asks, `dispatch.c`, is compiled for every processor, each version of the program
for its level; their functions have the level in their names.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from transpile.build.compiler_probe import Compiler, find_compiler
from transpile.codegen.callback_messages import failures_of, without_sites
from transpile.codegen.dialect import C
from transpile.codegen.plan.metadata import metadata_of
from transpile.codegen.plan.provenance import Origin
from transpile.codegen.plan.size_checks import helpers_of_checks, length_checks, size_checks
from transpile.codegen.render import Text, strided_entry
from transpile.codegen.scope import ProgramScope
from transpile.codegen.templates.filling import filled_in
from transpile.disk_cache.cache_entry import LINKED, PROGRAM
from transpile.errors import CompilerNotFoundError, UnsupportedError
from transpile.ir.loop_ir import Program
from transpile.machine.platforms import platform_of
from transpile.options import Options
from transpile.symbols import c_helpers
from transpile.symbols.identifiers import exported_names, identifier
from transpile.util.frozen_records import dataclass, replace


@dataclass(frozen=True)
class Level:
    """A level of x86-64: its number, and how what it adds is called."""

    number: int
    text: str = ""


# The levels of the processor supplement of the System V ABI, ascending.
LEVELS: Mapping[str, Level] = MappingProxyType(
    {
        "x86-64": Level(1),
        "x86-64-v2": Level(2, "SSE4.2"),
        "x86-64-v3": Level(3, "AVX2 and FMA"),
        "x86-64-v4": Level(4, "AVX-512"),
    }
)
_MULTI = ("x86-64", "x86-64-v3", "x86-64-v4")
_PORTABLE = "x86-64-v3"


def processors_of(options: Options) -> tuple[str, ...]:
    """The values of -march that a saved program is compiled with, the lowest level first: one, or
    those that `march` lists. UnsupportedError for a list with others than levels of x86-64."""
    march = options.march
    if march == "auto" and platform_of(options.target).system == "windows":
        # gcc keeps vectors of 32 bytes on a stack that Windows aligns to 16, and there they fault.
        return ("",)
    if march == "auto":
        return (_PORTABLE if _is_x86_64(options) else "",)
    if march != "multi" and "," not in march:
        return (march,)
    if not _is_x86_64(options):
        raise UnsupportedError(f"march={march!r} is for x86-64: the compiler is for another target")
    named = set(_MULTI if march == "multi" else march.split(","))
    if unknown := sorted(named - {*LEVELS}):
        raise UnsupportedError(
            f"march={march!r}: a program has versions for {', '.join(LEVELS)}, not {unknown[0]!r}"
        )
    return tuple(level for level in LEVELS if level in named)


def files_of(name: str, options: Options) -> dict[str, str]:
    """The files of a library by their names, what is loaded last, and what the cache calls them."""
    platform = platform_of(options.target)
    linked = platform.import_library(name)
    return {**({linked: LINKED} if linked else {}), platform.file(name): PROGRAM}


def asks_processor(processors: Sequence[str]) -> bool:
    """True if there is something to ask before a program runs."""
    return any(name in LEVELS and LEVELS[name].number > 1 for name in processors)


def compiled_for(options: Options, processor: str) -> Options:
    """The options with one processor."""
    return replace(options, march=processor)


def version_file(processor: str) -> str:
    """The name of the object file of a version."""
    return f"program.{processor}.o"


def version_source(program: Program, processor: str) -> str:
    """The C file of a version: the program with other names of its functions."""
    ending = f"_{identifier(processor)}"
    names = sorted(
        n for n in exported_names(program.name) if not n.endswith(("_ABI_VERSION", "_BYTES"))
    )
    return filled_in("version.c.j2", names=names, ending=ending, processor=processor)


def dispatch_source(
    program: Program, options: Options, text: Text, wanted: Sequence[str], origin: Origin
) -> str:
    """The C file with the functions of the header, which ask the processor, and say what the
    program was made of; `text` is its text."""
    faults = failures_of(program)
    program = without_sites(program) if options.freestanding else program
    scope = ProgramScope(program, options, C, (None, None))
    metadata = metadata_of(program, options, text.runs_threads, origin)
    lowest = wanted[0]
    refusal = ""
    if LEVELS[lowest].number > 1:
        refusal = f"this library needs a processor with {LEVELS[lowest].text} ({lowest})"
    asked = filled_in(
        "asked.c.j2",
        program=program,
        checks=size_checks(program, options),
        late_checks=length_checks(program),
        scope=scope.of_entry(),
        refusal=refusal,
        faults=(*metadata.faults, *faults),
    )
    strided = strided_entry(program, scope, options)
    needed = scope.needs.helpers | helpers_of_checks(program, options)
    return filled_in(
        "dispatch.c.j2",
        program=program,
        dialect=C,
        is_complex=any(b.dtype.kind == "c" for b in (*program.inputs, *program.outputs)),
        metadata=metadata,
        asked=asked,
        strided=strided,
        helpers=c_helpers.needed(needed, 0),
        versions=[(f"_{identifier(name)}", LEVELS[name].number) for name in reversed(wanted)],
        refusal=refusal,
    )


def _is_x86_64(options: Options) -> bool:
    """True if programs are compiled for x86-64 by a compiler that can ask the processor; without a
    compiler, if this machine is one."""
    try:
        compiler: Compiler = find_compiler(options)
    except CompilerNotFoundError:
        return (platform_of(options.target).processor or os.uname().machine) == "x86_64"
    # What asks is not tested with zig.
    return compiler.target.startswith(("x86_64", "amd64")) and compiler.kind != "zig"
