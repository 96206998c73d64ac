"""Guard the parallel loops whose work depends on runtime sizes: `if(parallel: 12 * n >= 1000000)`.

A loop over a size without an upper bound is made parallel as if it were long. Whether threads pay
is known when the program is called: below the least work for which they are used in programs of
fixed sizes, one thread runs the loop. So it is of a user's loop that ends at a variable, or whose
work depends on the loops around it, as that of the rows below a pivot does.

A region of one thread still takes as long as some fifty operations, and gcc has no vectors for the
last iterations of a loop in one. Inside another loop it would take that in each iteration. So
there, and where the loop is a few lines long, the guard is a branch, with the loop in two versions.
What a branch may leave out, such as the way of huge angles, is written once.

Of a loop that is a few lines long and has such loops inside, there are two versions, too, one for
sizes for which no team is used anywhere: in it nothing is tested in each iteration, and gcc keeps
in registers what the regions of the other version read from memory. A guard that depends on the
loops around it as well stands in the pragma, behind that test. Elementary functions count as the
lines that they become there: gcc takes most of its time for these.
"""

from __future__ import annotations

import functools

from transpile.analysis.cost_model import largest_of, surrounding_ends, work_for_sizes
from transpile.ir.calls import Call
from transpile.ir.contracts import contract
from transpile.ir.dims import Dim, Index, Symbol, bounds, sides, symbols_of
from transpile.ir.indices.requirements import is_at_most
from transpile.ir.indices.values import as_value
from transpile.ir.loop_ir import Apply, Expr, For, If, Program, Statement, While
from transpile.ir.loop_rewrite import map_bodies, parts, walk, with_bodies
from transpile.ir.types import BOOL
from transpile.machine import Machine
from transpile.options import Options
from transpile.util.frozen_records import dataclass, replace

_PARTS_OF_FUNCTION = 40  # numbers and operations of the C of an elementary function


@contract()
def guard_teams(program: Program, options: Options) -> Program:
    """The program whose parallel loops over runtime sizes say when threads share them."""
    if not options.threaded:
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
            if isinstance(statement, For | While) and not is_repeated and not is_seldom:
                return self._around_teams(statement)
            is_seldom = is_seldom or isinstance(statement, If)
            return with_bodies(statement, lambda body: self.body(body, is_repeated, is_seldom))
        slack = self._slack(statement)
        if slack is None:
            return statement
        if is_repeated:  # what depends on the loops around it has a version without teams already
            is_in_pragma = not symbols_of(slack) <= self.sizes
        else:
            is_in_pragma = is_seldom or not self._is_small(statement)
        if is_in_pragma:
            return replace(statement, slack=slack)
        return If(_is_enough(slack), (statement,), (_alone(statement),))

    def _around_teams(self, loop: For | While) -> Statement:
        """A sequential loop: in two versions if it is small, one of them without teams."""
        guarded = with_bodies(loop, lambda body: self.body(body, True))
        teams = [s for s in walk((loop,)) if isinstance(s, For) and s.parallel]
        slacks = [slack for slack in map(self._slack, teams) if slack is not None]
        # What depends on this loop, too, is largest in one of its iterations.
        largest = [largest_of(slack, self.sizes) for slack in slacks]
        known = [slack for slack in largest if symbols_of(slack) <= self.sizes]
        functions = sum(_functions_in(s) for s in walk((loop,)))
        if not self._is_small(loop, functions * _PARTS_OF_FUNCTION):
            return guarded
        if not slacks or len(known) < len(teams):
            return guarded
        if any(isinstance(slack, int) and slack >= 0 for slack in known):
            return guarded
        known = [slack for slack in known if not isinstance(slack, int)]
        if not known:
            return _alone(loop)
        most: list[Index] = []  # slacks of which none is at most another one, for all sizes
        for slack in known:
            if not any(is_at_most(slack, other) for other in most):
                most = [*(other for other in most if not is_at_most(other, slack)), slack]
        tests = map(_is_enough, most)
        some_team = functools.reduce(lambda a, b: Apply("logical_or", (a, b), BOOL), tests)
        is_one = all(slack == most[0] for slack in slacks)
        return If(some_team, (loop if is_one else guarded,), (_alone(loop),))

    def _slack(self, loop: For) -> Dim | None:
        """By how much the work of a loop is more than what threads are used for, if that depends on
        sizes."""
        variables = surrounding_ends(loop) - self.sizes if loop.ordered else frozenset[Symbol]()
        work = work_for_sizes(loop, self.sizes, variables=variables)
        slack = work - self.machine.least_parallel_work
        return slack if isinstance(slack, Dim) and (bounds(slack)[0] or -1) < 0 else None

    def _is_small(self, loop: For | While, further: int = 0) -> bool:
        """True if a loop is a few lines of C, which may stand there twice, with so many further
        parts, and calls no routine, beside which the region is short."""
        every = list(walk((loop,)))
        if any(isinstance(s, Call) for s in every):
            return False
        size = sum(len(parts(s)) for s in every) + further
        return size <= self.machine.most_repeated_parts


def _functions_in(statement: Statement) -> int:
    """How many elementary functions a statement computes itself."""
    return sum(isinstance(p, Apply) and p.primitive.transcendental for p in parts(statement))


def _is_enough(slack: Index) -> Expr:
    """The test that there is work for a team."""
    smaller, larger = map(as_value, sides(slack))
    return Apply("greater_equal", (larger, smaller), BOOL)


def _alone(statement: Statement) -> Statement:
    """A statement without teams of threads, also in what it repeats."""
    if isinstance(statement, For) and statement.parallel:
        return replace(statement, parallel=False, collapse=1)
    return with_bodies(statement, lambda body: tuple(map(_alone, body)))
