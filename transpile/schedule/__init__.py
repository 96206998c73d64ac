"""Run the schedule: loop passes that change the speed of a program and none of its results.

`SCHEDULE` is the ordered list. A pass maps a valid program to a valid program (`check`). Objects
that it does not change stay the same objects, so that later passes and the printer can skip them.
"""

from __future__ import annotations

from collections.abc import Callable

from transpile.ir.loop_ir import Kernel, Program
from transpile.ir.loop_verifier import check
from transpile.options import Options
from transpile.schedule.bit_loops import count_bits
from transpile.schedule.blocking.batch_scan import tile_batched_scans
from transpile.schedule.blocking.conv_fusion import fuse_convolutions
from transpile.schedule.blocking.gemm_fusion import fuse_products
from transpile.schedule.blocking.half_blocks import call_conversions, stage_halves
from transpile.schedule.blocking.interchange import interchange
from transpile.schedule.blocking.pack_operands import pack_operands
from transpile.schedule.blocking.tile import tile
from transpile.schedule.cleanup.choices.chosen_elements import keep_chosen_elements
from transpile.schedule.cleanup.choices.eager_conditions import compute_conditions
from transpile.schedule.cleanup.choices.invariant_choices import hoist_choices
from transpile.schedule.cleanup.choices.late_operands import compare_late_operands_last
from transpile.schedule.cleanup.dead_scalars import remove_dead_scalars
from transpile.schedule.cleanup.early_exits import branch_on_exits
from transpile.schedule.cleanup.exit_tests import end_at_tests
from transpile.schedule.cleanup.kept_rows import skip_kept_rows
from transpile.schedule.cleanup.licm import hoist_invariants
from transpile.schedule.cleanup.local_cse import local_cse
from transpile.schedule.cleanup.narrow_shifts import narrow_shifts
from transpile.schedule.cleanup.narrow_sums import narrow_sums
from transpile.schedule.cleanup.ranges.narrow_divisions import narrow_divisions
from transpile.schedule.cleanup.ranges.settled_comparisons import (
    settle_comparisons,
    settle_subscripts,
)
from transpile.schedule.cleanup.rotated_reads import split_rotations
from transpile.schedule.cleanup.scalar_replacement import replace_with_scalars
from transpile.schedule.cleanup.stack_promotion import promote_to_stack
from transpile.schedule.cleanup.subscripts.cells import recombine_cells
from transpile.schedule.cleanup.subscripts.predicted_subscripts import predict_subscripts
from transpile.schedule.cleanup.subscripts.range_checks import simplify_range_checks
from transpile.schedule.cleanup.subscripts.shared_places import share_places
from transpile.schedule.cleanup.unreachable import remove_unreachable
from transpile.schedule.dead_fills import remove_dead_fills
from transpile.schedule.domain.coalesce import coalesce
from transpile.schedule.domain.delinearize import delinearize
from transpile.schedule.domain.function_fission import fission_functions
from transpile.schedule.domain.independent_loops import find_independent_loops
from transpile.schedule.domain.index_set_split import split_index_sets
from transpile.schedule.domain.linearize import linearize
from transpile.schedule.domain.padded_rests import pad_rests
from transpile.schedule.domain.short_rows import coalesce_short_rows
from transpile.schedule.domain.triangular_split import split_triangles
from transpile.schedule.domain.versions.bound_versions import version_bounds
from transpile.schedule.domain.versions.range_versions import version_ranges
from transpile.schedule.domain.versions.row_versions import version_rows
from transpile.schedule.domain.versions.stride_versions import version_strides
from transpile.schedule.domain.versions.value_versions import version_values
from transpile.schedule.domain.whole_blocks import split_whole_blocks
from transpile.schedule.donation import donate_arguments
from transpile.schedule.invariant_elements import hoist_elements
from transpile.schedule.lanes.aos_to_soa import aos_to_soa
from transpile.schedule.lanes.blocked_reductions import block_long_reductions
from transpile.schedule.lanes.bool_reductions import widen_bool_reductions
from transpile.schedule.lanes.branches.branch_masks import mask_branches
from transpile.schedule.lanes.branches.record_searches import skip_blocks_without_records
from transpile.schedule.lanes.if_conversion import convert_ifs
from transpile.schedule.lanes.jam.columns import unroll_and_jam
from transpile.schedule.lanes.jam.parts import jam_parts
from transpile.schedule.lanes.jam.recurrences import jam_recurrences
from transpile.schedule.lanes.jam.rows import jam_rows
from transpile.schedule.lanes.nan_flags import flag_nans
from transpile.schedule.lanes.opaque_constants import hide_constants
from transpile.schedule.lanes.outer.column_reductions import vectorize_columns
from transpile.schedule.lanes.outer.divergent_loops import vectorize_divergent
from transpile.schedule.lanes.outer.outer_vectorize import vectorize_outer
from transpile.schedule.lanes.packed_columns import pack_columns
from transpile.schedule.lanes.privatized_scatters import privatize_scatters
from transpile.schedule.lanes.rng_fission import fission_rng
from transpile.schedule.lanes.settled_searches import stop_settled_searches
from transpile.schedule.lanes.trig_versions import version_trig_loops
from transpile.schedule.memory_plan import plan_memory
from transpile.schedule.parallelize import parallelize_loops
from transpile.schedule.product_order import restore_product_order
from transpile.schedule.scalar_choices import shape_choices
from transpile.schedule.stack import move_arrays_off_stack
from transpile.schedule.team_guards import guard_teams
from transpile.schedule.vectorize import vectorize_loops
from transpile.util.fp_environment import in_default_fp_environment
from transpile.util.frozen_records import changed, replace, same
from transpile.util.terminal.status_line import tick

SCHEDULE: tuple[tuple[Callable[[Program, Options], Program], str], ...] = (
    (
        settle_subscripts,
        "subscripts of the user's loops are plain where ranges say so, as later passes read them",
    ),
    (
        version_values,
        "multiversioning: one test of arrays that the loops behind it subscript with repeatedly",
    ),
    (
        version_bounds,
        "multiversioning: one test before a nest of loops to a number, for its subscripts",
    ),
    (
        remove_dead_fills,
        "an array is not filled before a loop that stores each element of it",
    ),
    (count_bits, "loop idioms: a loop that counts bits is one instruction"),
    (
        version_strides,
        "multiversioning: an axis that broadcasts if it has one element is read in two ways",
    ),
    (
        fuse_convolutions,
        "convolutions run an image at a time, fused with the work on their results in cache",
    ),
    (
        fuse_products,
        "matrix products run in blocks of rows, fused with the work on their results in cache",
    ),
    (
        version_rows,
        "multiversioning: products of one row, where there may be more, are loops",
    ),
    (
        pack_operands,
        "transposed operands of products that a loop repeats are packed once, before the loop",
    ),
    (
        tile_batched_scans,
        "recurrences whose batch rows are independent run block of rows by block, in parallel",
    ),
    (
        split_index_sets,
        "index-set splitting: no test for padding or concatenation in an inner loop",
    ),
    (
        split_triangles,
        "index-set splitting at diagonals: no test for a triangular mask in an inner loop",
    ),
    (linearize, "reshaped contiguous arrays are read by one linear subscript, without quotients"),
    (
        delinearize,
        "a merged loop with quotients in its subscripts becomes a nest that can be vectorised",
    ),
    (remove_unreachable, "what follows the end of a call with an error is not reached"),
    (remove_dead_scalars, "scalars that only other parts of a split loop read are dead code"),
    (coalesce, "a nest over contiguous arrays becomes one long loop with one remainder loop"),
    (tile, "nests that read arrays along rows and along columns are tiled for the cache"),
    (
        find_independent_loops,
        "dependence tests: a user's loop whose iterations do not meet is as those of arrays are",
    ),
    (
        compute_conditions,
        "cheap operands of `and` and `or` are computed in any case, without branches",
    ),
    (
        vectorize_columns,
        "reductions over a leading axis read memory in order, a strip of columns in lanes",
    ),
    (
        interchange,
        "recurrences of single elements run with the loop over elements outside, in blocks",
    ),
    (vectorize_outer, "nests over rows shorter than a vector are vectorised over rows"),
    (aos_to_soa, "short rows of which lanes read one column each, many times, are transposed once"),
    (
        privatize_scatters,
        "many updates of few elements are made in private tables, which are then combined",
    ),
    (
        block_long_reductions,
        "a full reduction is a reduction of block sums: parallel, deterministic, accurate",
    ),
    (donate_arguments, "a result takes the memory of an argument that the caller gives up"),
    (skip_kept_rows, "loop unswitching: rows that a condition leaves as they are, are not visited"),
    (
        replace_with_scalars,
        "scalar replacement: a temporary of one element per iteration is a variable",
    ),
    (promote_to_stack, "small temporaries of one kernel are local arrays, which fit in registers"),
    (
        fission_rng,
        "bits, and what has no vector code, have loops of their own: functions stay in lanes",
    ),
    (
        coalesce_short_rows,
        "short rows of which an elementary function is computed are packed, a block at a time",
    ),
    (
        pack_columns,
        "columns that an elementary function reads are copied in blocks, which fill vector lanes",
    ),
    (
        settle_comparisons,
        "clamps and tests that the ranges of counters settle are removed",
    ),
    (
        version_ranges,
        "multiversioning: one test before a loop for subscripts that it would clamp",
    ),
    (
        split_rotations,
        "index-set splitting at runtime: the parts of a rotation are copies, without tests",
    ),
    (
        fission_functions,
        "fission: functions beside sums and recurrences have loops of their own, in vector lanes",
    ),
    (
        stage_halves,
        "fission: halves are converted in loops of their own, by the processor's instructions",
    ),
    (local_cse, "common subexpressions of scalars are computed once"),
    (
        find_independent_loops,
        "dependence tests again: what an iteration computes in memory is now its own",
    ),
    (parallelize_loops, "outer loops with enough work run on several threads"),
    (hoist_invariants, "loop-invariant subscripts are read once, before the loop"),
    (
        simplify_range_checks,
        "an out-of-range test that follows a clipped subscript asks for the range itself",
    ),
    (
        hoist_elements,
        "elements that an innermost loop reads beside those that it stores are read before it",
    ),
    (
        vectorize_divergent,
        "loops around loops that end where their data say run in lanes, until all have ended",
    ),
    (vectorize_loops, "innermost loops without dependences run in vector lanes"),
    (
        restore_product_order,
        "products that left the range of their dtype are computed again in NumPy's order",
    ),
    (hoist_choices, "conditions that are the same in all lanes stand before the loop"),
    (narrow_sums, "sums of bools and bytes fill vector lanes: their accumulators are narrow"),
    (flag_nans, "long float minima and maxima note NaNs in a flag, off the critical path"),
    (unroll_and_jam, "column reductions take four rows at a time, with accumulators in registers"),
    (jam_rows, "row reductions take four rows at a time, whose chains of additions overlap"),
    (
        jam_recurrences,
        "recurrences take four rows at a time, which add together what they have in common",
    ),
    (jam_parts, "parts of a long search for an extreme are searched side by side: chains overlap"),
    (
        widen_bool_reductions,
        "short any and all keep flags as wide as the operands, so that lanes match",
    ),
    (convert_ifs, "nested selects in vector loops are named first, so that both are masks"),
    (hide_constants, "shifted constants of vector loops are variables, which compilers vectorise"),
    (
        predict_subscripts,
        "a subscript outside of vector loops waits for a branch that is predicted, not for choices",
    ),
    (
        recombine_cells,
        "what is divided into row and column and put together again is one number",
    ),
    (narrow_divisions, "divisions in lanes of integers whose ranges are small have 32 bits"),
    (narrow_shifts, "shifts outside of lanes of which 32 bits are kept have 32 bits"),
    (
        keep_chosen_elements,
        "scalar replacement: the element at the place of the best so far is a variable",
    ),
    (remove_dead_scalars, "what only choices read that were settled is dead code"),
    (
        branch_on_exits,
        "what the end of a loop chooses stands in its branch, which is predicted",
    ),
    (
        skip_blocks_without_records,
        "searches for an extreme and its place: lanes find the blocks that have a greater one",
    ),
    (
        mask_branches,
        "conditions of branches are computed in lanes: bits say which iterations take them",
    ),
    (
        compare_late_operands_last,
        "of the values of an extreme, what the iteration before computes is compared last",
    ),
    (
        shape_choices,
        "choices of constants are branches in scalar code, stores under conditions are choices",
    ),
    (stop_settled_searches, "a search for the first index leaves the blocks behind it out"),
    (
        pad_rests,
        "the rest of a loop fills a vector where iterations are dear",
    ),
    (version_trig_loops, "multiversioning: ordinary angles skip the reduction that huge ones need"),
    (share_places, "a number that several subscripts are has one place"),
    (end_at_tests, "a loop that runs until a flag is set ends where the test stands that sets it"),
    (
        move_arrays_off_stack,
        "large local arrays become slices of the workspace, one for each thread",
    ),
    (
        split_whole_blocks,
        "index-set splitting: lanes of whole short blocks are counted by a constant",
    ),
    (call_conversions, "loops that only convert halves are calls"),
    (guard_teams, "threads share a loop over runtime sizes where these are large enough"),
    (plan_memory, "temporaries that are not live at the same time share memory"),
)


@in_default_fp_environment
def schedule(program: Program, options: Options) -> Program:
    """The program after every pass, verified after each that changed it."""
    check(program)
    for loop_pass, _ in SCHEDULE:
        tick()
        after = _with_same_kernels(program, loop_pass(program, options))
        check(after, program)
        program = after
    return program


def _with_same_kernels(before: Program, after: Program) -> Program:
    """The program after a pass; kernels equal to those before it are those objects."""
    if after is before or len(before.kernels) != len(after.kernels):
        return after
    pairs = zip(before.kernels, after.kernels, strict=True)
    kernels = same(before.kernels, tuple(_same_kernel(old, new) for old, new in pairs))
    return changed(after, kernels=same(after.kernels, kernels))


def _same_kernel(before: Kernel, after: Kernel) -> Kernel:
    if same(before.body, after.body) is not before.body:
        return after
    return before if replace(after, body=before.body) == before else after
