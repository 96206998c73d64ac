"""What is known of integer scalars in a loop: ranges and relations that its body maps into
themselves.

Ranges are found by widening to a few thresholds, and then narrowed once (Cousot and Cousot 1977). A
scalar that no iteration moves up stays below the sum that it was before the loop, as `i` below
`n - 2` in `i = n - 2; while i >= 0: i -= 1`, and one that none moves down above it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from transpile.analysis.integer_ranges import Facts
from transpile.analysis.linear_facts import Linear, combined, is_relation, scalars_of, scaled
from transpile.ir.indices import intervals
from transpile.ir.indices.intervals import Interval, full, hull, is_inside, meet
from transpile.ir.loop_ir import For, Ref, Statement, Update, While
from transpile.ir.loop_rewrite import walk, written
from transpile.ir.types import INT64
from transpile.util.frozen_records import dataclass

# Ends of intervals that grow from iteration to iteration. `if i > 0: i -= 1` stays at 0, and what
# counts down to it ends at -1. Squares of the next ones do not wrap around, so that `p * p < n`
# bounds p. The outer ones are larger than runtime sizes, and sums of a few do not wrap around, so
# that `2 * p + 1 < n` bounds p.
_THRESHOLDS = (0, 1, 2**31, 2**58)
_INNER = (-(2**31), 2**31)  # what leaves this is where all iterations of a loop can have moved it
_MOST_ROUNDS = 7
# A loop without a bound has fewer iterations than this, at one in a nanosecond for a year: its
# counters do not wrap around.
_MOST_TRIPS = 2**55

Iteration = Callable[[Facts], tuple[Statement, Facts | None, Facts | None]]


class Invariants:
    """What earlier looks at loops have found to hold before each iteration.

    A loop inside another one is settled once for each look at that, each time for weaker facts, of
    which its last invariant is a first guess; else a nest of loops would take time in the power of
    its depth.
    """

    def __init__(self) -> None:
        self._found: dict[int, tuple[For | While, Facts, Facts, list[_Side]]] = {}

    def guess(self, loop: For | While, facts: Facts) -> tuple[Facts, list[_Side]] | None:
        """The last invariant, and the sides that scalars keep; None where facts say more now."""
        _, before, known, steady = self._found.get(id(loop), (loop, None, None, []))
        if before is None or known is None or not _say_no_more(facts, before):
            return None
        return known, steady

    def note(self, loop: For | While, facts: Facts, known: Facts, steady: list[_Side]) -> None:
        """Facts before a loop, and before each iteration."""
        self._found[id(loop)] = loop, facts.copy(), known.copy(), steady


def _say_no_more(facts: Facts, others: Facts) -> bool:
    """True if other facts say all that these do."""
    theirs = others.ranges
    return (
        all(n in theirs and is_inside(theirs[n], mine) for n, mine in facts.ranges.items())
        and all(relation in others.relations for relation in facts.relations)
        and all(others.values.get(name) == value for name, value in facts.values.items())
    )


def settle_loop(
    loop: For | While,
    facts: Facts,
    iteration: Iteration,
    trips: int | None,
    invariants: Invariants,
) -> tuple[Statement, Facts | None]:
    """The loop with facts that hold before each iteration, and what is known behind it.

    iteration  facts before one -> the loop, and the facts behind it, where another one follows and
               where it was the last one
    trips      the largest trip count, if known
    """
    updated = {
        s.target.name for s in walk((loop,)) if isinstance(s, Update) and isinstance(s.target, Ref)
    }
    known = facts.copy()
    known.shifts = {}
    for name in updated.union(*map(written, walk((loop,)))):
        known.forget(name)
    names = updated & facts.ranges.keys()
    guess = invariants.guess(loop, facts)
    if guess is not None:
        names &= guess[0].ranges.keys()
    for name in names:
        begin = facts.ranges[name]
        known.bound(name, begin if guess is None else hull(begin, guess[0].ranges[name]))
    others, steady = known.relations, list(_origins(facts, known, names))
    if guess is not None:
        steady = [x for x in steady if x in guess[1]]
    known.relate((*others, *(x.relation for x in steady)))
    assumed = steady
    found = None  # by an iteration with what is known
    for number in range(_MOST_ROUNDS if names else 0):
        found = iteration(known)
        after = found[1]
        if after is None:
            break
        steady = [x for x in steady if _moves_away(after.shifts.get(x.name, (0, 0)), x)]
        reached = {n: _before_next(facts.ranges[n], after, n, trips) for n in names}
        are_inside = all(is_inside(reached[n], known.ranges[n]) for n in names)
        if are_inside and steady == assumed:
            invariants.note(loop, facts, known, steady)
            if any(reached[name] != known.ranges[name] for name in names):
                found = None
            for name in names:
                known.bound(name, reached[name])
            break
        known.relate((*others, *(x.relation for x in steady)))
        assumed = steady
        for name in names:
            begin, now = facts.ranges[name], known.ranges[name]
            moved = _moved(begin, after.shifts.get(name, (0, 0)), trips)
            known.bound(name, _widened(now, reached[name], moved, number, trips is not None))
    else:
        found = None
        for name in names:
            known.forget(name)
        invariants.note(loop, facts, known, [])
    statement, after, behind = found or iteration(known)
    return statement, _behind(facts, after, behind, updated, trips)


@dataclass(frozen=True)
class _Side:
    """That a scalar stays above (1) or below (-1) the sum that it was before a loop."""

    name: str
    sign: int
    relation: Linear


def _origins(facts: Facts, known: Facts, names: set[str]) -> Iterator[_Side]:
    """Both sides of what a loop changes, but for scalars that begin as what it changes."""
    for name in sorted(names & facts.origins.keys()):
        origin = facts.origins[name]
        if all(n in known.ranges and n not in names for n in scalars_of(origin)):
            for sign in (1, -1):
                relation = scaled(combined({name: 1}, origin, -1), sign)
                if is_relation(relation):
                    yield _Side(name, sign, relation)


def _moves_away(shift: Interval | None, side: _Side) -> bool:
    """True if no iteration moves a scalar to the other side."""
    return shift is not None and (shift[0] >= 0 if side.sign > 0 else shift[1] <= 0)


def _before_next(begin: Interval, after: Facts, name: str, trips: int | None) -> Interval:
    """The interval of a scalar before each iteration, of the facts behind one."""
    whole = full(INT64)
    end = hull(begin, after.ranges.get(name, whole))
    moved = _moved(
        begin, after.shifts.get(name, (0, 0)), None if trips is None else max(trips - 1, 0)
    )
    return end if moved is None else meet(end, moved) or end


def _moved(begin: Interval, shift: Interval | None, times: int | None) -> Interval | None:
    """The interval of a scalar after up to so many shifts, or as many as a loop has; None where it
    might wrap around."""
    if shift is None:
        return None
    most = _MOST_TRIPS if times is None else times
    steps = min(shift[0], 0) * most, max(shift[1], 0) * most
    moved = intervals.add(begin, steps)
    return moved if is_inside(moved, full(INT64)) else None


def _widened(
    now: Interval, end: Interval, moved: Interval | None, number: int, is_counted: bool
) -> Interval:
    """An interval with what is known before an iteration and behind one, of ends that do not grow
    often."""
    if is_inside(end, now):
        return now
    if number == 0:
        return hull(now, moved if moved is not None and is_counted else end)
    is_last = number >= _MOST_ROUNDS - 2
    if moved is not None and not is_inside(end, _INNER):
        return hull(now, moved)
    least, most = full(INT64) if is_last else (-_threshold(-end[0]), _threshold(end[1]))
    low = now[0] if end[0] >= now[0] else least
    high = now[1] if end[1] <= now[1] else most
    return low, high


def _threshold(end: int) -> int:
    """The least threshold that an interval's end has not passed; behind all of them the end."""
    return next((t for t in _THRESHOLDS if t >= end), end)


def _behind(
    facts: Facts, after: Facts | None, behind: Facts | None, updated: set[str], trips: int | None
) -> Facts | None:
    """What is known behind a loop."""
    if trips is None:
        known = behind
    else:
        known = facts if after is None else facts.joined(after)
    if known is None:
        return None
    known = known.copy()
    known.shifts = dict(facts.shifts)
    for name in updated:
        shift = (0, 0) if after is None else after.shifts.get(name, (0, 0))
        if name in facts.ranges and name in known.ranges:
            moved = _moved(facts.ranges[name], shift, trips)
            if moved is not None:
                known.bound(name, meet(known.ranges[name], moved) or moved)
        steps = shift if shift == (0, 0) else shift and _moved((0, 0), shift, trips)
        before = facts.shifts.get(name, (0, 0))
        known.shifts[name] = before and steps and intervals.add(before, steps)
    return known
