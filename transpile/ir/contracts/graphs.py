"""Properties of graphs: what lowering requires of one, and what passes require of each other."""

from __future__ import annotations

from itertools import pairwise

from transpile.ir.contracts import Property
from transpile.ir.graph import Atom, Equation, Graph, graphs_in, has_effect
from transpile.ir.graph_rewrite import live_equations
from transpile.ir.types import is_half
from transpile.machine import Machine

# Kinds of primitives that are expanded into others; sums of complex numbers are as well.
_EXPANDED = ("composite", "window")
# Kinds that move halves, or round in each iteration: they have them in their own format.
_MOVING = ("view", "generate", "piecewise", "scan", "scatter", "control", "callback")


def _no_calls(graph: Graph, _: Machine) -> bool:
    if any(e.primitive.kind == "call" for e in graph.equations):
        return False
    return all(_no_calls(region, _) for e in graph.equations for region in graphs_in(e))


def _no_dead_code(graph: Graph, _: Machine) -> bool:
    return len(live_equations(graph.equations, graph.outputs)) == len(graph.equations)


def _computes_halves(equation: Equation) -> bool:
    primitive, values = equation.primitive, (*equation.inputs, *equation.outputs)
    is_moved = primitive.kind in _MOVING or primitive.own_format or "e" in primitive.c
    if is_moved or "dtype" in equation.params:
        return False
    return any(is_half(value.type.dtype) for value in values)


def _is_composite(equation: Equation) -> bool:
    primitive = equation.primitive
    is_complex = any(v.type.dtype.kind == "c" for v in equation.outputs)
    is_sum = primitive.kind == "reduce" and primitive.combine == "add"
    return primitive.kind in _EXPANDED or (is_sum and is_complex)


def _is_canonical(equation: Equation) -> bool:
    if equation.primitive.kind != "contract":
        return True
    contracted, batch = equation.params["dimension_numbers"]
    for atom, own, taken in zip(equation.inputs, contracted, batch, strict=True):
        free = [a for a in range(atom.type.ndim) if a not in own and a not in taken]
        if any(b != a + 1 for axes in (own, free) for a, b in pairwise(axes)):
            return False
    return True


def _own_outputs(graph: Graph, _: Machine) -> bool:
    computed: set[Atom] = {v for e in graph.equations for v in e.outputs}
    outputs = graph.outputs
    return len(set(outputs)) == len(outputs) and computed.issuperset(outputs)


def _no_common_subexpressions(graph: Graph, _: Machine) -> bool:
    keys = [e.key() for e in graph.equations if not has_effect(e)]
    return len(set(keys)) == len(keys)


NO_CALLS = Property("no call is left, in regions neither", _no_calls)
NO_DEAD_CODE = Property("an output or an effect depends on each equation", _no_dead_code)
NO_HALF_ARITHMETIC = Property(
    "nothing is computed in float16 or bfloat16",
    lambda graph, _: not any(map(_computes_halves, graph.equations)),
)
NO_COMPOSITES = Property(
    "no composite primitive is left", lambda graph, _: not any(map(_is_composite, graph.equations))
)
NO_COMMON_SUBEXPRESSIONS = Property("no two equations are equal", _no_common_subexpressions)
NO_BARRIERS = Property(
    "no optimisation barrier is left",
    lambda graph, _: all(e.primitive.name != "optimization_barrier" for e in graph.equations),
)
CANONICAL_DOTS = Property(
    "contracted and free axes of contractions are adjacent",
    lambda graph, _: all(map(_is_canonical, graph.equations)),
)
OWN_OUTPUTS = Property("each output is the result of an equation of its own", _own_outputs)

# What need not be true of the equations of another graph, which come to stand in this one.
OF_EQUATIONS = (
    NO_DEAD_CODE,
    NO_HALF_ARITHMETIC,
    NO_COMPOSITES,
    NO_COMMON_SUBEXPRESSIONS,
    NO_BARRIERS,
    CANONICAL_DOTS,
    OWN_OUTPUTS,
)
