"""Plan exchanges between devices: one call each, with the table of groups as a constant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.intrinsics.collectives import (
    COMBINING,
    MOVES,
    DevicePermute,
    DeviceRank,
    DeviceScatter,
)
from transpile.ir.calls import Call
from transpile.ir.graph import Const, Equation
from transpile.ir.types import INT64
from transpile.library.plan import CallPlan, LoopedCall, part


def plan_exchange(equation: Equation) -> CallPlan:
    """One call of the communicator. Operands and results are flat, or rows of blocks."""
    out = equation.output
    name, params = equation.primitive.name, equation.params
    if not equation.inputs:
        call: Call = DeviceRank(1, part("out", out))
        return CallPlan({}, {"out": out}, {}, (LoopedCall((), call),))
    (x,) = equation.inputs
    arrays: dict[str, Any] = {"x": part("x", x), "out": part("out", out)}
    n = int(x.type.static_shape()[-1])
    width = x.type.dtype.itemsize
    if name == "device_permute":
        table = Const(np.array(params["pairs"], INT64).reshape(-1, 2))
        count = len(params["pairs"])
        call = DevicePermute(n * width, n, count, 2, part("table", table), **arrays)
        return _plan(equation, call, "table", table)
    groups: Sequence[Sequence[int]] = params["groups"]
    columns = max(map(len, groups))
    table = Const(np.array([[*g, *[-1] * (columns - len(g))] for g in groups], INT64))
    rows: dict[str, Any] = {
        "rows": len(groups),
        "columns": columns,
        "groups": part("groups", table),
    }
    if name in MOVES:
        call = MOVES[name](size=n * width, n=n, **rows, **arrays)
    else:
        combining = DeviceScatter if name == "device_scatter" else COMBINING[params["by"]]
        call = combining(n=n, **rows, **arrays)
    return _plan(equation, call, "groups", table)


def _plan(equation: Equation, call: Call, name: str, table: Const) -> CallPlan:
    reads = {"x": equation.inputs[0]}
    return CallPlan(reads, {"out": equation.output}, {name: table}, (LoopedCall((), call),))
