"""Guard the parallel loops whose work depends on runtime sizes: `if(parallel: 12 * n >= 1000000)`.

A loop over a size without an upper bound is made parallel as if it were long. Whether threads pay
is known when the program is called: below the least work for which they are used in programs of
fixed sizes, one thread runs the loop.

A region of one thread still takes as long as some fifty operations, and gcc has no vectors for the
last iterations of a loop in one. Inside another loop it would take that in each iteration. So
there, and where the loop is a few lines long, the guard is a branch, with the loop in two versions.
What a branch may leave out, such as the way of huge angles, is written once.
"""

from __future__ import annotations

from transpile.analysis.cost_model import work_for_sizes
from transpile.ir.calls import Call
from transpile.ir.contracts import contract
from transpile.ir.dims import Dim, Symbol, bounds, sides
from transpile.ir.indices.values import as_value
from transpile.ir.loop_ir import Apply, For, If, Program, Statement, While
from transpile.ir.loop_rewrite import map_bodies, parts, walk, with_bodies
from transpile.ir.types import BOOL
from transpile.machine import Machine
from transpile.options import Options
from transpile.util.frozen_records import dataclass, replace


@contract()
def guard_teams(program: Program, options: Options) -> Program:
    """The program whose parallel loops over runtime sizes say when threads share them."""
    if not program.sizes or not options.threaded:
        return program
    guards = _Guards(frozenset(program.sizes), options.machine)
    return map_bodies(program, lambda body: guards.body(body, False))


@dataclass(frozen=True)
class _Guards:
    """Guards the loops of a program with these runtime sizes."""

    sizes: frozenset[Symbol]
    machine: Machine

    def body(
        self, body: tuple[Statement, ...], is_repeated: bool, is_seldom: bool = False
    ) -> tuple[Statement, ...]:
        """The statements, which a loop repeats, or a branch leaves out, guarded."""
        return tuple(self.statement(s, is_repeated, is_seldom) for s in body)

    def statement(self, statement: Statement, is_repeated: bool, is_seldom: bool) -> Statement:
        """A statement guarded."""
        if not isinstance(statement, For) or not statement.parallel:
            is_repeated = is_repeated or isinstance(statement, For | While)
            is_seldom = is_seldom or isinstance(statement, If)
            return with_bodies(statement, lambda body: self.body(body, is_repeated, is_seldom))
        slack = work_for_sizes(statement, self.sizes) - self.machine.least_parallel_work
        if not isinstance(slack, Dim) or (bounds(slack)[0] or -1) >= 0:
            return statement
        if not is_repeated and (is_seldom or not self._is_small(statement)):
            return replace(statement, slack=slack)
        smaller, larger = map(as_value, sides(slack))
        alone = replace(statement, parallel=False, collapse=1)
        return If(Apply("greater_equal", (larger, smaller), BOOL), (statement,), (alone,))

    def _is_small(self, loop: For) -> bool:
        """True if a loop is a few lines of C, which may stand there twice, and calls no routine,
        beside which the region is short."""
        every = list(walk((loop,)))
        if any(isinstance(s, Call) for s in every):
            return False
        return sum(len(parts(s)) for s in every) <= self.machine.most_repeated_parts
