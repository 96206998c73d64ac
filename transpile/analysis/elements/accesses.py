"""The elements that statements read and assign to, by subscripts in symbols that count from zero,
so that dependence tests compare them (R. Allen and K. Kennedy, Optimizing Compilers for Modern
Architectures, 2001, chapter 3).

Both may stand in iterations of the same loop: what has another value in each has a mark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from transpile.analysis.elements.bounds import Ranges, inside, is_never_0
from transpile.ir.calls import Call
from transpile.ir.dims import Dim, Index, Shape, Symbol, substitute
from transpile.ir.loop_ir import Declare, For, Load, Statement, Store, Update
from transpile.ir.loop_rewrite import children, declared_names, parts, walk
from transpile.util.frozen_records import dataclass, replace

Body = tuple[Statement, ...]


@dataclass(frozen=True)
class Access:
    """An element that statements read or assign to.

    subscripts  by the bounds of loops, and by their limits; none where a routine reads the array
    writes      whether it is assigned to
    """

    subscripts: tuple[Shape, ...]
    writes: bool

    def axes(self, other: Access) -> Iterator[tuple[Index, Index]]:
        """The subscripts of both, axis by axis."""
        for own, others in zip(self.subscripts, other.subscripts, strict=False):
            yield from zip(own, others, strict=True)

    def is_apart(self, other: Access) -> bool:
        """True if the elements are provably two, whatever the symbols are."""
        return any(is_never_0(i - j) for i, j in self.axes(other))


Accesses = Mapping[str, list[Access]]


def element_accesses(body: Body, ranges: Ranges, mark: str) -> Accesses:
    """What statements access of the arrays that they do not declare, by name.

    ranges  of the symbols around them
    mark    on what they count themselves
    """
    own = declared_names(body)
    found: dict[str, dict[Access, None]] = {}
    within = _with_variables(ranges, body, mark)
    for name, index, known, writes in _elements(body, within, mark):
        if name not in own:
            ways = () if index is None else (known.counted, known.limited)
            access = Access(tuple(_known(index or (), way) for way in ways), writes)
            found.setdefault(name, {})[access] = None
    return {name: [*accesses] for name, accesses in found.items()}


def are_apart(one: Accesses, other: Accesses) -> bool:
    """True if neither assigns to an element that the other one accesses."""
    return all(
        access.is_apart(others)
        for name, accesses in one.items()
        for access in accesses
        for others in other.get(name, ())
        if access.writes or others.writes
    )


def _known(index: Shape, symbols: Mapping[Symbol, Index]) -> Shape:
    return tuple(substitute(i, symbols) for i in index)


def _with_variables(ranges: Ranges, body: Body, mark: str) -> Ranges:
    """The ranges with the variables of these statements that subscripts read."""
    own = {
        s.symbol: Dim.of(replace(s.symbol, name=f"{s.symbol}{mark}"))
        for s in walk(body)
        if isinstance(s, Declare) and s.symbol is not None
    }
    return Ranges({**ranges.counted, **own}, {**ranges.limited, **own}) if own else ranges


def _elements(
    body: Body, ranges: Ranges, mark: str
) -> Iterator[tuple[str, Shape | None, Ranges, bool]]:
    """The elements that statements access: the array, the subscripts, the ranges of the symbols
    around, and whether it is assigned to."""
    for statement in body:
        is_call = isinstance(statement, Call)
        for part in parts(statement):
            if isinstance(part, Load):
                yield part.buffer, None if is_call else part.index, ranges, False
        match statement:
            case Store(buffer=name, index=index) | Update(target=Load(buffer=name, index=index)):
                yield name, index, ranges, True
            case _:
                pass
        within = inside(statement, ranges, mark) if isinstance(statement, For) else ranges
        yield from _elements(children(statement), within, mark)
