"""Guard the parallel loops whose work depends on runtime sizes: `if(parallel: 12 * n >= 1000000)`.

A loop over a size without an upper bound is made parallel as if it were long. Whether threads pay
is known when the program is called: below the least work for which they are used in programs of
fixed sizes, one thread runs the loop.
"""

from __future__ import annotations

from collections.abc import Container

from transpile.analysis.cost_model import work_for_sizes
from transpile.ir.contracts import contract
from transpile.ir.dims import Dim, Symbol, bounds
from transpile.ir.loop_ir import For, Program, Statement
from transpile.ir.loop_rewrite import map_bodies, with_bodies
from transpile.machine import Machine
from transpile.options import Options
from transpile.util.frozen_records import replace


@contract()
def guard_teams(program: Program, options: Options) -> Program:
    """The program whose parallel loops over runtime sizes say when threads share them."""
    if not program.sizes or not options.threaded:
        return program
    sizes, machine = frozenset(program.sizes), options.machine
    return map_bodies(program, lambda body: tuple(_guarded(s, sizes, machine) for s in body))


def _guarded(statement: Statement, sizes: Container[Symbol], machine: Machine) -> Statement:
    if not isinstance(statement, For) or not statement.parallel:
        return with_bodies(statement, lambda body: tuple(_guarded(s, sizes, machine) for s in body))
    slack = work_for_sizes(statement, sizes) - machine.least_parallel_work
    if isinstance(slack, Dim) and not (bounds(slack)[0] or -1) >= 0:
        return replace(statement, slack=slack)
    return statement
