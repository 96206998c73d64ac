"""Guard the parallel loops whose work depends on runtime sizes: `if(parallel: 12 * n >= 1000000)`.

A loop over a size without an upper bound is made parallel as if it were long. Whether threads pay
is known when the program is called: below the least work for which they are used in programs of
fixed sizes, one thread runs the loop.

A region of one thread still takes as long as some fifty operations. Inside another loop it would
take that in each iteration, so there the guard is a branch, with the loop in two versions.
"""

from __future__ import annotations

from transpile.analysis.cost_model import work_for_sizes
from transpile.ir.contracts import contract
from transpile.ir.dims import Dim, Symbol, bounds, sides
from transpile.ir.indices.values import as_value
from transpile.ir.loop_ir import Apply, For, If, Program, Statement, While
from transpile.ir.loop_rewrite import map_bodies, with_bodies
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

    def body(self, body: tuple[Statement, ...], is_repeated: bool) -> tuple[Statement, ...]:
        """The statements, which a loop repeats or not, guarded."""
        return tuple(self.statement(s, is_repeated) for s in body)

    def statement(self, statement: Statement, is_repeated: bool) -> Statement:
        """A statement guarded."""
        if not isinstance(statement, For) or not statement.parallel:
            is_repeated = is_repeated or isinstance(statement, For | While)
            return with_bodies(statement, lambda body: self.body(body, is_repeated))
        slack = work_for_sizes(statement, self.sizes) - self.machine.least_parallel_work
        if not isinstance(slack, Dim) or (bounds(slack)[0] or -1) >= 0:
            return statement
        if not is_repeated:
            return replace(statement, slack=slack)
        smaller, larger = map(as_value, sides(slack))
        alone = replace(statement, parallel=False, collapse=1)
        return If(Apply("greater_equal", (larger, smaller), BOOL), (statement,), (alone,))
