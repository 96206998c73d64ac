"""Truths: whether any or all of few numbers fulfil a condition is found in lanes of their width.

A vector of comparisons is packed into bytes before it can be collected in one, which takes longer
than the comparison. In short loops a flag as wide as the numbers collects them, and the end of the
loop looks at the flag. Long ones wait for memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from transpile.analysis.cost_model import trips
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
from transpile.ir.loop_rewrite import map_bodies, names_in, subexpressions, with_bodies
from transpile.ir.primitive import TABLE
from transpile.ir.types import BOOL, INT64
from transpile.machine import Machine
from transpile.options import Options
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import replace

_FLAGS: dict[int, np.dtype[Any]] = {4: np.dtype(np.int32), 8: INT64}  # by their size


def truths(program: Program, options: Options) -> Program:
    """The program with such loops changed."""
    machine = options.machine
    names = Names(names_in(program))
    return map_bodies(program, lambda body: tuple(_body(body, names.inner(), machine)))


def _body(body: tuple[Statement, ...], names: Names, machine: Machine) -> Iterator[Statement]:
    for statement in body:
        dtype = _flag_of(statement, machine) if isinstance(statement, For) else None
        if isinstance(statement, For) and dtype is not None:
            yield from _flagged(statement, dtype, names)
        else:
            yield with_bodies(statement, lambda inner: tuple(_body(inner, names, machine)))


def _flag_of(loop: For, machine: Machine) -> np.dtype[Any] | None:
    """The dtype of the flags with which a loop would do better; None for all other loops."""
    is_right = machine.shortest_any <= trips(loop) <= machine.longest_any
    if loop.simd or loop.parallel or loop.ordered or not is_right:
        return None
    targets: list[Ref] = []
    for statement in loop.body:
        match statement:
            case Declare(constant=True, symbol=None):
                pass
            case Update(target=Ref(dtype=dtype) as target) if dtype == BOOL and _collects(
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


def _collects(update: Update) -> bool:
    return update.primitive is not None and update.primitive.bitwise != ""


def _width(loop: For, collected: set[str]) -> int:
    """The size of all numbers in a loop, which are read one after the other; 0 if there are numbers
    of other sizes, or truths that are read."""
    values = [s.value for s in loop.body if isinstance(s, Declare | Update)]
    parts = [part for value in values for part in subexpressions(value)]
    if any(_is_in_the_way(part, loop, collected) for part in parts):
        return 0
    numbers = {part.dtype for part in parts if part.dtype != BOOL}
    sizes = {dtype.itemsize for dtype in numbers if dtype.kind in "fiu"}
    is_plain = len(sizes) == 1 and all(dtype.kind in "fiu" for dtype in numbers)
    return sizes.pop() if is_plain and any(isinstance(p, Load) for p in parts) else 0


def _is_in_the_way(part: Expr, loop: For, collected: set[str]) -> bool:
    """Tell whether lanes could not be filled with a part, or the order of the loop matters."""
    match part:
        case Load(dtype=dtype, index=index):
            return dtype == BOOL or any(loop.symbol in symbols_of(i) for i in index[:-1])
        case Ref(name=name):
            return name in collected
        case IndexValue() | Within():
            return True
        case _:
            return False


def _flagged(loop: For, dtype: np.dtype[Any], names: Names) -> Iterator[Statement]:
    body: list[Statement] = []
    flags: list[tuple[str, Ref]] = []  # how they are collected, and what they are
    looking: list[Update] = []
    for statement in loop.body:
        if not isinstance(statement, Update):
            body.append(statement)
            continue
        row = TABLE[statement.op]
        op, start = row.bitwise, int(row.neutral(BOOL))
        flag = Ref(names.new("some" if start == 0 else "every"), dtype)
        yield Declare(flag.name, Literal(dtype.type(start), dtype), constant=False)
        noted = Apply("convert_element_type", (statement.value,), dtype)
        body.append(Update(flag, op, noted))
        flags.append((op, flag))
        zero = Literal(dtype.type(0), dtype)
        looking.append(replace(statement, value=Apply("not_equal", (flag, zero), BOOL)))
    reductions = tuple(sorted((op, flag.name) for op, flag in flags))
    yield replace(loop, body=tuple(body), simd=True, reductions=reductions)
    yield from looking
