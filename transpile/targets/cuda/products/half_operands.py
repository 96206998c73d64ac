"""Products of arrays of float32 that hold nothing but halves, on the tensor cores of these.

    for i: t[i] = f32(x[i]) if i < 9 else 0    for i: t[i] = x[i] if i < 9 else 0   (t of halves)
    call out = t w                             call out = t w

The patches of a convolution of halves are such. An operand that is converted and no more is read as
halves anyway (`library/matmul.py`). Products of halves are exact in float32, in which they are
summed up in any case.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transpile.intrinsics.products import Matmul, MatmulBatch
from transpile.ir.calls import Call
from transpile.ir.loop_ir import (
    Apply,
    DType,
    Expr,
    For,
    If,
    Literal,
    Load,
    Program,
    Statement,
    Store,
    While,
)
from transpile.ir.loop_rewrite import accessed, map_statement, walk, with_bodies, written
from transpile.ir.types import FLOAT32, is_half
from transpile.primitives.elementwise import convert, select
from transpile.util.frozen_records import replace


def with_half_operands(program: Program) -> Program:
    """The program, whose operands of products are halves where they hold nothing else."""
    statements = [s for kernel in program.kernels for s in walk(kernel.body)]
    temporaries = [b.name for b in program.temporaries if b.dtype == FLOAT32]
    found = {name: _halves_of(name, statements) for name in temporaries}
    narrow = _of_products({n: d for n, d in found.items() if d is not None}, statements)
    if not narrow:
        return program

    def on_expr(expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr.buffer in narrow:
            return replace(expr, dtype=narrow[expr.buffer])
        return expr

    def on_body(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(with_bodies(on_statement(s), on_body) for s in body)

    def on_statement(statement: Statement) -> Statement:
        if isinstance(statement, Store) and statement.buffer in narrow:
            value = _narrowed(statement.value, narrow[statement.buffer])
            assert value is not None  # by `_halves_of`
            return replace(statement, value=value)
        return map_statement(statement, on_expr) if isinstance(statement, Call) else statement

    kernels = tuple(replace(kernel, body=on_body(kernel.body)) for kernel in program.kernels)
    buffers = tuple(replace(b, dtype=narrow.get(b.name, b.dtype)) for b in program.temporaries)
    return replace(program, kernels=kernels, temporaries=buffers)


def _of_products(known: dict[str, DType], statements: Sequence[Statement]) -> dict[str, DType]:
    """Those of some buffers that only products read whose other operand is one of them, too, of
    the same halves."""
    while True:
        kept = dict(known)
        for statement in statements:
            used = accessed(statement) & kept.keys()
            match statement:
                case Matmul() | MatmulBatch() if statement.c.buffer not in used:
                    dtypes = {kept.get(x.buffer) for x in (statement.a, statement.b)}
                    is_one = len(dtypes) == 1 and None not in dtypes
                case _:
                    is_one = used <= set(written(statement))
            for name in () if is_one else used:
                del kept[name]
        if kept == known:
            return kept
        known = kept


def _halves_of(name: str, statements: Sequence[Statement]) -> DType | None:
    """The halves that all stores into a buffer have, which nothing else changes."""
    found: set[DType | None] = set()
    for statement in statements:
        if isinstance(statement, Store) and statement.buffer == name:
            found |= _converted(statement.value)
        elif not isinstance(statement, For | If | While) and name in written(statement):
            return None
    dtypes = [dtype for dtype in found if dtype is not None]
    stores = [s for s in statements if isinstance(s, Store) and s.buffer == name]
    if len(dtypes) != 1 or any(_narrowed(s.value, dtypes[0]) is None for s in stores):
        return None
    return dtypes[0]


def _converted(value: Expr) -> set[DType | None]:
    """The halves that are converted in a value, or chosen."""
    if isinstance(value, Apply) and value.op == select.name:
        return _converted(value.args[1]) | _converted(value.args[2])
    if isinstance(value, Apply) and value.op == convert.name and is_half(value.args[0].dtype):
        return {value.args[0].dtype}
    return {None}


def _narrowed(value: Expr, dtype: DType) -> Expr | None:
    """A value of float32 as one of halves, if it is chosen of such, and of numbers they have."""
    match value:
        case Apply(op=select.name, args=(condition, first, second)):
            chosen = _narrowed(first, dtype), _narrowed(second, dtype)
            if chosen[0] is None or chosen[1] is None:
                return None
            return Apply(select.name, (condition, chosen[0], chosen[1]), dtype)
        case Apply(op=convert.name, args=(inner,)) if inner.dtype == dtype:
            return inner
        case Literal(value=number):
            rounded = np.asarray(number).astype(dtype)
            return Literal(rounded[()], dtype) if rounded.astype(FLOAT32) == number else None
        case _:
            return None
