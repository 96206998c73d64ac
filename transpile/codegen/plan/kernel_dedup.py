"""Deduplicate kernels: those with one canonical form, equal up to names, share a C function.

A Python loop that a trace unrolls, such as that over the layers of a network, makes equal kernels
for different arrays. With one function for each form, text and compile time are a fraction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

from transpile.analysis.canonical_form import canonical_form
from transpile.codegen.compile_budget import Effort, effort_for
from transpile.codegen.plan.calling_convention import CallingConvention, Parameter
from transpile.codegen.plan.summary import summary_of
from transpile.ir.loop_ir import Kernel, Program
from transpile.options import Options
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True)
class Group:
    """Kernels that share a function: that of the first one.

    arguments  for each kernel, what stands for the parameters of the function
    """

    kernels: tuple[Kernel, ...]
    arguments: tuple[tuple[Parameter, ...], ...]


def functions_for(
    program: Program, convention: CallingConvention, options: Options
) -> tuple[tuple[Group, ...], Effort]:
    """The groups of kernels that share a function, and the effort for the length of these. In
    programs that are debugged each kernel has a function of its own, which has its lines."""
    if options.debug:
        groups = tuple(Group((k,), (convention.parameters(k),)) for k in program.kernels)
    else:
        groups = groups_of_equal_kernels(program, convention)
    if effort_for(summary_of(program.kernels).length, options.machine) == "usual":
        return groups, "usual"
    length = summary_of(group.kernels[0] for group in groups).length
    return groups, "huge" if effort_for(length, options.machine) == "huge" else "long"


def groups_of_equal_kernels(program: Program, convention: CallingConvention) -> tuple[Group, ...]:
    """The kernels of a program, grouped by what can share a function, in the order of their first
    kernels."""
    shapes = {kernel.name: _shape(kernel, convention) for kernel in program.kernels}
    number = Counter(shapes.values())
    groups: dict[Hashable, list[tuple[Kernel, tuple[Parameter, ...]]]] = {}
    for kernel in program.kernels:
        parameters = convention.parameters(kernel)
        form: Hashable = kernel.name
        if number[shapes[kernel.name]] > 1:
            by_name = {p.buffer.name: p for p in parameters}
            body, order = canonical_form(kernel, by_name)
            parameters = tuple(by_name[name] for name in order)
            form = (tuple(map(_type, parameters)), body)
        groups.setdefault(form, []).append((kernel, parameters))
    return tuple(_group(members, convention) for members in groups.values())


def _group(
    members: list[tuple[Kernel, tuple[Parameter, ...]]], convention: CallingConvention
) -> Group:
    """The group of kernels, each with its parameters in the order of their form."""
    first, order = members[0]
    numbers = [order.index(parameter) for parameter in convention.parameters(first)]
    return Group(
        tuple(kernel for kernel, _ in members),
        tuple(tuple(parameters[k] for k in numbers) for _, parameters in members),
    )


def _shape(kernel: Kernel, convention: CallingConvention) -> Hashable:
    """What kernels of one form have in common, and most others have not: it takes little time."""
    return tuple(map(type, kernel.body)), frozenset(
        Counter(map(_type, convention.parameters(kernel))).items()
    )


def _type(parameter: Parameter) -> Hashable:
    """A parameter without its name."""
    buffer = parameter.buffer
    flags = (parameter.is_written, parameter.is_swapped, parameter.as_bytes)
    return buffer.shape, buffer.dtype, flags
