"""Unravel: a loop over merged axes becomes a nest of loops over the axes.

Walking a (6, 4) value that was reshaped to 24 elements takes the subscripts `s // 4` and `s % 4`,
which keep a loop out of vector lanes. With `s = 4*i + j`, two loops over i and j visit the same
elements in the same order, and the algebra of the subscripts leaves `i` and `j`.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

from transpile.analysis.cost_model import trips, work
from transpile.ir.dims import Dim, Quotient, Remainder, Symbol, floor_divide, modulo, symbols_of
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


def delinearize(program: Program, options: Options) -> Program:
    """The program with such loops taken apart, and cut where conditions on their axes change."""
    machine = options.machine
    buffers = set(program.buffers())

    def apart(kernel: Kernel) -> Kernel:
        if all(is_polynomial(i) for s in walk(kernel.body) for i in indices(s)):
            return kernel
        taken = buffers | declared_names(kernel.body)
        body = tuple(_statement(s, taken, True, machine) for s in kernel.body)
        if body == kernel.body:
            return kernel
        alone = replace(program, kernels=(replace(kernel, body=body),))
        return split_index_sets(alone, options).kernels[0]

    return map_kernels(program, apart)


def _statement(
    statement: Statement, taken: set[str], is_outermost: bool, machine: Machine
) -> Statement:
    """The statement with its loops taken apart; no loop gets a name that is taken."""
    if not isinstance(statement, For):
        return with_bodies(
            statement, lambda b: tuple(_statement(s, taken, True, machine) for s in b)
        )
    taken_inside, is_sequential = taken | {statement.symbol.name}, statement.ordered
    loop = replace(
        statement,
        body=tuple(_statement(s, taken_inside, is_sequential, machine) for s in statement.body),
    )
    return loop if is_sequential else _loop(loop, taken, is_outermost, machine) or loop


def _loop(loop: For, taken: set[str], is_outermost: bool, machine: Machine) -> For | None:
    """The nest that does without quotients and remainders of a loop's index: the loop itself where
    it has none; None where there is no such nest."""
    if not any(True for _ in _quotients(loop)):
        return loop
    for length in _lengths(loop, machine):
        outer, inner = _cut(loop, length, taken)
        if is_outermost and not _has_enough(loop, outer, machine):
            continue
        found = _loop(inner, taken | {outer.symbol.name}, is_outermost=False, machine=machine)
        if found is not None:
            found = _loop(replace(outer, body=(found,)), taken, is_outermost, machine)
        if found is not None:
            return found
    return None


def _quotients(loop: For) -> Iterator[Quotient | Remainder]:
    """The quotients and remainders of a loop's index in its body."""
    for statement in walk(loop.body):
        for index in indices(statement):
            if isinstance(index, int) or loop.symbol not in index.symbols():
                continue
            for atom in (a for monomial, _ in index.terms for a in monomial):
                if isinstance(atom, Quotient | Remainder) and loop.symbol in (
                    atom.dividend.symbols() | symbols_of(atom.divisor)
                ):
                    yield atom


def _lengths(loop: For, machine: Machine) -> list[int]:
    """How long the inner loop may be, the longest first."""
    if loop.limit is not None:
        return []
    shortest = machine.shortest_inner
    if _has_elementary_functions(loop):
        shortest = machine.shortest_inner_of_functions
    found: set[int] = set()
    for atom in _quotients(loop):
        step = dict(atom.dividend.terms).get((loop.symbol,), 0)
        if step and isinstance(atom.divisor, int):
            length = abs(atom.divisor // gcd(atom.divisor, step))
            if length >= shortest and modulo(loop.extent, length) == 0 and loop.extent != length:
                found.add(length)
    return sorted(found, reverse=True)


def _has_elementary_functions(loop: For) -> bool:
    return any(
        isinstance(part, Apply) and TABLE[part.op].transcendental
        for statement in walk(loop.body)
        for expr in expressions(statement)
        for part in subexpressions(expr)
    )


def _has_enough(loop: For, outer: For, machine: Machine) -> bool:
    """Tell whether the outer loop of an outermost one has iterations enough for the steps that
    share them out: threads, and sums in blocks."""
    if work(loop) >= machine.least_parallel_work:
        return trips(outer) >= machine.fewest_shared
    fewest = machine.fewest_sum_blocks
    summed_in_blocks = not is_independent(loop) and trips(loop) >= fewest * machine.sum_block
    return not summed_in_blocks or trips(outer) >= fewest


def _cut(loop: For, length: int, taken: set[str]) -> tuple[For, For]:
    """The outer loop, still empty, and the inner one of this length that stand for a loop."""
    names = taken | {loop.symbol.name}
    names |= {s.symbol.name for s in walk(loop.body) if isinstance(s, For)}
    numbered = (f"{name}{number}" for number in range(2, 9) for name in LOOP_NAMES)
    name = next(n for n in (*LOOP_NAMES, *numbered) if n not in names)
    number = floor_divide(loop.extent, length)
    outer, inner = Symbol(loop.symbol.name, 0, number), Symbol(name, 0, length)
    index = Dim.of(outer) * length + Dim.of(inner) + loop.start
    body = tuple(substitute_index(s, loop.symbol, index) for s in loop.body)
    return For(outer, number, ()), For(inner, length, body)
