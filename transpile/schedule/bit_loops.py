"""Loop idioms: loops that count the bits of an integer are one instruction.

    while x != 0:                               n += bitwise_count(x)
        x &= x - 1;  n += 1             ->      x = 0
    while x > 0:
        n += x & 1;  x >>= 1

Compilers know the first one (Wegner 1960) as long as its arithmetic may not overflow. That of
Python's integers wraps around.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from transpile.ir.contracts import contract
from transpile.ir.indices.values import convert
from transpile.ir.loop_ir import (
    Apply,
    Expr,
    If,
    Literal,
    Program,
    Ref,
    Statement,
    Update,
    While,
)
from transpile.ir.loop_rewrite import map_bodies, subexpressions, with_bodies
from transpile.ir.types import UINT8
from transpile.options import Options

Body = tuple[Statement, ...]


@contract()
def count_bits(program: Program, options: Options) -> Program:
    """The program whose loops that count bits are instructions."""
    return map_bodies(program, _body)


def _body(body: Body) -> Body:
    return tuple(s for statement in body for s in _statement(statement))


def _statement(statement: Statement) -> Iterator[Statement]:
    if isinstance(statement, While) and not statement.test:
        match statement.condition:
            case Apply(op="not_equal", args=(Ref() as x, Literal(value=0))) if _is_integer(x):
                counted = _counted(statement.body, x, _clears_last, _is_known)
                if counted or (counted := _counted(statement.body, x, _shifts, _is_last)):
                    yield from counted
                    return
            case Apply(op="greater", args=(Ref() as x, Literal(value=0))) if _is_integer(x):
                if counted := _counted(statement.body, x, _shifts, _is_last):
                    yield If(statement.condition, counted)
                    return
    yield with_bodies(statement, _body)


def _is_integer(x: Ref) -> bool:
    return x.dtype.kind in "iu"


def _counted(
    body: Body,
    x: Ref,
    drops: Callable[[Update, Ref], bool],
    counts: Callable[[Expr, Ref], bool],
) -> Body:
    """What a loop does all in all whose last statement, or first one where that does not matter,
    drops a bit of x, and whose others count it; nothing for other loops."""
    dropping = [s for s in body if isinstance(s, Update) and s.target == x]
    counting = [s for s in body if s not in dropping]
    names = {s.target.name for s in counting if isinstance(s, Update) and isinstance(s.target, Ref)}
    if len(dropping) != 1 or not drops(dropping[0], x) or len(names) != len(counting):
        return ()
    if counts is _is_last and body[-1] is not dropping[0]:
        return ()
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    bits = Apply("bitwise_count", (convert(x, unsigned),), UINT8)
    result: list[Statement] = []
    for statement in counting:
        assert isinstance(statement, Update)
        value, dtype = statement.value, statement.target.dtype
        if statement.op != "add" or dtype.kind not in "iu" or not counts(value, x):
            return ()
        if any(isinstance(p, Ref) and p.name in names for p in subexpressions(value)):
            return ()
        total = convert(bits, dtype)
        if isinstance(value, Literal) and value.value != 1:
            total = Apply("multiply", (total, value), dtype)
        result.append(Update(statement.target, "add", total, statement.source))
    zero = Literal(x.dtype.type(0), x.dtype)
    return (*result, Update(x, "set", zero, dropping[0].source))


def _clears_last(update: Update, x: Ref) -> bool:
    """True for `x &= x - 1`."""
    match update:
        case Update(op="bitwise_and", value=Apply(op="subtract", args=(y, Literal(value=1)))):
            return y == x
    return False


def _shifts(update: Update, x: Ref) -> bool:
    """True for `x >>= 1`."""
    match update:
        case Update(op="right_shift", value=Literal(value=1)):
            return True
        case Update(op="set", value=Apply(op="right_shift", args=(y, Literal(value=1)))):
            return y == x
    return False


def _is_known(value: Expr, x: Ref) -> bool:
    """True for a number, so much for each bit."""
    return isinstance(value, Literal)


def _is_last(value: Expr, x: Ref) -> bool:
    """True for `x & 1`, or the number of the truth that it is not 0."""
    match value:
        case Apply(op="convert_element_type", args=(inner,)):
            return _is_last(inner, x)
        case Apply(op="not_equal", args=(bit, Literal(value=0))):
            return _is_last(bit, x)
        case Apply(op="bitwise_and", args=(y, Literal(value=1))):
            return y == x
    return False
