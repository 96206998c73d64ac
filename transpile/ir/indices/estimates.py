"""Estimates of sizes, for decisions that change no results.

What has a bound is as large as that. A runtime size without an upper bound is taken for a large
one, so that loops over it get lanes and threads, products are calls, and arrays of it have no room
on the stack.

`greatest` is a bound and no estimate: programs refuse sizes of arrays that no machine addresses.
"""

from __future__ import annotations

from transpile.ir.dims import Dim, Index, Symbol, bounds, substitute, symbols_of
from transpile.util.frozen_records import replace

# What runtime sizes without an upper bound are taken for.
NOMINAL = 1 << 20
# Bytes. No machine addresses more, and the sum of a program's arrays is still an int64: what an
# entry checks of its sizes.
ADDRESSABLE = 1 << 56
# More than what is counted in any program.
_MOST = (1 << 61) - 1


def estimate(index: Index) -> int:
    """An upper bound of a number of iterations or elements, where there is one."""
    high = bounds(index)[1]
    if high is None:
        high = min(bounds(_with_bounds(index, NOMINAL))[1] or 0, _MOST)
    return max(high, 0)


def is_of_sizes(index: Index) -> bool:
    """True for numbers and what is computed of runtime sizes, which no loop around changes."""
    return all(symbol.extent is None for symbol in symbols_of(index))


def greatest(index: Index) -> int | None:
    """A bound of an index's magnitude, for sizes of arrays that can be addressed; None where there
    is none."""
    low, high = bounds(_with_bounds(index, ADDRESSABLE + 1))
    return None if low is None or high is None else max(-low, high)


def _with_bounds(index: Index, end: int) -> Index:
    """An index whose symbols all have an upper bound: runtime sizes are below `end`."""
    open_ended = [s for s in symbols_of(index) if bounds(Dim.of(s))[1] is None]
    return substitute(index, {s: Dim.of(_with_bound(s, end)) for s in open_ended})


def _with_bound(symbol: Symbol, end: int) -> Symbol:
    if symbol.extent is not None:
        most = bounds(_with_bounds(symbol.extent, end))[1]
        end = max(min(most or 0, _MOST), symbol.lower + 1)
    return replace(symbol, extent=end, facts=())
