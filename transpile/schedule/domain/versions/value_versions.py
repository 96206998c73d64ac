"""Multiversioning: one test of arrays of integers before loops that subscript with them repeatedly.

    for r in range(rounds):                         is_inside = True
        for e in range(edges):                      for e in range(edges):
            y[clamped(to[e])] += w[e]     ->            is_inside &= 0 <= to[e] < m
                                                    if is_inside:
                                                        for r in range(rounds):
                                                            for e in range(edges): y[to[e]] += w[e]
                                                    else: the loops as they were

The values of an array that the loops do not change are the same in each iteration of the outer
loop: the edges of a graph, the columns of a sparse matrix, the nodes of elements. The test computes
what one iteration subscripts with, in the loops that it has for it, which is less than the
iteration does. What depends on anything that the outer loop changes is clamped as before.
`range_versions` and `bound_versions` do so for subscripts that follow from counters alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import NO_DEAD_SCALARS, SUBEXPRESSIONS_SHARED
from transpile.ir.dims import Shape, Symbol, bounds, is_within, symbols_of
from transpile.ir.loop_ir import (
    Apply,
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
    Update,
    While,
)
from transpile.ir.loop_rewrite import (
    declared_names,
    indices_in,
    loads_of,
    names_in,
    subexpressions,
    walk,
    with_bodies,
)
from transpile.ir.types import BOOL, INT64
from transpile.options import Options
from transpile.schedule.cleanup.licm import in_range
from transpile.schedule.cleanup.ranges.settled_comparisons import settle_branches
from transpile.schedule.domain.versions.clamped_subscripts import (
    Clamp,
    Constants,
    Unclamped,
    all_of,
    compared,
    is_users,
    longest_nest,
)
from transpile.schedule.lanes.outer.scopes import with_own_names
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, same

Body = tuple[Statement, ...]
_FEWEST = 3  # iterations of an outer loop that has versions


@contract(destroys=(SUBEXPRESSIONS_SHARED, NO_DEAD_SCALARS))
def version_values(program: Program, options: Options) -> Program:
    """The program with versions of its nests for arrays whose values are subscripts in range."""
    names = Names(names_in(program))
    most = longest_nest(options.machine)
    buffers = (*program.inputs, *program.outputs, *program.temporaries, *program.constants)
    shapes = {buffer.name: buffer.shape for buffer in buffers}
    kernels = tuple(_Versions(names, most, shapes).kernel(k) for k in program.kernels)
    after = changed(program, kernels=same(program.kernels, kernels))
    return program if after is program else settle_branches(after)


def _is_repeated(loop: For | While) -> bool:
    """False for a loop of few iterations."""
    trips = bounds(loop.extent)[1] if isinstance(loop, For) else None
    return trips is None or trips >= _FEWEST


def _has_loops(body: Body) -> bool:
    return any(isinstance(s, For) for s in walk(body))


class _Versions:
    """Makes versions of nests."""

    def __init__(self, names: Names, most: int, shapes: Mapping[str, Shape]) -> None:
        self._names = names
        self._most = most
        self._shapes = shapes

    def kernel(self, kernel: Kernel) -> Kernel:
        """The kernel with its nests in versions."""
        return changed(kernel, body=self._body(kernel.body))

    def _body(self, body: Body) -> Body:
        result: list[Statement] = []
        for statement in body:
            if is_users(statement):
                result += self._version(statement)
            else:
                result.append(with_bodies(statement, self._body))
        return same(body, tuple(result))

    def _version(self, loop: For | While) -> Body:
        """The loop, the test and both versions, or the loop with versions of what is inside."""
        length = sum(1 for _ in walk((loop,)))
        if length > self._most or not _is_repeated(loop) or not _has_loops(loop.body):
            return (with_bodies(loop, self._body),)
        inside = Declare(self._names.new("is_inside"), Literal(np.bool_(True), BOOL), False)
        flag = Ref(inside.name, BOOL)
        own = changed(loop, body=with_own_names(loop.body, self._names))
        slices = _Slices(own, flag, self._shapes)
        test = slices.of(own.body)
        if not any(isinstance(s, For) for s in test):
            return (with_bodies(loop, self._body),)
        fast = changed(loop, body=Unclamped(slices.clamps, slices.constants).body(own.body))
        test = with_own_names(test, self._names, taken=declared_names(test))
        return (inside, *test, If(flag, (fast,), (loop,)))


def _names_in(value: Expr) -> set[str]:
    """The scalars, counters and places that an expression asks for."""
    names = {p.name for p in subexpressions(value) if isinstance(p, Ref)}
    return names | {s.name for i in indices_in(value) for s in symbols_of(i)}


def _joined(body: list[Statement]) -> Body:
    """Statements with one test, behind the others, of all that they test."""
    tests = [s for s in body if isinstance(s, Update)]
    if len(tests) < 2:
        return tuple(body)
    test = all_of(t.value for t in tests)
    others = [s for s in body if not isinstance(s, Update)]
    return (*others, changed(tests[0], value=test))


def _tests(clamp: Clamp) -> Iterator[Expr]:
    """What is true where a clamp does nothing."""
    yield compared("greater_equal", clamp.inner, clamp.least)
    for most in clamp.most:
        yield compared("less_equal", clamp.inner, most)


def _is_of_elements(value: Expr, own: frozenset[str]) -> bool:
    """True for what has an element of an array that loops with these symbols step through."""
    used = (s for load in loads_of(value) for index in load.index for s in symbols_of(index))
    return any(symbol.name in own for symbol in used)


def _conjuncts(test: Expr) -> Iterator[Expr]:
    """What a test asks, one by one."""
    match test:
        case Apply(op="logical_and", args=args):
            yield from (part for arg in args for part in _conjuncts(arg))
        case _:
            yield test


def _asked(parts: Iterable[Statement]) -> Iterator[Expr]:
    """What the tests among statements ask, one by one."""
    for part in parts:
        if isinstance(part, Update):
            yield from _conjuncts(part.value)


def _chosen(condition: Expr, body: Body, orelse: Body) -> If:
    """A branch, of which one arm may be empty."""
    if not body:
        condition, body, orelse = Apply("logical_not", (condition,), BOOL), orelse, ()
    return If(condition, body, orelse)


class _Slices:
    """What a loop subscripts with in each iteration, whatever the iteration.

    clamps     the subscripts that the test asks about: what they are without clamps, and the
               integers that they were made of
    constants  what the loop declares and changes
    """

    def __init__(self, loop: For | While, flag: Ref, shapes: Mapping[str, Shape]) -> None:
        self.clamps: dict[Declare, tuple[Expr, Expr]] = {}
        body = (*loop.test, *loop.body) if isinstance(loop, While) else loop.body
        self.constants = Constants(body)
        counters = {s.symbol.name for s in walk((loop,)) if isinstance(s, For)}
        self._varying = self.constants.varying | counters
        self._flag = flag
        self._shapes = shapes

    def of(self, body: Body, own: frozenset[str] = frozenset(), repeats: bool = True) -> Body:
        """The part of statements that computes these subscripts, with the tests.

        own      the symbols that it has already
        repeats  False under a condition that the loop changes, whose loops are left out: they may
                 be more work than an iteration
        """
        result: list[Statement] = []
        tests: dict[Expr, None] = {}
        for statement in body:
            match statement:
                case For() if repeats and self._is_counted(statement, own):
                    inner = self.of(statement.body, own | {statement.symbol.name})
                    before, inner = self._without_invariants(statement.symbol, inner)
                    tests |= dict.fromkeys(_asked(before))
                    result += [p for p in before if isinstance(p, Declare)]
                    if any(not isinstance(s, Declare) for s in inner):
                        result.append(For(statement.symbol, statement.stop, inner, statement.start))
                case If():
                    condition = self.constants.expanded(statement.condition)
                    has_loops = repeats and self._is_computable(condition, own)
                    arms = []
                    for arm in (statement.body, statement.orelse):
                        parts = self.of(arm, own, has_loops)
                        tests |= dict.fromkeys(_asked(parts))
                        result += [p for p in parts if isinstance(p, Declare)]
                        arms.append(tuple(p for p in parts if isinstance(p, For | If)))
                    if any(arms):
                        result.append(_chosen(condition, *arms))
                case Declare(symbol=symbol) if symbol is not None:
                    value = self.constants.expanded(statement.value)
                    if not self._is_computable(value, own):
                        continue
                    if symbol.name in self.constants.values:
                        own |= {symbol.name}
                        result.append(changed(statement, value=in_range(value, symbol)))
                    clamp = self.constants.clamped(statement.value)
                    if clamp is not None and _is_of_elements(clamp.inner, own):
                        self.clamps[statement] = (clamp.inner, clamp.inner)
                        tests |= dict.fromkeys(_tests(clamp))
        if tests:
            result.append(Update(self._flag, "logical_and", all_of(tests)))
        return tuple(dict.fromkeys(result))

    def _without_invariants(self, symbol: Symbol, body: Body) -> tuple[list[Statement], Body]:
        """What a loop computes and tests that does not depend on its counter, and the rest. This
        is tested whether there are iterations or not: later passes read such elements before the
        loop."""
        before: list[Statement] = []
        rest: list[Statement] = []
        varying = {symbol.name}
        for statement in body:
            match statement:
                case Declare(name=name, value=value):
                    is_invariant = varying.isdisjoint(_names_in(value))
                    (before if is_invariant else rest).append(statement)
                    if not is_invariant:
                        varying.add(name)
                case Update(value=value):
                    for part in _conjuncts(value):
                        is_invariant = varying.isdisjoint(_names_in(part))
                        own = Update(self._flag, "logical_and", part)
                        (before if is_invariant else rest).append(own)
                case _:
                    rest.append(statement)
        return before, _joined(rest)

    def _is_counted(self, loop: For, own: frozenset[str]) -> bool:
        """True for a loop whose trip count is the same in each iteration of the outer one."""
        ends = symbols_of(loop.start) | symbols_of(loop.stop)
        return loop.limit is None and all(self._is_same(s.name, own) for s in ends)

    def _is_same(self, name: str, own: frozenset[str]) -> bool:
        return name in own or name not in self._varying

    def _is_computable(self, value: Expr, own: frozenset[str]) -> bool:
        """True for what can be computed before the loop: from what it does not change, and from
        elements that exist whatever the conditions around them are."""
        for part in subexpressions(value):
            match part:
                case Load(buffer=name, index=index):
                    shape = self._shapes.get(name)
                    if shape is None or name in self._varying:
                        return False
                    if not all(is_within(i, n) for i, n in zip(index, shape, strict=True)):
                        return False
                case Ref(name=name) if not self._is_same(name, own):
                    return False
                case Apply() if part.dtype not in (INT64, BOOL):
                    return False
        return all(self._is_same(s.name, own) for i in indices_in(value) for s in symbols_of(i))
