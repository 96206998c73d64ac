"""Render a scheduled program as the texts of a C file and its header.

The C is in templates. This module computes what they need: groups of kernels, helpers, prototypes,
constants, the contract with the caller. Kernels are printed first, as their text decides which
helpers and prototypes the program needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from transpile.analysis.source_lines import complete_sources
from transpile.codegen import compile_budget
from transpile.codegen.callback_messages import (
    asks_for_codes,
    calls_back,
    failures_of,
    helpers_of,
    includes_of,
    messages_of,
    places_of,
    without_sites,
)
from transpile.codegen.complex_library import needed_helpers, with_own_complex
from transpile.codegen.constants import Constant, constants_of
from transpile.codegen.dialect import C, Dialect, without_library
from transpile.codegen.line_wrapping import complex_types, type_text, with_own_lines
from transpile.codegen.linked_helpers import LinkedHelper, linked_helpers
from transpile.codegen.plan import gcc_faults
from transpile.codegen.plan.calling_convention import CallingConvention, Parameter
from transpile.codegen.plan.helper_inlining import outlined
from transpile.codegen.plan.kernel_dedup import Group, functions_for
from transpile.codegen.plan.metadata import Metadata, counted_results, metadata_of, strided_buffers
from transpile.codegen.plan.provenance import Origin
from transpile.codegen.plan.size_checks import (
    helpers_of_checks,
    length_checks,
    range_text,
    size_checks,
)
from transpile.codegen.plan.small_machines import (
    check_c,
    check_freestanding,
    most_workspace,
)
from transpile.codegen.plan.summary import Summary, gcc_flags, summary_of
from transpile.codegen.plan.tensors import dtype_code, first_code, solved_sizes
from transpile.codegen.scope import ProgramScope, Scope
from transpile.codegen.templates.filling import filled_in
from transpile.ir.calls import Call
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import NO_DEAD_SCALARS, STACK_BOUNDED, WORKSPACE_PLANNED
from transpile.ir.dims import Dim, Symbol, symbols_of
from transpile.ir.graph import Source
from transpile.ir.indices.lengths import most_of
from transpile.ir.loop_ir import (
    Buffer,
    DType,
    Kernel,
    Program,
    Statement,
)
from transpile.ir.loop_rewrite import used_buffers, walk
from transpile.ir.types import BOOL, is_half
from transpile.machine.platforms import platform_of
from transpile.options import Options
from transpile.schedule.stack import STACK
from transpile.symbols import c_helpers
from transpile.symbols.c_helpers import Item
from transpile.symbols.lapack import Libraries, notes, prototypes
from transpile.util.data_files import data_directory
from transpile.util.fp_environment import in_default_fp_environment
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True)
class Text:
    """The files of a program, and how it is compiled.

    linked        the large helpers, which programs for Python are linked with
    for_python    the C file of such a program, which declares them only
    of_version    the C file of a version for a processor, without what callers ask of a library
    effort        see `compile_budget.py`
    gcc_flags     see `gcc_faults.py`
    runs_threads  True if the program calls OpenMP's library
    """

    source: str
    header: str
    constants: bytes = b""
    linked: tuple[LinkedHelper, ...] = ()
    for_python: str = ""
    of_version: str = ""
    effort: compile_budget.Effort = "usual"
    gcc_flags: tuple[str, ...] = ()
    runs_threads: bool = False


@dataclass(frozen=True)
class KernelFunction:
    """A function that one or more kernels share, for the templates; `debugged_as` is the line of
    Python that its debug information names."""

    name: str
    comment: tuple[str, ...]
    debugged_as: Source | None
    sizes: tuple[Symbol, ...]
    parameters: tuple[Parameter, ...]
    body: tuple[Statement, ...]
    scope: Scope
    calls_back: bool
    asks_for_codes: bool

    @property
    def communicates(self) -> bool:
        """True if it exchanges values with other devices, which may fail."""
        return exchanges(self.body)


@dataclass(frozen=True)
class KernelCall:
    """A call of a kernel: its function, and what it is given.

    lengths  those that are known afterwards, and where they are
    checks   the numbers of the checks that follow
    """

    function: str
    sizes: tuple[Symbol, ...]
    parameters: tuple[Parameter, ...]
    calls_back: bool
    communicates: bool
    lengths: tuple[tuple[Symbol, str], ...]
    checks: tuple[int, ...]


@contract(requires=(NO_DEAD_SCALARS, STACK_BOUNDED, WORKSPACE_PLANNED))
@in_default_fp_environment
def render(
    program: Program,
    options: Options,
    header: str = "program.h",
    title: str = "",
    libraries: Libraries = (None, None),
    identity: Sequence[str] = (),
    devices: int = 0,
    *,
    for_c: Origin | None = None,
    dialect: Dialect = C,
) -> Text:
    """The texts of the program and of its header, which it includes by the name `header`.

    Long constants are in a file beside it with the header's name and the extension `.bin`. By
    `identity`, parts of a text, devices that exchange values tell whether all run the same program,
    which is for so many of them. A text `for_c` has what callers in C ask of a program, too, and
    says what it was made of.
    """
    program = complete_sources(program) if options.debug else program
    check_freestanding(program, options, libraries)
    if options.freestanding:
        # Python's own call of it raises the exception, whose place it is told.
        dialect = without_library(dialect, calls_back=for_c is None)
    dialect = with_own_complex(dialect, options)
    renderer = _Renderer(program, options, dialect, title or program.name, libraries)
    renderer.for_c = for_c
    text = renderer.render(header, identity, devices)
    check_c(program, text.source, renderer.scope.needs.helpers, options)
    return text


class _Renderer:
    for_c: Origin | None = None

    def __init__(
        self, program: Program, options: Options, dialect: Dialect, title: str, libraries: Libraries
    ) -> None:
        self.libraries = libraries
        self.program = program
        self.options = options
        self.dialect = dialect
        self.title = title
        self.buffers = program.buffers()
        self.convention = CallingConvention(program)
        self.scope = ProgramScope(program, options, dialect, libraries)
        self.shown = program if dialect.calls_back else without_sites(program)

    def render(self, header: str, identity: Sequence[str], devices: int) -> Text:
        program, for_c = self.program, self.for_c
        groups, effort = functions_for(program, self.convention, self.options)
        functions = [self._function(group) for group in groups]
        kernels = filled_in("kernels.c.j2", kernels=functions, dialect=self.dialect)
        needs, in_entry = self.scope.needs, self._entry_scope()
        messages = messages_of(program)
        strided = strided_entry(self.shown, self.scope, self.options) if for_c else ""
        names = needs.helpers | helpers_of(messages)
        helpers = self._helpers(names)
        lanes = outlined([group.kernels[0] for group in groups], self.options)
        constants, binary = self._constants()
        summary = summary_of(program.kernels)
        is_marked = summary.is_marked or any(lanes.values()) or c_helpers.has_directives(helpers)
        faults, flags = gcc_flags(summary, calls_helpers=any(lanes.values()))
        contract = [*self._contract(summary), *_notes(effort, faults)]
        runs_threads = summary.is_parallel or c_helpers.runs_threads(helpers)
        metadata = metadata_of(self.shown, self.options, runs_threads, for_c) if for_c else None
        linked = linked_helpers(needs.large, self.options, self.dialect)
        source = partial(
            filled_in,
            self.dialect.template,
            **self._known_of(self.shown),
            description=contract,
            includes=self._headers(summary) + includes_of(messages),
            directives=is_marked,
            header=header,
            constants=constants,
            binary=f"{header[:-2]}.bin",
            messages=messages,
            kernels=kernels,
            calls=self._calls(groups),
            **_checks_of(program, self.options, metadata),
            scope=in_entry,
            identity=identity,
            devices=devices,
        )
        for_callers = partial(source, metadata=metadata, strided=strided)
        declared = [linked[name].declaration for name in sorted(needs.large & linked.keys())]
        inlined = self._helpers(names - (needs.large & linked.keys()))
        for_python = for_callers(helpers=_with_lanes(inlined, lanes), linked=declared)
        whole = {"helpers": _with_lanes(helpers, lanes), "linked": ()}
        version = source(**whole, metadata=None, strided="") if for_c else ""
        own_name = f"{program.name if for_c else header[:-2]}.c"
        return Text(
            source=with_own_lines(for_callers(**whole), own_name),
            header=self._header(contract, metadata),
            constants=binary,
            linked=tuple(linked.values()),
            for_python=for_python if linked else "",
            of_version=with_own_lines(version, own_name),
            effort=effort,
            gcc_flags=flags,
            runs_threads=runs_threads,
        )

    def _known_of(self, program: Program) -> dict[str, object]:
        """What the template is given of the program itself, once its kernels are printed."""
        return {
            "program": program,
            "dialect": self.dialect,
            "title": self.title,
            "prototypes": prototypes(self.libraries, self.scope.needs.routines),
            "reductions": list(self.scope.needs.reductions.values()),
            "temporaries": list(zip(program.temporaries, program.offsets, strict=True)),
            "unused": self._unused(),
        }

    def _constants(self) -> tuple[tuple[Constant, ...], bytes]:
        """The constants, and the contents of the file for long ones."""
        target, freestanding = self.options.target, self.options.freestanding
        in_file = platform_of(target).assembles_files and not freestanding
        return constants_of(self.program, self.convention.reads_bytes, in_file=in_file)

    def _headers(self, summary: Summary) -> tuple[str, ...]:
        """The headers that the program needs."""
        is_complex = summary.is_complex or any(b.dtype.kind == "c" for b in self.buffers.values())
        return self.dialect.headers(is_complex)

    def _entry_scope(self) -> Scope:
        """The scope of the program's own function. Its checks and sizes of memory are printed
        behind the helpers: those that they call are needed, too."""
        self.scope.needs.helpers.update(helpers_of_checks(self.program, self.options))
        scope = self.scope.of_entry()
        checks = (*size_checks(self.program, self.options), *length_checks(self.program))
        asked = (
            i
            for c in checks
            for i in (c.smaller, c.larger, *c.shape, *(d for pair in c.equal for d in pair))
        )
        for size in (self.program.workspace, *self.program.offsets, *asked):
            scope.index(size)
        return scope

    def _helpers(self, names: set[str]) -> list[Item]:
        """The helpers with all that they call."""
        return needed_helpers(names, self.options, self.dialect)

    def _header(self, contract: list[str], metadata: Metadata | None) -> str:
        """The text of the header."""
        program = self.shown
        dtypes = {b.dtype for b in self.buffers.values()}
        return filled_in(
            "program.h.j2",
            program=program,
            dialect=self.dialect,
            title=self.title,
            contract=contract,
            places=places_of(program),
            places_fail=bool(failures_of(program)),
            lengths=[str(length) for length, _ in program.returned_lengths],
            guard=f"TRANSPILE_{program.name}_H",
            communicator=_included("communicator.h") if program.communicates else "",
            metadata=metadata,
            description=_included("description.h") if metadata and metadata.lists else "",
            tensor=_included("tensor.h") if metadata and metadata.dlpack else "",
            stack=STACK >> 10,
            freestanding=self.options.freestanding,
            most_workspace=most_workspace(program),
            libraries=any(self.libraries),
            includes=_includes_of_header(dtypes, bool(program.sizes or metadata)),
            complex=complex_types(program, self.dialect.types),
        )

    def _contract(self, summary: Summary) -> list[str]:
        """A line about each size, each array of the caller, and the libraries."""
        program = self.program
        shared = {output: f"; may be {donated} itself" for output, donated in program.aliases}
        return (
            [*map(range_text, program.sizes)]
            + [
                f"{b.name}: {type_text(b)}, {role}{shared.get(b.name, '')}"
                for role, group in (("in", program.inputs), ("out", program.returned))
                for b in group
            ]
            + [
                f"{s}: at most {most_of(Dim.of(s))}, in *{name}"
                for s, name in program.returned_lengths
            ]
            + ["communicator: how values are exchanged with the other devices"]
            * program.communicates
            + notes(self.libraries, summary.intrinsics)
            + [f"target: {self.options.target}"] * bool(self.options.target)
            + ["freestanding: of a C library it needs no more than math.h"]
            * self.options.freestanding
        )

    def _unused(self) -> list[Buffer]:
        """The arrays that no kernel uses."""
        used = {name for k in self.program.kernels for name in used_buffers(k)[0]}
        return [b for b in (*self.program.inputs, *self.program.outputs) if b.name not in used]

    def _function(self, group: Group) -> KernelFunction:
        """The function that kernels share, with the comments of all of them."""
        kernel, *others = group.kernels
        parameters = self.convention.parameters(kernel)
        where = kernel.source
        comment = kernel.comment
        if others:
            comment = tuple(dict.fromkeys(line for k in group.kernels for line in k.comment))
        return KernelFunction(
            kernel.name,
            comment,
            where if self.options.debug and where.line else None,
            self.convention.sizes(kernel),
            parameters,
            kernel.body,
            self.scope.of_kernel(
                kernel,
                values=(p.buffer.name for p in parameters if p.by_value),
                as_bytes=self.convention.all_bytes(kernel),
            ),
            calls_back(kernel),
            asks_for_codes(kernel),
        )

    def _calls(self, groups: Iterable[Group]) -> list[KernelCall]:
        """The calls of the kernels, in the program's order."""
        called = {
            kernel.name: (group.kernels[0].name, arguments)
            for group in groups
            for kernel, arguments in zip(group.kernels, group.arguments, strict=True)
        }
        counted, checked = self._lengths()
        return [
            KernelCall(
                called[k.name][0],
                self.convention.sizes(k),
                called[k.name][1],
                calls_back(k),
                exchanges(k.body),
                counted.get(k, ()),
                checked.get(k, ()),
            )
            for k in self.program.kernels
        ]

    def _lengths(
        self,
    ) -> tuple[dict[Kernel, tuple[tuple[Symbol, str], ...]], dict[Kernel, tuple[int, ...]]]:
        """By the kernel after which they are known: the lengths that something reads, and where
        they are; the checks, by their numbers, that have all that they ask for."""
        program = self.program
        checks = length_checks(program)
        read = {s for check in checks for s in symbols_of(check.larger - check.smaller)}
        read.update(*(self.convention.sizes(k) for k in program.kernels))
        counted: dict[Kernel, tuple[tuple[Symbol, str], ...]] = {}
        checked: dict[Kernel, tuple[int, ...]] = {}
        known: set[Symbol] = set(program.sizes)
        for kernel in program.kernels:
            written = used_buffers(kernel)[1]
            found = tuple((s, b) for s, b in program.lengths if b in written and s not in known)
            known.update(s for s, _ in found)
            counted[kernel] = tuple((s, b) for s, b in found if s in read)
            now = {s for s, _ in found}
            checked[kernel] = tuple(
                number
                for number, check in enumerate(checks)
                if now & (asked := symbols_of(check.larger - check.smaller)) and asked <= known
            )
        return counted, checked


def _checks_of(
    program: Program, options: Options, metadata: Metadata | None
) -> dict[str, Sequence[Any]]:
    """What the entry checks before it computes anything, what it checks of lengths, and the codes
    and texts of what else may be wrong."""
    return {
        "checks": size_checks(program, options),
        "late_checks": length_checks(program),
        "faults": (*(metadata.faults if metadata else ()), *failures_of(program)),
    }


def strided_entry(program: Program, scope: ProgramScope, options: Options) -> str:
    """The text of the entries for arrays of any strides, and for tensors of DLPack; "" where the
    options want none."""
    if options.layout == "contiguous":
        return ""
    of_entry = scope.of_entry()
    tensors: list[tuple[Buffer, int, int]] = []
    sizes: list[tuple[str, str]] = []
    if options.layout == "dlpack":
        arrays = enumerate((*program.inputs, *program.outputs))
        tensors = [(b, dtype_code(b.dtype), first_code(k)) for k, b in arrays]
        extents = [  # results say for which lengths there is memory
            (f"{b.name}->shape[{axis}]", extent)
            for b in (*program.inputs, *program.outputs)
            for axis, extent in enumerate(b.shape)
        ]
        sizes = [*solved_sizes(program.name, program.sizes, extents, of_entry.index, "/")]
    return filled_in(
        "strided.c.j2",
        program=program,
        places=strided_buffers(program),
        counted=counted_results(program),
        scope=of_entry,
        dialect=scope.dialect,
        tensors=tensors,
        sizes=sizes,
    )


def _notes(effort: compile_budget.Effort, faults: tuple[str, ...]) -> list[str]:
    """The lines of the C file about how it is compiled."""
    return [*compile_budget.notes(effort), *gcc_faults.notes(faults)]


def exchanges(body: tuple[Statement, ...]) -> bool:
    """True if there are exchanges between devices among these statements."""
    return any(isinstance(s, Call) and s.communicates for s in walk(body))


def _includes_of_header(dtypes: set[DType], has_integers: bool) -> list[str]:
    """The headers that the types of arrays need, and those of other integers."""
    needed = {"stddef.h"}
    needed |= (
        {"stdint.h"} if has_integers or any(d.kind in "iu" or is_half(d) for d in dtypes) else set()
    )
    needed |= {"stdbool.h"} if BOOL in dtypes else set()
    return sorted(needed)


def _included(file: str) -> str:
    """A part of headers: what programs say of themselves, or the interface between a program and
    those that run it on several devices."""
    return (data_directory("runtime_c") / "python" / file).read_text("utf-8")


def _with_lanes(
    helpers: Iterable[Item], lanes: Mapping[str, tuple[int, ...]]
) -> list[tuple[Item, tuple[int, ...] | None]]:
    """Helpers as the template gets them, with the numbers of lanes of those that are outlined."""
    return [(helper, lanes.get(helper.names[0])) for helper in helpers]
