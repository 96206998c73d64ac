"""Conditions of branches as values that lanes compute, before the branches are taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from transpile.analysis.elements.bounds import Ranges, is_in_bounds
from transpile.ir.dims import Index, Symbol
from transpile.ir.indices.row_major import row_major, step_of
from transpile.ir.loop_ir import Apply, Buffer, Declare, Expr, For, Load, Statement
from transpile.ir.loop_rewrite import map_expr, names_read, substitute_index
from transpile.ir.types import BOOL
from transpile.schedule.lanes.if_conversion import has_vector_code

Body = tuple[Statement, ...]
Mask = tuple[Declare, ...]
_WIDEST = 4  # elements of rows whose columns compilers put together from vectors


def mask_of(before: Sequence[Statement], condition: Expr) -> Mask:
    """What computes a condition, behind these constants: it is the value of the last
    declaration."""
    test = Declare("taken", map_expr(condition, _both))
    return (*constants_of(before, (test,)), test)


def _both(expr: Expr) -> Expr:
    """A conjunction or disjunction with both operands."""
    match expr:
        case Apply(op="and_then", args=args):
            return Apply("logical_and", args, BOOL)
        case Apply(op="or_else", args=args):
            return Apply("logical_or", args, BOOL)
    return expr


def constants_of(before: Sequence[Statement], by: Body) -> Mask:
    """The constants before statements that these read."""
    names = {name for s in by for name in names_read(s)}
    kept: list[Declare] = []
    for statement in reversed(before):
        if isinstance(statement, Declare) and statement.name in names:
            names |= names_read(statement)
            kept.insert(0, statement)
    return tuple(kept)


def moved_to(body: Sequence[Statement], symbol: Symbol, place: Index) -> Body:
    """Statements at another place than a loop's symbol says."""
    return tuple(substitute_index(s, symbol, place) for s in body)


def may_come_early(part: Expr, loop: For, arrays: Mapping[str, Buffer], ranges: Ranges) -> bool:
    """True for an operation that has vector code, and for an element that exists: the same in each
    iteration, or one of the next few in memory. Tests of subscripts are predicted."""
    if isinstance(part, Apply):
        is_guard = part.op.endswith("subscript")
        return not is_guard and all(has_vector_code(part.op, x.dtype) for x in (part, *part.args))
    if isinstance(part, Load):
        stride = stride_of(part, loop, arrays)
        is_near = isinstance(stride, int) and abs(stride) <= _WIDEST
        return is_near and is_in_bounds(part, arrays, ranges)
    return True


def stride_of(load: Load, loop: For, arrays: Mapping[str, Buffer]) -> Index:
    """How far apart in memory the elements of two iterations are, one after the other."""
    return step_of(row_major(load.index, arrays[load.buffer].shape), loop.symbol)
