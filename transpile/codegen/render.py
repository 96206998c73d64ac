"""Render a scheduled program as the texts of a C file and its header.

The C is in templates. This module computes what they need: groups of kernels, helpers, prototypes,
constants, the contract with the caller. Kernels are printed first, as their text decides which
helpers and prototypes the program needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from transpile.codegen import compile_budget
from transpile.codegen.callback_messages import helpers_of, includes_of, messages_of
from transpile.codegen.constants import constants_of
from transpile.codegen.dialect import C, Dialect
from transpile.codegen.line_wrapping import complex_types, type_text
from transpile.codegen.linked_helpers import LinkedHelper, linked_helpers
from transpile.codegen.plan import gcc_faults
from transpile.codegen.plan.calling_convention import CallingConvention, Parameter
from transpile.codegen.plan.helper_inlining import outlined
from transpile.codegen.plan.kernel_dedup import Group, functions_for
from transpile.codegen.plan.summary import summary_of
from transpile.codegen.scope import ProgramScope, Scope
from transpile.codegen.templates import filled_in
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import NO_DEAD_SCALARS, STACK_BOUNDED, WORKSPACE_PLANNED
from transpile.ir.graph import Source
from transpile.ir.loop_ir import (
    Buffer,
    DType,
    Program,
    Statement,
)
from transpile.ir.loop_rewrite import (
    used_buffers,
)
from transpile.ir.types import BOOL, HALVES
from transpile.options import Options
from transpile.schedule.stack import STACK
from transpile.symbols import c_helpers
from transpile.symbols.c_helpers import Item
from transpile.symbols.lapack import Libraries, notes, prototypes
from transpile.util.fp_environment import in_default_fp_environment
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True)
class Text:
    """The files of a program, and how it is compiled.

    linked        the large helpers, which programs for Python are linked with
    for_python    the C file of such a program, which declares them only
    effort        see `compile_budget.py`
    gcc_flags     see `gcc_faults.py`
    runs_threads  True if the program calls OpenMP's library
    """

    source: str
    header: str
    constants: bytes = b""
    linked: tuple[LinkedHelper, ...] = ()
    for_python: str = ""
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
    parameters: tuple[Parameter, ...]
    body: tuple[Statement, ...]
    scope: Scope


@contract(requires=(NO_DEAD_SCALARS, STACK_BOUNDED, WORKSPACE_PLANNED))
@in_default_fp_environment
def render(
    program: Program,
    options: Options,
    header: str = "program.h",
    title: str = "",
    libraries: Libraries = (None, None),
) -> Text:
    """The texts of the program and of its header, which it includes by the name `header`.

    Long constants are in a file beside it with the header's name and the extension `.bin`.
    """
    return _Renderer(program, options, C, title or program.name, libraries).render(header)


class _Renderer:
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

    def render(self, header: str) -> Text:
        program = self.program
        groups, effort = functions_for(program, self.convention, self.options)
        firsts = [group[0] for group in groups]
        functions = [self._function(group) for group in groups]
        kernels = filled_in("kernels.c.j2", kernels=functions, dialect=self.dialect)
        needs = self.scope.needs
        messages = messages_of(program)
        names = needs.helpers | helpers_of(messages)
        threads = self.options.num_threads
        helpers = c_helpers.needed(names, threads)
        lanes = outlined(firsts, self.options)
        constants, binary = constants_of(program, self.convention.reads_bytes)
        summary = summary_of(program.kernels)
        is_complex = summary.is_complex or any(b.dtype.kind == "c" for b in self.buffers.values())
        is_marked = summary.is_marked or any(lanes.values()) or c_helpers.has_directives(helpers)
        gcc_flags = gcc_faults.flags_around_faults(
            reduces_short_integers=summary.reduces_short_integers
        )
        contract = [
            *self._contract(),
            *notes(self.libraries, summary.intrinsics),
            *compile_budget.notes(effort),
            *gcc_faults.notes(gcc_flags),
        ]
        linked = linked_helpers(needs.large, self.options, self.dialect)
        source = partial(
            filled_in,
            self.dialect.template,
            program=program,
            dialect=self.dialect,
            title=self.title,
            description=contract,
            includes=self.dialect.headers(is_complex) + includes_of(messages),
            directives=is_marked,
            header=header,
            prototypes=prototypes(self.libraries, needs.routines),
            reductions=list(needs.reductions.values()),
            constants=constants,
            binary=f"{header[:-2]}.bin",
            messages=messages,
            kernels=kernels,
            temporaries=list(zip(program.temporaries, program.offsets, strict=True)),
            unused=self._unused(),
            calls=self._calls(groups),
        )
        inlined = c_helpers.needed(names - linked.keys(), threads) if linked else helpers
        declared = [helper.item for helper in linked.values()]
        return Text(
            source=source(helpers=_with_lanes(helpers, lanes), linked=()),
            header=self._header(contract),
            constants=binary,
            linked=tuple(linked.values()),
            for_python=source(helpers=_with_lanes(inlined, lanes), linked=declared)
            if linked
            else "",
            effort=effort,
            gcc_flags=gcc_flags,
            runs_threads=summary.is_parallel or c_helpers.runs_threads(helpers),
        )

    def _header(self, contract: list[str]) -> str:
        """The text of the header."""
        program = self.program
        dtypes = {b.dtype for b in self.buffers.values()}
        return filled_in(
            "program.h.j2",
            program=program,
            dialect=self.dialect,
            title=self.title,
            contract=contract,
            guard=f"TRANSPILE_{program.name}_H",
            stack=STACK >> 10,
            libraries=any(self.libraries),
            includes=_includes_of_header(dtypes),
            complex=complex_types(program, self.dialect.types),
        )

    def _contract(self) -> list[str]:
        """A line about each array of the caller."""
        program = self.program
        shared = {output: f"; may be {donated} itself" for output, donated in program.aliases}
        return [
            f"{b.name}: {type_text(b)}, {role}{shared.get(b.name, '')}"
            for role, group in (("in", program.inputs), ("out", program.outputs))
            for b in group
        ]

    def _unused(self) -> list[Buffer]:
        """The arrays that no kernel uses."""
        used = {name for k in self.program.kernels for name in used_buffers(k)[0]}
        return [b for b in (*self.program.inputs, *self.program.outputs) if b.name not in used]

    # -------------------------------------------------------------------------------- kernels

    def _function(self, group: Group) -> KernelFunction:
        """The function that kernels share, with the comments of all of them."""
        kernel = group[0]
        parameters = self.convention.parameters(kernel)
        where = kernel.source
        comment = kernel.comment
        if len(group) > 1:
            comment = tuple(dict.fromkeys(line for k in group for line in k.comment))
        return KernelFunction(
            kernel.name,
            comment,
            where if self.options.debug and where.line else None,
            parameters,
            kernel.body,
            self.scope.of_kernel(
                kernel,
                values=(p.buffer.name for p in parameters if p.by_value),
                as_bytes=self.convention.all_bytes(kernel),
            ),
        )

    def _calls(self, groups: Iterable[Group]) -> list[tuple[str, tuple[Parameter, ...]]]:
        """The function and the parameters of each kernel, in the order of the program."""
        functions = {kernel.name: group[0].name for group in groups for kernel in group}
        kernels = self.program.kernels
        return [(functions[k.name], self.convention.parameters(k)) for k in kernels]


def _includes_of_header(dtypes: set[DType]) -> list[str]:
    """The headers that the types of arrays need."""
    needed = {"stddef.h"}
    needed |= {"stdint.h"} if any(d.kind in "iu" or d in HALVES for d in dtypes) else set()
    needed |= {"stdbool.h"} if BOOL in dtypes else set()
    return sorted(needed)


def _with_lanes(
    helpers: Iterable[Item], lanes: Mapping[str, tuple[int, ...]]
) -> list[tuple[Item, tuple[int, ...] | None]]:
    """Helpers as the template gets them, with the numbers of lanes of those that are outlined."""
    return [(helper, lanes.get(helper.names[0])) for helper in helpers]
