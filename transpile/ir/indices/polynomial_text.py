"""The texts of polynomials over symbols, quotients and remainders, in Python's syntax."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import gcd
from typing import Any


def whole_units(monomial: Sequence[Any], coefficient: int) -> tuple[int, list[int]]:
    """A coefficient without the units of those factors that are then whole sizes, and what each
    factor is divided by: `8*(n // 8)` is `n`."""
    divisors = []
    for atom in monomial:
        unit = getattr(atom, "unit", 1)
        whole = coefficient % unit == 0
        coefficient = coefficient // unit if whole else coefficient
        divisors.append(1 if whole else unit)
    return coefficient, divisors


def polynomial(terms: Iterable[tuple[Sequence[Any], int]]) -> str:
    """The sum of terms, which are pairs of a product of atoms and a coefficient."""
    text = ""
    for monomial, coefficient in terms:
        left, divisors = whole_units(monomial, coefficient)
        # A sign in front would belong to the dividend: -(i // 2) is not -i // 2.
        in_product = len(monomial) > 1 or abs(left) != 1 or (left < 0 and not text)
        factors = [_atom(a, d, in_product) for a, d in zip(monomial, divisors, strict=True)]
        if abs(left) != 1 or not factors:
            factors.insert(0, str(abs(left)))
        sign = "-" if left < 0 else "+"
        joined = "*".join(factors)
        if text:
            text += f" {sign} {joined}"
        else:
            text = joined if sign == "+" else f"-{joined}"
    return text


def _atom(atom: Any, divisor: int, in_product: bool) -> str:
    is_symbol = hasattr(atom, "name")
    text = f"{atom} // {divisor}" if divisor != 1 else str(atom)
    return f"({text})" if in_product and (not is_symbol or divisor != 1) else text


def divided(dividend: Any, word: str, divisor: Any) -> str:
    """A quotient or a remainder."""
    return f"{_factor(dividend)} {word} {_factor(divisor)}"


def _factor(index: Any) -> str:
    text = str(index)
    return text if isinstance(index, int) or text.isidentifier() else f"({text})"


def undecided(left: Any, right: Any, a: Any, b: Any, word: str = "<") -> str:
    """The error of a comparison `left < right`, which is `a < b`, that sizes leave open; `word` is
    `<` or `==`."""
    text = f"{left} {word} {right} is neither true nor false for all runtime sizes in their ranges"
    symbols = {s for index in (a, b) if not isinstance(index, int) for s in index.symbols()}
    found = sorted(str(s) for s in symbols if s.is_found)
    if found:
        return (
            f"{text}: how much {', '.join(found)} is depends on values, which are not known while "
            "a function is traced; lax.cond and numpy.where choose when the program runs"
        )
    a, b = _reduced(a, word, b)
    other = f"{a} >= {b}" if word == "<" else f"{a} > {b}"
    return f"{text}; {_DECLARE}: {declaration(a, word, b)}, or '{other}'"


_DECLARE = "declare which it is"


def can_be_declared(error: Exception) -> bool:
    """True if the error of a comparison names a declaration that would settle it."""
    return _DECLARE in str(error)


def declaration(a: Any, word: str, b: Any) -> str:
    """The call of `dims` that declares a comparison."""
    symbols = {s for index in (a, b) if not isinstance(index, int) for s in index.symbols()}
    a, b = _reduced(a, word, b)
    return f"transpile.dims({', '.join(sorted(map(str, symbols)))!r}, '{a} {word} {b}')"


def _reduced(a: Any, word: str, b: Any) -> tuple[Any, Any]:
    """The sides of a comparison with a number, without a common factor: 3 <= 2*n is 2 <= n."""
    number, other = (a, b) if isinstance(a, int) else (b, a)
    if isinstance(other, int) or not isinstance(number, int):
        return a, b
    factor = gcd(*(coefficient for _, coefficient in other.terms))
    units = {getattr(atom, "unit", 1) for monomial, _ in other.terms for atom in monomial}
    if units != {1} or (word == "==" and number % factor):
        return a, b
    above = (word == "<=") == (number is a)  # the least number that is not below the quotient
    number = -(-number // factor) if above else number // factor
    return (number, other // factor) if isinstance(a, int) else (other // factor, number)
