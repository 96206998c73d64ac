"""The lines of Python that statements come from, which debuggers and `#line` directives name.

Lowering gives each statement the line of its equation. Passes keep it where they rebuild a
statement, and make others that have none.
"""

from __future__ import annotations

from functools import partial

from transpile.ir.graph import UNKNOWN_SOURCE, Source
from transpile.ir.loop_ir import LOCATED, Program, Statement
from transpile.ir.loop_rewrite import walk, with_bodies
from transpile.util.frozen_records import replace


def with_source(statement: Statement, source: Source) -> Statement:
    """The statement with this line of Python, which all in it get that have none."""
    if isinstance(statement, LOCATED):
        return statement if statement.source.line else replace(statement, source=source)
    return with_bodies(statement, lambda body: tuple(with_source(s, source) for s in body))


def source_of(statement: Statement) -> Source:
    """The line of Python of a statement; of a loop or a branch that of the first one in it that has
    one, and UNKNOWN_SOURCE where none has."""
    for part in walk((statement,)):
        if isinstance(part, LOCATED) and part.source.line:
            return part.source
    return UNKNOWN_SOURCE


def complete_sources(program: Program) -> Program:
    """The program with a line of Python for every statement of a kernel that has one."""
    kernels = (replace(k, body=_completed(k.body, k.source)) for k in program.kernels)
    return replace(program, kernels=tuple(kernels))


def _completed(body: tuple[Statement, ...], around: Source) -> tuple[Statement, ...]:
    """The body with a line for each statement. What a pass has added gets that of the
    statement behind it, which it mostly prepares, else of the one before it, else `around`."""
    found = [source_of(statement) for statement in body]
    following = UNKNOWN_SOURCE
    for position in reversed(range(len(body))):
        following = found[position] = found[position] if found[position].line else following
    before, complete = around, list[Statement]()
    for statement, source in zip(body, found, strict=True):
        before = source if source.line else before
        inner = with_bodies(statement, partial(_completed, around=before))
        complete.append(with_source(inner, before))
    return tuple(complete)
