"""Deduplication of kernels: those that differ in names only have one function.

A loop in Python that a trace unrolls, such as that over the layers of a network, makes the same
kernels again and again, for other arrays. With one function for each kind of kernel, the text is a
fraction as long, and so is the time that a compiler takes for it.
"""

from __future__ import annotations

from collections.abc import Hashable

from transpile.codegen.compile_budget import Effort, effort_for
from transpile.codegen.plan.calling_convention import CallingConvention, Parameter
from transpile.codegen.plan.summary import summary_of
from transpile.ir.canonical_form import canonical_form
from transpile.ir.loop_ir import Kernel, Program
from transpile.options import Options

Group = tuple[Kernel, ...]


def functions_for(
    program: Program, convention: CallingConvention, options: Options
) -> tuple[tuple[Group, ...], Effort]:
    """The groups of kernels that have a function each, and what the length of these asks for. In
    programs that are not long, and in those that are debugged, each kernel has its own."""
    alone = tuple((kernel,) for kernel in program.kernels)
    if effort_for(summary_of(program.kernels).length, options.machine) == "usual":
        return alone, "usual"
    groups = alone if options.debug else groups_of_equal_kernels(program, convention)
    effort = effort_for(summary_of(first for first, *_ in groups).length, options.machine)
    return groups, "huge" if effort == "huge" else "long"


def groups_of_equal_kernels(program: Program, convention: CallingConvention) -> tuple[Group, ...]:
    """The kernels of a program, those that can share a function together, in the order of the first
    ones."""
    groups: dict[Hashable, list[Kernel]] = {}
    for kernel in program.kernels:
        parameters = convention.parameters(kernel)
        names = (p.buffer.name for p in parameters)
        form = (tuple(map(_type, parameters)), canonical_form(kernel, names))
        groups.setdefault(form, []).append(kernel)
    return tuple(map(tuple, groups.values()))


def _type(parameter: Parameter) -> Hashable:
    """All of a parameter but its name."""
    buffer = parameter.buffer
    flags = (parameter.is_written, parameter.is_swapped, parameter.as_bytes)
    return buffer.shape, buffer.dtype, flags
