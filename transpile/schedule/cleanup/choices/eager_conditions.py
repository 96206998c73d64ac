"""Conditions of `and` and `or` that are cheap and safe are computed without branches.

    chosen = False                                  at = min(max(best, 0), n - 1)
    if not done[j]:                         ->      chosen = not done[j] and near[j] < near[at]
        at = best
        chosen = near[j] < near[at]

Python evaluates the right operand of `and` only where the left one is true. Where both are
comparisons of a few elements, a branch that is not predicted takes longer than both of them, and
loops with branches have no lanes. An element that might not be there, were it not for the left
operand, is read at the nearest place; what is read there does not count. Loads at subscripts of
counters that are out of range keep their branch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from transpile.analysis.elements.bounds import OUTSIDE, Ranges, arrays_of, inside, is_in_bounds
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import SUBEXPRESSIONS_SHARED
from transpile.ir.dims import bounds
from transpile.ir.indices.values import as_value
from transpile.ir.loop_ir import (
    Apply,
    Buffer,
    Declare,
    Expr,
    For,
    If,
    Kernel,
    Literal,
    Load,
    Program,
    Ref,
    Statement,
    Store,
    Update,
    While,
)
from transpile.ir.loop_rewrite import (
    declared_name,
    loads_of,
    map_expr,
    names_in,
    parts,
    subexpressions,
    walk,
    with_bodies,
)
from transpile.ir.types import BOOL, INT64
from transpile.options import Options
from transpile.schedule.lanes.outer.scopes import with_own_names
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, dataclass, same

Body = tuple[Statement, ...]
_MOST_OPERATIONS = 16  # of what is computed in any case
_MOST_LOADS = 8
_NARROW = 2  # bytes of elements that have no masked stores


@contract(destroys=(SUBEXPRESSIONS_SHARED,))
def compute_conditions(program: Program, options: Options) -> Program:
    """The program with such conditions of its innermost counted loops as expressions."""
    names = Names(names_in(program))
    kernels = tuple(_kernel(program, kernel, names) for kernel in program.kernels)
    return changed(program, kernels=same(program.kernels, kernels))


def _kernel(program: Program, kernel: Kernel, names: Names) -> Kernel:
    counts = Counter(filter(None, map(declared_name, walk(kernel.body))))
    repeated = frozenset(name for name, count in counts.items() if count > 1)
    flattener = _Flattener(arrays_of(program, kernel), names, repeated)
    return changed(kernel, body=flattener.body(kernel.body, OUTSIDE))


@dataclass(frozen=True)
class _Flattener:
    """Rewrites the loops of a kernel, which sees these arrays.

    repeated  the names that it declares several times, for different scalars
    """

    arrays: Mapping[str, Buffer]
    names: Names
    repeated: frozenset[str]

    def body(self, body: Body, ranges: Ranges) -> Body:
        """Statements with the conditions of the innermost loops among them computed."""
        return same(body, tuple(self._statement(s, ranges) for s in body))

    def _statement(self, statement: Statement, ranges: Ranges) -> Statement:
        if isinstance(statement, For):
            ranges = inside(statement, ranges)
            is_innermost = not any(isinstance(s, For | While) for s in walk(statement.body))
            if is_innermost and statement.ordered:
                flat = changed(
                    statement, body=self._flat(statement.body, ranges, statement.independent)
                )
                return self._with_narrow_stores(flat, ranges)
        return with_bodies(statement, lambda body: self.body(body, ranges))

    def _flat(self, body: Body, ranges: Ranges, independent: bool) -> Body:
        """The body of a loop with its conditions as expressions. Where iterations have no lanes, a
        condition of a branch stays a sequence of branches."""
        result: list[Statement] = []
        waiting = list(body)
        while waiting:
            statement = waiting.pop(0)
            match statement, waiting[:1]:
                case Declare(name=name, value=Literal(dtype=dtype), constant=False), [If() as test]:
                    found = self._value(test, name, ranges) if dtype == BOOL else None
                    is_set_again = any(_sets(s, name) for s in walk(tuple(waiting[1:])))
                    if found is not None and not is_set_again:
                        waiting.pop(0)
                        declared, value = found
                        result += declared
                        if not independent and _is_read_once(name, waiting):
                            waiting[0] = changed(waiting[0], condition=one_by_one(value))
                        else:
                            result.append(changed(statement, value=value, constant=True))
                        continue
            if isinstance(statement, If):
                condition = map_expr(statement.condition, _simpler)
                if condition is not statement.condition and not independent:
                    condition = one_by_one(condition)
                statement = changed(statement, condition=condition)
            result.append(with_bodies(statement, lambda b: self._flat(b, ranges, independent)))
        return same(body, tuple(result))

    def _with_narrow_stores(self, loop: For, ranges: Ranges) -> For:
        """The loop, where it ends in the store of a byte or two under a condition, if each
        iteration has an element of its own: this is stored in any case."""
        match loop.body[-1:]:
            case (If(condition=test, body=(Store() as store,), orelse=()),):
                pass
            case _:
                return loop
        dtype = store.value.dtype
        element = Load(store.buffer, store.index, dtype)
        read = [*loads_of(test, store.value), element]
        applied = [p for p in subexpressions(store.value) if isinstance(p, Apply)]
        is_safe = (
            dtype.itemsize <= _NARROW
            and dtype.kind in "biu"
            and all(isinstance(s, Declare) and s.symbol is None for s in loop.body[:-1])
            and all(p.primitive.speculatable for p in applied)
            and all(is_in_bounds(load, self.arrays, ranges) for load in read)
        )
        if not (is_safe and loop.independent) or loop.limit is not None:
            return loop
        value = _chosen(test, store.value, element)
        return changed(loop, body=(*loop.body[:-1], changed(store, value=value)))

    def _value(
        self, test: If, name: str, ranges: Ranges
    ) -> tuple[tuple[Declare, ...], Expr] | None:
        """What a branch sets a truth to, and what is declared for it; None if it does more, or if
        that may not be computed in any case."""
        found = _set_to((test,), name)
        if found is None:
            return None
        declared = tuple(_clamped(d) for d in found[0])
        if None in declared:
            return None
        own = tuple(d for d in declared if d is not None)
        taken = self.repeated.intersection(d.name for d in own)
        *named, last = with_own_names((*own, Declare(name, found[1])), self.names, taken)
        own = tuple(d for d in named if isinstance(d, Declare))
        value = last.value if isinstance(last, Declare) else found[1]
        values = [p for d in (*named, last) for p in parts(d)]
        loads = [p for p in values if isinstance(p, Load)]
        applied = [p for p in values if isinstance(p, Apply)]
        is_cheap = len(applied) <= _MOST_OPERATIONS and len(loads) <= _MOST_LOADS
        is_safe = all(p.primitive.speculatable for p in applied) and all(
            load.buffer in self.arrays and is_in_bounds(load, self.arrays, ranges) for load in loads
        )
        return (own, value) if is_cheap and is_safe else None


def _is_read_once(name: str, behind: Sequence[Statement]) -> bool:
    """True for a scalar that is the condition of the next branch, and nothing else."""
    reads = [p for s in walk(tuple(behind)) for p in parts(s) if isinstance(p, Ref)]
    match behind:
        case [If(condition=Ref(name=own)), *_]:
            return own == name and sum(p.name == name for p in reads) == 1
    return False


def one_by_one(test: Expr) -> Expr:
    """A conjunction or disjunction whose operands are computed one by one."""
    match test:
        case Apply(op="logical_and", args=args):
            return Apply("and_then", tuple(map(one_by_one, args)), BOOL)
        case Apply(op="logical_or", args=args):
            return Apply("or_else", tuple(map(one_by_one, args)), BOOL)
    return test


def _sets(statement: Statement, name: str) -> bool:
    return isinstance(statement, Update) and statement.target == Ref(name, statement.target.dtype)


def _set_to(arm: Body, name: str) -> tuple[tuple[Declare, ...], Expr] | None:
    """What an arm of branches sets a scalar to, and what it declares before."""
    declared: tuple[Declare, ...] = ()
    for position, statement in enumerate(arm):
        is_last = position == len(arm) - 1
        match statement:
            case Declare(constant=True) if not is_last:
                declared += (statement,)
            case Update(target=Ref(name=own), op="set", value=value) if is_last and own == name:
                return declared, value
            case If(condition=test, body=body, orelse=orelse) if is_last:
                one, other = _set_to(body, name), _set_to(orelse, name)
                if one is None or other is None:
                    return None
                value = _chosen(test, one[1], other[1])
                return (*declared, *one[0], *other[0]), value
            case _:
                return None
    return None


def _simpler(expr: Expr) -> Expr:
    """A choice between truths, where it is a conjunction or a disjunction."""
    if isinstance(expr, Apply) and expr.op == "select" and expr.dtype == BOOL:
        return _chosen(*expr.args)
    return expr


def _chosen(test: Expr, x: Expr, y: Expr) -> Expr:
    """A choice by a truth."""
    if x in (test, Literal(np.bool_(True), BOOL)):
        return Apply("logical_or", (test, y), BOOL)
    if y in (test, Literal(np.bool_(False), BOOL)):
        return Apply("logical_and", (test, x), BOOL)
    return Apply("select", (test, x, y), x.dtype)


def _clamped(declared: Declare) -> Declare | None:
    """A declaration that holds in any case: a place is in its range, if this has any."""
    symbol = declared.symbol
    if symbol is None:
        return declared
    if symbol.extent is None or (bounds(symbol.extent - symbol.lower)[0] or 0) < 1:
        return None
    low, high = as_value(symbol.lower), as_value(symbol.extent - 1)
    value = Apply("minimum", (Apply("maximum", (declared.value, low), INT64), high), INT64)
    return changed(declared, value=value)
