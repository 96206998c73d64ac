"""Short blocks of an axis of a runtime size: a loop over the whole ones, whose lanes are counted by
a constant, and one over what is left.

    for b in 0..(n + 31) // 32:                 for b in 0..n // 32:
        for i in 32*b..32*b + 32, below n:  ->      for i in 32*b..32*b + 32: ...
            ...                                 for b in n // 32..(n + 31) // 32:
                                                    for i in 32*b..32*b + 32, below n: ...

A compiler unrolls lanes of a constant number, and needs no loop for those that fill no register.

A team shares the loops over the blocks of several axes as one, which stays one: there the loops
inside a tile are in two versions, of which a test for each tile takes that of whole ones.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from transpile.intrinsics.tiles import TransposeTile
from transpile.ir.contracts import contract
from transpile.ir.dims import Dim, Index, Symbol, floor_divide, sides, terms_of
from transpile.ir.indices.row_major import blocks_of
from transpile.ir.indices.values import as_value
from transpile.ir.loop_ir import Alloc, Apply, Expr, For, If, Program, Statement
from transpile.ir.loop_rewrite import map_bodies, substitute_index, walk, with_bodies
from transpile.ir.types import BOOL
from transpile.machine import Machine
from transpile.options import Options
from transpile.util.frozen_records import changed, replace

Body = tuple[Statement, ...]


@contract()
def split_whole_blocks(program: Program, options: Options) -> Program:
    """The program with its loops over short blocks split."""
    if not program.sizes:
        return program
    machine = options.machine
    return map_bodies(program, lambda body: tuple(_split_all(body, machine)))


def _split_all(
    body: Body, machine: Machine, collapsed: int = 0, blocks: tuple[Symbol, ...] = ()
) -> Iterator[Statement]:
    """The statements with their loops split, but those of a nest that a team shares as one loop,
    of which the statements are the inside of so many levels; `blocks` are the indices of such a
    nest around them."""
    for statement in body:
        levels = statement.collapse - 1 if isinstance(statement, For) else 0
        levels = max(levels, collapsed - 1)
        if blocks and not collapsed:
            yield _whole_or_not(statement, blocks, machine)
            continue
        nest = (*blocks, statement.symbol) if isinstance(statement, For) else ()
        nest = nest if collapsed or levels else ()

        def inside(body: Body, levels: int = levels, nest: tuple[Symbol, ...] = nest) -> Body:
            return tuple(_split_all(body, machine, levels, nest))

        inner = with_bodies(statement, inside)
        found = _block_of(inner) if isinstance(inner, For) and not collapsed else None
        if found is None or not isinstance(inner, For) or not _is_short(inner, found[0], machine):
            yield inner
        else:
            yield from _parts(inner, *found)


def _whole_or_not(statement: Statement, blocks: tuple[Symbol, ...], machine: Machine) -> Statement:
    """A statement of a tile, in two versions if it has few loops in lanes over what the tile has of
    an axis."""
    if isinstance(statement, TransposeTile) and machine.most_piece_statements > 1:
        return _whole_tile_or_not(statement)
    every = tuple(walk((statement,)))
    tests: dict[Expr, None] = {}
    for part in every:
        if isinstance(part, For) and part.limit is not None:
            if not any(_size(part, block) for block in blocks):
                return statement
            pair = as_value(part.stop), as_value(part.limit)
            tests[Apply("less_equal", pair, BOOL)] = None
    in_lanes = any(isinstance(s, For) and s.limit is not None and s.simd for s in every)
    if not in_lanes or 2 * len(every) > machine.most_piece_statements:
        return statement
    is_whole = functools.reduce(lambda a, b: Apply("logical_and", (a, b), BOOL), tests)
    return If(is_whole, (_unlimited(statement),), (statement,))


def _whole_tile_or_not(call: TransposeTile) -> Statement:
    """The call that fills a tile, in two versions: the compiler counts the rows of a whole one."""
    ends = (sides(extent - call.tile) for extent in (call.rows, call.columns))
    tests = [Apply("less_equal", (as_value(a), as_value(b)), BOOL) for a, b in ends]
    whole = replace(call, rows=call.tile, columns=call.tile)
    return If(Apply("logical_and", tuple(tests), BOOL), (whole,), (call,))


def _unlimited(statement: Statement) -> Statement:
    """A statement of a whole tile."""
    if isinstance(statement, For):
        statement = replace(statement, limit=None)
    return with_bodies(statement, lambda body: tuple(map(_unlimited, body)))


def _is_short(loop: For, size: int, machine: Machine) -> bool:
    """True if blocks have few iterations, and a loop over them so few statements, and so small
    arrays on the stack, that it may stand there twice."""
    every = tuple(walk((loop,)))
    arrays = [s.buffer.size_in_bytes for s in every if isinstance(s, Alloc) and s.slot is None]
    on_stack = [2 * size for size in arrays if isinstance(size, int)]
    return (
        size <= machine.longest_counted_block
        and 2 * len(every) <= machine.most_piece_statements
        and len(on_stack) == len(arrays)
        and sum(on_stack) <= machine.stack_array_bytes
    )


def _block_of(loop: For) -> tuple[int, Index] | None:
    """(size of a block, end of the axis) of a loop over blocks; None for other loops."""
    if loop.start != 0 or loop.limit is not None or loop.collapse != 1:
        return None
    for part in walk(loop.body):
        if isinstance(part, For) and isinstance(part.limit, Dim) and part.simd:
            size = _size(part, loop.symbol)
            if size and blocks_of(part.limit, size) == loop.stop:
                return size, part.limit
    return None


def _size(part: For, block: Symbol) -> int:
    """How many iterations a block has, where a loop is one over the iterations of a block; else
    0."""
    match terms_of(part.start), part.extent:
        case [((symbol,), factor)], int(extent) if symbol == block and factor == extent:
            return extent
    return 0


def _parts(loop: For, size: int, end: Index) -> Iterator[Statement]:
    """The loop over whole blocks, and the one over the rest, which runs once at most."""
    middle = floor_divide(end, size)

    def counted(body: Body) -> Body:
        return tuple(
            with_bodies(
                replace(s, limit=None)
                if isinstance(s, For) and s.limit == end and _size(s, loop.symbol) == size
                else s,
                counted,
            )
            for s in body
        )

    whole, rest = (changed(loop.symbol, extent=stop) for stop in (middle, loop.stop))
    body, other = (
        tuple(substitute_index(s, loop.symbol, Dim.of(symbol)) for s in statements)
        for symbol, statements in ((whole, counted(loop.body)), (rest, loop.body))
    )
    yield replace(loop, symbol=whole, stop=middle, body=body)
    yield replace(loop, symbol=rest, start=middle, body=other, parallel=False, threads=0, slack=0)
