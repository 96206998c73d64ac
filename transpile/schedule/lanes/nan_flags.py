"""Extremes: the search for a largest or smallest float looks for NaNs beside it.

NumPy's maximum is a NaN if there is one, and to ask for that at each step of a running maximum
takes longer than the rest of the step, for which the next one waits. In long loops the steps leave
NaNs out, a flag of its own notes them, and the end of the loop looks at the flag. Where a strip of
columns is searched at once for the largest and the smallest numbers, each column has a flag.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from transpile.analysis.cost_model import trips
from transpile.ir.dims import Shape, symbols_of
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
    Buffer,
    Declare,
    Expr,
    For,
    Literal,
    Load,
    Program,
    Ref,
    Statement,
    Store,
    Update,
)
from transpile.ir.loop_rewrite import accesses, map_bodies, names_in, with_bodies
from transpile.ir.primitive import TABLE
from transpile.ir.types import BOOL, FLOAT32, FLOAT64, INT64
from transpile.machine import Machine
from transpile.options import Options
from transpile.primitives.kinds import comparison_of
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import replace

# A flag of the width of the numbers: vectors of both have as many lanes.
_FLAGS: dict[np.dtype[Any], np.dtype[Any]] = {FLOAT32: np.dtype(np.int32), FLOAT64: INT64}


def extremes(program: Program, options: Options) -> Program:
    """The program with such loops changed; unchanged where NaNs do not matter."""
    machine = options.machine
    if options.fast_math:
        return program
    names = Names(names_in(program))
    return map_bodies(program, lambda body: tuple(_body(body, names.inner(), machine)))


def _body(body: tuple[Statement, ...], names: Names, machine: Machine) -> Iterator[Statement]:
    own = {s.buffer.name: s.buffer for s in body if isinstance(s, Alloc)}
    for statement in body:
        found = _extremes(statement, machine) if isinstance(statement, For) else {}
        strip = _strip(statement, machine)
        columns = [] if strip is None else _of_columns(statement, strip, own)
        if isinstance(statement, For) and found:
            yield from _flagged(statement, found, names)
        elif isinstance(statement, For) and strip is not None and columns:
            yield from _flagged_columns(statement, strip, columns, own, names)
        else:
            yield with_bodies(statement, lambda inner: tuple(_body(inner, names, machine)))


def _extremes(loop: For, machine: Machine) -> dict[str, Update]:
    """The updates of a long loop's accumulators of this kind."""
    shortest = min(machine.shortest_search, machine.shortest_search_of_both)
    if not loop.simd or loop.parallel or trips(loop) < shortest:
        return {}
    wanted = {name for op, name in loop.reductions if TABLE[op].chooses}
    found = {
        s.target.name: s
        for s in loop.body
        if isinstance(s, Update)
        and isinstance(s.target, Ref)
        and s.target.name in wanted
        and s.target.dtype in _FLAGS
        and s.value.dtype == s.target.dtype
    }
    if trips(loop) >= machine.shortest_search:
        return found
    values = [s.value for s in found.values()]
    return {name: s for name, s in found.items() if _is_shared(s.value, values)}


def _is_shared(value: Expr, values: list[Expr]) -> bool:
    """Tell whether a value is there more than once, so that its NaNs are noted once for all."""
    return isinstance(value, Ref | Load) and values.count(value) > 1


def _flagged(loop: For, found: dict[str, Update], names: Names) -> Iterator[Statement]:
    flags: dict[Expr, Ref] = {}  # for each value that is compared; several may be the same
    body: list[Statement] = []
    noting: list[Update] = []
    for statement in loop.body:
        if not isinstance(statement, Update) or statement not in found.values():
            body.append(statement)
            continue
        value, dtype = statement.value, statement.value.dtype
        if not isinstance(value, Ref | Load):
            value = Ref(names.new("t"), dtype)
            body.append(Declare(value.name, statement.value))
        body.append(Update(statement.target, "set", _closer(statement, value)))
        if value not in flags:
            flags[value] = Ref(names.new("is_nan"), _FLAGS[dtype])
            body.append(_note(flags[value], value))
        noting.append(replace(statement, value=flags[value]))
    for flag in flags.values():
        yield Declare(flag.name, Literal(flag.dtype.type(0), flag.dtype), constant=False)
    noted_in = tuple(("bitwise_or", flag.name) for flag in flags.values())
    yield replace(loop, body=tuple(body), reductions=(*loop.reductions, *noted_in))
    for update in noting:
        yield Update(update.target, "set", _seen(update.value, update.target))


def _closer(update: Update, value: Expr) -> Expr:
    """What is closer to the extreme, the value or what was found before; not a NaN."""
    is_closer = comparison_of(TABLE[update.op].chooses)
    closer = Apply(is_closer.name, (value, update.target), BOOL)
    return Apply("select", (closer, value, update.target), value.dtype)


def _note(flag: Ref | Load, value: Expr) -> Update:
    """The flag is set where the value is a NaN."""
    noted = Apply("convert_element_type", (Apply("isnan", (value,), BOOL),), flag.dtype)
    return Update(flag, "bitwise_or", noted)


def _seen(flag: Expr, extreme: Expr) -> Expr:
    """The extreme, or a NaN if the flag says that there was one."""
    is_nan = Apply("not_equal", (flag, Literal(flag.dtype.type(0), flag.dtype)), BOOL)
    nan = Literal(extreme.dtype.type(np.nan), extreme.dtype)
    return Apply("select", (is_nan, nan, extreme), extreme.dtype)


def _strip(statement: Statement, machine: Machine) -> For | None:
    """The loop over a strip of columns that is all that a long loop over rows does."""
    match statement:
        case For(body=(For(simd=True) as strip,)):
            in_order = not statement.ordered and not statement.parallel
            return strip if in_order and trips(statement) >= machine.fewest_searched_rows else None
        case _:
            return None


def _of_columns(rows: Statement, strip: For, own: dict[str, Buffer]) -> list[Update]:
    """The updates of local arrays with an element for each column, which nothing else uses, by
    values of which both extremes are wanted: a single one takes no longer with its questions."""
    if not isinstance(rows, For):
        return []
    found = []
    used = [name for s in strip.body for name, _ in accesses(s)]
    for s in strip.body:
        if not isinstance(s, Update) or s.primitive is None or not s.primitive.chooses:
            continue
        if isinstance(s.target, Load):
            symbols = {symbol for i in s.target.index for symbol in symbols_of(i)}
            is_plain = s.target.dtype in _FLAGS and s.value.dtype == s.target.dtype
            is_own = s.target.buffer in own and used.count(s.target.buffer) == 1
            if is_plain and is_own and strip.symbol in symbols and rows.symbol not in symbols:
                found.append(s)
    compared = [_compared(s) for s in found]
    return [
        s for s in found if isinstance(s.value, Ref | Load) and compared.count(_compared(s)) > 1
    ]


def _compared(update: Update) -> tuple[Expr, Shape]:
    """What an update of columns compares, and for which of them."""
    return update.value, update.target.index if isinstance(update.target, Load) else ()


def _flagged_columns(
    rows: For, strip: For, found: list[Update], own: dict[str, Buffer], names: Names
) -> Iterator[Statement]:
    """The loops over the strip before and after the one over rows, and that one between them."""
    flags: dict[tuple[Expr, Shape], Load] = {}
    body: list[Statement] = []
    ends: list[Statement] = []
    for statement in strip.body:
        if not isinstance(statement, Update) or statement not in found:
            body.append(statement)
            continue
        target, value, key = statement.target, statement.value, _compared(statement)
        if not isinstance(target, Load):
            raise TypeError(f"{target} is not an element of an array")
        body.append(Store(target.buffer, target.index, _closer(statement, value)))
        if key not in flags:
            flag = Buffer(names.new("is_nan"), own[target.buffer].shape, _FLAGS[value.dtype])
            flags[key] = Load(flag.name, target.index, flag.dtype)
            yield Alloc(flag)
            body.append(_note(flags[key], value))
        ends.append(Store(target.buffer, target.index, _seen(flags[key], target)))
    zeros = [Store(f.buffer, f.index, Literal(f.dtype.type(0), f.dtype)) for f in flags.values()]
    yield replace(strip, body=tuple(zeros), reductions=())
    yield replace(rows, body=(replace(strip, body=tuple(body)),))
    yield replace(strip, body=tuple(ends), reductions=())
