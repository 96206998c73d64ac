"""Remove what the ranges of integers settle: comparisons, extremes, choices and branches.

    while j >= 0:                                   while j >= 0:
        at = min(max(j < 0 ? j + n : j, 0), n - 1)      out[j] = x
        out[at] = x                                 ->  j = j - 1
        j = j - 1

The subscripts of a loop of Python's count from the end where they are negative, and are clamped.
That a counter does neither follows from its first value, its steps and the condition of its loop
(`transpile.analysis.integer_ranges`, `loop_fixpoint`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from transpile.analysis.integer_ranges import Facts, decides
from transpile.analysis.loop_fixpoint import Invariants, settle_loop
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import NO_DEAD_SCALARS
from transpile.ir.dims import Dim
from transpile.ir.indices import intervals
from transpile.ir.indices.intervals import (
    Interval,
    hull,
    is_integer,
)
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
    Buffer,
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
from transpile.primitives.elementwise import arithmetic, bits
from transpile.schedule.cleanup.subscripts.exact_indices import ExactIndices
from transpile.util.frozen_records import changed, same

Body = tuple[Statement, ...]
Watched = Callable[[Declare, Facts], None]
Settle = Callable[[Expr, Facts], Expr]
_ANY_TRUTH = Load("", (0,), BOOL)  # of which nothing is known


@contract(destroys=(NO_DEAD_SCALARS,))
def settle_comparisons(program: Program, options: Options) -> Program:
    """The program without comparisons of integers whose result is known."""
    return _settled(program)


@contract(destroys=(NO_DEAD_SCALARS,))
def settle_subscripts(program: Program, options: Options) -> Program:
    """The same, before other passes, for programs with loops of the user's. Trip counts that are
    scalars stay such: those passes take a symbol of an unknown range for a runtime size."""
    loops = (s for k in program.kernels for s in walk(k.body) if isinstance(s, For | While))
    return _settled(program, names_symbols=False) if any(map(_subscripts, loops)) else program


def _subscripts(loop: For | While) -> bool:
    """True for a loop of the user's that may subscript by what it computes."""
    if isinstance(loop, For):
        return loop.ordered
    return any(isinstance(s, Declare) and s.symbol is not None for s in walk((loop,)))


def settle_branches(program: Program) -> Program:
    """The same, for programs with branches whose conditions settle comparisons inside them."""
    return _settled(program, names_symbols=False)


def watch(program: Program, watched: Watched) -> None:
    """Show each declaration with the facts before it, once or more often."""
    _settled(program, watched=watched)


def rewritten(program: Program, settle: Settle) -> Program:
    """The program with each expression of a vector loop's statements rewritten by what is known
    before it."""
    return _walked(program, names_symbols=False, settle=settle)


def _settled(
    program: Program, names_symbols: bool = True, watched: Watched | None = None
) -> Program:
    if not any(_compares(p) for k in program.kernels for s in walk(k.body) for p in parts(s)):
        return program
    return _walked(program, names_symbols, watched)


def _walked(
    program: Program,
    names_symbols: bool,
    watched: Watched | None = None,
    settle: Settle | None = None,
) -> Program:
    """The program after a walk through each kernel, with the facts behind the one before."""
    known: Facts | None = Facts(_constant_ranges(program.buffers()))
    kernels: list[Kernel] = []
    for kernel in program.kernels:
        exact = ExactIndices(kernel.body, program.sizes, names_symbols)
        if known is not None:
            exact.bound_sizes(known)
        body, known = _Walk(exact, watched, settle).body(kernel.body, known)
        body = same(kernel.body, body)
        body = exact.propagated(body) if settle is None else body
        kernels.append(changed(kernel, body=body))
        if known is not None:
            _tell_lengths(program, kernel, known)
    return changed(program, kernels=same(program.kernels, tuple(kernels)))


def _constant_ranges(buffers: Mapping[str, Buffer]) -> Mapping[str, Interval]:
    """The intervals of the elements of constant arrays of integers."""
    return {
        name: (int(np.min(b.value)), int(np.max(b.value)))
        for name, b in buffers.items()
        if b.value is not None and is_integer(b.dtype) and np.size(b.value)
    }


def _tell_lengths(program: Program, kernel: Kernel, facts: Facts) -> None:
    """Add to the facts behind a kernel what the lengths are that it finds. Those of an array that
    `zeros(n)` makes are the numbers that loops over it count to; that n is not negative is one of
    the program's requirements, behind which it runs on."""
    found = {name for statement in kernel.body for name in written(statement)}
    required = {str(most) for most, limit, _ in program.required if limit == 0}
    for symbol, name in program.lengths:
        if name not in found:
            continue
        if str(symbol) in required:
            for truth in _none_of(kernel, name):
                facts.refute(truth)
        else:
            facts.equate_length(symbol, Load(name, (), INT64))


def _none_of(kernel: Kernel, name: str) -> Iterator[Expr]:
    """The truth that a length of 0 counts: it does not hold."""
    for loop, store in zip(kernel.body, kernel.body[1:], strict=False):
        match loop, store:
            case (
                For(start=0, stop=1, body=(Update(target=target, op="add", value=value),)),
                Store(buffer=buffer, index=(), value=Ref() as total),
            ) if buffer == name and total == target:
                if isinstance(value, Apply) and value.op == "convert_element_type":
                    yield value.args[0]


def _compares(part: Expr) -> bool:
    """True for what a range may settle."""
    if isinstance(part, Apply) and is_integer(part.args[0].dtype):
        return bool(part.primitive.signs or part.primitive.chooses)
    return isinstance(part, Within)


class _Walk:
    """Rewrites statements in the order in which they run, with the facts before each."""

    def __init__(
        self, exact: ExactIndices, watched: Watched | None = None, settle: Settle | None = None
    ) -> None:
        self._exact = exact
        self._watched = watched
        self._settle = settle
        self._names_indices = settle is None
        self._is_in_lanes = False
        self._invariants = Invariants()

    def _settled(self, expr: Expr, facts: Facts) -> Expr:
        if self._settle is None:
            return settled(expr, facts)
        return self._settle(expr, facts) if self._is_in_lanes else expr

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
                if self._watched is not None:
                    self._watched(statement, facts)
                value = self._settled(statement.value, facts)
                if statement.symbol is not None and self._names_indices:
                    index = self._exact.index_of(facts.sum_of(value))
                    if index is None:
                        index = self._exact.division_of(value, facts)
                    value = value if index is None else IndexValue(index)
                facts.declare(name, value, constant)
                if constant:
                    _relate_to_dividend(facts, Ref(name, statement.dtype), value)
                statement = changed(statement, value=value)
                self._exact.declare(statement, facts)
                return (statement,), facts
            case Update(target=Ref()):
                value = self._settled(statement.value, facts)
                _update(statement, value, facts)
                return (changed(statement, value=value),), facts
            case Store() | Update():
                value = self._settled(statement.value, facts)
                _store(statement, value, facts)
                return (changed(statement, value=value),), facts
            case _:
                for name in written(statement):
                    facts.forget(name)
                return (statement,), facts

    def _branch(self, statement: If, facts: Facts) -> tuple[Body, Facts | None]:
        condition = self._settled(statement.condition, facts)
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
            for name in _truths(then) & _truths(orelse):
                if else_facts.ranges.get(name) == (0, 0):
                    after.equate(name, Apply("logical_and", (condition, _ANY_TRUTH), BOOL))
                elif then_facts.ranges.get(name) == (1, 1):
                    after.equate(name, Apply("logical_or", (condition, _ANY_TRUTH), BOOL))
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
            self._is_in_lanes = loop.simd
            with self._exact.loop(loop):
                body, after = self._arm(loop.body, inside)
            self._is_in_lanes = False  # loops inside may have been others
            if after is not None:
                after.forget(loop.symbol.name)
            return changed(loop, body=body), after, after

        statement, after = settle_loop(loop, facts, iteration, trips, self._invariants)
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
            condition = self._settled(loop.condition, tested)
            inside, behind = tested.assuming(condition, True), tested.assuming(condition, False)
            body, after = self._arm(loop.body, inside)
            for end in (after, behind):
                for name in {s.name for s in loop.test if isinstance(s, Declare)}:
                    if end is not None:
                        end.forget(name)
            test_ = same(loop.test, tuple(test))
            return changed(loop, condition=condition, test=test_, body=body), after, behind

        statement, after = settle_loop(loop, facts, iteration, None, self._invariants)
        return (statement,), after


def _truths(body: Body) -> set[str]:
    """The truth values that the statements of an arm assign."""
    targets = (s.target for s in body if isinstance(s, Update))
    return {x.name for x in targets if isinstance(x, Ref) and x.dtype == BOOL}


def _relate_to_ends(inside: Facts, loop: For) -> None:
    """Note that the symbol of a loop is between its ends; where it cannot be, nothing runs."""
    counter = IndexValue(Dim.of(loop.symbol))
    if loop.start != 0:
        inside.assume_less(IndexValue(loop.start - 1), counter)
    for stop in (loop.stop, loop.limit):
        if stop is not None:
            inside.assume_less(counter, IndexValue(stop))


def _relate_to_dividend(facts: Facts, declared: Ref, value: Expr) -> None:
    """Note that a remainder is at most what was divided, where that is not negative: in a loop over
    n elements, that with the subscript i % 4 is one of them."""
    match value:
        case Apply(op=op, args=(x, Literal(value=divisor))) if (
            (op == arithmetic.remainder.name or op == bits.bitwise_and.name)
            and is_integer(x.dtype)
            and divisor > 0
            and facts.range_of(x)[0] >= 0
        ):
            one = Literal(x.dtype.type(1), x.dtype)
            facts.assume_less(declared, Apply("add", (x, one), x.dtype))


def _store(statement: Store | Update, value: Expr, facts: Facts) -> None:
    """Note what a store does, if it is of an array of one number."""
    match statement:
        case Store(buffer=name, index=()) if is_integer(value.dtype):
            facts.assign(name, facts.range_of(value), None)
            facts.equate(name, facts.unnamed(value))
        case Store(buffer=name) | Update(target=Load(buffer=name)):
            facts.forget(name)


def _update(update: Update, value: Expr, facts: Facts) -> None:
    """Note what an update of a scalar does."""
    target = update.target
    assert isinstance(target, Ref)
    origin = facts.sum_of(value) if update.op == "set" else None
    if not is_integer(target.dtype) or not is_integer(value.dtype):
        facts.forget(target.name)
        return
    after = value if update.op == "set" else Apply(update.op, (target, value), target.dtype)
    facts.assign(target.name, facts.range_of(after), _shift(after, target, facts))
    facts.begin(target.name, origin)


def _shift(value: Expr, target: Ref, facts: Facts) -> Interval | None:
    """The interval of the difference of a value and a scalar, where it is made of that scalar. Of
    integers but int64, only where nothing wraps around: `settle_loop` looks at that alone."""
    difference = facts.difference(value, target.name)
    if difference is not None:
        return difference
    match value:
        case Apply(op="select", args=(_, x, y)):
            one, other = _shift(x, target, facts), _shift(y, target, facts)
            return one and other and hull(one, other)
        case Apply() if value.dtype != INT64:
            return None
        case Apply(op="add", args=(x, y)):
            for moved, step in ((x, y), (y, x)):
                shift = _shift(moved, target, facts)
                if shift is not None:
                    return intervals.add(shift, facts.range_of(step))
        case Apply(op="subtract", args=(x, step)):
            shift = _shift(x, target, facts)
            return shift and intervals.subtract(shift, facts.range_of(step))
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
        signs = facts.signs_by_cases(*args)
        for operand, sign in zip(args, (primitive.chooses, -primitive.chooses), strict=True):
            if set(signs) <= {0, sign}:
                return operand
    if expr.op == "remainder" and expr.dtype == INT64:
        return _without_division(expr, args[0], args[1], facts)
    return expr


def _without_division(expr: Apply, x: Expr, n: Expr, facts: Facts) -> Expr:
    """A remainder of a number that is one divisor away from being it at most, as that of the
    neighbour of a cell in a ring: a choice."""
    zero = Literal(np.int64(0), INT64)
    if not _is_simple(x) or set(facts.signs_of_difference(n, zero)) != {1}:
        return expr
    above, below = Apply("subtract", (x, n), INT64), Apply("add", (x, n), INT64)
    if set(facts.signs_of_difference(above, n)) != {-1}:
        return expr
    found = x
    if set(facts.signs_of_difference(x, n)) != {-1}:
        found = Apply("select", (Apply("less", (x, n), BOOL), x, above), INT64)
    if -1 not in facts.signs_of_difference(x, zero):
        return found
    if -1 in facts.signs_of_difference(below, zero):
        return expr
    return Apply("select", (Apply("less", (x, zero), BOOL), below, found), INT64)


def _is_simple(x: Expr) -> bool:
    """True for a number that is read again rather than computed."""
    return isinstance(x, Ref | IndexValue) or (isinstance(x, Load) and x.index == ())
