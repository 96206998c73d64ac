"""Dead code elimination of scalars that nothing reads.

A loop that is split where a condition changes leaves parts in which a select has one arm;
declarations that only the other arm read are dead, and C compilers warn of them. One backward scan
per scope.
"""

from __future__ import annotations

from functools import partial

from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import NO_DEAD_SCALARS
from transpile.ir.loop_ir import Declare, Program, Statement, While
from transpile.ir.loop_rewrite import map_bodies, names_read, with_bodies
from transpile.options import Options


@contract(provides=(NO_DEAD_SCALARS,))
def remove_dead_scalars(program: Program, options: Options) -> Program:
    """The program without constants that are never read."""
    return map_bodies(program, lambda body: _body(body, frozenset()))


def _body(body: tuple[Statement, ...], after: frozenset[str]) -> tuple[Statement, ...]:
    """The statements of a scope without dead constants; `after` are the names read after it."""
    kept: list[Statement] = []
    read = set(after)
    for statement in reversed(body):
        if isinstance(statement, Declare) and statement.constant and statement.name not in read:
            continue
        # The condition of a `While` reads names that its test declares.
        live = names_read(statement) if isinstance(statement, While) else frozenset()
        statement = with_bodies(statement, partial(_body, after=live))
        read |= names_read(statement)
        kept.append(statement)
    return tuple(reversed(kept))
