"""Cumulative sums of long rows as calls."""

from __future__ import annotations

import math

from transpile.intrinsics.scans import CumulativeSum
from transpile.ir.calls import Strided
from transpile.ir.graph import Equation
from transpile.lower.storage import Place


def sum_call(equation: Equation, operand: Place, out: Place) -> CumulativeSum:
    """The call that adds up all rows."""
    shape, axis = equation.output.type.static_shape(), equation.params["axis"]
    rows, n, reverse = math.prod(shape[:axis]), shape[axis], int(equation.params["reverse"])
    return CumulativeSum(rows, n, reverse, Strided(operand.first), Strided(out.first))
