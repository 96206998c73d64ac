"""Conditions of branches are computed in lanes, and the iterations that take them are looked up.

    for i in 0..n:                          for block in 0..n / 64:
        if x[i] > most:                         taken = 0
            out[k] = i                ->        for lane in 0..64 simd:
            k += 1                                  taken |= (x[64 * block + lane] > most) << lane
                                                while taken != 0:
                                                    i = 64 * block + lowest bit of taken
                                                    taken &= taken - 1
                                                    out[k] = i
                                                    k += 1

Filters, events and neighbours within a distance: a branch that data decide is not predicted, and
one that is seldom taken keeps the loop out of lanes. Here lanes compute the condition, the bits of
a word say which iterations take the branch, and these run in their order. Where nearly all of a
word do, or with a second arm nearly none, branches are predicted, and stay in these iterations. One
arm that takes longer than a bit is looked up always is, unless all iterations take it.

Legal if no iteration changes what the condition of a later one reads, if the elements that it reads
exist, and if the arms of a branch change nothing that the other one uses. Runs after
`vectorize_loops`, on the loops that have no lanes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from transpile.analysis.cost_model import trips
from transpile.analysis.elements.bounds import (
    OUTSIDE,
    Ranges,
    inside,
    map_with_arrays,
)
from transpile.ir.calls import Call
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import LANES_BOUND, SUBEXPRESSIONS_SHARED
from transpile.ir.dims import Dim, Index, Symbol, symbols_of
from transpile.ir.indices.row_major import blocks_of
from transpile.ir.indices.values import as_value, convert
from transpile.ir.loop_ir import (
    Apply,
    Buffer,
    Declare,
    Expr,
    For,
    If,
    Literal,
    Load,
    Program,
    Ref,
    Statement,
    Swap,
    Update,
    While,
)
from transpile.ir.loop_rewrite import (
    accesses,
    changed_by,
    loads_of,
    name_of,
    names_in,
    parts,
    subexpressions,
    walk,
    with_bodies,
    written,
)
from transpile.ir.types import BOOL, INT64, UINT8
from transpile.options import Options
from transpile.schedule.lanes.branches.conditions import (
    Body,
    Mask,
    constants_of,
    mask_of,
    may_come_early,
    moved_to,
    stride_of,
)
from transpile.schedule.lanes.outer.scopes import with_own_names
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, dataclass, replace, same

_BITS = 64  # of a word
_FEW = 8  # iterations of a word that take another branch than was predicted
_HEAVY = 8  # additions that take as long as to look up a bit and more
UINT64 = np.dtype(np.uint64)
_ZERO, _ONE = (Literal(np.uint64(n), UINT64) for n in (0, 1))


@contract(requires=(LANES_BOUND,), destroys=(SUBEXPRESSIONS_SHARED,))
def mask_branches(program: Program, options: Options) -> Program:
    """The program with the conditions of such loops in lanes."""
    names = Names(names_in(program))
    return map_with_arrays(program, lambda a, body: _Masks(a, names).body(body, OUTSIDE))


@dataclass(frozen=True)
class _Masks:
    """Rewrites the loops of a kernel, which sees these arrays."""

    arrays: Mapping[str, Buffer]
    names: Names

    def body(self, body: Body, ranges: Ranges) -> Body:
        """Statements with the branches of their loops looked up."""
        return same(body, tuple(self._statement(s, ranges) for s in body))

    def _statement(self, statement: Statement, ranges: Ranges) -> Statement:
        if not isinstance(statement, For):
            return with_bodies(statement, partial(self.body, ranges=ranges))
        within = inside(statement, ranges)
        if _is_branch(statement.body):
            # An arm may have a constant of the name of one before the branch.
            loop = changed(statement, body=with_own_names(statement.body, self.names))
            *before, branch = loop.body
            assert isinstance(branch, If)
            mask = mask_of(before, branch.condition)
            if _pays(loop, mask, branch) and self._is_legal(loop, mask, branch, within):
                return self._masked(loop, mask, branch)
        return with_bodies(statement, partial(self.body, ranges=within))

    def _is_legal(self, loop: For, mask: Mask, branch: If, ranges: Ranges) -> bool:
        """True if lanes can compute the condition before the branches are taken."""
        if loop.simd or loop.parallel or loop.limit is not None or loop.collapse != 1:
            return False
        taken = tuple(walk((*branch.body, *branch.orelse)))
        if any(isinstance(s, Call | Swap) for s in taken) or not _are_apart(loop.body[:-1], branch):
            return False
        changes = {name for s in taken for name in changed_by(s)}
        values = [part for s in mask for part in subexpressions(s.value)]
        return all(may_come_early(part, loop, self.arrays, ranges) for part in values) and all(
            name_of(part) not in changes or self._is_own(part, loop, taken)
            for part in values
            if isinstance(part, Load | Ref)
        )

    def _is_own(self, part: Load | Ref, loop: For, taken: Body) -> bool:
        """True for an element of a loop's iteration, and of no other, which is all that the branch
        changes of its array."""
        if isinstance(part, Ref) or stride_of(part, loop, self.arrays) == 0:
            return False
        changed_at = {
            index
            for s in taken
            if part.buffer in written(s)
            for buffer, index in accesses(s)
            if buffer == part.buffer
        }
        return changed_at == {part.index}

    def _masked(self, loop: For, mask: Mask, branch: If) -> For:
        """The loop over blocks of iterations."""
        count = blocks_of(loop.extent, _BITS)
        block = Symbol(self.names.new("block"), 0, count)
        lane = Symbol(self.names.new("lane"), 0, _BITS)
        first = loop.start + Dim.of(block) * _BITS
        own = moved_to(with_own_names(mask, self.names), loop.symbol, first + Dim.of(lane))
        *before, test = (s for s in own if isinstance(s, Declare))
        taken, other = (Ref(self.names.new(name), UINT64) for name in ("taken", "other"))
        place = convert(as_value(Dim.of(lane)), UINT64)
        bit = Apply("left_shift", (convert(test.value, UINT64), place), UINT64)
        is_whole = isinstance(loop.extent, int) and loop.extent % _BITS == 0
        lanes = For(
            lane,
            _BITS,
            (*before, Update(taken, "bitwise_or", bit)),
            limit=None if is_whole else loop.extent - Dim.of(block) * _BITS,
            simd=True,
            reductions=(("bitwise_or", taken.name),),
        )
        looked_up: Body = (self._taken(loop, taken, branch.body, first),)
        if branch.orelse:
            rest: Expr = Apply("invert", (taken,), UINT64)
            if not is_whole:
                rest = Apply(
                    "bitwise_and", (rest, _bits_of(loop.extent - Dim.of(block) * _BITS)), UINT64
                )
            declared = Declare(other.name, rest, constant=False)
            looked_up = (declared, *looked_up, self._taken(loop, other, branch.orelse, first))
        body = (
            Declare(taken.name, _ZERO, constant=False),
            lanes,
            self._all_taken(loop, first, taken, branch.body, looked_up)
            if _is_heavy(branch)
            else self._chosen(loop, first, taken, looked_up, is_whole),
        )
        return replace(loop, symbol=block, start=0, stop=count, body=body)

    def _all_taken(self, loop: For, first: Index, bits: Ref, arm: Body, looked_up: Body) -> If:
        """All iterations without a test, or those that are looked up."""
        is_all = Apply("equal", (Apply("invert", (bits,), UINT64), _ZERO), BOOL)
        symbol = replace(loop.symbol, name=self.names.new(loop.symbol.name))
        own = with_own_names((*constants_of(loop.body[:-1], arm), *arm), self.names)
        body = moved_to(own, loop.symbol, Dim.of(symbol))
        return If(
            is_all,
            (replace(loop, symbol=symbol, start=first, stop=first + _BITS, body=body),),
            looked_up,
        )

    def _chosen(self, loop: For, first: Index, bits: Ref, looked_up: Body, is_whole: bool) -> If:
        """The iterations in their order, with their tests, where nearly all take the same arm: that
        is predicted. Else those that are looked up."""
        count = Apply("bitwise_count", (bits,), UINT8)
        few, most = (Literal(np.uint8(n), UINT8) for n in (_FEW, _BITS - _FEW))
        is_predicted: Expr = Apply("greater", (count, most), BOOL)
        if len(looked_up) > 1:
            is_predicted = Apply("or_else", (Apply("less", (count, few), BOOL), is_predicted), BOOL)
        symbol = replace(loop.symbol, name=self.names.new(loop.symbol.name))
        again = moved_to(with_own_names(loop.body, self.names), loop.symbol, Dim.of(symbol))
        limit = None if is_whole else loop.stop
        plain = replace(
            loop, symbol=symbol, start=first, stop=first + _BITS, limit=limit, body=again
        )
        return If(is_predicted, (plain,), looked_up)

    def _taken(self, loop: For, bits: Ref, arm: Body, first: Index) -> While:
        """The loop over the iterations whose bits are set."""
        below = Apply("subtract", (bits, _ONE), UINT64)
        behind = Apply("bitwise_and", (Apply("invert", (bits,), UINT64), below), UINT64)
        place = convert(Apply("bitwise_count", (behind,), UINT8), INT64)
        symbol = replace(loop.symbol, name=self.names.new(loop.symbol.name))
        read = constants_of(loop.body[:-1], arm)
        moved = moved_to((*read, *arm), loop.symbol, Dim.of(symbol))
        return While(
            Apply("not_equal", (bits, _ZERO), BOOL),
            (
                Declare(symbol.name, Apply("add", (as_value(first), place), INT64), symbol=symbol),
                Update(bits, "bitwise_and", below),
                *moved,
            ),
        )


def _bits_of(count: Index) -> Expr:
    """A word with so many bits, or with all if there are more."""
    left = Apply("minimum", (as_value(count), Literal(np.int64(_BITS), INT64)), INT64)
    without = convert(Apply("subtract", (Literal(np.int64(_BITS), INT64), left), INT64), UINT64)
    return Apply("right_shift", (Apply("invert", (_ZERO,), UINT64), without), UINT64)


def _is_branch(body: Body) -> bool:
    """True for constants and a branch, which is all behind them."""
    return (
        bool(body)
        and isinstance(body[-1], If)
        and all(isinstance(s, Declare) and s.constant for s in body[:-1])
    )


def _pays(loop: For, mask: Mask, branch: If) -> bool:
    """True if data decide many short branches, which may be hard to predict."""
    read = (p for s in mask for p in loads_of(s.value))
    varies = any(loop.symbol in symbols_of(i) for load in read for i in load.index)
    is_short = not any(isinstance(s, For | While) for s in walk((branch,)))
    return varies and is_short and trips(loop) >= _BITS


def _is_heavy(branch: If) -> bool:
    """True for one arm that computes much."""
    calls = (p for s in walk(branch.body) for p in parts(s) if isinstance(p, Apply))
    return not branch.orelse and sum(call.primitive.weight for call in calls) >= _HEAVY


def _are_apart(before: Body, branch: If) -> bool:
    """True if no arm of a branch changes what the other one reads or changes, or what constants
    before it are computed of: the iterations of one arm may run before those of the other one."""
    arms = [tuple(walk((*constants_of(before, arm), *arm))) for arm in (branch.body, branch.orelse)]
    changes, uses = [], []
    for arm in arms:
        changes.append({name for s in arm for name in changed_by(s)})
        read = {name_of(p) for s in arm for p in parts(s) if isinstance(p, Load | Ref)}
        uses.append(read | changes[-1])
    return changes[0].isdisjoint(uses[1]) and changes[1].isdisjoint(uses[0])
