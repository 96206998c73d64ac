"""Unused: scalars that nothing reads any more go away.

A loop that is cut where a condition changes has pieces in which the condition does not hold; what
only the chosen value has read is then computed for nothing, and a C compiler would warn of it.
"""

from __future__ import annotations

from functools import partial

from transpile.dims import Index, symbols_of
from transpile.loops import Declare, Expr, Program, Ref, Statement, While
from transpile.options import Options
from transpile.records import replace
from transpile.walks import map_statement, with_bodies


def unused(program: Program, options: Options) -> Program:
    """The program without constants that are never read."""
    kernels = tuple(replace(k, body=_body(k.body, set())) for k in program.kernels)
    return replace(program, kernels=kernels)


def _body(body: tuple[Statement, ...], read: set[str]) -> tuple[Statement, ...]:
    """The statements of a scope without unused constants; `read` has the names that are read after
    it."""
    kept: list[Statement] = []
    read = set(read)
    for statement in reversed(body):
        if isinstance(statement, Declare) and statement.constant and statement.name not in read:
            continue
        # The condition of a `While` reads what its test declares.
        inside = _names(statement) if isinstance(statement, While) else set()
        statement = with_bodies(statement, partial(_body, read=inside))
        read |= _names(statement)
        kept.append(statement)
    return tuple(reversed(kept))


def _names(statement: Statement) -> set[str]:
    """The names of scalars and subscripts in a statement."""
    found: set[str] = set()

    def on_expr(expr: Expr) -> Expr:
        if isinstance(expr, Ref):
            found.add(expr.name)
        return expr

    def on_index(index: Index) -> Index:
        found.update(symbol.name for symbol in symbols_of(index))
        return index

    map_statement(statement, on_expr, on_index)
    return found
