"""Cumulative sums as arrays/cumsum.h sees them: long rows, of which parts are added up at once.

In a loop each addition waits for the one before, some four cycles.
"""

from __future__ import annotations

import math

from transpile.ir.graph import Equation
from transpile.ir.loop_ir import Call
from transpile.ir.types import SHORT_NAMES
from transpile.lower.storage import Place

# As in the C text: this many elements have a number in the scratch memory.
_RUN = 1008


def _rows(equation: Equation) -> tuple[int, int]:
    """How many rows there are, and their length."""
    shape, axis = equation.output.type.static_shape(), equation.params["axis"]
    return math.prod(shape[:axis]), shape[axis]


def sum_workspace(equation: Equation) -> int:
    """The bytes of scratch memory."""
    rows, length = _rows(equation)
    return rows * -(-length // _RUN) * equation.output.type.dtype.itemsize


def sum_call(equation: Equation, operand: Place, out: Place, scratch: Place) -> Call:
    """The call that adds up all rows."""
    rows, length = _rows(equation)
    return Call(
        f"cumsum_{SHORT_NAMES[out.dtype]}",
        (rows, length, int(equation.params["reverse"]), operand.first, out.first, scratch.first),
        (out.name, scratch.name),
        flops=2 * rows * length,
    )
