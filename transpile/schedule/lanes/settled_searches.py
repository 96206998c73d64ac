"""Searches for the first index at which a condition holds stop at the block that has it.

    for j simd minimum:first: first = min(first, condition(j) ? j : none)

becomes, for long loops,

    for block: if first == none: for j in the block simd minimum:first: ...

A loop with a jump out of it would not run in lanes; a test for each block costs next to nothing,
and of a row whose extreme may stand anywhere half is not read a second time.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import LANES_BOUND
from transpile.ir.dims import Dim, Symbol
from transpile.ir.loop_ir import (
    Apply,
    Expr,
    For,
    If,
    IndexValue,
    Literal,
    Program,
    Ref,
    Statement,
    Update,
)
from transpile.ir.loop_rewrite import map_kernels, names_in, with_bodies
from transpile.ir.types import BOOL
from transpile.machine import Machine
from transpile.options import Options
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, replace, same


@contract(requires=(LANES_BOUND,))
def stop_settled_searches(program: Program, options: Options) -> Program:
    """The program with such loops in blocks."""
    names = Names(names_in(program))

    def rewritten(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(_statements(body, names, options.machine))

    return map_kernels(
        program, lambda kernel: changed(kernel, body=same(kernel.body, rewritten(kernel.body)))
    )


def _statements(body: tuple[Statement, ...], names: Names, machine: Machine) -> Iterator[Statement]:
    for statement in body:
        none = _none(statement, machine) if isinstance(statement, For) else None
        if none is None:
            yield with_bodies(statement, lambda inner: tuple(_statements(inner, names, machine)))
        else:
            assert isinstance(statement, For)
            yield _in_blocks(statement, none, names, machine.searched_block)


def _none(loop: For, machine: Machine) -> Expr | None:
    """The condition under which nothing is known of the first index, for a long loop that searches
    it: indices grow, so that later blocks have none that is less."""
    is_long = isinstance(loop.stop, int) and loop.stop >= 2 * machine.searched_block
    is_plain = loop.start == 0 and loop.limit is None and loop.simd and not loop.parallel
    if not is_long or not is_plain or len(loop.body) != 1:
        return None
    match loop.body[0]:
        case Update(
            target=Ref() as first,
            op="minimum",
            value=Apply(op="select", args=(_, index, Literal() as none)),
        ) if _grows(index, loop.symbol) and none.value == _largest(none):
            return Apply("equal", (first, none), BOOL)
    return None


def _largest(literal: Literal) -> object:
    """The greatest integer of its dtype, which no index is; None for other dtypes."""
    kind = literal.dtype
    return np.iinfo(kind).max if kind.kind == "i" else None


def _grows(expr: Expr, symbol: Symbol) -> bool:
    """True for an index that grows with the loop's."""
    if isinstance(expr, Apply) and expr.op == "convert_element_type":
        return _grows(expr.args[0], symbol)
    return isinstance(expr, IndexValue) and expr.index == Dim.of(symbol)


def _in_blocks(loop: For, none: Expr, names: Names, size: int) -> For:
    assert isinstance(loop.stop, int)
    count = -(-loop.stop // size)
    block = Symbol(names.new("block"), 0, count)
    first = Dim.of(block) * size
    limit = None if loop.stop % size == 0 else loop.stop
    part = replace(loop, start=first, stop=first + size, limit=limit)
    return For(block, count, (If(none, (part,)),))
