"""Scalars: a number that one kernel computes, and alone reads, lives in a variable of it.

The result of a sum over everything is stored as an array without axes; when the same kernel goes on
with it, the accumulator itself will do.
"""

from __future__ import annotations

from dataclasses import replace

from transpile.loops import (
    Call,
    Declare,
    Expr,
    Kernel,
    Load,
    Program,
    Ref,
    Statement,
    Store,
    Update,
)
from transpile.options import Options
from transpile.walks import loads, map_statement, used_buffers, walk, written


def scalars(program: Program, options: Options) -> Program:
    """The program without temporaries of one element that a single kernel uses."""
    users: dict[str, int] = {}
    for kernel in program.kernels:
        for name in used_buffers(kernel)[0]:
            users[name] = users.get(name, 0) + 1
    candidates = {b.name for b in program.temporaries if not b.shape and users.get(b.name) == 1}
    for kernel in program.kernels:  # a call takes the address of an element
        candidates -= {
            load.buffer for s in walk(kernel.body) if isinstance(s, Call) for load in loads(s)
        }
    kernels = tuple(_local(kernel, candidates) for kernel in program.kernels)
    left = {name for kernel in kernels for name in used_buffers(kernel)[0]}
    temporaries = tuple(
        b for b in program.temporaries if b.name not in candidates or b.name in left
    )
    return replace(program, kernels=kernels, temporaries=temporaries)


def _local(kernel: Kernel, candidates: set[str]) -> Kernel:
    """The kernel with those of the candidates as variables that it stores once, on the outside."""
    writes = [name for s in walk(kernel.body) for name in written(s)]
    values: dict[str, Expr] = {}

    def read(expr: Expr) -> Expr:
        return values.get(expr.buffer, expr) if isinstance(expr, Load) else expr

    body: list[Statement] = []
    for position, statement in enumerate(kernel.body):
        statement = map_statement(statement, read, lambda index: index)
        is_local = isinstance(statement, Store) and statement.buffer in candidates
        if not isinstance(statement, Store) or not is_local or writes.count(statement.buffer) > 1:
            body.append(statement)
        elif _is_final(statement.value, kernel.body[position + 1 :]):
            values[statement.buffer] = statement.value
        else:
            body.append(Declare(statement.buffer, statement.value))
            values[statement.buffer] = Ref(statement.buffer, statement.value.dtype)
    return replace(kernel, body=tuple(body))


def _is_final(value: Expr, rest: tuple[Statement, ...]) -> bool:
    """Tell whether an expression is a variable that keeps its value."""
    return isinstance(value, Ref) and not any(
        isinstance(s, Update) and s.target == value for s in walk(rest)
    )
