"""Row-major order: the position of an element from its indices, and the indices from a position."""

from __future__ import annotations

from collections.abc import Iterable

from transpile.ir.dims import (
    Dim,
    Index,
    Remainder,
    Shape,
    Symbol,
    floor_divide,
    modulo,
    normal_form,
    substitute,
    terms_of,
)


def product(dims: Iterable[Index]) -> Index:
    """The product of dimensions: the number of elements of a shape."""
    total: Index = 1
    for dim in dims:
        total = dim * total
    return total


def blocks_of(extent: Index, size: Index) -> Index:
    """How many blocks of a size it takes for as many iterations: the quotient, rounded up."""
    return floor_divide(extent + size - 1, size)


def limit_of_blocks(stop: Index, extent: Index, size: Index) -> Index | None:
    """Where the last block of a loop ends early: its end, or None if all blocks are whole."""
    return None if modulo(extent, size) == 0 else stop


def step_of(index: Index, symbol: Symbol) -> Index:
    """How far an index moves from one value of a symbol to the next."""
    return substitute(index, {symbol: Dim.of(symbol) + 1}) - index


def row_major(indices: Iterable[Index], shape: Iterable[Index]) -> Index:
    """The position of an element in the row-major order of its array."""
    flat: Index = 0
    for index, extent in zip(indices, shape, strict=True):
        flat = flat * extent + index
    return flat


def unravel(flat: Index, shape: Shape) -> Shape:
    """The indices of the element at a row-major position; the inverse of `row_major`."""
    indices: list[Index] = []
    for axis in range(len(shape) - 1, -1, -1):
        extent = shape[axis]
        indices.append(modulo(flat, extent) if axis else flat)
        flat = floor_divide(flat, extent)
    return tuple(reversed(indices))


def recombine(index: Index) -> Index:
    """The index with every `d*(x // d) + x % d` recombined to `x`."""
    if isinstance(index, int):
        return index
    sums = dict(index.terms)
    for monomial, coefficient in index.terms:
        if len(monomial) != 1 or not isinstance(monomial[0], Remainder):
            continue
        atom = monomial[0]
        whole = floor_divide(atom.dividend, atom.divisor) * atom.divisor
        terms = [(m, coefficient * c) for m, c in terms_of(whole)]
        if terms and all(sums.get(m) == c for m, c in terms):
            for m, _ in terms:
                del sums[m]
            del sums[monomial]
            return recombine(normal_form(sums) + atom.dividend * coefficient)
    return index
