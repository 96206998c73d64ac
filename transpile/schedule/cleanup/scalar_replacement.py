"""Scalar replacement: temporaries of one element that a single kernel uses become variables.

    for i: acc += x[i];  total[] = acc;  for i: out[i] = x[i] / total[]
    for i: acc += x[i];  for i: out[i] = x[i] / acc

A variable is declared in the innermost statement sequence that contains all uses. A temporary stays
in memory if a call takes its address or an elementwise loop stores to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from functools import partial

import numpy as np

from transpile.ir.calls import Call
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import (
    NO_LANES,
    SCALARS_REPLACED,
    SUBEXPRESSIONS_SHARED,
    WORKSPACE_PLANNED,
)
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


# Loops in lanes name their accumulators.
@contract(
    requires=(NO_LANES,),
    provides=(SCALARS_REPLACED,),
    destroys=(SUBEXPRESSIONS_SHARED, WORKSPACE_PLANNED),
)
def replace_with_scalars(program: Program, options: Options) -> Program:
    """The program without temporaries of one element that a single kernel uses."""
    candidates = {b.name for b in program.temporaries if not b.shape} & of_one_kernel(program)
    for kernel in program.kernels:
        candidates -= _addressed(kernel)
    program = map_kernels(
        program,
        lambda k: changed(k, body=_sequence(k.body, candidates.intersection(used_buffers(k)[0]))),
    )
    temporaries = tuple(b for b in program.temporaries if b.name not in candidates)
    return changed(program, temporaries=same(program.temporaries, temporaries))


def _addressed(kernel: Kernel) -> set[str]:
    """The buffers whose address a call takes, or that a loop over elements writes."""
    names: set[str] = set()
    for statement in walk(kernel.body):
        if isinstance(statement, Call):
            names |= {load.buffer for load in loads(statement)}
        if isinstance(statement, For) and not statement.ordered:
            names |= {name for s in walk(statement.body) for name in written(s)}
    return names


class _Uses:
    """The uses of buffers and scalars in a statement sequence.

    accessed  the buffers that each statement reads or writes
    writes    the number of statements that write each buffer
    dtypes    those of the buffers that are read or written
    updated   the position of the last statement that updates each scalar
    """

    def __init__(self, body: tuple[Statement, ...]) -> None:
        self.accessed = [accessed_buffers((statement,)) for statement in body]
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
    """The statements with these buffers replaced by variables, each declared here or in the one
    nested sequence that uses it."""
    if not names:
        return body
    own, inside = by_sequence(body, sorted(names))
    order, uses = {name: k for k, name in enumerate(own)}, _Uses(body)
    result: list[Statement] = []
    values: dict[str, Expr] = {}
    declared: set[str] = set()
    for position, statement in enumerate(body):
        if position in inside:
            statement = with_bodies(statement, partial(_nested, set(inside[position])))
        first = (uses.accessed[position] & order.keys()) - declared
        for name in sorted(first, key=order.__getitem__):
            declared.add(name)
            if not (isinstance(statement, Store) and statement.buffer == name):
                result.append(_declared_without_value(name, uses))
                values[name] = Ref(name, uses.dtypes[name])
        if values:
            statement = map_statement(statement, lambda e: _read(e, values))
        result += _stored(statement, order.keys(), values, uses, position)
    return tuple(result)


def by_sequence(
    body: tuple[Statement, ...], names: Iterable[str]
) -> tuple[list[str], dict[int, list[str]]]:
    """The buffers that belong to a statement sequence itself, and, by the position of a statement,
    those whose uses are all in one sequence nested in that statement."""
    positions: dict[str, list[int]] = {}
    for position, statement in enumerate(body):
        for name in accessed_buffers((statement,)):
            positions.setdefault(name, []).append(position)
    own: list[str] = []
    inside: dict[int, list[str]] = {}
    within: dict[int, set[str]] = {}
    for name in names:
        users = positions.get(name, [])
        if len(users) == 1:
            position = users[0]
            if position not in within:
                within[position] = _of_one_body(body[position])
            if name in within[position]:
                inside.setdefault(position, []).append(name)
                continue
        own.append(name)
    return own, inside


def _nested(names: set[str], body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    return _sequence(body, names & accessed_buffers(body))


def _read(expr: Expr, values: dict[str, Expr]) -> Expr:
    return values.get(expr.buffer, expr) if isinstance(expr, Load) else expr


def _stored(
    statement: Statement,
    own: Collection[str],
    values: dict[str, Expr],
    uses: _Uses,
    position: int,
) -> list[Statement]:
    """A statement whose stores to scalars become declarations or updates of variables."""
    if not isinstance(statement, Store) or statement.buffer not in own:
        return [_with_updates(statement, own, values)]
    name, value = statement.buffer, statement.value
    if name in values:
        return [_with_updates(statement, own, values)]
    is_once = uses.writes[name] == 1
    if is_once and isinstance(value, Ref) and uses.updated.get(value, -1) <= position:
        values[name] = value  # copy propagation: the variable is not updated later
        return []
    values[name] = Ref(name, value.dtype)
    return [Declare(name, value, constant=is_once)]


def _with_updates(statement: Statement, own: Collection[str], values: dict[str, Expr]) -> Statement:
    """The statement with every nested store to a scalar as an assignment."""
    if isinstance(statement, Store) and statement.buffer in own:
        target = values[statement.buffer]
        assert isinstance(target, Ref)
        return Update(target, "set", statement.value)
    return with_bodies(statement, lambda b: tuple(_with_updates(s, own, values) for s in b))


def accessed_buffers(body: tuple[Statement, ...]) -> set[str]:
    """The buffers that statements read or write."""
    names: set[str] = set()
    for statement in walk(body):
        names.update(written(statement))
        names.update(load.buffer for load in loads(statement))
    return names


def _of_one_body(statement: Statement) -> set[str]:
    """The buffers that exactly one sequence nested in a statement uses, and the statement itself
    does not."""
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
    counts = Counter(name for body in bodies for name in accessed_buffers(body))
    own = {load.buffer for load in loads(statement)}
    return {name for name, count in counts.items() if count == 1} - own


def _declared_without_value(name: str, uses: _Uses) -> Declare:
    """The declaration of a variable that is assigned later, in several branches."""
    dtype = uses.dtypes[name]
    return Declare(name, Literal(np.zeros((), dtype)[()], dtype), constant=False)
