"""From lowered loops to the device program: passes over loops, cuts, the mapping, memory.

The passes over loops are those of `schedule/` that are about no processor: they change iteration
spaces and remove what is computed twice or never. Index sets are not split: a test that goes one
way in almost all warps costs less than the launch of another kernel. A full reduction of many
elements is made of block sums, as in C: these are the two passes of a reduction on a GPU, without
atomics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from transpile.errors import UnsupportedError
from transpile.ir.loop_ir import Alloc, Kernel, Program, Slot, Statement
from transpile.ir.loop_rewrite import names_in, names_of_kernel, with_bodies
from transpile.ir.loop_verifier import check
from transpile.options import Options
from transpile.schedule.cleanup.dead_scalars import remove_dead_scalars
from transpile.schedule.cleanup.local_cse import local_cse
from transpile.schedule.cleanup.ranges.settled_comparisons import settle_comparisons
from transpile.schedule.cleanup.scalar_replacement import replace_with_scalars
from transpile.schedule.cleanup.subscripts.range_checks import simplify_range_checks
from transpile.schedule.cleanup.unreachable import remove_unreachable
from transpile.schedule.domain.coalesce import coalesce
from transpile.schedule.domain.independent_loops import find_independent_loops
from transpile.schedule.domain.linearize import linearize
from transpile.schedule.lanes.blocked_reductions import block_reductions
from transpile.schedule.memory_plan import plan_memory
from transpile.symbols.identifiers import Names
from transpile.targets.cuda.device_ir import (
    DeviceKernel,
    DeviceProgram,
    HostCall,
    LibraryCall,
    Slice,
    Step,
    steps_inside,
    used_in,
    with_steps,
)
from transpile.targets.cuda.effects.failures import Failures
from transpile.targets.cuda.effects.lengths import Lengths
from transpile.targets.cuda.gpu import USUAL, Gpu
from transpile.targets.cuda.mapping.concurrent import side_by_side
from transpile.targets.cuda.mapping.flatten import flatten, without_single_iterations
from transpile.targets.cuda.mapping.grid import Mapper
from transpile.targets.cuda.mapping.launches import cut_at_wide_nests
from transpile.targets.cuda.mapping.slices import split_reductions
from transpile.targets.cuda.products.half_operands import with_half_operands
from transpile.targets.cuda.products.joins import with_joined_products
from transpile.targets.cuda.routines.compactions import with_compactions
from transpile.targets.cuda.routines.half_results import with_half_results
from transpile.targets.cuda.routines.several_launches import several_launches
from transpile.targets.cuda.scatters.nests import parallel_scatters
from transpile.util.fp_environment import in_default_fp_environment
from transpile.util.frozen_records import replace

LOOP_PASSES: tuple[tuple[Callable[[Program, Options], Program], str], ...] = (
    (linearize, "reshaped contiguous arrays are read by one linear subscript, without quotients"),
    (remove_unreachable, "what follows the end of a call with an error is not reached"),
    (remove_dead_scalars, "scalars that only other parts of a split loop read are dead code"),
    (coalesce, "a nest over contiguous arrays becomes one long loop: no division for its indices"),
    (block_reductions, "a full reduction is a reduction of block sums: two passes, no atomics"),
    (replace_with_scalars, "a temporary of one element per iteration is a variable: a register"),
    (settle_comparisons, "clamps and tests that the ranges of counters settle are removed"),
    (local_cse, "common subexpressions of scalars are computed once"),
    (
        find_independent_loops,
        "dependence tests: the grid shares a user's loop whose iterations do not meet",
    ),
    (simplify_range_checks, "a test that follows a clipped subscript asks for the range itself"),
    (remove_dead_scalars, "what only choices read that were settled is dead code"),
)


@in_default_fp_environment
def device_program(program: Program, options: Options, gpu: Gpu = USUAL) -> DeviceProgram:
    """The kernels and launches of a lowered program.

    Raises UnsupportedError for what there is not on GPUs yet, with the line of the user's code.
    """
    _refuse(program)
    check(program)
    for loop_pass, _ in LOOP_PASSES:
        program = loop_pass(program, options)
    program = split_reductions(without_single_iterations(program), gpu)
    program = remove_dead_scalars(program, options)
    check(program)
    halves = with_half_results(with_half_operands(flatten(program)))
    flat = with_compactions(halves, gpu)
    lengths = Lengths(several_launches(parallel_scatters(flat, gpu), gpu))
    flat = lengths.program
    steps, temporaries = cut_at_wide_nests(flat, gpu)
    names = Names(_names_in(flat, steps))
    failures = Failures(flat, temporaries, names, lengths.requirements)
    steps = failures.whole(steps)
    mapper = Mapper(names, gpu, flat.buffers())
    joined = with_joined_products(steps, flat, mapper)
    mapped = (_mapped(step, mapper, lengths, failures) for step in joined)
    steps = side_by_side(mapped, gpu, mapper.names)
    used = set[str]().union(*map(used_in, steps))
    there = (b for b in (*temporaries, *failures.records, *mapper.temporaries) if b.name in used)
    constants = tuple(
        b for b in flat.constants if b.name in used
    )  # without the plans of C's routines
    flat = replace(
        flat,
        kernels=tuple(map(_as_kernel, steps)),
        temporaries=tuple(there),
        constants=constants,
    )
    planned = failures.with_word(plan_memory(flat, options))
    return DeviceProgram(planned, steps, tuple(failures.found), failures.word.name)


def _names_in(program: Program, steps: Iterable[Step]) -> set[str]:
    """The names in a program that has been cut."""
    names = names_in(program)
    for step in steps:
        if isinstance(step, Kernel):
            names |= {step.name} | names_of_kernel(step)
        names |= _names_in(program, steps_inside(step))
    return names


def _mapped(step: Step, mapper: Mapper, lengths: Lengths, failures: Failures) -> Step:
    """A step with its kernels mapped to the grid."""
    if isinstance(step, Kernel):
        library = mapper.library_call(step)
        return library or failures.guard(lengths.read(_with_slots(mapper.kernel(step))))
    if isinstance(step, DeviceKernel):
        return failures.guard(step)
    return with_steps(
        step, lambda steps: tuple(_mapped(inner, mapper, lengths, failures) for inner in steps)
    )


def _as_kernel(step: Step) -> Kernel:
    """All statements of a step: what it uses is alive as long as it goes on."""
    first, *others = _loops_of((step,))
    return replace(first, body=(*first.body, *(s for k in others for s in k.body)))


def _loops_of(steps: Iterable[Step]) -> Iterator[Kernel]:
    """The statements of steps, callbacks of the host and calls of libraries among them."""
    for step in steps:
        if isinstance(step, DeviceKernel | LibraryCall | HostCall):
            yield step.kernel
        yield from _loops_of(steps_inside(step))


def _refuse(program: Program) -> None:
    """Raise UnsupportedError for programs that need another device as they run."""
    if program.communicates:
        raise UnsupportedError(
            f"{program.name} exchanges values with other devices: not on a GPU yet"
        )


def _with_slots(kernel: DeviceKernel) -> DeviceKernel:
    """The kernel whose loops know the slices of its arrays, for the plan of memory."""
    homes = {s.buffer.name: s.home for s in kernel.walk() if isinstance(s, Slice)}
    if not homes:
        return kernel

    def placed(statement: Statement) -> Statement:
        if isinstance(statement, Alloc) and statement.buffer.name in homes:
            return Alloc(statement.buffer, Slot(homes[statement.buffer.name], 0, True))
        return with_bodies(statement, lambda body: tuple(map(placed, body)))

    body = tuple(map(placed, kernel.kernel.body))
    own: Kernel = replace(kernel.kernel, body=body)
    return replace(kernel, kernel=own)
