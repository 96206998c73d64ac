"""Narrow accumulators: counts and sums of small integers in words that lanes are full of.

A sum of bools or bytes is an int64 in NumPy, of which a vector has few lanes. The sum of so many
small numbers as one loop has fits into 16 or 32 bits; it is added to the int64 after the loop:

    for i simd add:count: count += int64(x[i])
    narrow = 0:u16;  for i simd add:narrow: narrow += u16(x[i]);  count += int64(narrow)

The word is no narrower than what the term is computed of, whose lanes it shares. Integers wrap
around, so that the order of additions is free. Runs after `vectorize_loops`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import LANES_BOUND
from transpile.ir.loop_ir import (
    Apply,
    Declare,
    Expr,
    For,
    Literal,
    Program,
    Ref,
    Statement,
    Update,
)
from transpile.ir.loop_rewrite import map_bodies, names_in, subexpressions, with_bodies
from transpile.options import Options
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import replace

DType = np.dtype[Any]
_WORDS = tuple(map(np.dtype, ("u2", "i2", "u4", "i4")))


@contract(requires=(LANES_BOUND,))
def narrow_sums(program: Program, options: Options) -> Program:
    """The program with sums of small integers in narrow accumulators."""
    names = Names(names_in(program))
    return map_bodies(program, lambda body: tuple(_body(body, names.inner())))


def _body(body: tuple[Statement, ...], names: Names) -> Iterator[Statement]:
    for statement in body:
        if isinstance(statement, For) and statement.simd and not statement.parallel:
            yield from _narrowed(statement, names)
        else:
            yield with_bodies(statement, lambda inner: tuple(_body(inner, names)))


def _narrowed(loop: For, names: Names) -> Iterator[Statement]:
    """The loop with its narrow accumulators, between their declarations and their last use."""
    body: list[Statement] = []
    after: list[Statement] = []
    parts: dict[str, str] = {}
    for statement in loop.body:
        match statement:
            case Update(target=Ref(name=name, dtype=dtype), value=Apply(args=(term, *_))) if (
                word := _word(statement, loop)
            ) is not None:
                part = Ref(names.new(f"narrow_{name}"), word)
                parts[name] = part.name
                yield Declare(part.name, Literal(word.type(0), word), constant=False)
                body.append(Update(part, "add", _converted(term, word)))
                after.append(replace(statement, value=_converted(part, dtype)))
            case _:
                body.append(statement)
    if parts:
        pairs = ((op, parts.get(name, name)) for op, name in loop.reductions)
        loop = replace(loop, body=tuple(body), reductions=tuple(sorted(pairs)))
    yield loop
    yield from after


def _converted(expr: Expr, dtype: DType) -> Expr:
    return Apply("convert_element_type", (expr,), dtype)


def _word(update: Update, loop: For) -> DType | None:
    """The narrow dtype for an accumulator: it holds all sums of the loop's terms. None where the
    update is no such sum, or nothing is gained."""
    target, value = update.target, update.value
    if not isinstance(target, Ref) or ("add", target.name) not in loop.reductions:
        return None
    if update.op != "add" or target.dtype.kind not in "iu" or not isinstance(loop.extent, int):
        return None
    same_target = [s for s in loop.body if isinstance(s, Update) and s.target == target]
    if len(same_target) > 1:
        return None
    match value:
        case Apply(op="convert_element_type", args=(term,)) if term.dtype.kind in "biu":
            is_bool = term.dtype.kind == "b"
            low = 0 if is_bool else int(np.iinfo(term.dtype).min) * loop.extent
            high = (1 if is_bool else int(np.iinfo(term.dtype).max)) * loop.extent
            declared = {s.name: s.value for s in loop.body if isinstance(s, Declare)}
            width = _width(term, declared)
            fitting = (
                word
                for word in _WORDS
                if np.iinfo(word).min <= low and high <= np.iinfo(word).max
                if width <= word.itemsize < target.dtype.itemsize
            )
            return next(fitting, None)
        case _:
            return None


def _width(expr: Expr, declared: Mapping[str, Expr]) -> int:
    """The size of the widest number that an expression is computed of, in bytes.

    declared  the values of the scalars of an iteration
    """
    return max(
        _width(declared[part.name], declared)
        if isinstance(part, Ref) and part.name in declared
        else part.dtype.itemsize
        for part in subexpressions(expr)
    )
