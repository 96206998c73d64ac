"""Scalars: a number that one kernel computes, and alone reads, lives in a variable of it.

The result of a sum over everything is stored as an array without axes; when the same kernel goes on
with it, the accumulator itself will do. The variable is declared in the innermost sequence of
statements in which all its uses stand.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import numpy as np

from transpile.loops import (
    Call,
    Declare,
    Expr,
    For,
    If,
    Kernel,
    Literal,
    Load,
    Program,
    Ref,
    Statement,
    Store,
    Update,
    While,
)
from transpile.options import Options
from transpile.walks import (
    expressions,
    is_sequence,
    loads,
    map_statement,
    of_one_kernel,
    subexpressions,
    used_buffers,
    walk,
    with_bodies,
    written,
)


def scalars(program: Program, options: Options) -> Program:
    """The program without temporaries of one element that a single kernel uses."""
    candidates = {b.name for b in program.temporaries if not b.shape} & of_one_kernel(program)
    for kernel in program.kernels:
        candidates -= _bound_to_memory(kernel)
    kernels = tuple(
        replace(k, body=_sequence(k.body, candidates & set(used_buffers(k)[0])))
        for k in program.kernels
    )
    temporaries = tuple(b for b in program.temporaries if b.name not in candidates)
    return replace(program, kernels=kernels, temporaries=temporaries)


def _bound_to_memory(kernel: Kernel) -> set[str]:
    """What a call takes the address of, or a loop over an array's elements writes."""
    found: set[str] = set()
    for statement in walk(kernel.body):
        if isinstance(statement, Call):
            found |= {load.buffer for load in loads(statement)}
        if isinstance(statement, For) and not statement.ordered:
            found |= {name for s in walk(statement.body) for name in written(s)}
    return found


def _sequence(body: tuple[Statement, ...], names: set[str]) -> tuple[Statement, ...]:
    """The statements with those numbers as variables, of them or of a sequence inside."""
    here, inside = by_sequence(body, sorted(names))
    result: list[Statement] = []
    values: dict[str, Expr] = {}
    declared: set[str] = set()
    for position, statement in enumerate(body):
        if position in inside:
            statement = with_bodies(statement, partial(_part, set(inside[position])))
        for name in (n for n in here if n not in declared):
            if touches(statement, name):
                declared.add(name)
                if not (isinstance(statement, Store) and statement.buffer == name):
                    result.append(_declared_empty(name, body))
                    values[name] = Ref(name, _dtype(name, body))
        statement = map_statement(statement, lambda e: _read(e, values), lambda index: index)
        result += _stored(statement, set(here), values, body, position)
    return tuple(result)


def by_sequence(
    body: tuple[Statement, ...], names: Iterable[str]
) -> tuple[list[str], dict[int, list[str]]]:
    """The buffers that belong to a sequence of statements itself, and, by the place of a statement,
    those of which all uses stand in one sequence inside it."""
    here: list[str] = []
    inside: dict[int, list[str]] = {}
    for name in names:
        places = [k for k, s in enumerate(body) if touches(s, name)]
        is_inside = len(places) == 1 and _has_one_body_with(body[places[0]], name)
        (inside.setdefault(places[0], []) if is_inside else here).append(name)
    return here, inside


def _part(names: set[str], body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    return _sequence(body, {n for n in names if any(touches(s, n) for s in body)})


def _read(expr: Expr, values: dict[str, Expr]) -> Expr:
    return values.get(expr.buffer, expr) if isinstance(expr, Load) else expr


def _stored(
    statement: Statement,
    here: set[str],
    values: dict[str, Expr],
    body: tuple[Statement, ...],
    position: int,
) -> list[Statement]:
    """A statement with its stores into numbers as declarations or updates of variables."""
    if not isinstance(statement, Store) or statement.buffer not in here:
        return [_with_updates(statement, here, values)]
    name, value = statement.buffer, statement.value
    if name in values:
        return [_with_updates(statement, here, values)]
    writes = sum(written(s).count(name) for s in walk(body))
    if writes == 1 and _is_final(value, body[position + 1 :]):
        values[name] = value
        return []
    values[name] = Ref(name, value.dtype)
    return [Declare(name, value, constant=writes == 1)]


def _with_updates(statement: Statement, here: set[str], values: dict[str, Expr]) -> Statement:
    """The statement with what it stores into variables, however deep inside, assigned to them."""
    if isinstance(statement, Store) and statement.buffer in here:
        target = values[statement.buffer]
        assert isinstance(target, Ref)
        return Update(target, "set", statement.value)
    return with_bodies(statement, lambda b: tuple(_with_updates(s, here, values) for s in b))


def touches(statement: Statement, name: str) -> bool:
    """Tell whether a buffer is read or written in a statement."""
    return any(
        name in written(s) or any(load.buffer == name for load in loads(s))
        for s in walk((statement,))
    )


def _has_one_body_with(statement: Statement, name: str) -> bool:
    """Tell whether a buffer is used in one sequence inside a statement, and not by itself."""
    if not is_sequence(statement):
        return False
    own = (p for e in expressions(statement) for p in subexpressions(e))
    if any(isinstance(p, Load) and p.buffer == name for p in own):
        return False
    bodies: tuple[tuple[Statement, ...], ...] = ()
    match statement:
        case If(body=body, orelse=orelse):
            bodies = (body, orelse)
        case While(body=body, test=test):
            bodies = (body, test)
        case For(body=body):
            bodies = (body,)
    return sum(any(touches(s, name) for s in b) for b in bodies) == 1


def _dtype(name: str, body: tuple[Statement, ...]) -> np.dtype[np.generic]:
    for statement in walk(body):
        if isinstance(statement, Store) and statement.buffer == name:
            return statement.value.dtype
        for load in loads(statement):
            if load.buffer == name:
                return load.dtype
    raise KeyError(name)


def _declared_empty(name: str, body: tuple[Statement, ...]) -> Declare:
    """A variable that gets its value in one of several branches."""
    dtype = _dtype(name, body)
    return Declare(name, Literal(np.zeros((), dtype)[()], dtype), constant=False)


def _is_final(value: Expr, rest: tuple[Statement, ...]) -> bool:
    """Tell whether an expression is a variable that keeps its value."""
    return isinstance(value, Ref) and not any(
        isinstance(s, Update) and s.target == value for s in walk(rest)
    )
