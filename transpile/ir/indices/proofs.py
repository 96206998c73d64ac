"""Bounds of polynomials that follow from facts: from other polynomials that are 0 or more.

If p - c*f is at least b, and f at least 0, and c, too, then p is at least b. Multiples of facts are
subtracted so that a term of p vanishes, a few at a time: enough for chains of inequalities, and for
declared bounds of products. What is not found stays unknown, which is never wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import gcd
from typing import Any

Bounds = tuple[int | None, int | None]
Term = tuple[tuple[Any, ...], int]  # a product of atoms, and its coefficient

_MOST_TERMS = 8  # of an exact quotient
_MOST_STEPS = 300  # of one proof
DEPTH = 3  # facts in one proof


def tightened(
    known: Bounds, index: Any, facts: Iterable[Any], bounds: Callable[[Any], Bounds]
) -> Bounds:
    """The bounds of an index, given those of interval arithmetic and facts; neither index nor facts
    are over symbols that have facts."""
    listed = list(facts)
    if not listed:
        return known
    low, high = known
    below, above = (_Search(listed, bounds).least(d, DEPTH) for d in (index, index * -1))
    low = below if low is None or (below is not None and below > low) else low
    high = high if above is None or (high is not None and high <= -above) else -above
    return low, high


class _Search:
    """The search for the best lower bound of an index. A term without a lower bound of its own has
    to vanish, so only facts that have it are tried; else all are, up to a number of steps. What
    the same facts leave in another order is looked at once."""

    def __init__(self, facts: list[Any], bounds: Callable[[Any], Bounds]) -> None:
        self.facts, self.bounds = facts, bounds
        self.steps = 0
        self.known: dict[Any, tuple[int, int | None]] = {}

    def least(self, index: Any, depth: int) -> int | None:
        """The best lower bound that `depth` facts give."""
        best = self.bounds(index)[0]
        if depth == 0 or isinstance(index, int):
            return best
        before, found = self.known.get(index, (0, None))
        if before < depth:
            found = self._by_facts(index, best, depth)
            self.known[index] = depth, found
        return found

    def _by_facts(self, index: Any, best: int | None, depth: int) -> int | None:
        wanted = dict(index.terms)
        if best is None:
            unbounded = (t for t in index.terms if self.bounds(type(index)((t,)))[0] is None)
            wanted = dict([next(unbounded)])
        for fact in self.facts:
            for monomial, factor in fact.terms:
                share = wanted.get(monomial, 0)
                if not monomial or share * factor <= 0:
                    continue
                self.steps += 1
                if self.steps > _MOST_STEPS:
                    return best
                common = gcd(share, factor)
                times = abs(factor) // common
                rest = index * times - fact * (abs(share) // common)
                least = self.least(rest, depth - 1)
                if least is not None and (best is None or -(-least // times) > best):
                    best = -(-least // times)
        return best


def long_division(index: Any, divisor: Any) -> tuple[Any, Any]:
    """The pair (q, r) with index = divisor*q + r, for a divisor of several terms, by long division:
    i*n - 4*i + j is i times n - 4, and j. The rest is what has no multiple of the divisor's term of
    the highest degree."""
    (atoms, unit), rest, quotient = max(divisor.terms, key=_degree), index, 0
    for _ in range(_MOST_TERMS):
        terms = () if isinstance(rest, int) else rest.terms
        whole = [(m, c) for m, c in terms if not (c % unit or _lacks(m, atoms))]
        if not whole:
            break
        monomial, coefficient = max(whole, key=_degree)
        left = list(monomial)
        for atom in atoms:
            left.remove(atom)
        part = coefficient // unit
        part = type(divisor)(((tuple(left), part),)) if left else part
        quotient, rest = part + quotient, rest - part * divisor
    return quotient, rest


def _lacks(monomial: Any, atoms: Any) -> bool:
    return any(monomial.count(a) < atoms.count(a) for a in atoms)


def _degree(term: Any) -> tuple[int, str]:
    monomial, _ = term
    return len(monomial), "*".join(map(str, monomial))


def facts_of_quotients(index: Any, kind: type) -> Iterator[Any]:
    """What is true of quotients of this type in a sum: d*(x // d) is at most x, and less than d
    below it."""
    terms = index.terms if not isinstance(index, int) and len(index.terms) > 1 else ()
    for monomial, _ in terms:
        if len(monomial) == 1 and isinstance(monomial[0], kind):
            atom: Any = monomial[0]
            if isinstance(atom.divisor, int) and atom.divisor > 0:
                rest = atom.dividend - type(index)(((monomial, atom.divisor),))
                yield rest
                yield atom.divisor - 1 - rest


def facts_of_remainders(index: Any, kind: type, bounds: Callable[[Any], Bounds]) -> Iterator[Any]:
    """What is true of remainders of this type that a sum has with a minus sign: x % d is at most x,
    if that is 0 or more."""
    terms = index.terms if not isinstance(index, int) and len(index.terms) > 1 else ()
    for monomial, coefficient in terms:
        if coefficient < 0 and len(monomial) == 1 and isinstance(monomial[0], kind):
            atom: Any = monomial[0]
            least, _ = bounds(atom.dividend)
            if least is not None and least >= 0:
                yield atom.dividend - type(index)(((monomial, 1),))


def joined_quotients(terms: Sequence[Term], kind: Any) -> dict[tuple[Any, ...], int] | None:
    """The terms of a sum in which Hermite's identity joins quotients of this class; None where it
    joins none.

    p//d, (p + 1)//d, ..., (p + d - 1)//d add up to p: the even and the odd elements of an axis are
    together as many as it has. They have one coefficient, and the same further factors.
    """
    alike: dict[tuple[Any, ...], list[tuple[Any, tuple[Any, ...]]]] = {}
    for monomial, coefficient in terms:
        for k, atom in enumerate(monomial):
            if type(atom) is kind and isinstance(atom.divisor, int) and atom.divisor <= len(terms):
                key = atom.divisor, (*monomial[:k], *monomial[k + 1 :]), coefficient
                alike.setdefault(key, []).append((atom.dividend, monomial))
    for (divisor, factors, coefficient), quotients in alike.items():
        for first, _ in quotients if len(quotients) >= divisor else ():
            apart = {dividend - first: monomial for dividend, monomial in quotients}
            if all(k in apart for k in range(divisor)):
                joined = {apart[k] for k in range(divisor)}
                sums = {monomial: c for monomial, c in terms if monomial not in joined}
                for own, c in first.terms:
                    monomial = tuple(sorted((*own, *factors), key=str))
                    sums[monomial] = sums.get(monomial, 0) + c * coefficient
                return sums
    return None


def compared_with_zero(
    compare: Callable[[Any, Any], Any], low: int | None, high: int | None
) -> bool | None:
    """How a number between these bounds compares with 0; None where that depends on the number.

    A comparison is the same for all numbers on one side of 0, so that the ends of the range, 0 and
    the numbers beside it stand for all others.
    """
    first, last = low, high
    if first is None:
        first = -1 if high is None else min(-1, high)
    if last is None:
        last = max(1, first)
    some = {first, last}
    some |= {n for n in (-1, 0, 1) if (low is None or n >= low) and (high is None or n <= high)}
    found = {bool(compare(n, 0)) for n in some}
    return found.pop() if len(found) == 1 else None
