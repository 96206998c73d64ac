"""Estimates of sizes, for decisions that change no results.

What has a bound is as large as that. A runtime size without an upper bound is taken for a large
one, so that loops over it get lanes and threads, products are calls, and arrays of it have no room
on the stack.
"""

from __future__ import annotations

from transpile.ir.dims import Dim, Index, Symbol, bounds, substitute, symbols_of
from transpile.util.frozen_records import replace

# What runtime sizes without an upper bound are taken for.
NOMINAL = 1 << 20
# More than what is counted in any program.
_MOST = (1 << 61) - 1


def estimate(index: Index) -> int:
    """An upper bound of a number of iterations or elements, where there is one."""
    high = bounds(index)[1]
    if high is None:
        high = min(bounds(_nominal(index))[1] or 0, _MOST)
    return max(high, 0)


def _nominal(index: Index) -> Index:
    """An index whose symbols all have an upper bound."""
    open_ended = [s for s in symbols_of(index) if bounds(Dim.of(s))[1] is None]
    return substitute(index, {s: Dim.of(_with_bound(s)) for s in open_ended})


def _with_bound(symbol: Symbol) -> Symbol:
    end = NOMINAL if symbol.extent is None else max(estimate(symbol.extent), symbol.lower + 1)
    return replace(symbol, extent=end, facts=())
