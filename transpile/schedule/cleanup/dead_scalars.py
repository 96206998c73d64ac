"""Unused: scalars that nothing reads any more go away.

A loop that is cut where a condition changes has pieces in which the condition does not hold; what
only the chosen value has read is then computed for nothing, and a C compiler would warn of it.
"""

from __future__ import annotations

from functools import partial

from transpile.ir.loop_ir import Declare, Program, Statement, While
from transpile.ir.loop_rewrite import map_bodies, names_read, with_bodies
from transpile.options import Options


def remove_dead_scalars(program: Program, options: Options) -> Program:
    """The program without constants that are never read."""
    return map_bodies(program, lambda body: _body(body, frozenset()))


def _body(body: tuple[Statement, ...], after: frozenset[str]) -> tuple[Statement, ...]:
    """The statements of a scope without unused constants; `after` has the names that are read after
    it."""
    kept: list[Statement] = []
    read = set(after)
    for statement in reversed(body):
        if isinstance(statement, Declare) and statement.constant and statement.name not in read:
            continue
        # The condition of a `While` reads what its test declares.
        inside = names_read(statement) if isinstance(statement, While) else frozenset()
        statement = with_bodies(statement, partial(_body, after=inside))
        read |= names_read(statement)
        kept.append(statement)
    return tuple(reversed(kept))
