"""Declare runtime sizes with constraints: `dims("n, m", "n % 8 == 0", "n <= 4096", "m == 2*n")`.

A range is a range of the symbol, a divisor its unit, and an equality is substituted, so that the
arithmetic of dimensions knows them without search. Other inequalities are facts of the symbols that
they relate (`proofs.py`). Each substitution changes what the texts mean, so they are read again
until nothing changes.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from math import gcd
from typing import TYPE_CHECKING

from transpile.ir.dims import (
    Dim,
    Index,
    Symbol,
    bounds,
    floor_divide,
    substitute,
    symbols_of,
    terms_of,
)
from transpile.ir.indices.size_text import extent, tree_of
from transpile.util.frozen_records import dataclass, replace
from transpile.util.lazy.imports import Later

if TYPE_CHECKING:
    import ast
else:
    ast = Later("ast")

_ROUNDS = 100  # more than the constraints of any program take to settle
_FORMS = "'n % 8 == 0', '1 <= n <= 4096', 'm == 2*n', 'n < m' or 'n == m or n == 1'"


def dims(names: str, *constraints: str) -> tuple[Index, ...]:
    """Runtime sizes: `n, m = transpile.dims("n, m", "n % 8 == 0", "m == 2*n")`.

    names        extents, separated by commas: names, or expressions of them
    constraints  what holds in every call: comparisons of extents with `<`, `<=`, `>`, `>=` and
                 `==`, also chained, `n % 8 == 0`, and `n == m or n == 1`, with which an axis of
                 n elements broadcasts to one of m, or `n == m or n == 1 or m == 1`, either to
                 the other

    A name without a lower bound is at least 1; `n >= 0` allows a size of 0. What is declared
    settles comparisons while a function is traced, simplifies the program, and is checked when it
    is called.

    A tuple of one extent for each that `names` has; an equality may make an int of a name.

    Raises ValueError for a text that is no constraint, and for constraints that contradict each
    other.
    """
    texts = [tree_of(text) for text in names.split(",")]
    known = declared(constraints, texts)
    return tuple(extent(text, known) for text in texts)


def declared(constraints: Sequence[str], texts: Sequence[ast.expr] = ()) -> dict[str, Index]:
    """The extents that are meant by the names in constraints, and in other texts."""
    declaration = _Declaration(tuple(_comparisons(constraints)))
    declaration.take_names(texts)
    declaration.settle()
    return declaration.with_facts()


@dataclass(frozen=True)
class _Comparison:
    """Two sides and the word between them, of the constraint with this text."""

    left: ast.expr
    word: str
    right: ast.expr
    text: str


def _comparisons(constraints: Sequence[str]) -> Iterator[_Comparison]:
    """The comparisons of constraints, of which a chain has several."""
    words = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "=="}
    for text in constraints:
        node = tree_of(text)
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            yield _Comparison(_product(node.values, text), "or", ast.Constant(value=0), text)
            continue
        if not isinstance(node, ast.Compare) or any(type(op) not in words for op in node.ops):
            raise ValueError(f"{text!r} is no constraint of sizes, such as {_FORMS}")
        sides = (node.left, *node.comparators)
        for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
            yield _Comparison(left, words[type(op)], right, text)


def _product(equalities: Sequence[ast.expr], text: str) -> ast.expr:
    """What is 0 where one of some equalities holds: the product of their differences."""
    factors: list[ast.expr] = []
    for node in equalities:
        match node:
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                factors.append(ast.BinOp(left=left, op=ast.Sub(), right=right))
            case _:
                raise ValueError(f"{text!r} is no constraint of sizes, such as {_FORMS}")
    return functools.reduce(lambda a, b: ast.BinOp(left=a, op=ast.Mult(), right=b), factors)


@dataclass
class _Declaration:
    """What the constraints say so far.

    symbols      by name, the size divided by its unit, with its range; without facts
    substituted  by name, sizes that are other extents by an equality
    used         the equalities that are substituted, or hold for all values
    facts        polynomials that are 0 or more, and the texts that say so
    """

    comparisons: tuple[_Comparison, ...]
    symbols: dict[str, Symbol] = field(default_factory=dict)
    substituted: dict[str, Index] = field(default_factory=dict)
    used: set[_Comparison] = field(default_factory=set)
    facts: dict[Dim, str] = field(default_factory=dict)

    def take_names(self, texts: Sequence[ast.expr]) -> None:
        """Give each name its lower bound: the declared one, so that 0 is allowed; else 1."""
        nodes = [*texts, *(s for c in self.comparisons for s in (c.left, c.right))]
        names = {n.id: None for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)}
        lowers: dict[str, int] = {}
        for comparison in self.comparisons:
            for name, least in _lower_bounds(comparison):
                lowers[name] = max(least, lowers.get(name, 0))
        self.symbols = {name: Symbol(name, lowers.get(name, 1)) for name in names}

    def known(self) -> dict[str, Index]:
        """The extent that each name is now."""
        return {name: self._size(name) for name in (*self.symbols, *self.substituted)}

    def _size(self, name: str) -> Index:
        symbol = self.symbols.get(name)
        return self._now(self.substituted[name]) if symbol is None else Dim.of(symbol) * symbol.unit

    def _now(self, index: Index) -> Index:
        """An index over the symbols that are left, with their ranges; their units have grown."""
        return substitute(
            index, {s: floor_divide(self._size(s.name), s.unit) for s in symbols_of(index)}
        )

    def settle(self) -> None:
        """Apply the constraints until nothing changes."""
        for _ in range(_ROUNDS):
            before = dict(self.symbols), dict(self.substituted)
            self.facts.clear()
            for comparison in sorted(self.comparisons, key=_is_no_divisor):
                self._apply(comparison)
            self._narrow_by_facts()
            if before == (self.symbols, self.substituted):
                return
        raise ValueError(f"the constraints narrow the sizes without an end: {self._texts()}")

    def _texts(self) -> str:
        return ", ".join(dict.fromkeys(c.text for c in self.comparisons))

    def _apply(self, c: _Comparison) -> None:
        known = self.known()
        if c.word == "==":
            if c not in self.used:
                self._equal(c, known)
            return
        left, right = extent(c.left, known), extent(c.right, known)
        if c.word == "or":
            for sign in (1, -1):
                self._at_least_0(left * sign, c.text)
            return
        larger, smaller = (right, left) if c.word in ("<", "<=") else (left, right)
        self._at_least_0(larger - smaller - (c.word in ("<", ">")), c.text)

    def _equal(self, c: _Comparison, known: Mapping[str, Index]) -> None:
        self.used.add(c)
        match c.left, c.right:
            case ast.BinOp(
                op=ast.Mod(), left=dividend, right=ast.Constant(value=int(n))
            ), other if n > 0:
                if not (isinstance(other, ast.Constant) and other.value == 0):
                    raise ValueError(
                        f"{c.text!r}: a remainder can only be declared to be 0; write the extent "
                        f"itself, such as '{n}*n + 3'"
                    )
                self._divide(extent(dividend, known), n, c.text)
                return
        left, right = extent(c.left, known), extent(c.right, known)
        difference = left - right
        if isinstance(difference, int):
            if difference:
                raise ValueError(f"{c.text!r} is {left} == {right}, which never holds")
            return
        named = [
            n.id for n in (c.left, c.right) if isinstance(n, ast.Name) and n.id in self.symbols
        ]
        self._eliminate(difference, named, c.text)

    def _divide(self, dividend: Index, divisor: int, text: str) -> None:
        """Declare an extent divisible."""
        match terms_of(dividend):
            case [((Symbol() as symbol,), factor)]:
                self._multiply_unit(symbol, divisor // gcd(factor, divisor))
            case _ if dividend % divisor == 0:
                pass
            case _:
                raise ValueError(
                    f"{text!r}: only a multiple of one size can be declared divisible, not "
                    f"{dividend}"
                )

    def _multiply_unit(self, symbol: Symbol, factor: int) -> None:
        old = self.symbols[symbol.name]
        high = bounds(Dim.of(old))[1]
        self.symbols[symbol.name] = replace(
            old,
            lower=-(-old.lower // factor),
            extent=None if high is None else high // factor + 1,
            unit=old.unit * factor,
        )

    def _eliminate(self, difference: Dim, preferred: list[str], text: str) -> None:
        """Substitute a size by what an equality says that it is."""
        order = [*preferred, *sorted(str(s) for s in difference.symbols())]
        for name in order:
            symbol = self.symbols[name]
            factor = dict(difference.terms).get((symbol,), 0)
            rest = Dim.of(symbol) * factor - difference
            if not factor or symbol in symbols_of(rest):
                continue
            match terms_of(rest):
                case [((Symbol() as other,), share)] if share % factor:
                    self._multiply_unit(other, abs(factor) // gcd(factor, share))
                    rest = self._now(rest)
            if all(share % factor == 0 for _, share in terms_of(rest)):
                value = _quotient(rest, factor)
                del self.symbols[name]
                self.substituted[name] = value * symbol.unit
                # The range of the size is now one of the extent that it is.
                high = bounds(Dim.of(symbol))[1]
                node = ast.Name(id=name)
                limits = [(">=", symbol.lower * symbol.unit)]
                limits += [] if high is None else [("<=", high * symbol.unit)]
                self.comparisons += tuple(
                    _Comparison(node, word, ast.Constant(value=limit), text)
                    for word, limit in limits
                )
                return
        raise ValueError(
            f"{text!r} gives none of its sizes as an extent of the others; write a name on one side"
        )

    def _at_least_0(self, index: Index, text: str) -> None:
        match terms_of(index):
            case []:
                return
            case [((Symbol() as symbol,), factor), *constant] if all(not m for m, _ in constant):
                self._narrow(symbol, factor, sum(c for _, c in constant), text)
                return
        if isinstance(index, int):
            if index < 0:
                raise ValueError(f"{text!r} never holds")
            return
        low, high = bounds(index)
        if high is not None and high < 0:
            raise ValueError(f"{text!r} never holds: {self._texts()}")
        if low is None or low < 0:
            self.facts.setdefault(index, text)

    def _narrow(self, symbol: Symbol, factor: int, constant: int, text: str) -> None:
        """Use that factor*symbol + constant is 0 or more."""
        old = self.symbols[symbol.name]
        low, high = bounds(Dim.of(old))
        assert low is not None
        if factor > 0:
            low = max(low, -(constant // factor))
        else:
            most = constant // -factor
            high = most if high is None else min(high, most)
        self._set_range(old, low, high, text)

    def _set_range(self, symbol: Symbol, low: int, high: int | None, text: str) -> None:
        if high is not None and low > high:
            raise ValueError(
                f"{text!r} leaves no value of {symbol}: with {self._texts()} it is at least "
                f"{low * symbol.unit} and at most {high * symbol.unit}"
            )
        extent = None if high is None else high + 1
        self.symbols[symbol.name] = replace(symbol, lower=low, extent=extent)

    def _narrow_by_facts(self) -> None:
        """The ranges that follow from facts, of which none may contradict the others."""
        facts = tuple(self.facts)
        for symbol in tuple(self.symbols.values()):
            low, high = bounds(Dim.of(replace(symbol, facts=facts)))
            assert low is not None
            self._set_range(self.symbols[symbol.name], low, high, self._texts())
        for fact, text in self.facts.items():
            others = tuple(other for other in facts if other is not fact)
            informed = {s: Dim.of(replace(s, facts=others)) for s in fact.symbols()}
            high = bounds(substitute(fact, informed))[1]
            if high is not None and high < 0:
                raise ValueError(f"{text!r} contradicts the others of {self._texts()}")

    def with_facts(self) -> dict[str, Index]:
        """The extents of names, whose symbols have the facts about them, and about those to which
        these relate them."""
        facts = list(self.facts)
        for name, symbol in tuple(self.symbols.items()):
            related, reached = [], {symbol}
            for _ in facts:
                related = [f for f in facts if not reached.isdisjoint(f.symbols())]
                reached = reached.union(*(f.symbols() for f in related))
            self.symbols[name] = replace(symbol, facts=tuple(related))
        return self.known()


def _is_no_divisor(c: _Comparison) -> bool:
    """False for `n % 8 == 0`, which is applied first, while each name is a size."""
    return not (c.word == "==" and isinstance(c.left, ast.BinOp) and isinstance(c.left.op, ast.Mod))


def _lower_bounds(c: _Comparison) -> Iterator[tuple[str, int]]:
    """The name that a comparison with a number bounds from below, and the bound."""
    turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "=="}
    for name, word, number in (
        (c.left, c.word, c.right),
        (c.right, turned.get(c.word, ""), c.left),
    ):
        match name, word, number:
            case ast.Name(id=text), ">=" | ">" | "==", ast.Constant(value=int(least)):
                yield text, least + (word == ">")


def _quotient(index: Index, factor: int) -> Index:
    """An index whose coefficients are all multiples of a factor, divided by it."""
    total: Index = 0
    for monomial, share in terms_of(index):
        term: Index = Dim(((monomial, share // factor),)) if monomial else share // factor
        total = total + term
    return total
