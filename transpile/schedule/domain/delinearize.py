"""Delinearise loops over merged axes: one loop becomes a nest whose subscripts have no quotients.

A (6, 4) value that was reshaped to 24 elements is read at `s // 4` and `s % 4`, which prevents
vectorisation (compare Maslov, Delinearization, 1992). With `s = 4*i + j`, 0 <= j < 4:

    for s in 0..24: out[s] = f(x[s // 4, s % 4])
    for i in 0..6: for j in 0..4: out[4*i + j] = f(x[i, j])

The order of iterations is the same, so that a user's loop `for i in range(n)` that reads `x[i % 4]`
is such a nest as well, whose last row may be shorter. The inner loop must be long enough for
vectors, and the outer one for the threads or blocks that divide it.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

from transpile.analysis.cost_model import trips, work
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import (
    BOUNDS_RESOLVED,
    LINEAR_SUBSCRIPTS,
    NO_DEAD_SCALARS,
    NO_LANES,
    OF_LOOPS,
)
from transpile.ir.dims import (
    Dim,
    Index,
    Quotient,
    Remainder,
    Symbol,
    bounds,
    floor_divide,
    modulo,
    symbols_of,
)
from transpile.ir.loop_ir import (
    Apply,
    For,
    Kernel,
    Program,
    Statement,
)
from transpile.ir.loop_rewrite import (
    declared_names,
    expressions,
    indices,
    is_independent,
    map_kernels,
    subexpressions,
    substitute_index,
    walk,
    with_bodies,
)
from transpile.ir.primitive import TABLE
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.domain.index_set_split import split_index_sets
from transpile.schedule.domain.linearize import is_polynomial
from transpile.symbols.identifiers import LOOP_NAMES
from transpile.util.frozen_records import replace


# What one linear subscript reads, or one part of a loop, needs no nest.
@contract(
    requires=(NO_LANES, BOUNDS_RESOLVED, LINEAR_SUBSCRIPTS),
    destroys=(*OF_LOOPS, NO_DEAD_SCALARS),
)
def delinearize(program: Program, options: Options) -> Program:
    """The program with such loops as nests, split where conditions on the new indices change."""
    machine = options.machine
    buffers = set(program.buffers())

    def delinearized(kernel: Kernel) -> Kernel:
        if all(is_polynomial(i) for s in walk(kernel.body) for i in indices(s)):
            return kernel
        taken = buffers | declared_names(kernel.body)
        body = tuple(_statement(s, taken, True, machine) for s in kernel.body)
        if body == kernel.body:
            return kernel
        single = replace(program, kernels=(replace(kernel, body=body),))
        return split_index_sets(single, options).kernels[0]

    return map_kernels(program, delinearized)


def _statement(
    statement: Statement, taken: set[str], is_outermost: bool, machine: Machine
) -> Statement:
    """The statement with its loops delinearised; new loops get names that are not taken."""
    if not isinstance(statement, For):
        return with_bodies(
            statement, lambda b: tuple(_statement(s, taken, True, machine) for s in b)
        )
    taken_inside, is_sequential = taken | {statement.symbol.name}, statement.ordered
    loop = replace(
        statement,
        body=tuple(_statement(s, taken_inside, is_sequential, machine) for s in statement.body),
    )
    return _loop(loop, taken, is_outermost, machine) or loop


def _loop(loop: For, taken: set[str], is_outermost: bool, machine: Machine) -> For | None:
    """The nest without quotients and remainders of the loop's index: the loop itself if it has
    none; None if there is no such nest."""
    if not any(True for _ in _quotients(loop)):
        return loop
    for length in _lengths(loop, machine):
        outer, inner = _strip_mined(loop, length, taken)
        if is_outermost and not _has_enough(loop, outer, machine):
            continue
        nest = _loop(inner, taken | {outer.symbol.name}, is_outermost=False, machine=machine)
        if nest is not None:
            whole = replace(outer, body=(nest,))
            # Of few repetitions of a nest threads share its rows, each with a remainder of its own.
            kept = whole if is_outermost else None
            nest = _loop(whole, taken, is_outermost, machine) or kept
        if nest is not None:
            return nest
    return None


def _quotients(loop: For) -> Iterator[Quotient | Remainder]:
    """The quotients and remainders of a loop's index in its body, and those inside of these."""
    for statement in walk(loop.body):
        for index in indices(statement):
            yield from _quotients_in(index, loop.symbol)


def _quotients_in(index: Index, symbol: Symbol) -> Iterator[Quotient | Remainder]:
    if isinstance(index, int) or symbol not in index.symbols():
        return
    for atom in (a for monomial, _ in index.terms for a in monomial):
        if isinstance(atom, Quotient | Remainder) and symbol in (
            atom.dividend.symbols() | symbols_of(atom.divisor)
        ):
            yield atom
            yield from _quotients_in(atom.dividend, symbol)


def _lengths(loop: For, machine: Machine) -> list[int]:
    """The possible trip counts of the inner loop, the largest first."""
    if loop.limit is not None:
        return []
    shortest = machine.shortest_inner
    if _has_elementary_functions(loop):
        shortest = machine.shortest_inner_of_functions
    lengths: set[int] = set()
    for atom in _quotients(loop):
        stride = dict(atom.dividend.terms).get((loop.symbol,), 0)
        if stride and isinstance(atom.divisor, int):
            length = abs(atom.divisor // gcd(atom.divisor, stride))
            if length >= shortest and loop.extent != length and _is_longer(loop, length):
                lengths.add(length)
    return sorted(lengths, reverse=True)


def _is_longer(loop: For, length: int) -> bool:
    """True for several such blocks, the last of which may be shorter in a user's loop: what passes
    make of other nests has no such rows."""
    longest = bounds(loop.extent)[1]
    is_whole = modulo(loop.extent, length) == 0
    return is_whole or (loop.ordered and (longest is None or longest > length))


def _has_elementary_functions(loop: For) -> bool:
    return any(
        isinstance(part, Apply) and TABLE[part.op].transcendental
        for statement in walk(loop.body)
        for expr in expressions(statement)
        for part in subexpressions(expr)
    )


def _has_enough(loop: For, outer: For, machine: Machine) -> bool:
    """True if the outer loop of an outermost nest still has enough iterations for threads, or for
    the blocks of a reduction."""
    if work(loop) >= machine.least_parallel_work:
        return trips(outer) >= machine.fewest_shared
    fewest = machine.fewest_sum_blocks
    is_sum = not loop.ordered and not is_independent(loop)
    is_blocked = is_sum and trips(loop) >= fewest * machine.sum_block
    return not is_blocked or trips(outer) >= fewest


def _strip_mined(loop: For, length: int, taken: set[str]) -> tuple[For, For]:
    """The outer loop, still empty, and the inner loop of this length that replace a loop."""
    names = taken | {loop.symbol.name}
    names |= {s.symbol.name for s in walk(loop.body) if isinstance(s, For)}
    numbered = (f"{name}{number}" for number in range(2, 9) for name in LOOP_NAMES)
    name = next(n for n in (*LOOP_NAMES, *numbered) if n not in names)
    number = floor_divide(loop.extent + length - 1, length)
    outer, inner = Symbol(loop.symbol.name, 0, number), Symbol(name, 0, length)
    index = Dim.of(outer) * length + Dim.of(inner) + loop.start
    body = tuple(substitute_index(s, loop.symbol, index) for s in loop.body)
    rest = None if modulo(loop.extent, length) == 0 else loop.extent - Dim.of(outer) * length
    return (
        For(outer, number, (), ordered=loop.ordered),
        For(inner, length, body, limit=rest, ordered=loop.ordered),
    )
