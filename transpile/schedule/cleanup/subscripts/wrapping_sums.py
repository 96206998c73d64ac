"""Sums of products of integers that wrap around: polynomials modulo 2**64 over scalars.

Here, other than in `analysis/linear_facts.py`, no range has to show that nothing wraps around, and
nothing is concluded from a sum but its value.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from transpile.ir.dims import Dim, Symbol, terms_of
from transpile.ir.loop_ir import Apply, Expr, IndexValue, Literal, Ref
from transpile.ir.types import INT64

Monomial = tuple[str, ...]
Sum = dict[Monomial, int]
_MOST_TERMS = 8


def sum_of(value: Expr, values: Mapping[str, Expr], atoms: dict[str, Expr]) -> Sum | None:
    """The sum that an integer is, of names; None for other expressions.

    values  the expressions of constants
    atoms   gets the expressions of the names
    """
    if value.dtype != INT64:
        return None
    match value:
        case Literal(value=number):
            return {(): int(number)}
        case Ref(name=name):
            known = values.get(name)
            if isinstance(known, Apply | IndexValue | Literal):
                found = sum_of(known, values, atoms)
                if found is not None:
                    return found
            atoms[name] = value
            return {(name,): 1}
        case IndexValue(index=index):
            return _sum_of_index(index, atoms)
        case Apply(op="negative", args=(x,)):
            return plus({}, sum_of(x, values, atoms), -1)
        case Apply(op="add", args=(x, y)):
            return plus(sum_of(x, values, atoms), sum_of(y, values, atoms), 1)
        case Apply(op="subtract", args=(x, y)):
            return plus(sum_of(x, values, atoms), sum_of(y, values, atoms), -1)
        case Apply(op="multiply", args=(x, y)):
            return _times(sum_of(x, values, atoms), sum_of(y, values, atoms))
    return None


def _sum_of_index(index: Dim | int, atoms: dict[str, Expr]) -> Sum | None:
    total: Sum = {}
    for monomial, factor in terms_of(index):
        symbols = [atom for atom in monomial if isinstance(atom, Symbol)]
        if len(symbols) < len(monomial):
            return None
        atoms.update((s.name, IndexValue(Dim.of(s))) for s in symbols)
        total[tuple(sorted(s.name for s in symbols))] = factor
    return total


def plus(x: Sum | None, y: Sum | None, times: int) -> Sum | None:
    """`x + times * y`."""
    if x is None or y is None:
        return None
    total = dict(x)
    for monomial, factor in y.items():
        total[monomial] = total.get(monomial, 0) + times * factor
    return _normal(total)


def _times(x: Sum | None, y: Sum | None) -> Sum | None:
    if x is None or y is None:
        return None
    total: Sum = {}
    for one, a in x.items():
        for other, b in y.items():
            monomial = tuple(sorted((*one, *other)))
            total[monomial] = total.get(monomial, 0) + a * b
    return _normal(total)


def _normal(x: Sum) -> Sum | None:
    """The sum with the least factors of its terms; None where these are many."""
    found = {monomial: least for monomial, factor in x.items() if (least := wrapped(factor))}
    return found if len(found) <= _MOST_TERMS else None


def wrapped(number: int) -> int:
    """The int64 that a number becomes."""
    return (number + 2**63) % 2**64 - 2**63


def value_of(total: Sum, atoms: Mapping[str, Expr]) -> Expr:
    """The expression of a sum, what is added first and the constant last."""
    result: Expr | None = None
    for monomial, factor in sorted(total.items(), key=lambda term: (not term[0], term[1] < 0)):
        size = abs(factor) if result is not None else factor
        term = _product(monomial, size, atoms)
        if result is None:
            result = term
        else:
            result = Apply("add" if factor > 0 else "subtract", (result, term), INT64)
    return Literal(np.int64(0), INT64) if result is None else result


def _product(monomial: Monomial, factor: int, atoms: Mapping[str, Expr]) -> Expr:
    number = Literal(np.int64(wrapped(factor)), INT64)
    if not monomial:
        return number
    result = atoms[monomial[0]]
    for name in monomial[1:]:
        result = Apply("multiply", (result, atoms[name]), INT64)
    return result if factor == 1 else Apply("multiply", (result, number), INT64)
