"""Plan calls of the cumulative sum (arrays/cumsum.h), for long rows of floats."""

from __future__ import annotations

from transpile.intrinsics.scans import CumulativeSum
from transpile.ir.graph import Equation
from transpile.ir.indices.estimates import estimate
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
    length, after = kind.shape[axis], kind.shape[axis + 1 :]
    return estimate(length) >= machine.shortest_library_sum and product(after) == 1


def plan_sum(equation: Equation, views: Views) -> CallPlan:
    """One call for all rows."""
    x, out = views.in_order(equation.inputs[0]), equation.output
    shape, axis = out.type.shape, equation.params["axis"]
    rows, n, reverse = product(shape[:axis]), shape[axis], int(equation.params["reverse"])
    call = CumulativeSum(rows, n, reverse, part("x", x), part("out", out))
    return CallPlan({"x": x}, {"out": out}, {}, (LoopedCall((), call),))
