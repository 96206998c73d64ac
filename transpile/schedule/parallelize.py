"""Parallelise outermost loops whose iterations are independent and have enough work for threads.

A loop with few iterations is collapsed with the next one in a perfect nest. Loops around library
calls stay sequential: routines have threads of their own.
"""

from __future__ import annotations

from transpile.analysis.cost_model import surrounding_ends, trips, work
from transpile.ir.calls import Call
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import PROMOTED, STACK_BOUNDED, THREADS_BOUND
from transpile.ir.dims import Symbol, bounds
from transpile.ir.loop_ir import Alloc, Declare, For, If, Program, Statement
from transpile.ir.loop_rewrite import is_independent, is_sequence, map_bodies, walk, with_bodies
from transpile.machine import Machine
from transpile.options import Options
from transpile.util.frozen_records import dataclass, replace


# Iterations that have their own arrays are independent; a team of threads has a slice for each.
@contract(requires=(PROMOTED,), provides=(THREADS_BOUND,), destroys=(STACK_BOUNDED,))
def parallelize_loops(program: Program, options: Options) -> Program:
    """The program with its parallel loops marked; unchanged without OpenMP."""
    if not options.threaded:
        return program

    def marked(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        declared = (s.symbol for s in walk(body) if isinstance(s, Declare))
        marker = _Marker(options.machine, frozenset(filter(None, declared)))
        return tuple(marker.statement(s, False) for s in body)

    return map_bodies(program, marked)


@dataclass(frozen=True)
class _Marker:
    """Marks the loops of a kernel with these variables that loops may end at."""

    machine: Machine
    variables: frozenset[Symbol]

    def statement(self, statement: Statement, is_repeated: bool) -> Statement:
        """A statement, which a loop repeats, with its outermost loops marked that are worth it."""
        if is_sequence(statement):
            if isinstance(statement, For) and self._is_worth_threads(statement, is_repeated):
                return replace(statement, parallel=True)
            inside = is_repeated or not isinstance(statement, If)
            return self._inside(statement, inside)
        if not isinstance(statement, For) or _calls(statement):
            return statement
        if work(statement) < self.machine.least_parallel_work:
            return statement
        if trips(statement) < 2:
            return self._inside(statement, is_repeated)
        if not is_independent(statement):
            return statement
        return replace(statement, parallel=True, collapse=_depth(statement, self.machine))

    def _inside(self, statement: Statement, is_repeated: bool) -> Statement:
        return with_bodies(
            statement, lambda body: tuple(self.statement(s, is_repeated) for s in body)
        )

    def _is_worth_threads(self, loop: For, is_repeated: bool) -> bool:
        """True if a user's loop is independent and has enough work for threads. One that ends at a
        variable may have (`team_guards.py`), unless another loop repeats it."""
        if _calls(loop) or not is_independent(loop):
            return False
        if surrounding_ends(loop) & self.variables:
            return not is_repeated
        is_long = trips(loop) >= self.machine.fewest_shared
        return is_long and work(loop) >= self.machine.least_parallel_work


def _calls(statement: For) -> bool:
    """True if a loop calls a library routine, which may have threads of its own."""
    return any(isinstance(s, Call) and not s.is_local for s in walk(statement.body))


def _depth(statement: For, machine: Machine) -> int:
    """How many loops of a perfect nest the threads share."""
    may_be_short = bounds(statement.extent)[1] is None
    may_be_short = may_be_short or trips(statement) < machine.shortest_shared_alone
    if may_be_short and len(statement.body) == 1:
        inner = statement.body[0]
        if (
            isinstance(inner, For)
            and is_independent(inner)
            and inner.limit is None
            and any(isinstance(s, For) for s in inner.body)
            and not any(isinstance(s, Alloc) for s in statement.body)
        ):
            return 2
    return 1
