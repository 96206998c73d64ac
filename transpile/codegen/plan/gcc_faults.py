"""Flags that avoid a miscompilation by gcc, for the programs that it may affect.

gcc 12 vectorises sums, minima and maxima of several terms in straight-line code (SLP), also after
it has unrolled a loop. Where the terms are comparisons converted to integers of 8 or 16 bits, it
uses the vector mask in their place, in which a true lane has all bits set:
`(uint8_t)(x[0] > 0) + ... + (uint8_t)(x[3] > 0)` of four true terms is 252. Wider integers are
converted correctly.
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
    """gcc's additional flags without which a program may be miscompiled."""
    return _NO_STRAIGHT_LINE_VECTORS if reduces_short_integers else ()


def notes(flags: tuple[str, ...]) -> list[str]:
    """The line about them in the comment of a program."""
    return [f"gcc: only with {' '.join(flags)}, without which gcc 12 errs"] if flags else []
