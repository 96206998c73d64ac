"""Extremes: the search for a largest or smallest float looks for NaNs beside it.

NumPy's maximum is a NaN if there is one, and to ask for that at each step of a running maximum
takes longer than the rest of the step, for which the next one waits. In long loops the steps leave
NaNs out, a flag of its own notes them, and the end of the loop looks at the flag.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from transpile.cost import trips
from transpile.loops import (
    Apply,
    Declare,
    Expr,
    For,
    Literal,
    Load,
    Program,
    Ref,
    Statement,
    Update,
)
from transpile.names import Names
from transpile.options import Options
from transpile.types import BOOL, FLOAT32, FLOAT64, INT64
from transpile.walks import names_in, with_bodies

# Shorter loops are over before it pays.
SHORTEST = 256

_COMPARISONS = {"maximum": "greater", "minimum": "less"}
# A flag of the width of the numbers: vectors of both have as many lanes.
_FLAGS: dict[np.dtype[Any], np.dtype[Any]] = {FLOAT32: np.dtype(np.int32), FLOAT64: INT64}


def extremes(program: Program, options: Options) -> Program:
    """The program with such loops changed; unchanged where NaNs do not matter."""
    if options.fast_math:
        return program
    names = Names(names_in(program))
    kernels = []
    for kernel in program.kernels:
        kernels.append(replace(kernel, body=tuple(_body(kernel.body, names.inner()))))
    return replace(program, kernels=tuple(kernels))


def _body(body: tuple[Statement, ...], names: Names) -> Iterator[Statement]:
    for statement in body:
        found = _extremes(statement) if isinstance(statement, For) else {}
        if isinstance(statement, For) and found:
            yield from _flagged(statement, found, names)
        else:
            yield with_bodies(statement, lambda inner: tuple(_body(inner, names)))


def _extremes(loop: For) -> dict[str, Update]:
    """The updates of a long loop's accumulators of this kind."""
    if not loop.simd or loop.parallel or trips(loop) < SHORTEST:
        return {}
    wanted = {name for op, name in loop.reductions if op in _COMPARISONS}
    return {
        s.target.name: s
        for s in loop.body
        if isinstance(s, Update)
        and isinstance(s.target, Ref)
        and s.target.name in wanted
        and s.target.dtype in _FLAGS
        and s.value.dtype == s.target.dtype
    }


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
        closer = Apply(_COMPARISONS[statement.op], (value, statement.target), BOOL)
        chosen = Apply("select", (closer, value, statement.target), dtype)
        body.append(Update(statement.target, "set", chosen))
        if value not in flags:
            flags[value] = Ref(names.new("is_nan"), _FLAGS[dtype])
            is_nan = Apply("isnan", (value,), BOOL)
            noted = Apply("convert_element_type", (is_nan,), _FLAGS[dtype])
            body.append(Update(flags[value], "bitwise_or", noted))
        noting.append(replace(statement, value=flags[value]))
    for flag in flags.values():
        yield Declare(flag.name, Literal(flag.dtype.type(0), flag.dtype), constant=False)
    noted_in = tuple(("bitwise_or", flag.name) for flag in flags.values())
    yield replace(loop, body=tuple(body), reductions=(*loop.reductions, *noted_in))
    for update in noting:
        zero = Literal(update.value.dtype.type(0), update.value.dtype)
        is_nan = Apply("not_equal", (update.value, zero), BOOL)
        nan = Literal(update.target.dtype.type(np.nan), update.target.dtype)
        chosen = Apply("select", (is_nan, nan, update.target), update.target.dtype)
        yield Update(update.target, "set", chosen)
