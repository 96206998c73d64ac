"""Reassociation of extremes in recurrences: what the iteration before computes is compared last.

    for j:                                          for j:
        t = left + 1 < up ? left + 1 : up               t = corner < up ? corner : up
        left = corner < t ? corner : t      ->          left = left + 1 < t ? left + 1 : t

Dynamic programs take the least or the largest of a few values, of which one comes from the
iteration before. The iterations wait for each other; so the fewer operations stand between, the
faster is the loop. The rest is computed while it waits.

A choice `x < y ? x : y` keeps y unless x is less; so NaN in y stays, and in x is not taken. Two
values that are compared one after the other with what was kept may change places, to the bit,
unless they are zeros of opposite signs. What is kept first stays so: where that comes late, the
others are compared among themselves, and with an infinity, beyond which NaN is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

import numpy as np

from transpile.analysis.value_range import is_never_minus_zero
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import LANES_BOUND, SUBEXPRESSIONS_SHARED
from transpile.ir.dims import Dim, substitute
from transpile.ir.loop_ir import (
    Apply,
    Declare,
    Expr,
    For,
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
    changed_by,
    children,
    declared_names,
    loads,
    map_bodies,
    map_statement,
    name_of,
    names_in,
    parts,
    subexpressions,
    walk,
    with_bodies,
    written,
)
from transpile.ir.types import BOOL
from transpile.options import Options
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import cached_property, changed, dataclass, same

Body = tuple[Statement, ...]
Constants = Mapping[str, Expr]


@contract(requires=(LANES_BOUND,), destroys=(SUBEXPRESSIONS_SHARED,))
def compare_late_operands_last(program: Program, options: Options) -> Program:
    """The program with the extremes of its recurrences in that order."""
    names, signs = Names(names_in(program)), _Signs(program)
    return map_bodies(program, lambda body: _body(body, names, signs))


def _body(body: Body, names: Names, signs: _Signs) -> Body:
    return same(body, tuple(_statement(s, names, signs) for s in body))


def _statement(statement: Statement, names: Names, signs: _Signs) -> Statement:
    inside = tuple(walk(children(statement)))
    if any(isinstance(s, For | While) for s in inside):
        return with_bodies(statement, lambda b: _body(b, names, signs))
    match statement:
        case For(simd=False, parallel=False, body=body) | While(body=body):
            uses = Counter(p.name for s in inside for p in parts(s) if isinstance(p, Ref))
            order = _Order(_late(statement, inside), uses, signs, _constants(inside), names)
            return changed(statement, body=order.body(body))
    return with_bodies(statement, lambda b: _body(b, names, signs))


# ------------------------------------------------------------------------------ signs of zeros


@dataclass(frozen=True)
class _Signs:
    """What is never -0.0 in a program."""

    program: Program

    @cached_property
    def _arrays(self) -> frozenset[str]:
        """The temporaries and results of which no element is, by what is stored in them."""
        program = self.program
        bodies = [tuple(walk(kernel.body)) for kernel in program.kernels]
        scopes = [(body, _constants(body)) for body in bodies]
        own = (*program.temporaries, *program.outputs)
        found = {buffer.name for buffer in own if buffer.dtype.kind == "f"}
        found -= {name for _, name in program.written} | {name for name, _ in program.aliases}
        found -= {
            n for body in bodies for s in body if not isinstance(s, Store) for n in written(s)
        }
        before = None
        while found != before:  # elements may come from others: the greatest fixed point
            before = frozenset(found)
            for body, constants in scopes:
                known = _known(constants, before)
                stores = (s for s in body if isinstance(s, Store) and s.buffer in before)
                found -= {s.buffer for s in stores if not is_never_minus_zero(s.value, known)}
        return frozenset(found)

    def are_signless(self, values: Iterable[Expr], constants: Constants) -> bool:
        """True if no value is -0.0."""
        known = _known(constants, self._arrays)
        return all(is_never_minus_zero(value, known) for value in values)


def _constants(statements: Iterable[Statement]) -> Constants:
    """The values of constants whose names are declared once."""
    declared = [s for s in statements if isinstance(s, Declare)]
    counts = Counter(s.name for s in declared)
    return {s.name: s.value for s in declared if s.constant and counts[s.name] == 1}


def _known(constants: Constants, arrays: frozenset[str]) -> Callable[[Ref | Load], bool]:
    """Tells whether a variable or an element is never -0.0."""

    @cache
    def of_name(name: str) -> bool:
        return name in constants and is_never_minus_zero(constants[name], known)

    def known(part: Ref | Load) -> bool:
        return part.buffer in arrays if isinstance(part, Load) else of_name(part.name)

    return known


# ----------------------------------------------------------------------------- what comes late


def _late(loop: For | While, inside: Body) -> Callable[[Expr], bool]:
    """Tells whether an expression waits for the iteration before."""
    own = declared_names(inside)
    late: set[Expr | str] = {
        s.target.name
        for s in inside
        if isinstance(s, Update) and isinstance(s.target, Ref) and s.target.name not in own
    }
    if isinstance(loop, For):
        before = {loop.symbol: Dim.of(loop.symbol) - 1}
        for s in inside:
            target = s.target if isinstance(s, Update) else s
            if isinstance(target, Store | Load):
                index = tuple(substitute(i, before) for i in target.index)
                late.update(
                    load
                    for other in inside
                    for load in loads(other)
                    if (load.buffer, load.index) == (target.buffer, index)
                )

    def is_late(expr: Expr) -> bool:
        return any((p.name if isinstance(p, Ref) else p) in late for p in subexpressions(expr))

    for s in inside:
        if isinstance(s, Declare) and is_late(s.value):
            late.add(s.name)
        elif isinstance(s, Update) and isinstance(s.target, Ref) and is_late(s.value):
            late.add(s.target.name)
    return is_late


# -------------------------------------------------------------------------------- the new order


@dataclass(frozen=True)
class _Chain:
    """The extreme of several values: each is taken if it is beyond what was kept so far.

    sign    of the difference between a value that is beyond what was kept, and that
    values  what is kept first, and the others
    inner   the constants that the chain replaces
    """

    sign: int
    values: tuple[Expr, ...]
    inner: tuple[Declare, ...] = ()


def strict_extreme(expr: Expr) -> tuple[int, Expr, Expr] | None:
    """Of a choice that keeps the second value unless the first is beyond it: the sign of their
    difference that says so, and both."""
    match expr:
        case Apply(op="select", args=(Apply(args=(p, q)) as test, x, y)):
            if test.primitive.signs in ((-1,), (1,)) and (x, y) in ((p, q), (q, p)):
                (sign,) = test.primitive.signs
                return (sign, x, y) if x == p else (-sign, x, y)  # q if p < q: if q > p
    return None


def _beyond(sign: int, value: Expr, kept: Expr) -> Expr:
    test = Apply("less" if sign < 0 else "greater", (value, kept), BOOL)
    return Apply("select", (test, value, kept), value.dtype)


@dataclass(frozen=True)
class _Order:
    """Rewrites the extremes in the body of an innermost loop.

    is_late    tells whether an expression waits for the iteration before
    uses       how often a name is read in the loop
    signs      what is never -0.0
    constants  of the loop
    """

    is_late: Callable[[Expr], bool]
    uses: Counter[str]
    signs: _Signs
    constants: Constants
    names: Names

    def body(self, body: Body) -> Body:
        """Statements with their extremes in the new order."""
        result: list[Statement] = []
        for statement in body:
            inner = with_bodies(statement, self.body)
            for root in _roots(inner):
                ordered = self._ordered(root, result)
                if ordered is not None:
                    replaced, added, value = ordered
                    result = [s for s in result if not any(s is r for r in replaced)] + added
                    inner = _with_value(inner, root, value)
            result.append(inner)
        return same(body, tuple(result))

    def _ordered(
        self, root: Expr, before: list[Statement]
    ) -> tuple[tuple[Declare, ...], list[Statement], Expr] | None:
        """The constants that are replaced, those instead of them, and the value of an extreme."""
        chain = self._chain(root, before)
        if chain is None or len(chain.values) < 3 or root.dtype.kind not in "iuf":
            return None
        first, *others = chain.values
        early = [x for x in others if not self.is_late(x)]
        late = [x for x in others if self.is_late(x)]
        is_first_late = self.is_late(first)
        if not early or (others == early + late and not (is_first_late and len(early) > 1)):
            return None
        passed = [
            (x, y) for i, y in enumerate(others) if y in early for x in others[:i] if x in late
        ]
        if not all(self._may_swap(x, y) for x, y in passed):
            return None
        added: list[Statement] = []

        def named(value: Expr) -> Expr:
            if isinstance(value, Ref | Literal):
                return value
            name = self.names.new("t")
            added.append(Declare(name, value))
            return Ref(name, value.dtype)

        sign = chain.sign
        if is_first_late:
            if root.dtype.kind == "f":  # any number is beyond it, and NaN is not
                early = [Literal(-sign * np.inf, root.dtype), *early]
            value = early[0]
            for x in early[1:]:
                value = named(_beyond(sign, named(x), named(value)))
            rest = [value, *late]
            value = named(first)
        else:
            value, rest = named(first), early + late
        for x in rest[:-1]:
            value = named(_beyond(sign, named(x), value))
        return chain.inner, added, _beyond(sign, named(rest[-1]), value)

    def _chain(self, root: Expr, before: list[Statement]) -> _Chain | None:
        """The values of an extreme, from that which is kept first."""
        step = strict_extreme(root)
        if step is None:
            return None
        sign, value, kept = step
        values, inner = [value], []
        while True:
            declared = self._declared(kept, before)
            step = strict_extreme(kept if declared is None else declared.value)
            if step is None or step[0] != sign:
                break
            if declared is not None:
                inner.append(declared)
            _, value, kept = step
            values.append(value)
        return _Chain(sign, (kept, *reversed(values)), tuple(inner))

    def _declared(self, kept: Expr, before: list[Statement]) -> Declare | None:
        """The constant that a value is, if nothing else reads it, and it may be computed later."""
        if not isinstance(kept, Ref) or self.uses[kept.name] != 2:
            return None
        for s in before:
            if isinstance(s, Declare) and s.name == kept.name and s.constant and s.symbol is None:
                return s if _may_move(s, before) else None
        return None

    def _may_swap(self, x: Expr, y: Expr) -> bool:
        """True if two values are never zeros of opposite signs."""
        if x.dtype.kind != "f":
            return True
        is_zero = [not isinstance(v, Literal) or v.value == 0 for v in (x, y)]
        return not all(is_zero) or self.signs.are_signless((x, y), self.constants)


def _roots(statement: Statement) -> tuple[Expr, ...]:
    """The largest extremes that a statement itself computes in any case."""
    match statement:
        case Declare(value=value) | Update(value=value) | Store(value=value):
            return tuple(_largest(value))
    return ()


def _largest(expr: Expr) -> Iterator[Expr]:
    if strict_extreme(expr) is not None:
        yield expr
    elif isinstance(expr, Apply) and expr.op != "select" and expr.dtype != BOOL:
        for arg in expr.args:  # not those of which a condition tells whether they are computed
            yield from _largest(arg)


def _with_value(statement: Statement, root: Expr, value: Expr) -> Statement:
    """The statement with another value for an extreme."""
    return map_statement(statement, lambda expr: value if expr == root else expr)


def _may_move(declared: Declare, before: list[Statement]) -> bool:
    """True if the value of a constant is the same at the end of the statements before."""
    position = next(i for i, s in enumerate(before) if s is declared)
    changes = {name for s in walk(tuple(before[position:])) for name in changed_by(s)}
    read = {name_of(p) for p in subexpressions(declared.value) if isinstance(p, Load | Ref)}
    return changes.isdisjoint(read)
