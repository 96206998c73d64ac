"""Rewrite a Graph into an equivalent one that lowers to faster loops: `PASSES`, in order.

Each pass takes a graph and the machine, and gives a graph that computes the same bits, or the graph
itself where it has nothing to do. `optimise` runs them all and verifies the graph after each. Which
values are materialised is decided afterwards (`transpile.fusion.materialize`).
"""

from __future__ import annotations

from collections.abc import Callable

from transpile.ir.graph import Equation, Graph
from transpile.machine import USUAL, Machine
from transpile.passes.barriers import remove_barriers
from transpile.passes.canonical_dots import canonicalize_dots
from transpile.passes.constant_patterns import replace_constant_patterns
from transpile.passes.control.branch_sharing import share_with_branches
from transpile.passes.control.control_flow import simplify_control_flow
from transpile.passes.control.inline_calls import inline_calls
from transpile.passes.cse import eliminate_common_subexpressions
from transpile.passes.dead_code import eliminate_dead_code
from transpile.passes.expand.checks import refuse_checks
from transpile.passes.expand.decompose import decompose
from transpile.passes.half_precision import widen_halves
from transpile.passes.layouts.reduction_order import reduce_in_memory_order
from transpile.passes.layouts.sorted_rows import sort_along_rows
from transpile.passes.layouts.transposes import sink_transposes
from transpile.passes.lengths.compaction import (
    assign_under_masks,
    compact_elements,
    reduce_under_masks,
)
from transpile.passes.lengths.counted_first import count_before_calls
from transpile.passes.lengths.equal_lengths import unify_lengths
from transpile.passes.scalarize import scalarize_reductions
from transpile.passes.selection import select_ranks
from transpile.passes.simplify import simplify
from transpile.passes.unalias_outputs import unalias_outputs
from transpile.passes.updates_of_slices import update_whole_arrays
from transpile.primitives.control.operands import graphs_of, operands_of, rebuilt
from transpile.util.fp_environment import in_default_fp_environment
from transpile.util.frozen_records import replace
from transpile.util.terminal.status_line import tick

PASSES: tuple[tuple[Callable[[Graph, Machine], Graph], str], ...] = (
    (inline_calls, "the body of a call is optimised and fused with the equations around it"),
    (refuse_checks, "a program has no way to report a check that failed"),
    (eliminate_dead_code, "what nothing reads would only cost time in the passes that follow"),
    (replace_constant_patterns, "splats, ranges and triangles are computed, not read from memory"),
    (share_with_branches, "a branch that takes what its test compares becomes a select"),
    (simplify_control_flow, "loop-invariant code leaves its loop; trivial loops are inlined"),
    (eliminate_dead_code, "carries that became invariant leave operands that nothing reads"),
    (widen_halves, "float16 and bfloat16 are computed in float32, and rounded"),
    (decompose, "composite primitives become simpler ones, which fuse"),
    (update_whole_arrays, "what is assigned to a part of an array is written where the array lies"),
    (simplify, "constants are folded and identities removed, exact ones only"),
    (eliminate_common_subexpressions, "equal computations are done once"),
    (unify_lengths, "what equal masks select is equally long, and meets without a check"),
    (remove_barriers, "rematerialised values have survived the elimination of equal ones"),
    (reduce_in_memory_order, "the order of a sum's terms is free: it is that of memory"),
    (sink_transposes, "a value that is only read transposed is computed transposed"),
    (canonicalize_dots, "operands of matrix products have one stride for rows, one for columns"),
    (select_ranks, "where a median is read, its row need not be sorted"),
    (sort_along_rows, "a long line whose elements lie apart is transposed faster than sorted"),
    (reduce_under_masks, "what a mask selects is reduced in lanes, and stored nowhere"),
    (assign_under_masks, "what a mask selects is set in lanes, and never compacted"),
    (compact_elements, "the elements that a mask selects are stored, and not their positions"),
    (scalarize_reductions, "a sum of short vectors accumulates in scalars, in one loop"),
    (simplify, "merged values open further identities"),
    (eliminate_dead_code, "what the rewrites left behind goes away"),
    (count_before_calls, "a program that is called again for want of memory calls Python once"),
    (
        unalias_outputs,
        "each output is a value of its own, so that it can have a buffer of its own",
    ),
)


@in_default_fp_environment
def optimise(graph: Graph, machine: Machine = USUAL) -> Graph:
    """Run every pass over the graph and its regions; verify the graph after each pass."""
    graph.check()
    for run_pass, _ in PASSES:
        tick()
        before, graph = graph, run_pass(graph, machine)
        if graph is not before:
            graph.check()
    if not any(primitive.kind == "control" for primitive in graph.primitives):
        return graph
    equations = (_with_optimised_regions(equation, machine) for equation in graph.equations)
    return replace(graph, equations=tuple(equations))


def _with_optimised_regions(equation: Equation, machine: Machine) -> Equation:
    if equation.primitive.kind != "control":
        return equation
    regions = [optimise(region, machine) for region in graphs_of(equation)]
    return rebuilt(equation, operands_of(equation), regions, equation.outputs)
