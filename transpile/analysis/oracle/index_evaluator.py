"""Evaluate subscripts: indices compiled to Python functions, with checked symbol ranges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from transpile.errors import InternalError
from transpile.ir.dims import Atom, Dim, Index, Symbol, bounds


class Indices(dict[str, int]):
    """The values of symbols, and a cache of compiled indices."""

    def __init__(self, values: Mapping[str, int]) -> None:
        super().__init__(values)
        # By identity, because comparing two indices takes longer than evaluating one. The index
        # is stored too, which keeps its id from being reused.
        self._functions: dict[int, tuple[Dim, Callable[[dict[str, int]], int]]] = {}

    def value(self, index: Index) -> int:
        """The value of an index; InternalError if a symbol in it is out of its range."""
        if isinstance(index, int):
            return index
        known = self._functions.get(id(index))
        if known is None:
            known = self._functions[id(index)] = index, compiled(index)
        return known[1](self)


@lru_cache(maxsize=65536)
def compiled(index: Dim) -> Callable[[dict[str, int]], int]:
    """The index as a function of the values of its symbols, which checks their declared ranges."""
    ranges = []
    for symbol in sorted(index.symbols(), key=str):
        high = None if symbol.extent is None else bounds(symbol.extent)[1]
        ranges.append((symbol.name, symbol.unit, symbol.lower, high))
    function: Callable[[dict[str, int]], int] = eval(f"lambda v: {_python(index)}")

    def checked(values: dict[str, int]) -> int:
        for name, unit, low, high in ranges:
            value = values[name] // unit
            if value < low or (high is not None and value >= high):
                raise InternalError(f"{name} is {values[name]}, outside {low}..{high} in {index}")
        return function(values)

    return checked


def _python(index: Index) -> str:
    """The index as a Python expression over the dictionary `v`."""
    if isinstance(index, int):
        return f"({index})"
    terms = ["*".join([f"({c})", *map(_atom, atoms)]) for atoms, c in index.terms]
    return f"({'+'.join(terms)})"


def _atom(atom: Atom) -> str:
    if isinstance(atom, Symbol):
        return f"(v[{atom.name!r}] // {atom.unit})" if atom.unit != 1 else f"v[{atom.name!r}]"
    word = "//" if type(atom).__name__ == "Quotient" else "%"
    return f"({_python(atom.dividend)}{word}{_python(atom.divisor)})"
