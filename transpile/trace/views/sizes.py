"""Questions about arrays in memory that runtime sizes decide.

A question is asked for examples of the sizes: small ones, which a slice leaves one element of, or
none; those beside the numbers that shapes have, which a step divides or not; equal ones, and large
ones. Where all of them that are declared possible have one answer, it is that of the program. Where
they differ, a constraint is looked for under which they do not.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from transpile.ir.dims import Quotient, Remainder, Symbol, evaluate, terms_of

_EXAMPLE = 5040  # of a runtime size: one that many numbers divide
_SMALL = (6, 5, 3)  # how many of the smallest sizes are tried, by the number of symbols
_MOST_TOGETHER = 300  # examples up to which each value of a size meets each of the others
_MOST_NUMBERS = 6  # of shapes, beside which sizes are tried
_LARGEST = 4096  # of these numbers
_BESIDE = (1, 2, 3, 5)  # multiples of them that are tried
_RANGE = 60  # sizes of which some are tried under constraints
_MOST_TRIED = 4000
_THRESHOLDS = 7  # of the smallest sizes that were tried
_MOST_CONSTRAINTS = 3  # that an error asks for at once


class Sizes(dict[str, int]):
    """An example: runtime sizes by their names. Those that it does not name are large, another
    number for each name. Examples are what they are, and are not compared."""

    __hash__ = object.__hash__  # type: ignore[assignment]  # of a dict, which has none

    def __eq__(self, other: object) -> bool:
        return self is other

    def __missing__(self, name: str) -> int:
        return _EXAMPLE * (1 + sum(name.encode()) % 97)


GENERAL = Sizes()  # all sizes are large
SYMBOLS = Sizes()  # sizes are their symbols


def number_at(size: Any, sizes: Sizes) -> Any:
    """A size in an example."""
    return size if isinstance(size, int) else evaluate(size, sizes)


class Undecided:
    """Why something is not the same for all runtime sizes, as words for an error."""

    def __init__(self, what: str, question: _Question) -> None:
        self._what = what
        self._question = question

    def __str__(self) -> str:
        needed = _settling(self._question)
        if not needed:
            names = ", ".join(map(str, self._question.symbols))
            return f"{self._what} or not, by the values of {names}"
        sizes = " or ".join(dict.fromkeys(c.words for c in needed))
        if any(s.is_found for c in needed for s in c.symbols):
            return f"{self._what} or not, by whether {sizes}"
        names = ", ".join(dict.fromkeys(str(s) for c in needed for s in c.symbols))
        texts = ", ".join(repr(c.text) for c in needed)
        return (
            f"{self._what} or not, by whether {sizes} (declare transpile.dims({names!r}, {texts}))"
        )


class _Question(NamedTuple):
    """What is asked, of which sizes, and the numbers beside which they are tried."""

    ask: Callable[[Sizes], Any]
    symbols: tuple[Symbol, ...]
    numbers: tuple[int, ...]
    lowest: int

    def answers(self, examples: Iterable[Sizes]) -> Iterator[tuple[Sizes, Any]]:
        """The examples with their answers."""
        answers = ((example, self.ask(example)) for example in examples)
        return ((example, given) for example, given in answers if given is not None)


class Answer(NamedTuple):
    """What holds of an array for runtime sizes in general.

    reason  where it is otherwise for some of them: for which, and what to declare
    """

    value: Any
    reason: Undecided | str


def answer(
    symbols: Sequence[Symbol],
    shapes: Iterable[Sequence[Any]],
    question: Callable[[Sizes], Any],
    what: str,
    lowest: int = 1,
) -> Answer:
    """What holds for all sizes, or in general, if not for all that are not below the `lowest` that
    counts. The reason begins with `what` holds or not; an answer of None fits to all others."""
    numbers = dict.fromkeys(n for shape in shapes for d in shape for n in _numbers_in(d))
    telling = tuple(sorted(n for n in numbers if 1 < n <= _LARGEST)[:_MOST_NUMBERS])
    asked = _Question(question, tuple(symbols), telling, lowest)
    examples = _examples(asked.symbols, telling, lowest)
    answers = asked.answers(itertools.chain(examples[-1:], examples))
    _, general = next(answers, (GENERAL, None))
    if all(given == general for _, given in answers):
        return Answer(general, "")
    return Answer(general, Undecided(what, asked))


def _numbers_in(size: Any) -> Iterator[int]:
    """The numbers in a size, and what it is divided by."""
    for monomial, factor in terms_of(size):
        yield abs(factor)
        for atom in monomial:
            if isinstance(atom, Quotient | Remainder):
                yield from _numbers_in(atom.dividend)
                yield from _numbers_in(atom.divisor)


# -------------------------------------------------------------------------------------- examples


@functools.lru_cache(maxsize=256)
def _examples(symbols: tuple[Symbol, ...], numbers: Sequence[int], lowest: int) -> list[Sizes]:
    """Examples of the sizes that are declared possible, the largest last."""
    count = _SMALL[min(len(symbols), len(_SMALL)) - 1]
    values: dict[str, list[int]] = {}
    for s in symbols:
        least, large = max(s.lower, lowest), GENERAL[str(s)] // s.unit
        beside = {m // s.unit for n in numbers for k in _BESIDE for m in (k * n, k * n + 1)}
        beside |= {m for n in numbers for m in ((n - 1) // s.unit, n) if m < large}
        tried = {*range(least, least + count), *beside, large, large + 1}
        most = s.extent - 1 if isinstance(s.extent, int) else large + 1
        values[str(s)] = sorted({min(n, most) * s.unit for n in tried if n >= least})
    together = 1
    for tried_of_one in values.values():
        together *= len(tried_of_one)
    rows: Iterable[tuple[int, ...]] = itertools.product(*values.values())
    if together > _MOST_TOGETHER:
        rows = dict.fromkeys(_few(list(values.values())))
    examples = (Sizes(zip(values, row, strict=True)) for row in rows)
    return [e for e in examples if _is_possible(e, symbols)]


def _few(values: Sequence[list[int]]) -> Iterator[tuple[int, ...]]:
    """Examples of many sizes: two of them at their values, the others small, or large."""
    for others in (0, -1):
        row = [v[others] for v in values]
        pairs = itertools.combinations(range(len(values)), 2)
        for one, other in itertools.islice(pairs, 6):
            for a, b in itertools.product(values[one][:4], values[other][:4]):
                yield (*row[:one], a, *row[one + 1 : other], b, *row[other + 1 :])
            equal = values[one][-1]
            yield (*row[:one], equal, *row[one + 1 : other], equal, *row[other + 1 :])
        for axis, tried in enumerate(values):
            for value in tried:
                yield (*row[:axis], value, *row[axis + 1 :])
    yield tuple(v[-1] for v in values)


def _is_possible(sizes: Sizes, symbols: Iterable[Symbol]) -> bool:
    """False for sizes that contradict what is declared of them."""
    for s in symbols:
        if s.extent is not None and sizes[str(s)] // s.unit >= number_at(s.extent, sizes):
            return False
    return all(number_at(fact, sizes) >= 0 for s in symbols for fact in s.facts)


# ------------------------------------------------------------------------------------ constraints


class _Constraint(NamedTuple):
    """What can be declared of sizes, and in words what it excludes."""

    text: str
    words: str
    symbols: tuple[Symbol, ...]
    holds: Callable[[Sizes], bool]


def _settling(question: _Question) -> tuple[_Constraint, ...]:
    """The fewest constraints under which all examples have one answer, also those that are tried
    then; none where none do."""
    examples = _examples(question.symbols, question.numbers, question.lowest)
    answers = list(question.answers(examples))
    known = list(_constraints(question, answers))
    masks = [[c.holds(example) for example, _ in answers] for c in known]
    for count in range(1, _MOST_CONSTRAINTS + 1):
        for chosen in itertools.combinations(range(len(known)), count):
            left = (
                given for k, (_, given) in enumerate(answers) if all(masks[c][k] for c in chosen)
            )
            if len(set(left)) != 1:
                continue
            constraints = tuple(known[c] for c in chosen)
            tried = list(question.answers(_more_examples(question, constraints)))
            if len({given for _, given in tried}) == 1:
                return constraints
            answers += tried
            for mask, constraint in zip(masks, known, strict=True):
                mask += [constraint.holds(example) for example, _ in tried]
    return ()


def _more_examples(question: _Question, constraints: Sequence[_Constraint]) -> list[Sizes]:
    """Examples for which constraints hold: those of smaller sizes, and of some others."""
    values = {}
    for s in question.symbols:
        least = max(s.lower, question.lowest)
        most = s.extent if isinstance(s.extent, int) else least + _RANGE
        values[str(s)] = [n * s.unit for n in range(least, min(most, least + _RANGE))]
    rows = itertools.islice(_mixed(list(values.values())), _MOST_TRIED)
    examples = (Sizes(zip(values, row, strict=True)) for row in rows)
    held = (e for e in examples if all(c.holds(e) for c in constraints))
    return [e for e in held if _is_possible(e, question.symbols)][:_MOST_TOGETHER]


def _mixed(values: Sequence[Sequence[int]]) -> Iterator[tuple[int, ...]]:
    """Rows of values of each size, all with all of others sooner or later."""
    for number in itertools.count():
        mixed, row = number * 2654435761 % 2**32, []
        for tried in values:
            mixed, position = divmod(mixed, len(tried))
            row.append(tried[position])
        yield tuple(row)


def _constraints(
    question: _Question, answers: Sequence[tuple[Sizes, Any]]
) -> Iterator[_Constraint]:
    symbols = question.symbols
    for s in symbols:
        tried = sorted({e[str(s)] for e, _ in answers if e[str(s)] < GENERAL[str(s)]})
        for below, least in itertools.pairwise(tried[:_THRESHOLDS]):
            words = f"{s} is {below}" if below == tried[0] else f"{s} < {least}"
            yield _Constraint(f"{s} >= {least}", words, (s,), _at_least(str(s), least))
    for s in symbols:
        for divisor in sorted({*question.numbers, *(n * s.unit for n in question.numbers)}):
            if not s.unit % divisor:
                continue
            words = f"{s} % {divisor} is 0"
            yield _Constraint(f"{s} % {divisor} == 0", words, (s,), _is_divided(str(s), divisor))
    for s, other in itertools.permutations(symbols, 2):
        words = f"{s} is {other}" if str(s) < str(other) else f"{other} is {s}"
        yield _Constraint(f"{s} < {other}", words, (s, other), _is_less(str(s), str(other)))


def _at_least(name: str, least: int) -> Callable[[Sizes], bool]:
    return lambda sizes: sizes[name] >= least


def _is_divided(name: str, divisor: int) -> Callable[[Sizes], bool]:
    return lambda sizes: sizes[name] % divisor == 0


def _is_less(one: str, other: str) -> Callable[[Sizes], bool]:
    return lambda sizes: sizes[one] < sizes[other]
