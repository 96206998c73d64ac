"""Solve for runtime sizes: their values in a call, from the shapes of its arguments.

An extent `n`, or `2*n + 1`, has one unknown and gives its size. Extents with several unknowns wait
until others have given all of them but one. At the end each extent is evaluated and compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from transpile.ir.dims import (
    Dim,
    Index,
    Shape,
    Symbol,
    bounds,
    evaluate,
    sides,
    substitute,
    symbols_of,
    terms_of,
)
from transpile.ir.indices.requirements import neither_text
from transpile.util.frozen_records import dataclass, replace

# (declared shape, shape in the call) of an argument by its path.
Observed = tuple[str, Shape, tuple[int, ...]]


class SizeMismatchError(TypeError):
    """The shapes of a call contradict each other, or leave a size open."""


def sizes_of(shapes: Iterable[Shape]) -> tuple[Symbol, ...]:
    """The runtime sizes in shapes, in order."""
    extents = (extent for shape in shapes for extent in shape)
    found = tuple(dict.fromkeys(s for d in extents for s in sorted(symbols_of(d), key=str)))
    if len({size.name for size in found}) < len(found):
        twice = sorted(s.name for s in found if sum(s.name == other.name for other in found) > 1)
        raise ValueError(
            f"{twice[0]} is the name of several runtime sizes, of which different things are "
            "declared; take the extents of one transpile.dims for all arguments"
        )
    return found


def solved(sizes: Sequence[Symbol], arguments: Iterable[Observed]) -> dict[str, int]:
    """The value of each size, the size itself and not its multiple of a unit.

    Raises SizeMismatchError where arguments contradict each other, or where no extent determines a
    size, and ValueError where a declared constraint does not hold.
    """
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
    if violated := list(_violated(known, origin)):
        raise ValueError("\n".join(violated))
    return {size.name: known[size] * size.unit for size in sizes}


def _violated(known: Mapping[Symbol, int], origin: Mapping[Symbol, str]) -> Iterator[str]:
    """What is wrong with the values of sizes, which agree with all shapes."""
    facts: dict[Dim, None] = {}
    for size, value in known.items():
        high = bounds(Dim.of(replace(size, facts=())))[1]
        if value < size.lower or (high is not None and value > high):
            wanted, limit = ("less", size.lower) if value < size.lower else ("more", high or 0)
            yield f"{size} is {wanted} than {limit * size.unit}: {_because([size], known, origin)}"
        facts.update(dict.fromkeys(size.facts))
    plain = {replace(size, facts=()): value for size, value in known.items()}
    for fact in facts:
        difference = substitute(fact, plain)
        if isinstance(difference, int) and difference < 0:
            smaller, larger = sides(fact)
            used = sorted((s for s in known if replace(s, facts=()) in fact.symbols()), key=str)
            text = neither_text(fact) or f"{smaller} <= {larger} does not hold"
            yield f"{text}: {_because(used, known, origin)}"


def _because(
    sizes: Iterable[Symbol], known: Mapping[Symbol, int], origin: Mapping[Symbol, str]
) -> str:
    return ", ".join(f"{s} is {known[s] * s.unit} in {origin[s]}" for s in sizes)


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
            units = [f"{s} % {s.unit} == 0" for s in self.declared.symbols() if s.unit != 1]
            given = f" with {', '.join(sorted(units))}" if units else ""
            return f"{self.place} is {self.declared}{given}, which cannot be {self.given}"
        if wanted == self.given:
            return ""
        used = sorted(self.declared.symbols(), key=str)
        because = _because(used, known, origin)
        return f"{self.place} is {self.declared}, which is {wanted} ({because}), not {self.given}"


def evaluated(shape: Iterable[Index], sizes: dict[str, int]) -> tuple[int, ...]:
    """A shape for these values of the sizes."""
    return tuple(evaluate(extent, sizes) for extent in shape)
