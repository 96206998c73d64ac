"""Remove what the ranges of integers settle: comparisons, extremes, choices and branches.

    while j >= 0:                                   while j >= 0:
        at = min(max(j < 0 ? j + n : j, 0), n - 1)      out[j] = x
        out[at] = x                                 ->  j = j - 1
        j = j - 1

The subscripts of a loop of Python's count from the end where they are negative, and are clamped.
That a counter does neither follows from its first value, its steps and the condition of its loop
(`transpile.analysis.integer_ranges`). What a loop changes has a range that its body maps into
itself: it is found by widening to a few thresholds, and then narrowed once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from transpile.analysis.integer_ranges import Facts, constant_ranges, decides
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import NO_DEAD_SCALARS
from transpile.ir.dims import Dim
from transpile.ir.indices import intervals
from transpile.ir.indices.intervals import (
    Interval,
    full,
    hull,
    is_inside,
    is_integer,
    meet,
)
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
    Declare,
    Expr,
    For,
    If,
    IndexValue,
    Kernel,
    Literal,
    Load,
    Program,
    Ref,
    Statement,
    Store,
    Update,
    While,
    Within,
)
from transpile.ir.loop_rewrite import parts, walk, written
from transpile.ir.types import BOOL, INT64
from transpile.options import Options
from transpile.schedule.cleanup.exact_indices import ExactIndices
from transpile.util.frozen_records import changed, same

Body = tuple[Statement, ...]
# Ends of intervals that grow from iteration to iteration. Squares of the inner ones do not wrap
# around, so that `p * p < n` bounds p. The outer ones are larger than runtime sizes, and sums of a
# few do not wrap around, so that `2 * p + 1 < n` bounds p.
_THRESHOLDS = (2**31, 2**58)
_MOST_ROUNDS = 5
# A loop without a bound has fewer iterations than this, at one in a nanosecond for a year: its
# counters do not wrap around.
_MOST_TRIPS = 2**55


@contract(destroys=(NO_DEAD_SCALARS,))
def settle_comparisons(program: Program, options: Options) -> Program:
    """The program without comparisons of integers whose result is known."""
    return _settled(program)


@contract(destroys=(NO_DEAD_SCALARS,))
def settle_subscripts(program: Program, options: Options) -> Program:
    """The same, before other passes, for programs with loops of the user's. Trip counts that are
    scalars stay such: those passes take a symbol of an unknown range for a runtime size."""
    loops = (s for k in program.kernels for s in walk(k.body) if isinstance(s, For))
    return _settled(program, names_symbols=False) if any(f.ordered for f in loops) else program


def _settled(program: Program, names_symbols: bool = True) -> Program:
    if not any(_compares(p) for k in program.kernels for s in walk(k.body) for p in parts(s)):
        return program
    known: Facts | None = Facts(constant_ranges(program.buffers()))
    kernels: list[Kernel] = []
    for kernel in program.kernels:
        exact = ExactIndices(kernel.body, program.sizes, names_symbols)
        if known is not None:
            exact.bound_sizes(known)
        body, known = _Walk(exact).body(kernel.body, known)
        body = exact.propagated(same(kernel.body, body))
        kernels.append(changed(kernel, body=body))
    return changed(program, kernels=same(program.kernels, tuple(kernels)))


def _compares(part: Expr) -> bool:
    """True for what a range may settle."""
    if isinstance(part, Apply) and is_integer(part.args[0].dtype):
        return bool(part.primitive.signs or part.primitive.chooses)
    return isinstance(part, Within)


class _Walk:
    """Rewrites statements in the order in which they run, with the facts before each."""

    def __init__(self, exact: ExactIndices) -> None:
        self._exact = exact

    def body(self, body: Body, facts: Facts | None) -> tuple[Body, Facts | None]:
        """The statements of a scope, and what is known behind it; None for facts where no
        execution arrives."""
        result: list[Statement] = []
        for statement in body:
            if facts is None:
                result.append(statement)
                continue
            after, facts = self.statement(statement, facts)
            result += after
        if facts is not None:
            for name in {s.name for s in body if isinstance(s, Declare)}:
                facts.forget(name)
        return tuple(result), facts

    def statement(self, statement: Statement, facts: Facts) -> tuple[Body, Facts | None]:
        """A statement, and what is known behind it."""
        match statement:
            case If():
                return self._branch(statement, facts)
            case For():
                return self._for(statement, facts)
            case While():
                return self._while(statement, facts)
            case Declare(name=name, constant=constant):
                value = settled(statement.value, facts)
                if statement.symbol is not None:
                    index = self._exact.index_of(facts.sum_of(value))
                    value = value if index is None else IndexValue(index)
                facts.declare(name, value, constant)
                self._exact.declare(statement, facts)
                return (changed(statement, value=value),), facts
            case Update(target=Ref()):
                value = settled(statement.value, facts)
                _update(statement, value, facts)
                return (changed(statement, value=value),), facts
            case Store() | Update():
                value = settled(statement.value, facts)
                _store(statement, value, facts)
                return (changed(statement, value=value),), facts
            case _:
                for name in written(statement):
                    facts.forget(name)
                return (statement,), facts

    def _branch(self, statement: If, facts: Facts) -> tuple[Body, Facts | None]:
        condition = settled(statement.condition, facts)
        then, then_facts = self._arm(statement.body, facts.assuming(condition, True))
        orelse, else_facts = self._arm(statement.orelse, facts.assuming(condition, False))
        if isinstance(condition, Literal):
            arm, known = (then, then_facts) if condition.value else (orelse, else_facts)
            if not any(isinstance(s, Declare | Alloc) for s in arm):
                return arm, known
        if then_facts is None or else_facts is None:
            after = then_facts or else_facts
        else:
            after = then_facts.joined(else_facts)
        return (changed(statement, condition=condition, body=then, orelse=orelse),), after

    def _arm(self, body: Body, facts: Facts | None) -> tuple[Body, Facts | None]:
        after, known = self.body(body, facts)
        return same(body, after), known

    def _for(self, loop: For, facts: Facts) -> tuple[Body, Facts | None]:
        trips = max(facts.range_of_index(loop.stop - loop.start)[1], 0)

        def iteration(known: Facts) -> tuple[Statement, Facts | None, Facts | None]:
            inside = known.copy()
            inside.forget(loop.symbol.name)
            first, last = facts.range_of_index(loop.start), facts.range_of_index(loop.stop)
            inside.bound(loop.symbol.name, (first[0], max(first[0], last[1] - 1)))
            _relate_to_ends(inside, loop)
            with self._exact.loop(loop.symbol):
                body, after = self._arm(loop.body, inside)
            if after is not None:
                after.forget(loop.symbol.name)
            return changed(loop, body=body), after, after

        statement, after = _settle(loop, facts, iteration, trips)
        return (statement,), after

    def _while(self, loop: While, facts: Facts) -> tuple[Body, Facts | None]:
        def iteration(known: Facts) -> tuple[Statement, Facts | None, Facts | None]:
            test: list[Statement] = []
            tested = known.copy()
            for statement in loop.test:
                prepared, tested_ = self.statement(statement, tested)
                test += prepared
                if tested_ is None:
                    return loop, None, None
                tested = tested_
            condition = settled(loop.condition, tested)
            inside, behind = tested.assuming(condition, True), tested.assuming(condition, False)
            body, after = self._arm(loop.body, inside)
            for end in (after, behind):
                for name in {s.name for s in loop.test if isinstance(s, Declare)}:
                    if end is not None:
                        end.forget(name)
            test_ = same(loop.test, tuple(test))
            return changed(loop, condition=condition, test=test_, body=body), after, behind

        statement, after = _settle(loop, facts, iteration, None)
        return (statement,), after


def _relate_to_ends(inside: Facts, loop: For) -> None:
    """Note that the symbol of a loop is between its ends; where it cannot be, nothing runs."""
    counter = IndexValue(Dim.of(loop.symbol))
    if loop.start != 0:
        inside.assume_less(IndexValue(loop.start - 1), counter)
    for stop in (loop.stop, loop.limit):
        if stop is not None:
            inside.assume_less(counter, IndexValue(stop))


Iteration = Callable[[Facts], tuple[Statement, Facts | None, Facts | None]]


def _settle(
    loop: For | While, facts: Facts, iteration: Iteration, trips: int | None
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
    for name in names:
        known.bound(name, facts.ranges[name])
    for number in range(_MOST_ROUNDS if names else 0):
        _, after, _ = iteration(known)
        if after is None:
            break
        reached = {n: _before_next(facts.ranges[n], after, n, trips) for n in names}
        if all(is_inside(reached[n], known.ranges[n]) for n in names):
            for name in names:
                known.bound(name, reached[name])
            break
        for name in names:
            begin, now = facts.ranges[name], known.ranges[name]
            moved = _moved(begin, after.shifts.get(name, (0, 0)), trips)
            known.bound(name, _widened(now, reached[name], moved, number, trips is not None))
    else:
        for name in names:
            known.forget(name)
    statement, after, behind = iteration(known)
    return statement, _behind(facts, after, behind, updated, trips)


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
    if is_last and moved is not None:
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


def _store(statement: Store | Update, value: Expr, facts: Facts) -> None:
    """Note what a store does, if it is of an array of one number."""
    match statement:
        case Store(buffer=name, index=()) if is_integer(value.dtype):
            facts.assign(name, facts.range_of(value), None)
            facts.equate(name, value)
        case Store(buffer=name) | Update(target=Load(buffer=name)):
            facts.forget(name)


def _update(update: Update, value: Expr, facts: Facts) -> None:
    """Note what an update of a scalar does."""
    target = update.target
    assert isinstance(target, Ref)
    if not is_integer(target.dtype) or not is_integer(value.dtype):
        facts.forget(target.name)
        return
    after = value if update.op == "set" else Apply(update.op, (target, value), target.dtype)
    facts.assign(target.name, facts.range_of(after), _shift(after, target, facts))


def _shift(value: Expr, target: Ref, facts: Facts) -> Interval | None:
    """The interval of the difference of a value and a scalar, where it is made of that scalar."""
    difference = facts.difference(value, target.name)
    if difference is not None:
        return difference
    match value:
        case Apply(op="add", args=(x, y)):
            for moved, step in ((x, y), (y, x)):
                shift = _shift(moved, target, facts)
                if shift is not None:
                    return intervals.add(shift, facts.range_of(step))
        case Apply(op="subtract", args=(x, step)):
            shift = _shift(x, target, facts)
            return shift and intervals.subtract(shift, facts.range_of(step))
        case Apply(op="select", args=(_, x, y)):
            one, other = _shift(x, target, facts), _shift(y, target, facts)
            return one and other and hull(one, other)
    return None


# ------------------------------------------------------------------------------- expressions


def settled(expr: Expr, facts: Facts) -> Expr:
    """The expression without what is known of it."""
    match expr:
        case Within():
            return _known(expr, facts)
        case Apply(op="select", args=(test, then, otherwise)):
            return _choice(expr, settled(test, facts), then, otherwise, facts)
        case Apply(args=(x, y)) if (deciding := decides(expr)) is not None:
            return _connected(expr, settled(x, facts), y, deciding, facts)
        case Apply(args=args):
            expr = changed(expr, args=same(args, tuple(settled(x, facts) for x in args)))
            return _without_settled(expr, facts)
        case _:
            return expr


def _known(expr: Expr, facts: Facts) -> Expr:
    """A truth value, or the expression of it."""
    low, high = facts.range_of(expr)
    return Literal(np.bool_(low), BOOL) if low == high else expr


def _choice(expr: Apply, test: Expr, then: Expr, otherwise: Expr, facts: Facts) -> Expr:
    one, other = facts.assuming(test, True), facts.assuming(test, False)
    if one is None or other is None:
        return settled(otherwise if one is None else then, one or other or facts)
    args = (test, settled(then, one), settled(otherwise, other))
    return changed(expr, args=same(expr.args, args))


def _connected(expr: Apply, x: Expr, y: Expr, deciding: bool, facts: Facts) -> Expr:
    """A conjunction or disjunction; what the first operand says is known for the second one.

    deciding  the truth of an operand that decides
    """
    inside = facts.assuming(x, not deciding)
    if inside is None:
        return Literal(np.bool_(deciding), BOOL)
    y = settled(y, inside)
    if facts.assuming(x, deciding) is None:
        return y
    if isinstance(y, Literal):
        return y if bool(y.value) is deciding else x
    return changed(expr, args=same(expr.args, (x, y)))


def _without_settled(expr: Apply, facts: Facts) -> Expr:
    primitive, args = expr.primitive, expr.args
    if expr.dtype == BOOL and (primitive.signs or expr.op == "logical_not"):
        return _known(expr, facts)
    if primitive.chooses and is_integer(expr.dtype):
        signs = facts.signs_of_difference(*args)
        for operand, sign in zip(args, (primitive.chooses, -primitive.chooses), strict=True):
            if set(signs) <= {0, sign}:
                return operand
    return expr
