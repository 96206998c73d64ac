"""Deduplicate kernels: those with one canonical form, equal up to names, share a C function.

A Python loop that a trace unrolls, such as that over the layers of a network, makes equal kernels
for different arrays. With one function for each form, text and compile time are a fraction.
"""

from __future__ import annotations

from collections.abc import Hashable

from transpile.analysis.canonical_form import canonical_form
from transpile.codegen.compile_budget import Effort, effort_for
from transpile.codegen.plan.calling_convention import CallingConvention, Parameter
from transpile.codegen.plan.summary import summary_of
from transpile.ir.loop_ir import Kernel, Program
from transpile.options import Options

Group = tuple[Kernel, ...]


def functions_for(
    program: Program, convention: CallingConvention, options: Options
) -> tuple[tuple[Group, ...], Effort]:
    """The groups of kernels that share a function, and the effort for the length of these. In
    programs that are not long or are debugged, each kernel has a function of its own."""
    alone = tuple((kernel,) for kernel in program.kernels)
    if effort_for(summary_of(program.kernels).length, options.machine) == "usual":
        return alone, "usual"
    groups = alone if options.debug else groups_of_equal_kernels(program, convention)
    effort = effort_for(summary_of(first for first, *_ in groups).length, options.machine)
    return groups, "huge" if effort == "huge" else "long"


def groups_of_equal_kernels(program: Program, convention: CallingConvention) -> tuple[Group, ...]:
    """The kernels of a program, grouped by what can share a function, in the order of their first
    kernels."""
    groups: dict[Hashable, list[Kernel]] = {}
    for kernel in program.kernels:
        parameters = convention.parameters(kernel)
        names = (p.buffer.name for p in parameters)
        form = (tuple(map(_type, parameters)), canonical_form(kernel, names))
        groups.setdefault(form, []).append(kernel)
    return tuple(map(tuple, groups.values()))


def _type(parameter: Parameter) -> Hashable:
    """A parameter without its name."""
    buffer = parameter.buffer
    flags = (parameter.is_written, parameter.is_swapped, parameter.as_bytes)
    return buffer.shape, buffer.dtype, flags
