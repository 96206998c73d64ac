"""Statements in which the value of a runtime size is known: loops of one iteration are none."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from transpile.ir.dims import Dim, Index, Symbol
from transpile.ir.loop_ir import Apply, Declare, Expr, For, IndexValue, Literal, Statement
from transpile.ir.loop_rewrite import (
    children,
    declared_name,
    map_statement,
    substitute_index,
    with_bodies,
)
from transpile.util.frozen_records import changed, replace

Body = tuple[Statement, ...]


def with_known_sizes(body: Body, on_index: Callable[[Index], Index]) -> Body:
    """The statements with each index as `on_index` gives it, with the extents that loops have then,
    and without loops of one iteration."""
    mapped = tuple(map_statement(s, lambda e: e, on_index) for s in body)
    return tuple(_rebuilt(mapped, on_index))


def _rebuilt(body: Body, on_index: Callable[[Index], Index]) -> Iterator[Statement]:
    names = {declared_name(s) for s in body}
    known: dict[Symbol, int] = {}
    for statement in body:
        for name, known_value in known.items():
            statement = substitute_index(statement, name, known_value)
        match statement:
            case Declare(symbol=Symbol() as symbol, value=value) if (
                number := _number(value)
            ) is not None:
                known[symbol] = number  # what else reads the variable keeps it
            case For(stop=int() as stop, limit=int() as limit):
                statement = replace(statement, stop=min(stop, limit), limit=None)
            case _:
                pass
        match statement:
            case For(symbol=symbol, start=start, limit=None, ordered=False) if (
                statement.extent == 1
            ):
                inner = tuple(substitute_index(s, symbol, start) for s in statement.body)
                own = {declared_name(s) for s in inner} - {""}
                if names.isdisjoint(own):
                    names |= own
                    yield from _rebuilt(inner, on_index)
                    continue
            case _:
                pass
        if isinstance(statement, For) and statement.symbol.extent is not None:
            symbol = statement.symbol
            counter = changed(symbol, extent=on_index(statement.symbol.extent))
            if counter != symbol:
                inner = tuple(substitute_index(s, symbol, Dim.of(counter)) for s in statement.body)
                statement = replace(statement, symbol=counter, body=inner)
        rebuilt = with_bodies(statement, lambda inner: tuple(_rebuilt(inner, on_index)))
        yield _collapsed(statement, rebuilt) if isinstance(statement, For) else rebuilt


def _collapsed(before: For, after: Statement) -> Statement:
    """A loop as one with the loops inside that it was collapsed with, as far as they are left."""
    depth, old, new = 1, before, after
    while depth < before.collapse:
        (inner,), body = old.body, children(new)
        found = body[0] if len(body) == 1 else None
        if not isinstance(inner, For) or not isinstance(found, For):
            break
        if found.symbol.name != inner.symbol.name:
            break
        depth, old, new = depth + 1, inner, found
    return replace(after, collapse=depth) if depth < before.collapse else after


def _number(value: Expr) -> int | None:
    """The integer that a bound of a block is; None for others."""
    match value:
        case IndexValue(index=int() as index):
            return index
        case Literal(value=number) if value.dtype.kind == "i":
            return int(number)
        case Apply(args=operands) if value.primitive.idempotent:  # extremes, of bounds
            numbers = [n for x in operands if (n := _number(x)) is not None]
            is_known = len(numbers) == len(operands)
            return int(value.primitive.numpy(*numbers)) if is_known else None
        case _:
            return None
