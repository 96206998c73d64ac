"""Value range analysis: upper bounds of the magnitude of scalar expressions, and signs of zeros.

Sine, cosine and tangent of an ordinary angle need no Payne-Hanek reduction, which halves their
time. Bounds come from literals, dtypes, ranges of symbols and the `magnitude` of primitives: a
chain of sines is bounded by 1, a table of sines of loop indices by the trip count. A bound says
nothing of NaN, nor of the infinities of halves: of these the functions for ordinary angles give
NaN, as they should. Where a value is never -0.0, sums of it start as NumPy's do, and the extremes
of several may be found in another order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from transpile.analysis.cost_model import UNBOUNDED
from transpile.ir.calls import Call
from transpile.ir.dims import bounds
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
    Declare,
    Expr,
    IndexValue,
    Kernel,
    Literal,
    Load,
    Ref,
    Statement,
    Store,
)
from transpile.ir.loop_rewrite import parts, walk, written
from transpile.ir.primitive import Magnitude
from transpile.ir.types import FLOAT16, FLOAT32, FLOAT64, kind_letter, real_dtype
from transpile.util.frozen_records import memoized

_WITH_HELPERS = tuple(map(np.dtype, ("f4", "f8", "c8", "c16")))  # halves are float32 in C
# Bounds ignore rounding; an angle may exceed its bound by at most this factor.
_ROUNDINGS = 2


def angles(parts: Iterable[Expr]) -> dict[Expr, float]:
    """What has to be ordinary, in order, of functions with a near version (`Primitive.near`), and
    the largest magnitude for which that is exact."""
    limits: dict[Expr, float] = {}
    for part in parts:
        if isinstance(part, Apply) and _has_near_version(part):
            angle, limit = measured(part), part.primitive.near
            limits[angle] = min(limit, limits.get(angle, limit))
    return limits


def _has_near_version(call: Apply) -> bool:
    primitive, dtype = call.primitive, call.dtype
    return bool(primitive.near) and dtype.kind in primitive.near_of and dtype in _WITH_HELPERS


def measured(call: Apply) -> Expr:
    """The value whose magnitude tells whether a call is ordinary: the first operand, or what the
    primitive names (`Primitive.near_of`)."""
    of = call.primitive.near_of.get(call.dtype.kind, "")
    return Apply(of, call.args, real_dtype(call.dtype)) if of else call.args[0]


@memoized
def ordinary_angles(kernel: Kernel) -> frozenset[Expr]:
    """The angles in a kernel that are NaN or provably within that magnitude."""
    body = kernel.body
    limits = angles(part for statement in walk(body) for part in parts(statement))
    if not limits:
        return frozenset()
    declared: dict[Ref, list[Declare]] = {}
    for statement in walk(body):
        if isinstance(statement, Declare):
            declared.setdefault(Ref(statement.name, statement.dtype), []).append(statement)
    memo = _bounds_of_elements(tuple(walk(body)))
    for ref, versions in declared.items():  # those of the versions of a loop have one name
        if all(statement.constant for statement in versions):
            memo[ref] = max([_bound(statement.value, memo) for statement in versions])
    return frozenset(
        angle for angle, limit in limits.items() if _bound(angle, memo) * _ROUNDINGS <= limit
    )


def _bounds_of_elements(statements: tuple[Statement, ...]) -> dict[Expr, float]:
    """The bounds of the elements of local arrays to which one statement, a conversion, writes."""
    sizes = {s.buffer.name: -math.inf for s in statements if isinstance(s, Alloc)}
    for statement in statements:
        for name in written(statement):
            if name in sizes:
                is_first = sizes[name] == -math.inf
                sizes[name] = _bound_of_writes(statement) if is_first else math.inf
    return {
        part: sizes[part.buffer]
        for statement in statements
        for part in parts(statement)
        if isinstance(part, Load) and part.buffer in sizes
    }


def _bound_of_writes(statement: Statement) -> float:
    match statement:
        case Store(value=Apply(op="convert_element_type") as value):
            return _bound(value, {})
        case Call():
            return statement.magnitude
        case _:
            return math.inf


def _bound(expr: Expr, memo: dict[Expr, float]) -> float:
    """An upper bound of the magnitude of an expression that is not NaN; memoised in `known`."""
    if expr not in memo:
        memo[expr] = _computed_bound(expr, memo)
    return memo[expr]


def _computed_bound(expr: Expr, memo: dict[Expr, float]) -> float:
    match expr:
        case IndexValue(index=index):
            low, high = bounds(index)
            is_known = low is not None and high is not None and high < UNBOUNDED // 2
            return max(abs(low or 0), abs(high or 0)) if is_known else math.inf
        case Apply(op="convert_element_type", args=(x,)) if x.dtype.kind in "fiub":
            return _bound(x, memo) if expr.dtype.kind == "f" else _bound_of_dtype(expr)
        case Literal(value=value) if expr.dtype.kind in "fiub":
            return abs(float(value)) if np.isfinite(value) else math.inf
        case Apply(op="float_from_bits", args=(bits,)):
            return 2.0 if _have_exponent_of_one(bits, expr.dtype) else math.inf
        case Apply() if expr.dtype.kind != "f":
            return _bound_of_dtype(expr)
        case Apply(op="divide", args=(x, Literal(value=value))) if value != 0:
            return _bound(x, memo) / abs(float(value))
        case Apply(args=args):
            return _bound_of_floats(expr.primitive.magnitude, args, memo)
        case _:
            return _bound_of_dtype(expr)


def _bound_of_floats(
    magnitude: Magnitude, args: tuple[Expr, ...], memo: dict[Expr, float]
) -> float:
    """The bound of an operation with float result; infinite operands give infinity, because inf * 0
    is NaN."""
    if not callable(magnitude):
        return magnitude
    sizes = [_bound(arg, memo) for arg in args]
    return math.inf if math.inf in sizes else magnitude(*sizes)


def _have_exponent_of_one(bits: Expr, dtype: np.dtype[Any]) -> bool:
    """True if the bits are those of 1.0 with any mantissa: a number in [1, 2), as random numbers
    are built."""
    match bits:
        case Apply(
            op="bitwise_or",
            args=(Apply(op="right_shift", args=(_, Literal(value=shift))), Literal(value=one)),
        ) if dtype in (FLOAT32, FLOAT64):
            shift_to_mantissa = 8 * dtype.itemsize - np.finfo(dtype).nmant
            return bool(shift >= shift_to_mantissa and np.asarray(one, bits.dtype).view(dtype) == 1)
        case _:
            return False


def _bound_of_dtype(expr: Expr) -> float:
    """The bound that a dtype gives."""
    if expr.dtype.kind == "b":
        return 1.0
    if expr.dtype == FLOAT16:
        return float(np.finfo(FLOAT16).max)
    return float(np.iinfo(expr.dtype).max) + 1 if expr.dtype.kind in "iu" else math.inf


def is_never_minus_zero(term: Expr, known: Callable[[Ref | Load], bool] | None = None) -> bool:
    """Tell whether a term is certainly not -0.0, with what is known of variables and elements."""
    if kind_letter(term.dtype) != "f":
        return True
    match term:
        case Ref() | Load():
            return known is not None and known(term)
        case Literal(value=number):
            return bool(number != 0 or not np.signbit(number))
        case Apply(op="multiply", args=(left, right)):
            return left == right
        case Apply(op="convert_element_type", args=(inner,)):
            return inner.dtype.kind in "biu"
        case Apply(op="select", args=(_, left, right)):
            return is_never_minus_zero(left, known) and is_never_minus_zero(right, known)
        case Apply(op="add", args=args):
            return any(is_never_minus_zero(arg, known) for arg in args)
        case Apply(op="subtract", args=(left, right)):  # only -0.0 - 0.0 is
            is_other = isinstance(right, Literal) and right.value != 0
            return is_other or is_never_minus_zero(left, known)
        case Apply():
            return kind_letter(term.dtype) in term.primitive.nonnegative
        case _:
            return False
