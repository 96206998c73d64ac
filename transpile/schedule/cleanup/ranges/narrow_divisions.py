"""Divisions of small integers in vector loops in 32 bits.

    for i in 0..20000 simd: r = remainder(i, 7)    ->    r = i64(remainder(u32(i), 7))

Python's integers have 64 bits, of which processors have no vectors of divisions. Where the ranges
of integers are known, as those of counters are, a division by a number that compilers know is one
multiplication of 32 bits and a shift, without a case for negative numbers. Divisions by other
numbers take less time, too. Scalar code is faster with one width throughout. Runs when no other
pass looks for divisions any more.
"""

from __future__ import annotations

from transpile.analysis.integer_ranges import Facts
from transpile.ir.contracts import contract
from transpile.ir.indices.intervals import full, is_inside
from transpile.ir.loop_ir import Apply, Expr, Literal, Program
from transpile.ir.loop_rewrite import map_expr, parts, walk
from transpile.ir.types import INT64, UINT32
from transpile.options import Options
from transpile.primitives.elementwise.arithmetic import floor_divide, remainder
from transpile.primitives.elementwise.identities import convert
from transpile.schedule.cleanup.ranges.settled_comparisons import rewritten

_DIVISIONS = {floor_divide.name, remainder.name}


@contract()
def narrow_divisions(program: Program, options: Options) -> Program:
    """The program with divisions in lanes of integers that 32 bits hold in such words."""
    has_some = any(
        _is_division(part) for k in program.kernels for s in walk(k.body) for part in parts(s)
    )
    return rewritten(program, _narrowed) if has_some else program


def _is_division(expr: Expr) -> bool:
    return isinstance(expr, Apply) and expr.op in _DIVISIONS and expr.dtype == INT64


def _narrowed(expr: Expr, facts: Facts) -> Expr:
    def visit(part: Expr) -> Expr:
        if not isinstance(part, Apply) or not _is_division(part):
            return part
        x, y = (facts.range_of(arg) for arg in part.args)
        if y[0] < 1 or not all(is_inside(r, full(UINT32)) for r in (x, y)):
            return part
        narrow = Apply(part.op, tuple(map(_word, part.args)), UINT32)
        return Apply(convert.name, (narrow,), INT64)

    return map_expr(expr, visit)


def _word(expr: Expr) -> Expr:
    if isinstance(expr, Literal):
        return Literal(UINT32.type(expr.value), UINT32)
    return Apply(convert.name, (expr,), UINT32)
