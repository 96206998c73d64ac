"""Plan searches of the first True or False in rows of bools (arrays/first_of.h)."""

from __future__ import annotations

import math

from transpile.intrinsics.sorting import FirstOf
from transpile.ir.graph import Equation
from transpile.library.plan import CallPlan, LoopedCall, Views, part


def plan_search(equation: Equation, views: Views) -> CallPlan:
    """One call for all rows."""
    x, out = views.in_order(equation.inputs[0]), equation.output
    *rows, n = equation.inputs[0].type.static_shape()
    arrays = part("x", x), part("position", out)
    call = FirstOf(math.prod(rows), n, equation.params["value"], *arrays)
    return CallPlan({"x": x}, {"position": out}, {}, (LoopedCall((), call),))
