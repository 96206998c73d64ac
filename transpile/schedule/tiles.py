"""Tiles: a nest that reads one array along rows and another along columns goes tile by tile.

A transposed array that is read column by column brings a new cache line, and often a new page, for
every element. Within a tile the lines that one row of it brings in serve the following rows.
"""

from __future__ import annotations

from dataclasses import replace

from transpile.dims import Dim, Index, Symbol, symbols_of
from transpile.loops import Alloc, Call, For, If, Program, Statement
from transpile.names import Names
from transpile.options import Options
from transpile.schedule.columns import step
from transpile.walks import accesses, is_independent, names_in, walk, with_bodies

TILE = 32
# Smaller arrays than this stay in the cache anyway.
FEWEST_TILES = 4


def tiles(program: Program, options: Options) -> Program:
    """The program with such nests cut into tiles."""
    names = Names(names_in(program))
    return replace(
        program,
        kernels=tuple(
            replace(k, body=tuple(_statement(s, names) for s in k.body)) for k in program.kernels
        ),
    )


def _statement(statement: Statement, names: Names) -> Statement:
    if not isinstance(statement, For) or statement.ordered:
        return with_bodies(statement, lambda body: tuple(_statement(s, names) for s in body))
    if len(statement.body) == 1 and isinstance(statement.body[0], For):
        inner = statement.body[0]
        if _walks_both_ways(statement, inner):
            return _tiled(statement, inner, names.inner())
    return replace(statement, body=tuple(_statement(s, names) for s in statement.body))


def _walks_both_ways(outer: For, inner: For) -> bool:
    for loop in (outer, inner):
        if not isinstance(loop.stop, int) or loop.start != 0 or loop.limit is not None:
            return False
        if loop.stop < TILE * FEWEST_TILES or not is_independent(loop):
            return False
    if any(isinstance(s, For | If | Call | Alloc) for s in walk(inner.body)):
        return False
    indices = [i for s in inner.body for _, i in accesses(s) if i]
    along_outer = any(  # a vector that only the outer loop walks is no matrix
        step(i, outer.symbol) == 1 and any(inner.symbol in symbols_of(part) for part in i)
        for i in indices
    )
    along_inner = any(step(i, inner.symbol) == 1 for i in indices)
    return along_outer and along_inner


def _tiled(outer: For, inner: For, names: Names) -> For:
    rows, columns = _tile_symbol(outer, names), _tile_symbol(inner, names)
    body = _window(inner, Dim.of(columns), inner.body)
    body = _window(outer, Dim.of(rows), (body,))
    across = For(columns, columns.extent or 0, (body,))
    return For(rows, rows.extent or 0, (across,))


def _tile_symbol(loop: For, names: Names) -> Symbol:
    count = -(-loop.stop // TILE) if isinstance(loop.stop, int) else 0
    return Symbol(names.new(f"{loop.symbol.name}_tile"), 0, count)


def _window(loop: For, tile: Dim, body: tuple[Statement, ...]) -> For:
    """The part of a loop that lies in a tile."""
    first: Index = tile * TILE
    ragged = isinstance(loop.stop, int) and loop.stop % TILE != 0
    limit = loop.stop if ragged else None
    return replace(loop, start=first, stop=first + TILE, limit=limit, body=body)
