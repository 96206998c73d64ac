"""Plan calls of the cumulative sum (arrays/cumsum.h), for long rows of floats; of other prefixes
where the target has them."""

from __future__ import annotations

from transpile.intrinsics.scans import CumulativeSum
from transpile.ir.graph import Equation
from transpile.ir.indices.estimates import estimate
from transpile.ir.indices.row_major import product
from transpile.ir.primitive import TABLE
from transpile.library.plan import CallPlan, LoopedCall, Views, part
from transpile.machine import Machine
from transpile.primitives.reductions import cumsum
from transpile.util.frozen_records import replace


def is_library_sum(equation: Equation, machine: Machine) -> bool:
    """True if an equation is a cumulative sum of floats along long rows, or what else the target
    has a routine for."""
    kind, axis = equation.output.type, equation.params["axis"]
    if not (_is_of_any(equation) if machine.has_library_scans else _is_of_floats(equation)):
        return False
    length, after = kind.shape[axis], kind.shape[axis + 1 :]
    return estimate(length) >= machine.shortest_library_sum and product(after) == 1


def _is_of_floats(equation: Equation) -> bool:
    """True for a sum that C has."""
    dtype = equation.output.type.dtype
    return equation.primitive is cumsum and dtype.kind == "f" and dtype.itemsize >= 4


def _is_of_any(equation: Equation) -> bool:
    """True where parts of a row may be combined, of numbers that fill a register."""
    dtype, combine = equation.output.type.dtype, TABLE[equation.primitive.combine]
    if dtype.kind not in "iuf" or dtype.itemsize < 4 or equation.inputs[0].type.dtype != dtype:
        return False
    return combine.may_combine(dtype) and dtype.kind not in combine.leaves_range


def plan_sum(equation: Equation, views: Views) -> CallPlan:
    """One call for all rows."""
    x, out = views.in_order(equation.inputs[0]), equation.output
    shape, axis = out.type.shape, equation.params["axis"]
    rows, n, reverse = product(shape[:axis]), shape[axis], int(equation.params["reverse"])
    call = CumulativeSum(rows, n, reverse, part("x", x), part("out", out))
    call = replace(call, combine=equation.primitive.combine)
    return CallPlan({"x": x}, {"out": out}, {}, (LoopedCall((), call),))
