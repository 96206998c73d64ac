"""Medians, percentiles and other ranks of windows.

A small window is sorted by a network of exchanges (K. E. Batcher, Sorting networks and their
applications, AFIPS 1968), of which only those are left that the rank depends on: a least and a
greatest of two numbers each, in vector registers. The elements of a larger window are sorted.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.numpy.core.promotion import Array
from transpile.numpy.core.promotion import error as located
from transpile.scipy.ndimage.edges import (
    as_stored,
    axes_of,
    extended,
    for_each,
    image,
    known,
    output_dtype,
    shifted,
    stored_edge,
    surroundings,
    window,
)
from transpile.scipy.ndimage.extremes import maximum_filter, minimum_filter
from transpile.scipy.special.operands import public

__all__ = ["median_filter", "of_rank", "percentile_filter", "rank_filter"]

# Windows of more elements are sorted.
_IN_A_NETWORK = 12


@public
def rank_filter(
    input: Array,
    rank: int,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The element of a rank, counted from 0 or, below 0, from the end, of the window around each.

    Other arguments and errors are those of `maximum_filter`; RuntimeError for a rank that the
    window has not.
    """
    place = operator.index(known("rank", rank))

    def chosen(count: int) -> int:
        return place + count if place < 0 else place

    return _filtered(input, chosen, size, footprint, output, mode, cval, origin, axes)


@public
def median_filter(
    input: Array,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The median of the window around each element, the upper one of an even number. Arguments and
    errors are those of `rank_filter`."""
    return _filtered(
        input, lambda count: count // 2, size, footprint, output, mode, cval, origin, axes
    )


@public
def percentile_filter(
    input: Array,
    percentile: float,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The element at a percentile, from 0 to 100 or, from the end, -100 to 0, of the window around
    each. Arguments and errors are those of `rank_filter`."""
    share = float(known("percentile", percentile))
    share = share + 100 if share < 0 else share
    if not 0 <= share <= 100:
        raise located(RuntimeError, "invalid percentile")

    def chosen(count: int) -> int:
        return count - 1 if share == 100 else int(float(count) * share / 100.0)

    return _filtered(input, chosen, size, footprint, output, mode, cval, origin, axes)


def _filtered(
    input: Array,
    rank_of: Any,
    size: Any,
    footprint: Any,
    output: Any,
    mode: Any,
    cval: Any,
    origin: Any,
    axes: Any,
) -> Any:
    x = image(input, is_real=True)
    if size is not None and footprint is not None:
        warnings.warn("ignoring size because footprint is set", UserWarning, stacklevel=4)
    if footprint is None:
        if size is None:
            raise located(RuntimeError, "no footprint or filter size provided")
        count = len(axes_of(axes, np.ndim(x)))
        footprint = np.ones([int(n) for n in for_each(known("size", size), count)], bool)
    footprint = np.asarray(known("footprint", footprint), bool)
    count = int(footprint.sum())
    rank = rank_of(count)
    if not 0 <= rank < count:
        raise located(RuntimeError, "rank not within filter footprint size")
    if rank in (0, count - 1):
        extreme = minimum_filter if rank == 0 else maximum_filter
        return extreme(x, None, footprint, output, mode, cval, origin, axes=axes)
    if not isinstance(mode, str):
        raise located(
            RuntimeError, "A sequence of modes is not supported by non-separable rank filters"
        )
    sizes, origins = window(footprint.shape, origin, axes, np.ndim(x), "footprint")
    reach = {k: surroundings(n, origins[k]) for k, n in enumerate(sizes)}
    long = extended(x, reach, mode, stored_edge(cval, x.dtype))
    offsets = zip(*np.nonzero(footprint.reshape(sizes)), strict=True)
    elements = [shifted(long, [int(o) for o in offset], sizes) for offset in offsets]
    return as_stored(of_rank(elements, rank), output_dtype(output, x))


def of_rank(elements: Sequence[Any], rank: int) -> Any:
    """The element of a rank among arrays of one shape, for each of their positions."""
    if len(elements) > _IN_A_NETWORK:
        return np.sort(np.stack(elements, axis=-1), axis=-1)[..., rank]
    values = list(elements)
    for low, high, has_least, has_greatest in _needed(_network(len(values)), rank):
        x, y = values[low], values[high]
        in_order = x < y  # one instruction each, where minimum and maximum look for NaN
        if has_least:
            values[low] = np.where(in_order, x, y)
        if has_greatest:
            values[high] = np.where(in_order, y, x)
    return values[rank]


def _network(count: int) -> list[tuple[int, int]]:
    """The exchanges of Batcher's odd-even merge sort, each of two positions."""
    exchanges = []
    merged = 1
    while merged < count:
        apart = merged
        while apart:
            for first in range(apart % merged, count - apart, 2 * apart):
                for low in range(first, min(first + apart, count - apart)):
                    if low // (2 * merged) == (low + apart) // (2 * merged):
                        exchanges.append((low, low + apart))
            apart //= 2
        merged *= 2
    return exchanges


def _needed(exchanges: list[tuple[int, int]], rank: int) -> list[tuple[int, int, bool, bool]]:
    """The exchanges that a rank depends on, and which of the two results is used."""
    wanted, kept = {rank}, []
    for low, high in reversed(exchanges):
        if low in wanted or high in wanted:
            kept.append((low, high, low in wanted, high in wanted))
            wanted |= {low, high}
    return kept[::-1]
