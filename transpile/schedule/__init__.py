"""The schedule: Loops to Loops, results unchanged. `SCHEDULE` is the ordered list."""

from __future__ import annotations

from collections.abc import Callable

from transpile.ir.loop_ir import Kernel, Program
from transpile.ir.loop_verifier import check
from transpile.options import Options
from transpile.schedule.blocking.batch_scan import row_loops
from transpile.schedule.blocking.conv_fusion import image_rows
from transpile.schedule.blocking.gemm_fusion import product_rows
from transpile.schedule.blocking.interchange import interchange
from transpile.schedule.blocking.pack_operands import turned_operands
from transpile.schedule.blocking.tile import tiles
from transpile.schedule.cleanup.dead_scalars import unused
from transpile.schedule.cleanup.licm import hoist
from transpile.schedule.cleanup.local_cse import repeated
from transpile.schedule.cleanup.range_checks import in_range
from transpile.schedule.cleanup.scalar_replacement import scalars
from transpile.schedule.cleanup.stack_promotion import local_arrays
from transpile.schedule.domain.coalesce import collapse
from transpile.schedule.domain.delinearize import unravel
from transpile.schedule.domain.index_set_split import split
from transpile.schedule.domain.linearize import flatten
from transpile.schedule.domain.triangular_split import triangles
from transpile.schedule.donation import donation
from transpile.schedule.lanes.aos_to_soa import separated_columns
from transpile.schedule.lanes.blocked_reductions import blocks
from transpile.schedule.lanes.bool_reductions import truths
from transpile.schedule.lanes.column_reductions import columns
from transpile.schedule.lanes.if_conversion import choices
from transpile.schedule.lanes.nan_flags import extremes
from transpile.schedule.lanes.outer_vectorize import short_rows
from transpile.schedule.lanes.privatized_scatters import scatters
from transpile.schedule.lanes.rng_fission import draws
from transpile.schedule.lanes.trig_versions import versions
from transpile.schedule.lanes.unroll_and_jam import row_groups
from transpile.schedule.memory_plan import buffers
from transpile.schedule.parallelize import threads
from transpile.schedule.stack import stack
from transpile.schedule.vectorize import simd
from transpile.util.fp_environment import in_usual_modes
from transpile.util.frozen_records import changed, replace, same

SCHEDULE: tuple[tuple[Callable[[Program, Options], Program], str], ...] = (
    (
        image_rows,
        "a convolution is made an image at a time, used while it is in cache",
    ),
    (
        product_rows,
        "a matrix product is made some rows at a time, used while they are in cache",
    ),
    (
        turned_operands,
        "transposed matrices that products read again and again in a loop are turned before it",
    ),
    (
        row_loops,
        "steps in which no row of a batch depends on another one are shared out by rows",
    ),
    (
        split,
        "loops over padded or joined arrays run piece by piece, without a test in each iteration",
    ),
    (triangles, "loops over masked arrays run up to the diagonal, and from there"),
    (flatten, "reshaped arrays are walked by one plain subscript instead of quotients"),
    (unravel, "merged axes are walked by a loop each, where quotients would keep it out of lanes"),
    (unused, "what only other pieces of a loop read is not computed"),
    (collapse, "a nest over contiguous arrays is one long loop, with one remainder"),
    (tiles, "arrays that are read along rows and along columns are walked a tile at a time"),
    (columns, "reductions over a leading axis walk memory in order, a strip of columns at a time"),
    (
        interchange,
        "loops over steps of each element by itself run through all steps for few of them",
    ),
    (short_rows, "rows too short for vectors are walked many at a time, a row in each lane"),
    (
        separated_columns,
        "short rows of which lanes read a number each, again and again, are copied by columns",
    ),
    (scatters, "many updates of few elements are made in tables of their own first, in parts"),
    (blocks, "a sum over everything is a sum of block sums: parallel, exact to the bit, accurate"),
    (donation, "a result takes the memory of an argument that the caller gives up"),
    (scalars, "a number that only one kernel uses lives in a variable"),
    (local_arrays, "small arrays of one kernel with loops in it live in its registers"),
    (draws, "random bits are drawn for some hundred elements, then functions of them computed"),
    (repeated, "a scalar used twice gets a name"),
    (threads, "outer loops with enough work run on several threads"),
    (hoist, "the subscript of a row is read once, before the loop over its elements"),
    (in_range, "a place that counts only where it is one is asked for its range, not bounded"),
    (simd, "innermost loops run in vector lanes"),
    (extremes, "long searches for the largest float note NaNs beside it, not at every step"),
    (row_groups, "what is collected for columns is collected from four rows at a time"),
    (truths, "short searches for any or all collect truths in lanes as wide as the numbers"),
    (choices, "a choice inside another one is made before it, so that both are masks of lanes"),
    (versions, "huge angles, which hardly ever occur, do not slow the ordinary ones down"),
    (stack, "large arrays of a kernel live in a slice of the workspace for each thread"),
    (buffers, "temporaries that do not live at the same time share memory"),
)


@in_usual_modes
def schedule(program: Program, options: Options) -> Program:
    """The program after every step, checked after each where the step changed it."""
    check(program)
    for step, _ in SCHEDULE:
        after = _with_same_kernels(program, step(program, options))
        check(after, program)
        program = after
    return program


def _with_same_kernels(before: Program, after: Program) -> Program:
    """The program after a step, with the very kernels of the one before where they are as they
    were."""
    if after is before or len(before.kernels) != len(after.kernels):
        return after
    pairs = zip(before.kernels, after.kernels, strict=True)
    kernels = same(before.kernels, tuple(_same_kernel(old, new) for old, new in pairs))
    return changed(after, kernels=same(after.kernels, kernels))


def _same_kernel(before: Kernel, after: Kernel) -> Kernel:
    if same(before.body, after.body) is not before.body:
        return after
    return before if replace(after, body=before.body) == before else after
