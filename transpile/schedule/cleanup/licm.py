"""Hoist: a subscript is read before the loops that it does not depend on, and only if it is used.

Subscripts that are read from an array of indices are variables of the innermost loop at first; the
index of a row is the same for all its elements. Where a loop was cut, a piece may not need it.
"""

from __future__ import annotations

from transpile.ir.dims import Symbol, symbols_of
from transpile.ir.loop_ir import (
    Declare,
    Expr,
    For,
    If,
    IndexValue,
    Kernel,
    Load,
    Program,
    Ref,
    Statement,
    Update,
    While,
    Within,
)
from transpile.ir.loop_rewrite import map_kernels, names_in, parts, walk, with_bodies, written
from transpile.options import Options
from transpile.schedule.cleanup.dead_scalars import remove_dead_scalars
from transpile.schedule.domain.index_set_split import distinct
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, same


def hoist_invariants(program: Program, options: Options) -> Program:
    """The program with the variables of subscripts as far outside as they can be."""
    program = remove_dead_scalars(
        program, options
    )  # the steps before have left some, and made others
    taken = Names(names_in(program))

    def hoisted(kernel: Kernel) -> Kernel:
        if not any(isinstance(s, Declare) and s.symbol for s in walk(kernel.body)):
            return kernel
        changing = {name for s in walk(kernel.body) for name in written(s)}
        return changed(kernel, body=_hoisted(kernel.body, changing, taken.inner()))

    return map_kernels(program, hoisted)


def _hoisted(
    body: tuple[Statement, ...], changing: set[str], names: Names
) -> tuple[Statement, ...]:
    """The statements, what moves out of loops before them; where it meets another subscript of its
    name, by another one, before it moves further."""
    result: list[Statement] = []
    declared: dict[str, Declare] = {}  # the last declaration of each name
    for statement in body:
        if isinstance(statement, For):
            if statement.collapse > 1:  # nothing may stand between the loops of one team
                (within,) = statement.body
                assert isinstance(within, For)
                inner: tuple[Statement, ...] = (
                    changed(within, body=_hoisted(within.body, changing, names)),
                )
            else:
                inner = _hoisted(statement.body, changing, names)
            if not statement.parallel:  # what is inside it is each thread's own
                moved, inner = _split(statement.symbol, inner)
                for m in moved:
                    if not (_is_fixed(m, changing) and declared.get(m.name) == m):
                        result.append(m)
                        declared[m.name] = m
            result.append(changed(statement, body=same(statement.body, inner)))
        elif isinstance(statement, If | While):
            result.append(with_bodies(statement, lambda inner: _hoisted(inner, changing, names)))
        else:
            result.append(statement)
            if isinstance(statement, Declare):
                declared[statement.name] = statement
    return distinct(same(body, tuple(result)), names)


def _is_fixed(statement: Statement, changing: set[str]) -> bool:
    """Tell whether a subscript has one value throughout the kernel: pieces of a loop share it."""
    return not any(
        isinstance(p, Ref) or getattr(p, "buffer", None) in changing for p in parts(statement)
    )


def _split(
    symbol: Symbol, body: tuple[Statement, ...]
) -> tuple[list[Declare], tuple[Statement, ...]]:
    """The variables of a loop's body that do not depend on it, and the rest."""
    if not any(isinstance(s, Declare) and s.symbol for s in body):
        return [], body
    updated = {
        s.target.name for s in walk(body) if isinstance(s, Update) and isinstance(s.target, Ref)
    }
    stored = {name for s in walk(body) for name in written(s)}
    own = {s.name for s in body if isinstance(s, Declare)}
    inside = {symbol, *(s.symbol for s in body if isinstance(s, Declare) and s.symbol)}
    moved: list[Declare] = []
    rest: list[Statement] = []
    for statement in body:
        if (
            isinstance(statement, Declare)
            and statement.symbol is not None
            and all(_is_invariant(part, inside, own | updated, stored) for part in parts(statement))
        ):
            moved.append(statement)
            own.discard(statement.name)
            inside.discard(statement.symbol)
        else:
            rest.append(statement)
    return moved, same(body, tuple(rest))


def _is_invariant(part: Expr, symbols: set[Symbol], names: set[str], stored: set[str]) -> bool:
    match part:
        case Ref(name=name):
            return name not in names
        case Load(buffer=buffer, index=index):
            return buffer not in stored and all(symbols.isdisjoint(symbols_of(i)) for i in index)
        case IndexValue(index=index):
            return symbols.isdisjoint(symbols_of(index))
        case Within(index=index, low=low, high=high):
            return all(symbols.isdisjoint(symbols_of(i)) for i in (index, low, high))
        case _:
            return True
