"""Parallelise outermost loops whose iterations are independent and have enough work for threads.

A loop with few iterations is collapsed with the next one in a perfect nest. Loops around library
calls stay sequential: routines have threads of their own.
"""

from __future__ import annotations

from transpile.analysis.cost_model import trips, work
from transpile.ir.calls import Call
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import PROMOTED, STACK_BOUNDED, THREADS_BOUND
from transpile.ir.dims import bounds
from transpile.ir.loop_ir import Alloc, For, Program, Statement
from transpile.ir.loop_rewrite import is_independent, is_sequence, map_bodies, walk, with_bodies
from transpile.machine import Machine
from transpile.options import Options
from transpile.util.frozen_records import replace


# Iterations that have their own arrays are independent; a team of threads has a slice for each.
@contract(requires=(PROMOTED,), provides=(THREADS_BOUND,), destroys=(STACK_BOUNDED,))
def parallelize_loops(program: Program, options: Options) -> Program:
    """The program with its parallel loops marked; unchanged without OpenMP."""
    if not options.threaded:
        return program
    machine = options.machine
    return map_bodies(program, lambda body: tuple(_mark(s, machine) for s in body))


def _is_worth_threads(statement: For, machine: Machine) -> bool:
    """True if a user's loop is independent and has enough work for threads."""
    return (
        not _calls(statement)
        and work(statement) >= machine.least_parallel_work
        and trips(statement) >= machine.fewest_shared
        and is_independent(statement)
    )


def _calls(statement: For) -> bool:
    """True if a loop calls a library routine, which may have threads of its own."""
    return any(isinstance(s, Call) and not s.is_local for s in walk(statement.body))


def _mark(statement: Statement, machine: Machine) -> Statement:
    if is_sequence(statement):
        if isinstance(statement, For) and _is_worth_threads(statement, machine):
            return replace(statement, parallel=True)
        return with_bodies(statement, lambda body: tuple(_mark(s, machine) for s in body))
    if not isinstance(statement, For) or _calls(statement):
        return statement
    if work(statement) < machine.least_parallel_work:
        return statement
    if trips(statement) < 2:
        return with_bodies(statement, lambda body: tuple(_mark(s, machine) for s in body))
    if not is_independent(statement):
        return statement
    depth = 1
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
            depth = 2
    return replace(statement, parallel=True, collapse=depth)
