"""Plan calls of the cumulative sum (arrays/cumsum.h), for long rows of floats."""

from __future__ import annotations

import math

from transpile.intrinsics.scans import CumulativeSum
from transpile.ir.graph import Equation
from transpile.ir.indices.row_major import product
from transpile.library.plan import CallPlan, LoopedCall, Views, part
from transpile.machine import Machine
from transpile.primitives.reductions import cumsum


def is_library_sum(equation: Equation, machine: Machine) -> bool:
    """True if an equation is a cumulative sum of floats along long rows."""
    if equation.primitive is not cumsum:
        return False
    kind, axis = equation.output.type, equation.params["axis"]
    if kind.dtype.kind != "f" or kind.dtype.itemsize < 4:
        return False
    if not all(isinstance(length, int) for length in kind.shape):
        return False
    length, after = kind.shape[axis], kind.shape[axis + 1 :]
    is_long = isinstance(length, int) and length >= machine.shortest_library_sum
    return is_long and product(after) == 1


def plan_sum(equation: Equation, views: Views) -> CallPlan:
    """One call for all rows."""
    x, out = views.in_order(equation.inputs[0]), equation.output
    shape, axis = out.type.static_shape(), equation.params["axis"]
    rows, n, reverse = math.prod(shape[:axis]), shape[axis], int(equation.params["reverse"])
    call = CumulativeSum(rows, n, reverse, part("x", x), part("out", out))
    return CallPlan({"x": x}, {"out": out}, {}, (LoopedCall((), call),))
