"""Widen the accumulators of short `any` and `all` reductions to the width of their operands.

A comparison of vectors of floats gives masks as wide as the floats. To accumulate them in a boolean
of one byte they must be packed, which takes longer than the comparison. An integer flag of the
operands' width needs no packing; it is compared with zero after the loop:

    for i: any |= x[i] > 0
    some = 0;  for i simd or:some: some |= x[i] > 0;  any |= some != 0

Only short loops gain, and those that compute more than comparisons, such as sines: other long ones
wait for memory. Runs after `vectorize_loops`, which leaves these
loops scalar, and marks them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from transpile.analysis.cost_model import trips
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import LANES_BOUND
from transpile.ir.dims import symbols_of
from transpile.ir.loop_ir import (
    Apply,
    Declare,
    Expr,
    For,
    IndexValue,
    Literal,
    Load,
    Program,
    Ref,
    Statement,
    Update,
    Within,
)
from transpile.ir.loop_rewrite import map_bodies, names_in, parts, subexpressions, with_bodies
from transpile.ir.primitive import TABLE
from transpile.ir.types import BOOL, INT64
from transpile.machine import Machine
from transpile.options import Options
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import replace

_FLAGS: dict[int, np.dtype[Any]] = {4: np.dtype(np.int32), 8: INT64}  # by their size


@contract(requires=(LANES_BOUND,))
def widen_bool_reductions(program: Program, options: Options) -> Program:
    """The program with such reductions in wide flags."""
    machine = options.machine
    names = Names(names_in(program))
    return map_bodies(program, lambda body: tuple(_body(body, names.inner(), machine)))


def _body(body: tuple[Statement, ...], names: Names, machine: Machine) -> Iterator[Statement]:
    for statement in body:
        dtype = _flag_of(statement, machine) if isinstance(statement, For) else None
        if isinstance(statement, For) and dtype is not None:
            yield from _with_flags(statement, dtype, names)
        else:
            yield with_bodies(statement, lambda inner: tuple(_body(inner, names, machine)))


def _flag_of(loop: For, machine: Machine) -> np.dtype[Any] | None:
    """The integer dtype of the flags for a loop; None if it is no such reduction, or of another
    length."""
    if loop.simd or loop.parallel or loop.ordered or trips(loop) < machine.shortest_any:
        return None
    if trips(loop) > machine.longest_any and not _computes(loop, machine):
        return None
    targets: list[Ref] = []
    for statement in loop.body:
        match statement:
            case Declare(constant=True, symbol=None):
                pass
            case Update(target=Ref(dtype=dtype) as target) if dtype == BOOL and _is_bitwise(
                statement
            ):
                targets.append(target)
            case _:
                return None
    own = {s.name for s in loop.body if isinstance(s, Declare)}
    names = {target.name for target in targets}
    if not names or len(names) < len(targets) or not names.isdisjoint(own):
        return None
    return _FLAGS.get(_width(loop, names))


def _computes(loop: For, machine: Machine) -> bool:
    """True if an iteration takes longer than its operands from memory."""
    calls = (p for s in loop.body for p in parts(s) if isinstance(p, Apply))
    return sum(call.primitive.weight for call in calls) >= machine.heaviest_awaited


def _is_bitwise(update: Update) -> bool:
    return update.primitive is not None and update.primitive.bitwise != ""


def _width(loop: For, collected: set[str]) -> int:
    """The common itemsize of all numbers in a loop, which are contiguous; 0 if they differ, or if
    booleans are loaded."""
    values = [s.value for s in loop.body if isinstance(s, Declare | Update)]
    parts = [part for value in values for part in subexpressions(value)]
    if any(_prevents_lanes(part, loop, collected) for part in parts):
        return 0
    numbers = {part.dtype for part in parts if part.dtype != BOOL}
    sizes = {dtype.itemsize for dtype in numbers if dtype.kind in "fiu"}
    is_plain = len(sizes) == 1 and all(dtype.kind in "fiu" for dtype in numbers)
    return sizes.pop() if is_plain and any(isinstance(p, Load) for p in parts) else 0


def _prevents_lanes(part: Expr, loop: For, collected: set[str]) -> bool:
    """True if a subexpression keeps the loop from lanes of one width: boolean or strided loads,
    subscripts as values, uses of an accumulator."""
    match part:
        case Load(dtype=dtype, index=index):
            return dtype == BOOL or any(loop.symbol in symbols_of(i) for i in index[:-1])
        case Ref(name=name):
            return name in collected
        case IndexValue() | Within():
            return True
        case _:
            return False


def _with_flags(loop: For, dtype: np.dtype[Any], names: Names) -> Iterator[Statement]:
    """The reduction into wide flags, then the updates of the boolean accumulators."""
    body: list[Statement] = []
    flags: list[tuple[str, Ref]] = []  # the operation of each, and its variable
    updates: list[Update] = []
    for statement in loop.body:
        if not isinstance(statement, Update):
            body.append(statement)
            continue
        primitive = TABLE[statement.op]
        op, start = primitive.bitwise, int(primitive.neutral(BOOL))
        flag = Ref(names.new("some" if start == 0 else "every"), dtype)
        yield Declare(flag.name, Literal(dtype.type(start), dtype), constant=False)
        widened = Apply("convert_element_type", (statement.value,), dtype)
        body.append(Update(flag, op, widened))
        flags.append((op, flag))
        zero = Literal(dtype.type(0), dtype)
        updates.append(replace(statement, value=Apply("not_equal", (flag, zero), BOOL)))
    reductions = tuple(sorted((op, flag.name) for op, flag in flags))
    yield replace(loop, body=tuple(body), simd=True, reductions=reductions)
    yield from updates
