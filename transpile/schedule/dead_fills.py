"""Dead store elimination: an array is not filled if a loop that follows stores each element anew.

    for i in range(n): y[i] = 0                     for i in range(n): y[i] = f(i)
    for i in range(n): y[i] = f(i)          ->

Loops of Python's fill arrays that `numpy.zeros` has made. The first loop is dead where the second
one stores to each subscript, under whatever conditions, and nothing reads the array before it has
been there.
"""

from __future__ import annotations

from collections.abc import Mapping

from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import NO_DEAD_SCALARS
from transpile.ir.dims import Index, Symbol, sole_symbol
from transpile.ir.loop_ir import Buffer, For, If, Program, Statement, Store
from transpile.ir.loop_rewrite import loads, map_kernels, walk, with_bodies, written
from transpile.options import Options
from transpile.util.frozen_records import changed, same

Body = tuple[Statement, ...]


@contract(destroys=(NO_DEAD_SCALARS,))
def remove_dead_fills(program: Program, options: Options) -> Program:
    """The program without loops whose elements are all stored again before they are read."""
    buffers = program.buffers()
    return map_kernels(program, lambda k: changed(k, body=_body(k.body, buffers)))


def _body(body: Body, buffers: Mapping[str, Buffer]) -> Body:
    body = same(body, tuple(with_bodies(s, lambda inner: _body(inner, buffers)) for s in body))
    kept = [s for k, s in enumerate(body) if not _is_dead(s, body[k + 1 :], buffers)]
    return same(body, tuple(kept))


def _is_dead(statement: Statement, behind: Body, buffers: Mapping[str, Buffer]) -> bool:
    name = _filled(statement)
    if name is None or name not in buffers:
        return False
    for other in behind:
        inside = list(walk((other,)))
        if any(load.buffer == name for s in inside for load in loads(s)):
            return False
        if any(name in written(s) for s in inside):
            is_plain = all(isinstance(s, Store) for s in inside if name in written(s))
            return is_plain and _stores_all((other,), buffers[name], {})
    return False


def _filled(statement: Statement) -> str | None:
    """The array that a nest of loops stores to, if that is all it does."""
    if not isinstance(statement, For):
        return None
    while isinstance(statement, For) and len(statement.body) == 1:
        (statement,) = statement.body
    return statement.buffer if isinstance(statement, Store) else None


def _stores_all(body: Body, buffer: Buffer, ends: Mapping[Symbol, Index]) -> bool:
    """True if a body stores to each element, in the iterations of the loops around it.

    ends   the symbols of those loops, all of which run from 0, and where they end
    """
    return any(_stores(statement, buffer, ends) for statement in body)


def _stores(statement: Statement, buffer: Buffer, ends: Mapping[Symbol, Index]) -> bool:
    match statement:
        case Store(buffer=name, index=index) if name == buffer.name:
            symbols = [sole_symbol(part) for part in index]
            is_each = len(symbols) == len(ends) and ends.keys() == set(symbols)
            return is_each and all(
                symbol is not None and ends[symbol] == end
                for symbol, end in zip(symbols, buffer.shape, strict=True)
            )
        case If(body=then, orelse=orelse):
            return all(_stores_all(arm, buffer, ends) for arm in (then, orelse))
        case For(symbol=symbol, start=0, limit=None, stop=stop, body=inner):
            return symbol not in ends and _stores_all(inner, buffer, {**ends, symbol: stop})
    return False
