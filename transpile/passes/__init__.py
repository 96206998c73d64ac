"""The passes: Graph to Graph, meaning unchanged. `PASSES` is the ordered list.

Calls of jitted functions inside a traced one are inlined by the trace itself, and fusion begins
with what is materialised (`transpile.fusion.materialize`), so neither stands here.
"""

from __future__ import annotations

from collections.abc import Callable

from transpile.ir.graph import Equation, Graph
from transpile.machine import USUAL, Machine
from transpile.passes.barriers import remove_barriers
from transpile.passes.canonical_dots import canonical_products
from transpile.passes.constant_patterns import formulas
from transpile.passes.control_flow import loops
from transpile.passes.cse import common_subexpressions
from transpile.passes.dead_code import dead_code
from transpile.passes.expand.decompose import decompose
from transpile.passes.half_precision import halves
from transpile.passes.inline_calls import inline_calls
from transpile.passes.layout import sink_transposes
from transpile.passes.scalarize import components
from transpile.passes.simplify import simplify
from transpile.passes.unalias_outputs import separate_outputs
from transpile.primitives.control.operands import graphs_of, operands_of, rebuilt
from transpile.util.fp_environment import in_usual_modes
from transpile.util.frozen_records import replace

PASSES: tuple[tuple[Callable[[Graph, Machine], Graph], str], ...] = (
    (inline_calls, "what a call computes is optimised and fused with what stands around it"),
    (dead_code, "what nothing reads would only cost time in the passes that follow"),
    (formulas, "constant arrays of one number, or that count, are no tables in memory"),
    (loops, "what a loop computes again and again is computed before it; some are no loops at all"),
    (dead_code, "what a loop does without is not computed either"),
    (halves, "float16 and bfloat16 are computed in float32, and rounded"),
    (decompose, "composite rows become simpler ones, which fuse"),
    (simplify, "constants are folded and identities removed, exact ones only"),
    (common_subexpressions, "equal computations are done once"),
    (remove_barriers, "what a derivative computes again has not become one with what it equals"),
    (sink_transposes, "a value that is only wanted transposed is computed so"),
    (canonical_products, "matrix products step through their operands with two strides"),
    (components, "the x, y, z of a sum of short vectors are three scalar sums in one loop"),
    (simplify, "merged values open further identities"),
    (dead_code, "what the rewrites left behind goes away"),
    (
        separate_outputs,
        "each result is a value of its own, so that it can have a buffer of its own",
    ),
)


@in_usual_modes
def optimise(graph: Graph, machine: Machine = USUAL) -> Graph:
    """The graph after every pass, checked after each; the bodies of its loops and branches too."""
    graph.check()
    for transform, _ in PASSES:
        before, graph = graph, transform(graph, machine)
        if graph is not before:
            graph.check()
    if not any(row.kind == "control" for row in graph.primitives):
        return graph
    equations = (_with_optimised_parts(equation, machine) for equation in graph.equations)
    return replace(graph, equations=tuple(equations))


def _with_optimised_parts(equation: Equation, machine: Machine) -> Equation:
    if equation.primitive.kind != "control":
        return equation
    graphs = [optimise(graph, machine) for graph in graphs_of(equation)]
    return rebuilt(equation, operands_of(equation), graphs, equation.outputs)
