"""Sorts as runtime_c/arrays/sort.h sees them: rows along an axis, one call for each key."""

from __future__ import annotations

import numpy as np

from transpile.errors import UnsupportedError
from transpile.intrinsics.sorting import (
    LONGEST_ROW,
    Argpartition,
    Argsort,
    ArgsortFurther,
    OrderStatistics,
    Partition,
    Sort,
)
from transpile.ir.dims import Index
from transpile.ir.graph import Const, Equation
from transpile.ir.indices.estimates import estimate
from transpile.ir.indices.row_major import product
from transpile.library.plan import CallPlan, LoopedCall, Views, part
from transpile.machine import Machine
from transpile.primitives.sorting import sort

# The calls of the primitives of these names, which take ranks.
_SELECTIONS = {call.name: call for call in (OrderStatistics, Partition, Argpartition)}


def plan_sort(equation: Equation, views: Views, machine: Machine) -> CallPlan:
    """The calls that sort the keys, the least significant one first: each call is stable.

    Raises UnsupportedError for rows that are longer than memory will hold.
    """
    sizes, out = _sizes(equation), equation.output
    slots = _slots(*sizes, machine)
    if "ranks" in equation.params:
        return _plan_selection(equation, sizes, slots, views)
    keys = {f"x{number}": views.in_order(atom) for number, atom in enumerate(equation.inputs)}
    calls = []
    for number, (name, key) in enumerate(reversed(keys.items())):
        intrinsic = Sort if equation.primitive is sort else ArgsortFurther if number else Argsort
        call = intrinsic(*sizes, part(name, key), part("out", out), slots)
        calls.append(LoopedCall((), call))
    return CallPlan(keys, {"out": out}, {}, tuple(calls))


def _plan_selection(
    equation: Equation, sizes: tuple[Index, Index, Index], slots: int, views: Views
) -> CallPlan:
    """One call for all ranks."""
    x, out = views.in_order(equation.inputs[0]), equation.output
    ranks = Const(np.array(equation.params["ranks"], np.int64), name="ranks")
    arrays = part("x", x), part("ranks", ranks), part("out", out)
    intrinsic = _SELECTIONS[equation.primitive.name]
    call = intrinsic(*sizes, len(equation.params["ranks"]), *arrays, slots)
    return CallPlan({"x": x}, {"out": out}, {"ranks": ranks}, (LoopedCall((), call),))


def _sizes(equation: Equation) -> tuple[Index, Index, Index]:
    """The sizes before, along and after the axis of a sort."""
    shape, axis = equation.inputs[0].type.shape, equation.params["axis"]
    outer, n, inner = product(shape[:axis]), shape[axis], product(shape[axis + 1 :])
    if isinstance(n, int) and n > LONGEST_ROW:
        raise UnsupportedError(f"{equation.source}: {equation.primitive} of {n} elements in a row")
    return outer, n, inner


def _slots(outer: Index, n: Index, inner: Index, machine: Machine) -> int:
    """The number of rows that are sorted concurrently: one for each thread, as far as the scratch
    memory of 16 bytes per element allows."""
    length = max(1, estimate(n))
    return max(1, min(estimate(outer * inner), machine.slots, machine.sort_bytes // (16 * length)))
