"""Take the propagation of NaNs off the critical path of long float minima and maxima.

NumPy's maximum is NaN if any element is, and a test for that in the recurrence `acc = max(acc, x)`
doubles the latency of its dependence chain. Here the recurrence ignores NaNs, an integer flag as
wide as the floats accumulates `isnan(x)` in lanes, and the result is selected after the loop:

    for i: acc = maximum(acc, x[i])
    for i: acc = x[i] > acc ? x[i] : acc;  flag |= isnan(x[i])
    acc = flag != 0 ? nan : acc

Where NaNs take no part there is nothing to note, as none is better than the accumulator:

    for i: acc = maximum(acc, isnan(x[i]) ? -inf : x[i])
    for i: acc = x[i] > acc ? x[i] : acc

The same for a strip of columns (`vectorize_columns`), with a flag for each column, where both the
minimum and the maximum are computed: they share the flags. Runs after `vectorize_loops`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from transpile.analysis.cost_model import trips
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import INNERMOST_LANES, LANES_BOUND, ONE_VERSION, STACK_BOUNDED
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
from transpile.util.frozen_records import changed, replace, same

# A flag of the width of the numbers: vectors of both have as many lanes.
_FLAGS: dict[np.dtype[Any], np.dtype[Any]] = {FLOAT32: np.dtype(np.int32), FLOAT64: INT64}


# Accumulators of columns are found in memory, where jammed rows have them in variables.
@contract(requires=(LANES_BOUND, INNERMOST_LANES, ONE_VERSION), destroys=(STACK_BOUNDED,))
def flag_nans(program: Program, options: Options) -> Program:
    """The program with NaNs of long reductions in flags; unchanged under `fast_math`, which ignores
    NaNs."""
    machine = options.machine
    if options.fast_math:
        return program
    names = Names(names_in(program))
    return map_bodies(program, lambda body: tuple(_body(body, names.inner(), machine)))


def _body(body: tuple[Statement, ...], names: Names, machine: Machine) -> Iterator[Statement]:
    own = {s.buffer.name: s.buffer for s in body if isinstance(s, Alloc)}
    numbers = {
        s.name
        for s in body
        if isinstance(s, Declare)
        and isinstance(s.value, Literal)
        and s.value.value == s.value.value
    }
    for before in body:
        statement = _with_numbers_only(before) if isinstance(before, For) else before
        scalars = _extreme_updates(statement, machine) if isinstance(statement, For) else {}
        strip = _strip(statement, machine)
        columns = [] if strip is None else _column_updates(statement, strip, own)
        if isinstance(statement, For) and scalars:
            yield from _flagged(statement, scalars, names, numbers)
            numbers -= scalars.keys()
        elif isinstance(statement, For) and strip is not None and columns:
            yield from _flagged_columns(statement, strip, columns, own, names)
        else:
            yield with_bodies(statement, lambda inner: tuple(_body(inner, names, machine)))


def _with_numbers_only(loop: For) -> For:
    """A vector loop in which extremes of what is no NaN are compared with NaNs, too."""
    named = {s.name: s.value for s in loop.body if isinstance(s, Declare)}
    body: list[Statement] = []
    for s in loop.body if loop.simd else ():
        if isinstance(s, Update) and s.primitive is not None and s.primitive.chooses:
            number = _number_of(s.value, s.primitive.neutral(s.value.dtype), named)
            if number is not None and s.target.dtype == s.value.dtype:
                better, target = _better(s, number), s.target
                is_scalar = isinstance(target, Ref)
                s = Update(target, "set", better) if is_scalar else _stored(target, better)
        body.append(s)
    return changed(loop, body=same(loop.body, tuple(body))) if body else loop


def _stored(target: Ref | Load, value: Expr) -> Statement:
    assert isinstance(target, Load)
    return Store(target.buffer, target.index, value)


def _number_of(value: Expr, worst: Any, named: Mapping[str, Expr]) -> Expr | None:
    """What a value is where it is no NaN, if it is the worst number for NaNs; None for others."""

    def resolved(expr: Expr) -> Expr:
        return named.get(expr.name, expr) if isinstance(expr, Ref) else expr

    match resolved(value):
        case Apply(op="select", args=(test, Literal(value=other), number)):
            is_nan = Apply("isnan", (number,), BOOL)
            plain = resolved(test)
            if worst is not None and other == worst and plain == is_nan:
                return number
    return None


def _extreme_updates(loop: For, machine: Machine) -> dict[str, Update]:
    """The minimum and maximum updates of a vector loop that is long enough, by accumulator."""
    if not loop.simd or loop.parallel or trips(loop) < machine.shortest_search:
        return {}
    accumulators = {name for op, name in loop.reductions if TABLE[op].chooses}
    return {
        s.target.name: s
        for s in loop.body
        if isinstance(s, Update)
        and s.op != "set"
        and isinstance(s.target, Ref)
        and s.target.name in accumulators
        and s.target.dtype in _FLAGS
        and s.value.dtype == s.target.dtype
    }


def _flagged(
    loop: For, updates: dict[str, Update], names: Names, numbers: set[str]
) -> Iterator[Statement]:
    """The declarations of flags, the loop with them, and the selections after it. The flag of an
    accumulator that is not known to be a number before the loop begins with whether it is NaN."""
    flags: dict[Expr, Ref] = {}  # by compared value: updates may share one
    body: list[Statement] = []
    selections: list[Update] = []
    for statement in loop.body:
        if not isinstance(statement, Update) or statement not in updates.values():
            body.append(statement)
            continue
        value, dtype = statement.value, statement.value.dtype
        if not isinstance(value, Ref | Load):
            value = Ref(names.new("t"), dtype)
            body.append(Declare(value.name, statement.value))
        body.append(Update(statement.target, "set", _better(statement, value)))
        if value not in flags:
            flags[value] = Ref(names.new("is_nan"), _FLAGS[dtype])
            body.append(_set_if_nan(flags[value], value))
        selections.append(replace(statement, value=flags[value]))
    for flag in flags.values():
        yield Declare(flag.name, Literal(flag.dtype.type(0), flag.dtype), constant=False)
    for update in selections:
        if isinstance(update.target, Ref) and update.target.name not in numbers:
            assert isinstance(update.value, Ref)
            yield _set_if_nan(update.value, update.target)
    flag_reductions = tuple(("bitwise_or", flag.name) for flag in flags.values())
    yield replace(loop, body=tuple(body), reductions=(*loop.reductions, *flag_reductions))
    for update in selections:
        yield Update(update.target, "set", _or_nan(update.value, update.target))


def _better(update: Update, value: Expr) -> Expr:
    """The better of the value and the accumulator; never the value if that is NaN."""
    comparison = comparison_of(TABLE[update.op].chooses)
    is_better = Apply(comparison.name, (value, update.target), BOOL)
    return Apply("select", (is_better, value, update.target), value.dtype)


def _set_if_nan(flag: Ref | Load, value: Expr) -> Update:
    """The update of a flag by whether the value is NaN."""
    is_nan_flag = Apply("convert_element_type", (Apply("isnan", (value,), BOOL),), flag.dtype)
    return Update(flag, "bitwise_or", is_nan_flag)


def _or_nan(flag: Expr, extreme: Expr) -> Expr:
    """The accumulator, or NaN if the flag is set."""
    is_nan = Apply("not_equal", (flag, Literal(flag.dtype.type(0), flag.dtype)), BOOL)
    nan = Literal(extreme.dtype.type(np.nan), extreme.dtype)
    return Apply("select", (is_nan, nan, extreme), extreme.dtype)


def _strip(statement: Statement, machine: Machine) -> For | None:
    """The vector loop over a strip of columns, where it is the whole body of a long sequential loop
    over rows."""
    match statement:
        case For(body=(For(simd=True) as strip,)):
            in_order = not statement.ordered and not statement.parallel
            return strip if in_order and trips(statement) >= machine.fewest_searched_rows else None
        case _:
            return None


def _column_updates(rows: Statement, strip: For, own: dict[str, Buffer]) -> list[Update]:
    """The updates of local arrays of column accumulators, which nothing else accesses, by values of
    which both extremes are computed: a single one gains nothing."""
    if not isinstance(rows, For):
        return []
    updates = []
    used = [name for s in strip.body for name, _ in accesses(s)]
    for s in strip.body:
        if not isinstance(s, Update) or s.primitive is None or not s.primitive.chooses:
            continue
        if isinstance(s.target, Load):
            symbols = {symbol for i in s.target.index for symbol in symbols_of(i)}
            is_plain = s.target.dtype in _FLAGS and s.value.dtype == s.target.dtype
            is_own = s.target.buffer in own and used.count(s.target.buffer) == 1
            if is_plain and is_own and strip.symbol in symbols and rows.symbol not in symbols:
                updates.append(s)
    compared = [_flag_key(s) for s in updates]
    return [
        s for s in updates if isinstance(s.value, Ref | Load) and compared.count(_flag_key(s)) > 1
    ]


def _flag_key(update: Update) -> tuple[Expr, Shape]:
    """The operand of a column update with the subscript of its accumulator: updates of equal key
    share a flag."""
    return update.value, update.target.index if isinstance(update.target, Load) else ()


def _flagged_columns(
    rows: For, strip: For, updates: list[Update], own: dict[str, Buffer], names: Names
) -> Iterator[Statement]:
    """The loop over the strip that clears flags, the loop over rows with them, and the selections
    after it."""
    flags: dict[tuple[Expr, Shape], Load] = {}
    body: list[Statement] = []
    selected: list[Statement] = []
    for statement in strip.body:
        if not isinstance(statement, Update) or statement not in updates:
            body.append(statement)
            continue
        target, value, key = statement.target, statement.value, _flag_key(statement)
        if not isinstance(target, Load):
            raise TypeError(f"{target} is not an element of an array")
        body.append(Store(target.buffer, target.index, _better(statement, value)))
        if key not in flags:
            flag = Buffer(names.new("is_nan"), own[target.buffer].shape, _FLAGS[value.dtype])
            flags[key] = Load(flag.name, target.index, flag.dtype)
            yield Alloc(flag)
            body.append(_set_if_nan(flags[key], value))
        selected.append(Store(target.buffer, target.index, _or_nan(flags[key], target)))
    zeros = [Store(f.buffer, f.index, Literal(f.dtype.type(0), f.dtype)) for f in flags.values()]
    yield replace(strip, body=tuple(zeros), reductions=())
    yield replace(rows, body=(replace(strip, body=tuple(body)),))
    yield replace(strip, body=tuple(selected), reductions=())
