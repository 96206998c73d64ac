"""Fission what keeps transcendental functions from their speed, in blocks: the random generator
from functions of its bits, and calls without vector code from all.

A counter-based generator is a long dependence chain, and so is a logarithm or `erf_inv`.
Out-of-order execution overlaps iterations of a loop while its body is short; a loop with both
chains stalls. So a first loop fills a local array with the bits of a block, and a second one reads
them:

    for i: out[i] = erf_inv(... bits(key, i) ...)
    for block: for i in block: drawn[i - first] = bits(key, i);  for i in block: out[i] = ...

Bits are a pure function of key and counter, so that they are the same in either form.

`exp(x // y)` of 64-bit integers, or of `gcd(x, y)`, would not run in lanes at all: there is no
vector code for the quotient. So quotients have a loop of their own, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import NO_LANES, OF_LOOPS, STACK_BOUNDED, SUBEXPRESSIONS_SHARED
from transpile.ir.loop_ir import (
    Apply,
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
    expressions,
    is_independent,
    map_bodies,
    names_in,
    parts,
    subexpressions,
    with_bodies,
    written,
)
from transpile.ir.primitive import TABLE
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.domain.staged_values import staged, staged_in_blocks
from transpile.symbols.identifiers import Names


@contract(requires=(NO_LANES,), destroys=(*OF_LOOPS, SUBEXPRESSIONS_SHARED, STACK_BOUNDED))
def fission_rng(program: Program, options: Options) -> Program:
    """The program with loops over random bits and functions of them split in two."""
    machine = options.machine
    names = Names(names_in(program))
    return map_bodies(program, lambda body: tuple(_body(body, names, machine)))


def _body(body: tuple[Statement, ...], names: Names, machine: Machine) -> Iterator[Statement]:
    for statement in body:
        if isinstance(statement, For) and (calls := _generator_calls(statement, machine)):
            yield from _split(statement, calls, names, machine)
        else:
            yield with_bodies(statement, lambda inner: tuple(_body(inner, names, machine)))


def _generator_calls(loop: For, machine: Machine) -> tuple[Apply, ...]:
    """The calls to split off; none if the loop holds other loops, has no transcendental function
    beside them, or of random bits, or computes their operands itself."""
    if loop.ordered or not all(isinstance(s, Store | Declare | Update) for s in loop.body):
        return ()
    inside = [p for s in loop.body for p in parts(s)]
    calls = tuple(dict.fromkeys(c for s in loop.body for e in expressions(s) for c in _calls(e)))
    if not calls or len(calls) > machine.most_draws or any(isinstance(p, Within) for p in inside):
        return ()
    own = {s.name for s in loop.body if isinstance(s, Declare)}
    own |= {name for s in loop.body for name in written(s)}
    used = {p for call in calls for p in subexpressions(call)}
    names = {p.name for p in used if isinstance(p, Ref)}
    names |= {p.buffer for p in used if isinstance(p, Load)}
    if not own.isdisjoint(names):
        return ()
    pays = (
        _computes_functions(loop) if any(map(_is_draw, calls)) else any(map(_is_function, inside))
    )
    return calls if pays and not any(map(_is_function, used)) else ()


def _calls(expr: Expr) -> Iterator[Apply]:
    """The calls of the generator, and those without vector code, that stand in no other one."""
    if _is_draw(expr) or _is_scalar(expr):
        yield expr
    elif isinstance(expr, Apply):
        for arg in expr.args:
            yield from _calls(arg)


def _is_draw(expr: Expr) -> TypeGuard[Apply]:
    return isinstance(expr, Apply) and expr.primitive.fills_registers


def _is_scalar(expr: Expr) -> TypeGuard[Apply]:
    return isinstance(expr, Apply) and expr.primitive.is_scalar(expr.dtype)


def _is_function(expr: Expr) -> bool:
    """True for a transcendental function that runs in lanes."""
    return isinstance(expr, Apply) and expr.primitive.transcendental and not _is_scalar(expr)


def _computes_functions(loop: For) -> bool:
    """True if a transcendental function depends on random bits."""
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


def _split(
    loop: For, calls: tuple[Apply, ...], names: Names, machine: Machine
) -> Iterator[Statement]:
    """The split loop: one pair if it is short, a loop over blocks of pairs if it is long."""
    extent, size = loop.extent, machine.draw_block
    drawn: dict[Expr, str] = dict.fromkeys(calls, "drawn")
    if isinstance(extent, int) and machine.shortest_drawn <= extent <= machine.longest_drawn:
        yield from staged(loop, extent, drawn, names)
    elif (
        isinstance(loop.stop, int)
        and loop.start == 0
        and loop.limit is None
        and loop.stop >= machine.fewest_draw_blocks * size
        and is_independent(loop)
    ):
        yield staged_in_blocks(loop, loop.stop, size, drawn, names)
    else:
        yield loop
