"""Flags that keep gcc from a fault of its own, for the programs that could meet it.

gcc 12 vectorises a sum, or a minimum or maximum, of several terms in straight-line code. Where the
terms are comparisons turned into integers of 8 or 16 bits it takes the vector mask for them, of
which a true lane has all bits set: `(uint8_t)(x[0] > 0) + ... + (uint8_t)(x[3] > 0)` of four true
terms is 252. Loops that it unrolls first are such code too. Wider integers are converted from masks
as they should be.
"""

from __future__ import annotations

from transpile.ir.loop_ir import DType

_REDUCING = {"add", "subtract", "maximum", "minimum"}
_LARGEST = 2  # bytes
_NO_STRAIGHT_LINE_VECTORS = ("-fno-tree-slp-vectorize",)


def is_short_reduction(op: str, dtype: DType) -> bool:
    """Tell whether gcc could err where this operation reduces several terms."""
    return op in _REDUCING and dtype.kind in "iu" and dtype.itemsize <= _LARGEST


def flags_around_faults(*, reduces_short_integers: bool) -> tuple[str, ...]:
    """gcc's flags that a program needs to be right, beside those that all programs get."""
    return _NO_STRAIGHT_LINE_VECTORS if reduces_short_integers else ()


def notes(flags: tuple[str, ...]) -> list[str]:
    """What the comment of a program says of them."""
    return [f"gcc: only with {' '.join(flags)}, without which gcc 12 errs"] if flags else []
