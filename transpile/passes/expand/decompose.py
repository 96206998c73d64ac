"""Decompose composite primitives (argmax, complex sums, small constant powers, windows,
convolutions) into simpler ones, which fuse with the equations around them.

    power x 2  ->  square x
    argmax x   ->  reduce_min(select(x == reduce_max x, iota, largest)); first_of x of long bools
    any x      ->  x[first_of x]
    fmod x 1.0 ->  copysign(x - trunc x, x)
"""

from __future__ import annotations

from collections.abc import Sequence

from transpile.ir.contracts import contract
from transpile.ir.contracts.graphs import (
    CANONICAL_DOTS,
    NO_COMMON_SUBEXPRESSIONS,
    NO_COMPOSITES,
    NO_DEAD_CODE,
    NO_HALF_ARITHMETIC,
    OWN_OUTPUTS,
)
from transpile.ir.graph import Atom, Const, Equation, Graph, Var
from transpile.ir.graph_rewrite import Builder, rewrite
from transpile.ir.primitive import TABLE
from transpile.ir.types import BOOL
from transpile.machine import USUAL, Machine
from transpile.passes.expand.arg_reductions import expand_arg_reduction, expand_complex_extreme
from transpile.passes.expand.complex_sums import expand_complex_dot, expand_complex_sum
from transpile.passes.expand.convolutions import expand_convolution
from transpile.passes.expand.exact_floats import expand_quotient, expand_sum_of_integers
from transpile.passes.expand.windows import expand_window
from transpile.primitives import axes, dot, elementwise, indexing, reductions
from transpile.primitives.elementary import primitives as elementary

# Products of up to three factors stay within 2 ulp of the exact power.
LARGEST_EXPANDED_POWER = 4


_EXTREMES = (reductions.reduce_max, reductions.reduce_min)


# Halves first: each of the simpler primitives would round to one.
@contract(
    requires=(NO_HALF_ARITHMETIC,),
    provides=(NO_COMPOSITES,),
    destroys=(NO_DEAD_CODE, NO_COMMON_SUBEXPRESSIONS, CANONICAL_DOTS, OWN_OUTPUTS),
)
def decompose(graph: Graph, machine: Machine = USUAL) -> Graph:
    """Expand composite primitives and small constant powers."""
    return rewrite(graph, _rule, machine)


def _rule(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
    if equation.primitive in (reductions.argmax, reductions.argmin):
        if _is_long_search(equation, builder.machine):
            value = int(equation.primitive is reductions.argmax)
            return [builder.apply(reductions.first_of, equation.inputs[0], value=value)]
        return [expand_arg_reduction(builder, equation)]
    if equation.primitive in _EXTREMES and equation.output.type.dtype.kind == "c":
        return expand_complex_extreme(builder, equation)
    if equation.primitive.kind == "reduce" and equation.inputs[0].type.dtype == BOOL:
        return _truth(builder, equation)
    if equation.primitive is reductions.reduce_sum and equation.output.type.dtype.kind == "c":
        return [expand_complex_sum(builder, equation.inputs[0], equation.params["axes"])]
    if equation.primitive is reductions.reduce_sum and equation.output.type.dtype.kind == "f":
        return expand_sum_of_integers(builder, equation)
    is_quotient = equation.primitive.near_of.get("f") == "divide"
    if is_quotient and equation.output.type.dtype.kind == "f":
        return expand_quotient(builder, equation)
    if equation.primitive is dot.dot_general and equation.output.type.dtype.kind == "c":
        return expand_complex_dot(builder, equation)
    if equation.primitive is elementary.power:
        return _power(builder, equation)
    return expand_window(builder, equation) or expand_convolution(builder, equation)


def _is_long_search(equation: Equation, machine: Machine) -> bool:
    """True for rows of bools so long that one had better stop at the first that is looked for."""
    (x,) = equation.inputs
    row = x.type.shape[-1]
    is_last = x.type.dtype == BOOL and equation.params["axis"] == x.type.ndim - 1
    is_known = all(isinstance(extent, int) for extent in x.type.shape)
    return is_last and is_known and isinstance(row, int) and row >= machine.shortest_bool_search


def _truth(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
    """any and all, and extremes, of many bools that are there already: the first True, or False,
    decides."""
    (x,) = equation.inputs
    size, machine = x.type.size, builder.machine
    decisive = TABLE[equation.primitive.combine].absorbing(BOOL)
    if decisive is None or equation.output.type.dtype != BOOL:
        return None
    if not isinstance(x, Var) or x in builder.producers or equation.output.type.shape:
        return None
    if not isinstance(size, int) or size < machine.shortest_truth_search:
        return None
    flat = builder.apply(axes.reshape, x, shape=(size,)) if x.type.ndim > 1 else x
    position = builder.apply(reductions.first_of, flat, value=int(decisive))
    return [builder.apply(indexing.gather, flat, position, axes=(0,), mode=indexing.PROMISED)]


def _power(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
    x, y = equation.inputs
    if not isinstance(y, Const) or not y.is_scalar or x.type.dtype.kind not in "iuf":
        return None
    exponent = float(y.value)
    if exponent == 1:
        return [x]
    if exponent == 2:
        return [builder.apply(elementwise.square, x)]
    if exponent == 3:
        return [builder.apply(elementwise.multiply, builder.apply(elementwise.square, x), x)]
    if exponent == LARGEST_EXPANDED_POWER:
        return [builder.apply(elementwise.square, builder.apply(elementwise.square, x))]
    return None
