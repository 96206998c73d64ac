"""Draws: random bits are drawn for some hundred elements, then functions of them are computed.

Bits come out of a long chain of steps, each of which waits for the one before, and so does a
logarithm. A processor works on several iterations of a loop at a time as long as they are short; in
a loop over both it waits. So the bits of a block of elements come first, in a loop of their own:

    for i: out[i] = erf_inv(... bits(key, i) ...)
    for block: for i in block: drawn[i - first] = bits(key, i);  for i in block: out[i] = ...
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

from transpile.ir.dims import Dim, Symbol
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
    Buffer,
    Declare,
    Expr,
    For,
    Load,
    Program,
    Ref,
    Statement,
    Store,
    Update,
    Within,
)
from transpile.ir.loop_rewrite import (
    is_independent,
    map_bodies,
    map_statement,
    names_in,
    parts,
    subexpressions,
    with_bodies,
    written,
)
from transpile.ir.primitive import TABLE
from transpile.machine import Machine
from transpile.options import Options
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import replace


def draws(program: Program, options: Options) -> Program:
    """The program with such loops in two."""
    machine = options.machine
    names = Names(names_in(program))
    return map_bodies(program, lambda body: tuple(_body(body, names, machine)))


def _body(body: tuple[Statement, ...], names: Names, machine: Machine) -> Iterator[Statement]:
    for statement in body:
        if isinstance(statement, For) and (found := _drawn(statement, machine)):
            yield from _in_two(statement, found, names, machine)
        else:
            yield with_bodies(statement, lambda inner: tuple(_body(inner, names, machine)))


def _drawn(loop: For, machine: Machine) -> tuple[Apply, ...]:
    """The draws of a loop of which functions are computed; none if there are other loops in it, or
    draws that depend on what it computes."""
    if loop.ordered or not all(isinstance(s, Store | Declare | Update) for s in loop.body):
        return ()
    inside = [p for s in loop.body for p in parts(s)]
    found = tuple(dict.fromkeys(p for p in inside if _is_draw(p)))
    if not found or len(found) > machine.most_draws or any(isinstance(p, Within) for p in inside):
        return ()
    own = {s.name for s in loop.body if isinstance(s, Declare)}
    own |= {name for s in loop.body for name in written(s)}
    used = {p for draw in found for p in subexpressions(draw)}
    names = {p.name for p in used if isinstance(p, Ref)}
    names |= {p.buffer for p in used if isinstance(p, Load)}
    return found if own.isdisjoint(names) and _computes_functions(loop) else ()


def _is_draw(expr: Expr) -> TypeGuard[Apply]:
    return isinstance(expr, Apply) and expr.primitive.fills_registers


def _computes_functions(loop: For) -> bool:
    """Tell whether a function that takes long is computed of what is drawn."""
    drawn: set[str] = set()
    for statement in loop.body:
        for part in parts(statement):
            if isinstance(part, Apply) and TABLE[part.op].transcendental and _is_of(part, drawn):
                return True
        if isinstance(statement, Declare) and _is_of(statement.value, drawn):
            drawn.add(statement.name)
    return False


def _is_of(expr: Expr, drawn: set[str]) -> bool:
    return any(
        _is_draw(p) or (isinstance(p, Ref) and p.name in drawn) for p in subexpressions(expr)
    )


def _in_two(
    loop: For, found: tuple[Apply, ...], names: Names, machine: Machine
) -> Iterator[Statement]:
    """The loop after one that draws, or a loop over blocks of such pairs."""
    extent, size = loop.extent, machine.draw_block
    if isinstance(extent, int) and machine.shortest_drawn <= extent <= machine.longest_drawn:
        yield from _pair(loop, extent, found, names)
    elif (
        isinstance(loop.stop, int)
        and loop.start == 0
        and loop.limit is None
        and loop.stop >= machine.fewest_draw_blocks * size
        and is_independent(loop)
    ):
        count = -(-loop.stop // size)
        block = Symbol(names.new("block"), 0, count)
        first = Dim.of(block) * size
        limit = loop.stop if loop.stop % size else None
        part = replace(loop, start=first, stop=first + size, limit=limit)
        yield For(block, count, tuple(_pair(part, size, found, names)))
    else:
        yield loop


def _pair(loop: For, extent: int, found: tuple[Apply, ...], names: Names) -> Iterator[Statement]:
    """The loop that draws, and the one that computes."""
    place = (Dim.of(loop.symbol) - loop.start,)
    arrays = {draw: Buffer(names.new("drawn"), (extent,), draw.dtype) for draw in found}
    yield from map(Alloc, arrays.values())
    yield replace(loop, body=tuple(Store(b.name, place, draw) for draw, b in arrays.items()))

    def kept(expr: Expr) -> Expr:
        if isinstance(expr, Apply) and expr in arrays:
            return Load(arrays[expr].name, place, expr.dtype)
        return expr

    yield map_statement(loop, kept)
