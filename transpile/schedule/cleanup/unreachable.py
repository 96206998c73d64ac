"""Dead code elimination of statements that no execution reaches: those behind a failure."""

from __future__ import annotations

from transpile.intrinsics.callbacks import Callback
from transpile.ir.contracts import contract
from transpile.ir.loop_ir import Program, Statement
from transpile.ir.loop_rewrite import map_bodies, with_bodies
from transpile.options import Options


@contract()
def remove_unreachable(program: Program, options: Options) -> Program:
    """The program without what follows the end of a call in the same body."""
    if not any(site.callback.failure for site in program.sites):
        return program
    return map_bodies(program, _reached)


def _reached(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    kept: list[Statement] = []
    for statement in body:
        kept.append(with_bodies(statement, _reached))
        if isinstance(statement, Callback) and statement.fails:
            break
    return tuple(kept)
