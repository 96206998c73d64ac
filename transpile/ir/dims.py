"""Symbolic integer arithmetic for extents and subscripts.

An `Index` is an `int` or a `Dim`, a polynomial in normal form over symbols, floor quotients and
remainders. Symbols are runtime sizes (`n`) in shapes, and loop indices (`i`) in subscripts.
Interval arithmetic over the symbols' ranges simplifies quotients and remainders, which turns the
composed subscripts of views back into `x[2*i + 1][j]`, and proves that subscripts are in range.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from math import gcd

from transpile.ir.indices.polynomial_text import divided, polynomial, undecided
from transpile.ir.indices.proofs import (
    facts_of_quotients,
    facts_of_remainders,
    joined_quotients,
    long_division,
    tightened,
)
from transpile.ir.indices.size_value import SizeValue
from transpile.util.frozen_records import dataclass, memoized, replace
from transpile.util.interrupt_safety import THREAD
from transpile.util.users_code import is_users_call


@dataclass(frozen=True)
class Symbol:
    """A named integer: a runtime size, or the index of a loop.

    lower   its smallest value
    extent  where known, the first value above its range
    unit    of a runtime size: the symbol is the size of this name divided by its unit, so that what
            is declared divisible divides
    facts   polynomials over such symbols without facts, which are 0 or more whenever it is called
    """

    name: str
    lower: int = 0
    extent: Index | None = None
    unit: int = 1
    facts: tuple[Dim, ...] = ()
    is_found = False  # True of one that depends on values

    def __hash__(self) -> int:
        return hash(self.name)  # sets of symbols are many; symbols of one name are few in each

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Quotient:
    """`dividend // divisor`, rounded down, that did not simplify."""

    dividend: Dim
    divisor: Index

    def __str__(self) -> str:
        return divided(self.dividend, "//", self.divisor)


@dataclass(frozen=True)
class Remainder:
    """`dividend % divisor`, with the sign of the divisor, that did not simplify."""

    dividend: Dim
    divisor: Index

    def __str__(self) -> str:
        return divided(self.dividend, "%", self.divisor)


Atom = Symbol | Quotient | Remainder
Monomial = tuple[Atom, ...]


class Dim(SizeValue):
    """A polynomial with integer coefficients over symbols, quotients and remainders.

    Immutable, hashable, equal when the normal forms are equal. Arithmetic that comes out constant
    gives an `int`.
    """

    __slots__ = ("_bounds", "_hash", "_symbols", "terms")

    def __init__(self, terms: tuple[tuple[Monomial, int], ...]) -> None:
        self.terms = terms
        self._hash: int | None = None
        self._symbols: frozenset[Symbol] | None = None
        self._bounds: Bounds | None = None

    @staticmethod
    def symbol(name: str, lower: int = 0, extent: Index | None = None) -> Dim:
        """The dimension that consists of one symbol."""
        return Dim((((Symbol(name, lower, extent),), 1),))

    @staticmethod
    def of(symbol: Symbol) -> Dim:
        """The dimension that consists of this symbol."""
        return _dimension(symbol)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self.terms)
        return self._hash

    def __reduce__(self) -> tuple[object, ...]:
        return Dim, (self.terms,)  # without the hash, which differs from process to process

    def __eq__(self, other: object) -> bool:
        """The equality of normal forms; in code of the user that of the sizes."""
        if self is other:
            return True
        if not isinstance(other, (int, Dim)):
            return NotImplemented
        if isinstance(other, Dim) and self.terms == other.terms:
            return True
        return bool(THREAD.traces) and is_users_call() and self.decided(operator.eq, other)

    def __ne__(self, other: object) -> bool:
        if not isinstance(other, (int, Dim)):
            return NotImplemented
        if self is other or (isinstance(other, Dim) and self.terms == other.terms):
            return False
        if not THREAD.traces or not is_users_call():
            return True
        return self.decided(operator.ne, other)  # type: ignore[no-any-return]

    def __add__(self, other: Index) -> Index:
        if not isinstance(other, (int, Dim)):
            return self._lifted(operator.add, other)
        if other == 0:
            return self
        sums = dict(self.terms)
        for monomial, coefficient in terms_of(other):
            sums[monomial] = sums.get(monomial, 0) + coefficient
        return normal_form(sums)

    def __mul__(self, other: Index) -> Index:
        if isinstance(other, int):
            return Dim(tuple([(m, c * other) for m, c in self.terms])) if other else 0
        if not isinstance(other, Dim):
            return self._lifted(operator.mul, other)
        sums: dict[Monomial, int] = {}
        for left, a in self.terms:
            for right, b in other.terms:
                monomial = tuple(sorted(left + right, key=str))
                sums[monomial] = sums.get(monomial, 0) + a * b
        return normal_form(sums)

    def __neg__(self) -> Index:
        return self * -1

    def __sub__(self, other: Index) -> Index:
        if isinstance(other, (int, Dim)):
            return self + (other * -1)
        return self._lifted(operator.sub, other)

    def __rsub__(self, other: Index) -> Index:
        return (self * -1) + other

    def __floordiv__(self, other: Index) -> Index:
        if isinstance(other, (int, Dim)):
            return floor_divide(self, other)
        return self._lifted(operator.floordiv, other)

    def __mod__(self, other: Index) -> Index:
        if isinstance(other, (int, Dim)):
            return modulo(self, other)
        return self._lifted(operator.mod, other)

    def __rfloordiv__(self, other: int) -> Index:
        if isinstance(other, int):
            return floor_divide(other, self)
        return self._lifted(operator.floordiv, other, reflected=True)

    def __rmod__(self, other: int) -> Index:
        if isinstance(other, int):
            return modulo(other, self)
        return self._lifted(operator.mod, other, reflected=True)

    __radd__ = __add__
    __rmul__ = __mul__

    def range_beyond(self, other: Index) -> Bounds:
        """The bounds of how much larger than another index it is."""
        return bounds(self - other)

    def undecided_text(self, compare: object, other: Index) -> str:
        """The error of a comparison that its range leaves open."""
        swaps = compare in (operator.gt, operator.le)
        left, right = (other, self) if swaps else (self, other)
        word = "==" if compare in (operator.eq, operator.ne) else "<"
        return undecided(left, right, *sides(right - left), word)

    def __str__(self) -> str:
        return polynomial(self.terms)

    __repr__ = __str__

    def symbols(self) -> frozenset[Symbol]:
        """Every symbol in the dimension, inside quotients and remainders too."""
        if self._symbols is not None:
            return self._symbols
        inside: set[Symbol] = set()
        for atom in (atom for monomial, _ in self.terms for atom in monomial):
            if isinstance(atom, Symbol):
                inside.add(atom)
            else:
                inside |= symbols_of(atom.dividend) | symbols_of(atom.divisor)
        self._symbols = frozenset(inside)
        return self._symbols


Index = int | Dim
Shape = tuple[Index, ...]
Bounds = tuple[int | None, int | None]


@memoized
def _dimension(symbol: Symbol) -> Dim:
    return Dim((((symbol,), 1),))


def terms_of(index: Index) -> tuple[tuple[Monomial, int], ...]:
    """The terms of an index as a polynomial: products of atoms, and their coefficients."""
    if isinstance(index, Dim):
        return index.terms
    return (((), index),) if index else ()


def normal_form(sums: dict[Monomial, int]) -> Index:
    """The index with these terms in normal form: no zeros, constants last, the rest by name."""
    terms = [(monomial, c) for monomial, c in sums.items() if c]
    if not terms:
        return 0
    if len(terms) == 1 and not terms[0][0]:
        return terms[0][1]
    if len(terms) > 1:
        if (joined := joined_quotients(terms, Quotient)) is not None:
            return normal_form(joined)
        terms.sort(key=lambda term: (not term[0], "*".join(map(str, term[0]))))
    return Dim(tuple(terms))


def sides(difference: Index) -> tuple[Index, Index]:
    """The extents a and b of which an index is b - a, both without minus signs."""
    positive = normal_form({m: c for m, c in terms_of(difference) if c > 0})
    return positive - difference, positive


def symbols_of(index: Index) -> frozenset[Symbol]:
    """The symbols of an index; none for an int."""
    return index.symbols() if isinstance(index, Dim) else frozenset()


def sole_symbol(index: Index) -> Symbol | None:
    """The symbol that the index is, or None if it is a compound expression."""
    atom = _sole_atom(index) if isinstance(index, Dim) else None
    return atom if isinstance(atom, Symbol) else None


def bounds(index: Index) -> Bounds:
    """Bounds of the index by interval arithmetic; None where a side is unbounded."""
    if isinstance(index, int):
        return index, index
    if index._bounds is None:
        index._bounds = found = _polynomial_bounds(index)
        known = {f: None for s in sorted(index.symbols(), key=str) for f in s.facts}
        ends_vary = any(isinstance(s.extent, Dim) for s in index.symbols())
        plain = without_facts(index)
        rests = dict.fromkeys(facts_of_remainders(plain, Remainder, _polynomial_bounds))
        if known or ends_vary or rests or None in found:
            quotients = facts_of_quotients(plain, Quotient)
            known |= rests | dict.fromkeys((*quotients, *_facts_of_ranges(plain)))
            index._bounds = tightened(found, plain, known, _polynomial_bounds)
    return index._bounds


def _facts_of_ranges(index: Index) -> Iterator[Dim]:
    """What is true of loop indices that end at runtime sizes: i is at most n - 1."""
    for symbol in sorted(symbols_of(index), key=str):
        if isinstance(symbol.extent, Dim):
            last = without_facts(symbol.extent) - 1
            below = last - Dim.of(symbol)
            if isinstance(below, Dim):
                yield below
            yield from _facts_of_ranges(last)


def without_facts(index: Index) -> Index:
    """The index over runtime sizes of which only the ranges are known."""
    return substitute(
        index, {s: Dim.of(replace(s, facts=())) for s in symbols_of(index) if s.facts}
    )


def _polynomial_bounds(index: Index) -> Bounds:
    low: int | None = 0
    high: int | None = 0
    for monomial, coefficient in terms_of(index):
        a: int | None = 1
        b: int | None = 1
        for atom in monomial:
            a, b = _product_bounds((a, b), _atom_bounds(atom))
        if coefficient < 0:
            a, b = b, a
        low = None if low is None or a is None else low + coefficient * a
        high = None if high is None or b is None else high + coefficient * b
    return low, high


def _atom_bounds(atom: Atom) -> Bounds:
    if isinstance(atom, Symbol):
        high = None if atom.extent is None else bounds(atom.extent)[1]
        return atom.lower, None if high is None else max(high - 1, atom.lower)
    low_divisor, high_divisor = bounds(atom.divisor)
    if low_divisor is None or low_divisor <= 0:
        return None, None
    if isinstance(atom, Remainder):
        return 0, None if high_divisor is None else high_divisor - 1
    low, high = bounds(atom.dividend)
    if not isinstance(atom.divisor, int):
        return (0 if low is not None and low >= 0 else None), (
            high // low_divisor if high is not None and high >= 0 else None
        )
    return (
        None if low is None else low // atom.divisor,
        None if high is None else high // atom.divisor,
    )


def _product_bounds(x: Bounds, y: Bounds) -> Bounds:
    (a, b), (c, d) = x, y
    if a is not None and c is not None and a >= 0 and c >= 0:
        return a * c, None if b is None or d is None else b * d
    if a is None or b is None or c is None or d is None:
        return None, None
    corners = (a * c, a * d, b * c, b * d)
    return min(corners), max(corners)


def is_within(index: Index, extent: Index) -> bool:
    """True if 0 <= index < extent is provable."""
    low, high = bounds(index)
    if low is None or low < 0:
        return False
    if isinstance(extent, int):
        return high is not None and high < extent
    if (bounds(extent - index)[0] or 0) >= 1:
        return True
    # Each symbol at the top of its range: decides `i < n` and `m*i + j < m*n` for a runtime n, m.
    largest = index
    for _ in range(4):
        rising = symbols_of(largest) - falling_symbols(largest)
        ranged = {s: s.extent - 1 for s in rising if s.extent is not None}
        if not ranged:
            break
        largest = substitute(largest, ranged)
    slack = bounds(extent - largest)[0]
    return slack is not None and slack >= 1


def falling_symbols(index: Index) -> set[Symbol]:
    """The symbols in which an index is not provably nondecreasing."""
    symbols: set[Symbol] = set()
    for monomial, factor in index.terms if isinstance(index, Dim) else ():
        for atom in monomial:
            if factor < 0 or isinstance(atom, Remainder):
                symbols |= symbols_of(Dim((((atom,), 1),)))
            elif isinstance(atom, Quotient):
                symbols |= falling_symbols(atom.dividend) | {*symbols_of(atom.divisor)}
    return symbols


def _split(index: Index, divisor: Index) -> tuple[Index, Index]:
    """The pair (q, r) with index = divisor*q + r, dividing term by term."""
    quotient: Index = 0
    rest: Index = 0
    divisor_terms = terms_of(divisor)
    if not divisor_terms:
        raise ZeroDivisionError("integer division or modulo by zero")
    if len(divisor_terms) != 1:
        quotient, rest = long_division(index, divisor)
        nearest = (quotient, rest), (quotient - 1, rest + divisor)  # n*n + 2*n is (n + 1)**2 - 1
        return next(((q, r) for q, r in nearest if is_within(r, divisor)), (0, index))
    atoms, unit = divisor_terms[0]
    for monomial, coefficient in terms_of(index):
        left = list(monomial)
        try:
            for atom in atoms:
                left.remove(atom)
        except ValueError:
            rest = rest + Dim(((monomial, coefficient),))
            continue
        whole, part = divmod(coefficient, unit)
        # 7*i // 4 does not split usefully (i + 3*i // 4 has no smaller range); 7 // 4 does.
        if part and left:
            whole, part = 0, coefficient
        quotient = quotient + normal_form({tuple(left): whole})
        if part:
            rest = rest + normal_form({monomial: part})
    return quotient, rest


def floor_divide(index: Index, divisor: Index) -> Index:
    """`index // divisor`, simplified as far as the ranges of the symbols allow."""
    if isinstance(index, int) and isinstance(divisor, int):
        return index // divisor
    if isinstance(divisor, int) and divisor < 0:
        return floor_divide(index * -1, -divisor)
    if divisor == 1:
        return index
    quotient, rest = _split(index, divisor)
    if is_within(rest, divisor):
        return quotient
    if isinstance(rest, int):
        if isinstance(divisor, int):
            return quotient + rest // divisor
        rest = Dim((((), rest),))
    if isinstance(divisor, int):
        common = gcd(divisor, *(c for m, c in rest.terms if m))
        if common > 1:
            scaled = normal_form({m: c // common for m, c in rest.terms})
            return quotient + floor_divide(scaled, divisor // common)
        atom = _sole_atom(rest)
        if isinstance(atom, Quotient) and isinstance(atom.divisor, int):
            return quotient + floor_divide(atom.dividend, atom.divisor * divisor)
        if all(c < 0 for m, c in rest.terms if m):  # -(-n // 2) is (n + 1) // 2
            return quotient - floor_divide(divisor - 1 - rest, divisor)
    return quotient + Dim((((Quotient(rest, divisor),), 1),))


def modulo(index: Index, divisor: Index) -> Index:
    """`index % divisor`, simplified as far as the ranges of the symbols allow."""
    if isinstance(index, int) and isinstance(divisor, int):
        return index % divisor
    if divisor == 1:
        return 0
    _, rest = _split(index, divisor)
    if is_within(rest, divisor):
        return rest
    if isinstance(rest, int):
        if isinstance(divisor, int):
            return rest % divisor
        rest = Dim((((), rest),))
    if isinstance(divisor, int):
        match _sole_atom(rest):
            case Remainder(dividend=dividend, divisor=int() as own) if own % divisor == 0:
                return modulo(dividend, divisor)
        common = gcd(divisor, *(c for _, c in rest.terms))
        if common > 1 and divisor > 0:
            scaled = normal_form({m: c // common for m, c in rest.terms})
            return modulo(scaled, divisor // common) * common
    return Dim((((Remainder(rest, divisor),), 1),))


def _sole_atom(index: Dim) -> Atom | None:
    match index.terms:
        case (((atom,), 1),):
            return atom
    return None


def substitute(index: Index, values: Mapping[Symbol, Index]) -> Index:
    """The index with symbols replaced, simplified again."""
    if isinstance(index, int) or values.keys().isdisjoint(index.symbols()):
        return index
    sums: dict[Monomial, int] = {}
    for monomial, coefficient in index.terms:
        product: Index = coefficient
        for atom in monomial:
            product = _substituted(atom, values) * product
        for changed, factor in terms_of(product):
            sums[changed] = sums.get(changed, 0) + factor
    return normal_form(sums)


def _substituted(atom: Atom, values: Mapping[Symbol, Index]) -> Index:
    if isinstance(atom, Symbol):
        value = values.get(atom)
        return Dim.of(atom) if value is None else value
    divide = floor_divide if isinstance(atom, Quotient) else modulo
    divisor = substitute(atom.divisor, values)
    return divide(substitute(atom.dividend, values), divisor) if divisor != 0 else 0


def evaluate(index: Index, sizes: Mapping[str, int]) -> int:
    """The value of an index when each of its symbols has the value that `sizes` gives."""
    if isinstance(index, int):
        return index
    value = substitute(index, {s: sizes[s.name] // s.unit for s in index.symbols()})
    if not isinstance(value, int):
        raise TypeError(f"{index} still depends on {', '.join(map(str, symbols_of(value)))}")
    return value
