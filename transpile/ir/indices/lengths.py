"""Lengths that depend on values: runtime sizes that a program finds itself.

A `Length` is a symbol like any other size, with its bound: `u` of `x[mask]` is at most the number
of elements of the mask. What memory is planned for is the bound; loops run to the length.

Of `repeat(x, counts)` no bound is known from shapes. Its bound is a `Room`: a runtime size that the
caller gives, for which there is memory. A program ends with an error when it finds a greater
length, before it writes what is so long, and the caller then knows what it needs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from transpile.ir.dims import (
    Atom,
    Dim,
    Index,
    Quotient,
    Remainder,
    Shape,
    Symbol,
    bounds,
    floor_divide,
    symbols_of,
    terms_of,
)
from transpile.util.frozen_records import dataclass, replace


@dataclass(frozen=True)
class Length(Symbol):
    """A runtime size that is known only when the equation that counts it has run."""

    is_found = True

    def __hash__(self) -> int:
        return hash(self.name)


def length(name: str, most: Index) -> Length:
    """A length from 0 to `most`."""
    return Length(name, 0, most + 1)


@dataclass(frozen=True)
class Room(Symbol):
    """A runtime size that the caller chooses: up to which length there is memory."""

    def __hash__(self) -> int:
        return hash(self.name)


def unbounded_length(name: str) -> Length:
    """A length of which no bound is known but the room that there is for it."""
    return length(name, Dim.of(Room(f"{name}_room")))


def room_of(counted: Length) -> Room | None:
    """The room for a length without another bound."""
    for room in symbols_of(counted.extent or 0):
        if isinstance(room, Room) and counted.extent == Dim.of(room) + 1:
            return room
    return None


def too_little_room(counted: Length) -> str:
    """The error where a length is more than there is room for."""
    return f"{counted} is more than {room_of(counted)}, for which there is memory"


# The error where a list is longer than the room for it, which is a length of its own.
LIST_IS_LONGER = "a list is longer than u, its room"


def lengths_of(index: Index) -> frozenset[Length]:
    """The lengths in an index."""
    return frozenset(s for s in symbols_of(index) if isinstance(s, Length))


def lengths_in(shapes: Iterable[Shape]) -> tuple[Length, ...]:
    """The lengths in shapes, each once, in order."""
    extents = (extent for shape in shapes for extent in shape)
    return tuple(dict.fromkeys(s for d in extents for s in sorted(lengths_of(d), key=str)))


def most_of(index: Index) -> Index:
    """An upper bound of an index over lengths, in the sizes that a caller knows."""
    return _extreme_of(index, 1) if lengths_of(index) else index


def _extreme_of(index: Index, sign: int) -> Index:
    """An upper bound (sign 1) or a lower one (-1), each term at its extreme."""
    total: Index = 0
    for monomial, factor in terms_of(index):
        towards = sign if factor > 0 else -sign
        part: Index = factor
        for atom in monomial:
            part = part * _extreme_of_atom(atom, towards)
        total = total + part
    return total


def _extreme_of_atom(atom: Atom, sign: int) -> Index:
    """The same of an atom, which is not negative where others stand beside it in a product: sizes
    and lengths are not, and what is divided there is a number of elements."""
    match atom:
        case Length(lower=lower, extent=extent) if extent is not None:
            return most_of(extent - 1) if sign > 0 else lower
        case Quotient(dividend=dividend, divisor=divisor) if not lengths_of(divisor):
            return floor_divide(_extreme_of(dividend, sign), divisor)
        case Remainder(dividend=dividend, divisor=divisor) if lengths_of(dividend):
            return most_of(divisor) - 1 if sign > 0 else 0
        case Quotient(dividend=dividend) | Remainder(dividend=dividend) if lengths_of(atom.divisor):
            # Of a divisor of at least 1 the quotient is nearer to 0, and the rest below both.
            return _extreme_of(dividend, 1) if sign > 0 else _least_quotient(dividend)
        case _:
            return Dim((((atom,), 1),))


def _least_quotient(dividend: Index) -> Index:
    """The least quotient by a divisor of which nothing is known: 0, unless what is divided may be
    negative."""
    low = bounds(dividend)[0]
    return 0 if low is not None and low >= 0 else _extreme_of(dividend, -1)


def stored_shape(shape: Shape) -> Shape:
    """The shape of the memory for an array: along the first axis there is room for the bound of its
    extent, which leaves the places of the elements."""
    return tuple(most_of(d) if axis == 0 else d for axis, d in enumerate(shape))


_OF_INDICES = "IndexError: "


def index_error(text: str) -> str:
    """The text of an inequality of lengths without which an index is out of bounds."""
    return _OF_INDICES + text


def is_index_error(*texts: str) -> bool:
    """True if all texts are of inequalities without which an index is out of bounds."""
    return all(text.startswith(_OF_INDICES) for text in texts)


def refused(text: str, place: str = "") -> ValueError | IndexError:
    """The error where sizes are not what a text says, which `place` stands before."""
    if is_index_error(text):
        return IndexError(place + text[len(_OF_INDICES) :])
    return ValueError(place + text)


# What records that `smaller <= larger` is to be checked when the program runs, with the text of the
# error; False where it cannot. Tracing appends it.
CHECKED_LATER: list[Callable[[Index, Index, str], bool]] = []


def is_checked_later(smaller: Index, larger: Index, text: str) -> bool:
    """True if an inequality is one of lengths, which the program checks when they are known."""
    found = lengths_of(larger - smaller)
    meanings = " and ".join(_meanings(text, found))
    text += f", where {meanings}" if meanings else ""
    return bool(found) and all(later(smaller, larger, text) for later in CHECKED_LATER)


def _meanings(text: str, found: Iterable[Length]) -> Iterator[str]:
    """What lengths that a text names are, where they are the smaller or the larger of two sizes."""
    for length in sorted(found, key=str):
        if re.search(rf"\b{length}\b", text):
            own = Dim.of(replace(length, facts=()))
            smaller = [str(fact + own) for fact in length.facts]
            larger = [str(own - fact) for fact in length.facts]
            for word, sizes in (("min", smaller), ("max", larger)):
                if len(sizes) > 1 and not any(re.search(rf"\b{length}\b", d) for d in sizes):
                    yield f"{length} is {word}({', '.join(sizes)})"


# What records that calls with other sizes end with the error of this text; False where the code may
# not run in every call. Tracing appends it.
REFUSED_BY_CALL: list[Callable[[Index, Index, str], bool]] = []


def is_refused_by_call(smaller: Index, larger: Index, text: str) -> bool:
    """True if the program refuses sizes of the caller's for which `smaller <= larger` is false."""
    return all(refuse(smaller, larger, text) for refuse in REFUSED_BY_CALL)


def are_equal_later(one: Index, other: Index, text: str) -> bool:
    """True if the program checks that two extents are equal."""
    return is_checked_later(one, other, text) and is_checked_later(other, one, text)
