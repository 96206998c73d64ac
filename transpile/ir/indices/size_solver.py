"""Solve for runtime sizes: their values in a call, from the shapes of its arguments.

An extent `n`, or `2*n + 1`, has one unknown and gives its size. Extents with several unknowns wait
until others have given all of them but one. At the end each extent is evaluated and compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from transpile.ir.dims import Dim, Index, Shape, Symbol, evaluate, substitute, symbols_of, terms_of
from transpile.util.frozen_records import dataclass

# (declared shape, shape in the call) of an argument by its path.
Observed = tuple[str, Shape, tuple[int, ...]]


class SizeMismatchError(TypeError):
    """The shapes of a call contradict each other, or leave a size open."""


def sizes_of(shapes: Iterable[Shape]) -> tuple[Symbol, ...]:
    """The runtime sizes in shapes, in order."""
    extents = (extent for shape in shapes for extent in shape)
    return tuple(dict.fromkeys(s for d in extents for s in sorted(symbols_of(d), key=str)))


def solved(sizes: Sequence[Symbol], arguments: Iterable[Observed]) -> dict[str, int]:
    """The value of each size. Raises SizeMismatchError where arguments contradict each other, or
    where no extent determines a size."""
    extents = [
        _Extent(path, axis, declared, given)
        for path, shape, called in arguments
        for axis, (declared, given) in enumerate(zip(shape, called, strict=True))
        if isinstance(declared, Dim)
    ]
    known: dict[Symbol, int] = {}
    origin: dict[Symbol, str] = {}
    for _ in sizes:
        for extent in extents:
            found = extent.solution(known)
            if found is not None:
                symbol, known[symbol] = found
                origin[symbol] = extent.place
    if wrong := [text for extent in extents if (text := extent.contradiction(known, origin))]:
        raise SizeMismatchError("\n".join(wrong))
    if missing := [str(size) for size in sizes if size not in known]:
        raise SizeMismatchError(
            f"the shapes of the arguments do not determine {', '.join(missing)}"
        )
    return {size.name: known[size] for size in sizes}


@dataclass(frozen=True)
class _Extent:
    """An extent of an argument: as it was declared, and in the call."""

    path: str
    axis: int
    declared: Dim
    given: int

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        return f"axis {self.axis} of {self.path!r}"

    def solution(self, known: Mapping[Symbol, int]) -> tuple[Symbol, int] | None:
        """Its one unknown size and the value of that; None where it gives none."""
        linear = self._linear(known)
        if linear is None:
            return None
        symbol, slope, constant = linear
        value, remainder = divmod(self.given - constant, slope)
        return None if remainder else (symbol, value)

    def _linear(self, known: Mapping[Symbol, int]) -> tuple[Symbol, int, int] | None:
        """(n, a, b) if it is a*n + b with one unknown n; else None."""
        terms = terms_of(substitute(self.declared, known))
        constant = sum(c for monomial, c in terms if not monomial)
        match [term for term in terms if term[0]]:
            case [((Symbol() as symbol,), slope)]:
                return symbol, slope, constant
        return None

    def contradiction(self, known: Mapping[Symbol, int], origin: Mapping[Symbol, str]) -> str:
        """What is wrong with it, given the known sizes; "" where nothing is."""
        wanted = substitute(self.declared, known)
        if isinstance(wanted, Dim):
            linear = self._linear(known)
            if linear is None or (self.given - linear[2]) % linear[1] == 0:
                return ""
            return f"{self.place} is {self.declared}, which cannot be {self.given}"
        if wanted == self.given:
            return ""
        used = sorted(self.declared.symbols(), key=str)
        because = ", ".join(f"{s} is {known[s]} in {origin[s]}" for s in used)
        return f"{self.place} is {self.declared}, which is {wanted} ({because}), not {self.given}"


def evaluated(shape: Iterable[Index], sizes: dict[str, int]) -> tuple[int, ...]:
    """A shape for these values of the sizes."""
    return tuple(evaluate(extent, sizes) for extent in shape)
