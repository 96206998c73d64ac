"""Searches for an extreme and its place: lanes look for the blocks that change it.

    for i in 0..n:                        for block in 0..n / 32:
        if x[i] > most:                       found = 0
            most = x[i]             ->        for lane in 0..32 simd:
            at = i                                found |= x[32 * block + lane] > most
                                              if found != 0:
                                                  for i in the block: as before

A greater element than all before it is found ever more rarely: after n numbers in random order, one
more is with the probability 1 / n. Compilers vectorise an extreme, but none that has a place beside
it. Where each element is greater than the one before, the lanes are what is lost, a tenth.

Legal whatever the branch does, also to what its condition reads: if no iteration of a block takes
it with the scalars as they are before the block, then the first one does not, which changes
nothing, and so on. Only conditions whose elements exist are computed. Runs after `vectorize_loops`,
on the loops that have no lanes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from transpile.analysis.cost_model import trips
from transpile.analysis.elements.bounds import OUTSIDE, Ranges, inside, map_with_arrays
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import LANES_BOUND, SUBEXPRESSIONS_SHARED
from transpile.ir.dims import Dim, Symbol, symbols_of
from transpile.ir.indices.row_major import blocks_of
from transpile.ir.indices.values import convert
from transpile.ir.loop_ir import (
    Apply,
    Buffer,
    Declare,
    DType,
    Expr,
    For,
    If,
    Literal,
    Load,
    Program,
    Ref,
    Statement,
    Update,
    While,
)
from transpile.ir.loop_rewrite import (
    changed_by,
    declared_name,
    loads_of,
    names_in,
    subexpressions,
    walk,
    with_bodies,
)
from transpile.ir.types import BOOL
from transpile.options import Options
from transpile.schedule.lanes.branches.conditions import (
    Body,
    Mask,
    mask_of,
    may_come_early,
    moved_to,
)
from transpile.schedule.lanes.outer.scopes import with_own_names
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import dataclass, replace, same

_BLOCK = 32  # iterations
_FEWEST = 4  # blocks
_STRICT = ((-1,), (1,))  # signs of a difference for which a comparison holds


@contract(requires=(LANES_BOUND,), destroys=(SUBEXPRESSIONS_SHARED,))
def skip_blocks_without_records(program: Program, options: Options) -> Program:
    """The program whose searches for an extreme pass over the blocks that have no greater one."""
    names = Names(names_in(program))
    return map_with_arrays(program, lambda a, body: _Searches(a, names).body(body, OUTSIDE))


@dataclass(frozen=True)
class _Searches:
    """Rewrites the searches of a kernel, which sees these arrays."""

    arrays: Mapping[str, Buffer]
    names: Names

    def body(self, body: Body, ranges: Ranges) -> Body:
        """Statements with the searches among them in blocks."""
        return same(body, tuple(self._statement(s, ranges) for s in body))

    def _statement(self, statement: Statement, ranges: Ranges) -> Statement:
        if not isinstance(statement, For):
            return with_bodies(statement, partial(self.body, ranges=ranges))
        within = inside(statement, ranges)
        mask = _mask(statement)
        if mask is not None and self._is_legal(statement, mask, within):
            return self._in_blocks(statement, mask)
        return with_bodies(statement, partial(self.body, ranges=within))

    def _is_legal(self, loop: For, mask: Mask, ranges: Ranges) -> bool:
        values = (part for s in mask for part in subexpressions(s.value))
        return all(may_come_early(part, loop, self.arrays, ranges) for part in values)

    def _in_blocks(self, loop: For, mask: Mask) -> For:
        """The loop over blocks of iterations."""
        count = blocks_of(loop.extent, _BLOCK)
        block = Symbol(self.names.new("block"), 0, count)
        lane = Symbol(self.names.new("lane"), 0, _BLOCK)
        first = loop.start + Dim.of(block) * _BLOCK
        own = moved_to(with_own_names(mask, self.names), loop.symbol, first + Dim.of(lane))
        test = Ref(declared_name(own[-1]), BOOL)
        dtype = _unsigned(mask)
        found, none = Ref(self.names.new("found"), dtype), Literal(dtype.type(0), dtype)
        is_whole = isinstance(loop.extent, int) and loop.extent % _BLOCK == 0
        lanes = For(
            lane,
            _BLOCK,
            (*own, Update(found, "bitwise_or", convert(test, dtype))),
            limit=None if is_whole else loop.extent - Dim.of(block) * _BLOCK,
            simd=True,
            reductions=(("bitwise_or", found.name),),
        )
        symbol = replace(loop.symbol, name=self.names.new(loop.symbol.name))
        again = moved_to(with_own_names(loop.body, self.names), loop.symbol, Dim.of(symbol))
        limit = None if is_whole else loop.stop
        plain = replace(
            loop, symbol=symbol, start=first, stop=first + _BLOCK, limit=limit, body=again
        )
        body = (
            Declare(found.name, none, constant=False),
            lanes,
            If(Apply("not_equal", (found, none), BOOL), (plain,)),
        )
        return replace(loop, symbol=block, start=0, stop=count, body=body)


def _unsigned(mask: Mask) -> DType:
    """The numbers that are as wide as the narrowest elements that a condition reads."""
    return np.dtype(f"u{min(x.dtype.itemsize for s in mask for x in loads_of(s.value))}")


def _mask(loop: For) -> Mask | None:
    """What computes the condition under which an iteration changes anything, in a long search for
    an extreme."""
    if loop.simd or loop.parallel or loop.limit is not None or loop.collapse != 1:
        return None
    if trips(loop) < _FEWEST * _BLOCK or any(isinstance(s, For | While) for s in walk(loop.body)):
        return None
    count = sum(1 for _ in _constants(loop.body))
    before, changes = loop.body[:count], loop.body[count:]
    found = _condition(changes)
    if found is None:
        return None
    condition, assigned = found
    mask = mask_of(before, condition)
    subscripts = {i for s in mask for load in loads_of(s.value) for i in load.index}
    varies = any(loop.symbol in symbols_of(i) for i in subscripts)
    is_plain = all(s.symbol is None for s in mask)
    return mask if varies and is_plain and _is_record(mask, before, assigned) else None


def _constants(body: Body) -> Iterator[Declare]:
    """The constants at the beginning of a body."""
    for statement in body:
        if not isinstance(statement, Declare) or not statement.constant:
            return
        yield statement


def _condition(changes: Body) -> tuple[Expr, tuple[tuple[Expr, Expr], ...]] | None:
    """The condition under which statements do anything, and which scalars are then assigned what:
    of a branch, or of choices by one truth."""
    match changes:
        case (If(condition=test, body=body, orelse=()),):
            return test, tuple(
                (s.target, s.value) for s in body if isinstance(s, Update) and s.op == "set"
            )
        case (Update(), *_):
            chosen = [_choice(s) for s in changes]
            tests = {one[0] for one in chosen if one is not None}
            if None in chosen or len(tests) != 1:
                return None
            test = tests.pop()
            named = [p for p in subexpressions(test) if isinstance(p, Ref)]
            targets = {name for s in changes for name in changed_by(s)}
            if len(changes) > 1 and any(p.name in targets for p in named):
                return None  # a later choice would be by another truth
            return test, tuple(one[1:] for one in chosen if one is not None)
    return None


def _choice(statement: Statement) -> tuple[Expr, Expr, Expr] | None:
    """The test of an update that leaves a scalar or takes another value, with both."""
    match statement:
        case Update(target=Ref() as kept, op="set", value=Apply(op="select", args=(test, x, y))):
            if y == kept:
                return test, kept, x
            if x == kept:
                return Apply("logical_not", (test,), BOOL), kept, y
    return None


def _is_record(mask: Mask, before: Body, assigned: Sequence[tuple[Expr, Expr]]) -> bool:
    """True if a condition asks for a value beyond a scalar, which this then becomes."""
    known = {s.name: s.value for s in before if isinstance(s, Declare)}

    def named(expr: Expr) -> Expr:
        """The element or scalar that a constant is."""
        value = known.get(expr.name) if isinstance(expr, Ref) else None
        return named(value) if isinstance(value, Load | Ref) else expr

    becomes = {(target, named(value)) for target, value in assigned}
    return any(
        (x, y) in becomes or (y, x) in becomes
        for s in mask
        for part in subexpressions(s.value)
        if isinstance(part, Apply) and part.primitive.signs in _STRICT
        for x, y in [map(named, part.args)]
    )
