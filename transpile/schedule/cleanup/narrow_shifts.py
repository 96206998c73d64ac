"""Shifts of which the lower 32 bits are kept are shifts of 32 bits.

    x ^= (x << 13) & 0xFFFFFFFF      ->      x ^= int64(uint32(x) << 13)

A processor clears the upper half of a register with each operation of 32 bits, so that nothing is
left to be done. Compilers do so for sums and products, but a shift they follow with a move, which
takes a cycle of a chain such as that of Marsaglia's xorshift generators. In lanes the conversions
would cost more than the mask. Runs after `vectorize_loops`.
"""

from __future__ import annotations

import numpy as np

from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import LANES_BOUND
from transpile.ir.indices.values import convert
from transpile.ir.loop_ir import Apply, Expr, For, Literal, Program, Statement
from transpile.ir.loop_rewrite import map_bodies, map_statement, walk, with_bodies
from transpile.options import Options
from transpile.primitives.elementwise.bits import bitwise_and, left_shift
from transpile.util.frozen_records import same

Body = tuple[Statement, ...]
UINT32 = np.dtype(np.uint32)
_LOWER_HALF = (1 << 32) - 1


@contract(requires=(LANES_BOUND,))
def narrow_shifts(program: Program, options: Options) -> Program:
    """The program with such shifts outside of vector lanes."""
    return map_bodies(program, _body)


def _body(body: Body) -> Body:
    return same(body, tuple(map(_statement, body)))


def _statement(statement: Statement) -> Statement:
    if isinstance(statement, For) and statement.simd:
        return statement
    if any(isinstance(s, For) and s.simd for s in walk((statement,))):
        return with_bodies(statement, _body)
    return map_statement(statement, _narrow)


def _narrow(expr: Expr) -> Expr:
    match expr:
        case (
            Apply(op=bitwise_and.name, args=(shift, Literal(value=mask)))
            | Apply(op=bitwise_and.name, args=(Literal(value=mask), shift))
        ) if mask == _LOWER_HALF:
            pass
        case _:
            return expr
    match shift:
        case Apply(op=left_shift.name, args=(x, Literal(value=count))) if 0 <= count < 32:
            places = Literal(np.uint32(count), UINT32)
            return convert(Apply(shift.op, (convert(x, UINT32), places), UINT32), expr.dtype)
    return expr
