"""Magnitudes: how large numbers can be at most, as far as their expressions tell.

The sine of an angle that is certainly no huge one takes half the time; in a chain of sines, all but
the first are of such angles, and in a table of sines of counters all are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from transpile.analysis.cost_model import UNBOUNDED
from transpile.ir.dims import bounds
from transpile.ir.loop_ir import Apply, Declare, Expr, IndexValue, Kernel, Literal, Ref
from transpile.ir.loop_rewrite import parts, walk
from transpile.ir.primitive import Magnitude
from transpile.ir.types import FLOAT32, FLOAT64
from transpile.util.frozen_records import once

# Roundings on the way to an angle may make it so many times as large as it is found to be.
_ROUNDINGS = 2


def angles(parts: Iterable[Expr]) -> dict[Expr, float]:
    """The operands, in order, of functions that have a near version (`Primitive.near`), and up to
    which magnitude they may take it."""
    limits: dict[Expr, float] = {}
    for part in parts:
        if isinstance(part, Apply) and part.primitive.near and part.dtype in (FLOAT32, FLOAT64):
            (angle,), limit = part.args, part.primitive.near
            limits[angle] = min(limit, limits.get(angle, limit))
    return limits


@once
def ordinary_angles(kernel: Kernel) -> frozenset[Expr]:
    """The angles in a kernel's statements that are NaN or certainly ordinary."""
    body = kernel.body
    limits = angles(part for statement in walk(body) for part in parts(statement))
    if not limits:
        return frozenset()
    declared = [s for s in walk(body) if isinstance(s, Declare)]
    times = Counter(s.name for s in declared)
    known: dict[Expr, float] = {}
    for statement in declared:
        if statement.constant and times[statement.name] == 1:
            known[Ref(statement.name, statement.dtype)] = _largest(statement.value, known)
    return frozenset(
        angle for angle, limit in limits.items() if _largest(angle, known) * _ROUNDINGS <= limit
    )


def _largest(expr: Expr, known: dict[Expr, float]) -> float:
    """The magnitude of a number at most, if it is none of a NaN; what is `known` is noted there."""
    if expr not in known:
        known[expr] = _found(expr, known)
    return known[expr]


def _found(expr: Expr, known: dict[Expr, float]) -> float:
    match expr:
        case IndexValue(index=index):
            low, high = bounds(index)
            is_known = low is not None and high is not None and high < UNBOUNDED // 2
            return max(abs(low or 0), abs(high or 0)) if is_known else math.inf
        case Apply(op="convert_element_type", args=(x,)) if x.dtype.kind in "fiub":
            return _largest(x, known) if expr.dtype.kind == "f" else _of_type(expr)
        case Literal(value=value) if expr.dtype.kind in "fiub":
            return abs(float(value)) if np.isfinite(value) else math.inf
        case Apply(op="float_from_bits", args=(bits,)):
            return 2.0 if _are_of_one(bits, expr.dtype) else math.inf
        case Apply() if expr.dtype.kind != "f":
            return _of_type(expr)
        case Apply(op="divide", args=(x, Literal(value=value))) if value != 0:
            return _largest(x, known) / abs(float(value))
        case Apply(args=args):
            return _of_floats(expr.primitive.magnitude, args, known)
        case _:
            return _of_type(expr)


def _of_floats(magnitude: Magnitude, args: tuple[Expr, ...], known: dict[Expr, float]) -> float:
    """The magnitude of an operation's float result; not that of a NaN, which inf * 0 would be."""
    if not callable(magnitude):
        return magnitude
    sizes = [_largest(arg, known) for arg in args]
    return math.inf if math.inf in sizes else magnitude(*sizes)


def _are_of_one(bits: Expr, dtype: np.dtype[Any]) -> bool:
    """Tell whether they are those of 1.0, and any in the places behind: a number from 1 to 2, as
    random numbers begin."""
    match bits:
        case Apply(
            op="bitwise_or",
            args=(Apply(op="right_shift", args=(_, Literal(value=shift))), Literal(value=one)),
        ) if dtype in (FLOAT32, FLOAT64):
            behind = 8 * dtype.itemsize - np.finfo(dtype).nmant
            return bool(shift >= behind and np.asarray(one, bits.dtype).view(dtype) == 1)
        case _:
            return False


def _of_type(expr: Expr) -> float:
    """What a dtype has at most."""
    if expr.dtype.kind == "b":
        return 1.0
    return float(np.iinfo(expr.dtype).max) + 1 if expr.dtype.kind in "iu" else math.inf
