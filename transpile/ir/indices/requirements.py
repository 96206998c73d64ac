"""What an operation requires of runtime sizes, asked while a function is traced."""

from __future__ import annotations

from transpile.errors import UndecidedSizeError
from transpile.ir.dims import Dim, Index, bounds, sides
from transpile.ir.indices.lengths import index_error, is_checked_later, lengths_in
from transpile.ir.indices.polynomial_text import declaration, undecided


def may_be_0(extent: Index) -> bool:
    """True if an extent is a runtime size for which 0 is allowed."""
    return isinstance(extent, Dim) and bounds(extent)[0] in (None, 0)


def is_at_most(smaller: Index, larger: Index) -> bool:
    """True if `smaller <= larger` for all runtime sizes."""
    slack = bounds(larger - smaller)[0]
    return slack is not None and slack >= 0


def require(smaller: Index, larger: Index, what: str, words: str = "") -> None:
    """Raise UndecidedSizeError unless `smaller <= larger` for all runtime sizes, which `what`
    needs. Where it is one of lengths the program checks it; its error has NumPy's `words`."""
    if not is_at_most(smaller, larger):
        if is_checked_later(smaller, larger, words or f"{what} needs {smaller} <= {larger}"):
            return
        a, b = sides(larger - smaller)
        raise UndecidedSizeError(
            f"{what} needs {smaller} <= {larger}, which does not follow from what is declared of "
            f"the sizes; declare it: {declaration(a, '<=', b)}"
        )


def require_index(index: Index, axis: int, size: Index) -> None:
    """Raise UndecidedSizeError unless an index, which may be negative, is one of an axis for all
    runtime sizes; where that is one of lengths, the call ends with NumPy's IndexError."""
    counted_from_end = isinstance(index, int) and index < 0
    start = index + size if counted_from_end else index
    what = f"the index {index} of an axis of size {size}"
    words = index_error(f"index {index} is out of bounds for axis {axis} with size {size}")
    require(0, start, what, words)
    require(start + 1, size, what, words)


def require_slice(start: Index, limit: Index, size: Index) -> None:
    """Have the program check a slice of an axis whose length it finds."""
    if lengths_in([(start, limit, size)]):
        what = f"a slice from {start} to {limit} of an axis of size {size}"
        for smaller, larger in ((0, start), (start, limit), (limit, size)):
            require(smaller, larger, what)


def extreme(a: Index, b: Index, sign: int) -> Index:
    """The larger of two sizes (sign 1), or the smaller one (-1). Raises UndecidedSizeError where
    which it is depends on their values."""
    for larger, smaller in ((a, b), (b, a)):
        if is_at_most(smaller, larger):
            return larger if sign > 0 else smaller
    raise UndecidedSizeError(undecided(a, b, *sides(b - a)))


def at_least_both(a: Index, b: Index) -> Index:
    """The larger of two sizes or, where which it is depends on their values, their sum: what memory
    for either takes."""
    if is_at_most(a, b):
        return b
    return a if is_at_most(b, a) else a + b
