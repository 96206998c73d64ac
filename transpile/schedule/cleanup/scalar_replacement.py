"""Scalars: a number that one kernel computes, and alone reads, lives in a variable of it.

The result of a sum over everything is stored as an array without axes; when the same kernel goes on
with it, the accumulator itself will do. The variable is declared in the innermost sequence of
statements in which all its uses stand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from functools import partial

import numpy as np

from transpile.ir.calls import Call
from transpile.ir.loop_ir import (
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
from transpile.ir.loop_rewrite import (
    is_sequence,
    loads,
    map_kernels,
    map_statement,
    of_one_kernel,
    used_buffers,
    walk,
    with_bodies,
    written,
)
from transpile.options import Options
from transpile.util.frozen_records import changed, same


def replace_with_scalars(program: Program, options: Options) -> Program:
    """The program without temporaries of one element that a single kernel uses."""
    candidates = {b.name for b in program.temporaries if not b.shape} & of_one_kernel(program)
    for kernel in program.kernels:
        candidates -= _bound_to_memory(kernel)
    program = map_kernels(
        program,
        lambda k: changed(k, body=_sequence(k.body, candidates.intersection(used_buffers(k)[0]))),
    )
    temporaries = tuple(b for b in program.temporaries if b.name not in candidates)
    return changed(program, temporaries=same(program.temporaries, temporaries))


def _bound_to_memory(kernel: Kernel) -> set[str]:
    """What a call takes the address of, or a loop over an array's elements writes."""
    found: set[str] = set()
    for statement in walk(kernel.body):
        if isinstance(statement, Call):
            found |= {load.buffer for load in loads(statement)}
        if isinstance(statement, For) and not statement.ordered:
            found |= {name for s in walk(statement.body) for name in written(s)}
    return found


class _Uses:
    """What a sequence of statements does with buffers and scalars.

    touched   the buffers that each statement reads or writes
    writes    how many statements write each buffer
    dtypes    those of the buffers that are stored to or read
    updated   the place of the last statement that updates each scalar
    """

    def __init__(self, body: tuple[Statement, ...]) -> None:
        self.touched = [touched((statement,)) for statement in body]
        self.writes = Counter(name for s in walk(body) for name in written(s))
        self.dtypes: dict[str, np.dtype[np.generic]] = {}
        self.updated: dict[Expr, int] = {}
        for position, statement in enumerate(body):
            for inner in walk((statement,)):
                if isinstance(inner, Store):
                    self.dtypes.setdefault(inner.buffer, inner.value.dtype)
                for load in loads(inner):
                    self.dtypes.setdefault(load.buffer, load.dtype)
                if isinstance(inner, Update):
                    self.updated[inner.target] = position


def _sequence(body: tuple[Statement, ...], names: set[str]) -> tuple[Statement, ...]:
    """The statements with those numbers as variables, of them or of a sequence inside."""
    if not names:
        return body
    here, inside = by_sequence(body, sorted(names))
    order, uses = {name: k for k, name in enumerate(here)}, _Uses(body)
    result: list[Statement] = []
    values: dict[str, Expr] = {}
    declared: set[str] = set()
    for position, statement in enumerate(body):
        if position in inside:
            statement = with_bodies(statement, partial(_part, set(inside[position])))
        first = (uses.touched[position] & order.keys()) - declared
        for name in sorted(first, key=order.__getitem__):
            declared.add(name)
            if not (isinstance(statement, Store) and statement.buffer == name):
                result.append(_declared_empty(name, uses))
                values[name] = Ref(name, uses.dtypes[name])
        if values:
            statement = map_statement(statement, lambda e: _read(e, values))
        result += _stored(statement, order.keys(), values, uses, position)
    return tuple(result)


def by_sequence(
    body: tuple[Statement, ...], names: Iterable[str]
) -> tuple[list[str], dict[int, list[str]]]:
    """The buffers that belong to a sequence of statements itself, and, by the place of a statement,
    those of which all uses stand in one sequence inside it."""
    places: dict[str, list[int]] = {}
    for position, statement in enumerate(body):
        for name in touched((statement,)):
            places.setdefault(name, []).append(position)
    here: list[str] = []
    inside: dict[int, list[str]] = {}
    within: dict[int, set[str]] = {}
    for name in names:
        found = places.get(name, [])
        if len(found) == 1:
            position = found[0]
            if position not in within:
                within[position] = _of_one_body(body[position])
            if name in within[position]:
                inside.setdefault(position, []).append(name)
                continue
        here.append(name)
    return here, inside


def _part(names: set[str], body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    return _sequence(body, names & touched(body))


def _read(expr: Expr, values: dict[str, Expr]) -> Expr:
    return values.get(expr.buffer, expr) if isinstance(expr, Load) else expr


def _stored(
    statement: Statement,
    here: Collection[str],
    values: dict[str, Expr],
    uses: _Uses,
    position: int,
) -> list[Statement]:
    """A statement with its stores into numbers as declarations or updates of variables."""
    if not isinstance(statement, Store) or statement.buffer not in here:
        return [_with_updates(statement, here, values)]
    name, value = statement.buffer, statement.value
    if name in values:
        return [_with_updates(statement, here, values)]
    is_once = uses.writes[name] == 1
    if is_once and isinstance(value, Ref) and uses.updated.get(value, -1) <= position:
        values[name] = value  # a variable that keeps its value
        return []
    values[name] = Ref(name, value.dtype)
    return [Declare(name, value, constant=is_once)]


def _with_updates(
    statement: Statement, here: Collection[str], values: dict[str, Expr]
) -> Statement:
    """The statement with what it stores into variables, however deep inside, assigned to them."""
    if isinstance(statement, Store) and statement.buffer in here:
        target = values[statement.buffer]
        assert isinstance(target, Ref)
        return Update(target, "set", statement.value)
    return with_bodies(statement, lambda b: tuple(_with_updates(s, here, values) for s in b))


def touched(body: tuple[Statement, ...]) -> set[str]:
    """The buffers that are read or written in statements."""
    found: set[str] = set()
    for statement in walk(body):
        found.update(written(statement))
        found.update(load.buffer for load in loads(statement))
    return found


def _of_one_body(statement: Statement) -> set[str]:
    """The buffers that are used in one sequence inside a statement, and not by itself."""
    if not is_sequence(statement):
        return set()
    bodies: tuple[tuple[Statement, ...], ...] = ()
    match statement:
        case If(body=body, orelse=orelse):
            bodies = (body, orelse)
        case While(body=body, test=test):
            bodies = (body, test)
        case For(body=body):
            bodies = (body,)
    counts = Counter(name for body in bodies for name in touched(body))
    own = {load.buffer for load in loads(statement)}
    return {name for name, count in counts.items() if count == 1} - own


def _declared_empty(name: str, uses: _Uses) -> Declare:
    """A variable that gets its value in one of several branches."""
    dtype = uses.dtypes[name]
    return Declare(name, Literal(np.zeros((), dtype)[()], dtype), constant=False)
