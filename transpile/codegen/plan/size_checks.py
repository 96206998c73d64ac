"""What an entry checks of runtime sizes before anything is computed: that each is in its range, and
that no array is larger than addresses go.

An array's bytes are a polynomial in the sizes. Where that is a multiple of one size, it is a bound
of that size; otherwise the product is checked factor by factor, as it might overflow. Arrays that
are provably no larger than another one need no check of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.codegen.line_wrapping import type_text
from transpile.ir.dims import Dim, Index, Shape, Symbol, bounds
from transpile.ir.loop_ir import Buffer, Program
from transpile.util.frozen_records import dataclass

# Bytes. No machine addresses more, and the sum of a program's arrays is still an int64.
ADDRESSABLE = 1 << 56


@dataclass(frozen=True)
class Check:
    """A condition on runtime sizes, and the `text` of the error where it does not hold.

    The size is from `low` to `high`; or without a size, an array of this shape has at most `high`
    elements.
    """

    size: Symbol | None
    low: int
    high: int
    text: str
    shape: Shape = ()

    @property
    def power(self) -> int:
        """n, if `high` is 2**n and long to write; else 0."""
        high = self.high
        return high.bit_length() - 1 if high > 1 << 20 and not high & (high - 1) else 0


def size_checks(program: Program) -> list[Check]:
    """The checks of a program's sizes, in the order of their error codes, from 4 on."""
    if not program.sizes:
        return []
    highest: dict[Symbol, int] = {}
    arrays: list[Check] = []
    for buffer in _largest(program):
        of_size = _multiple_of_size(buffer.size_in_bytes)
        if of_size is not None:
            size, factor = of_size
            highest[size] = min(highest.get(size, ADDRESSABLE), ADDRESSABLE // factor)
        else:
            text = f"{buffer.name}, {type_text(buffer)}, has more than {ADDRESSABLE} bytes"
            arrays.append(Check(None, 0, ADDRESSABLE // buffer.dtype.itemsize, text, buffer.shape))
    return [*(_of_size(size, highest.get(size, ADDRESSABLE)) for size in program.sizes), *arrays]


def helpers_of_checks(program: Program) -> set[str]:
    """The functions of runtime_c that the checks call."""
    return {"has_at_most" for check in size_checks(program) if check.size is None}


def _of_size(size: Symbol, highest: int) -> Check:
    declared = bounds(Dim.of(size))[1]
    power = 1 << (highest.bit_length() - 1)  # which is shorter to write
    if declared is not None and declared <= power:
        return Check(size, size.lower, declared, f"{size} is not {size.lower} to {declared}")
    text = f"{size} is less than {size.lower}, or arrays would be too large"
    return Check(size, size.lower, power, text)


def range_text(size: Symbol) -> str:
    """The range of a size, for the comment of a program."""
    high = bounds(Dim.of(size))[1]
    return f"{size}: at least {size.lower}" if high is None else f"{size}: {size.lower} to {high}"


def _largest(program: Program) -> Iterator[Buffer]:
    """The arrays whose sizes depend on runtime sizes, but those that are provably no larger than
    an array before them."""
    kept: list[Buffer] = []
    candidates = (*program.inputs, *program.outputs, *program.temporaries)
    for buffer in candidates:
        if isinstance(buffer.size_in_bytes, int):
            continue
        if not any(_is_at_most(buffer.size_in_bytes, other.size_in_bytes) for other in kept):
            kept = [b for b in kept if not _is_at_most(b.size_in_bytes, buffer.size_in_bytes)]
            kept.append(buffer)
    yield from kept


def _is_at_most(size: Index, other: Index) -> bool:
    """True if a size is provably no larger than another one."""
    slack = bounds(other - size)[0]
    return slack is not None and slack >= 0


def _multiple_of_size(index: Index) -> tuple[Symbol, int] | None:
    """(size, factor) for an index that is factor times a size."""
    if isinstance(index, Dim) and len(index.terms) == 1:
        (monomial, factor) = index.terms[0]
        if len(monomial) == 1 and isinstance(monomial[0], Symbol):
            return monomial[0], factor
    return None
