"""SIMD: innermost loops that may run in vector lanes are marked so, with the accumulators to
combine.

Floating-point reductions need the mark, because adding in lanes is another order of additions; so
do the smallest and largest of integers, which gcc would leave in scalars. Sums of integers wrap
around when lanes are combined, as they do everywhere.
"""

from __future__ import annotations

from transpile.analysis.cost_model import trips
from transpile.ir.calls import Call
from transpile.ir.dims import symbols_of
from transpile.ir.loop_ir import (
    Alloc,
    Declare,
    For,
    If,
    Load,
    Program,
    Ref,
    Statement,
    Store,
    Update,
    While,
)
from transpile.ir.loop_rewrite import loads, map_bodies, parts, walk, with_bodies
from transpile.machine import Machine
from transpile.options import Options
from transpile.util.frozen_records import replace


def vectorize_loops(program: Program, options: Options) -> Program:
    """The program with its vector loops marked."""
    machine = options.machine
    return map_bodies(program, lambda body: tuple(_mark(s, machine) for s in body))


def _mark(statement: Statement, machine: Machine) -> Statement:
    nested = isinstance(statement, For) and any(
        isinstance(s, (For, If, While, Call)) for s in statement.body
    )
    if not isinstance(statement, For) or nested or not _may_change_order(statement):
        return with_bodies(statement, lambda body: tuple(_mark(s, machine) for s in body))
    reductions = _reductions(statement)
    is_strided = _is_strided_copy(statement)
    shortest = machine.shortest_strided_simd if is_strided else machine.shortest_simd
    if reductions is None or _may_meet(statement) or trips(statement) < shortest:
        return statement
    is_slow = statement.ordered and any(
        _strides_through_integers(s, statement) for s in statement.body
    )
    lanes = machine.strided_lanes if is_slow else 0
    return replace(statement, simd=True, lanes=lanes, reductions=reductions)


def _may_change_order(loop: For) -> bool:
    """Tell whether iterations may run in another order: those of a loop of the user's only where
    all that they do is to collect numbers by operations that give the same in any order."""
    if not loop.ordered:
        return True
    return all(
        isinstance(s, Declare)
        or (
            isinstance(s, Update)
            and isinstance(s.target, Ref)
            and s.primitive is not None
            and s.primitive.may_reorder(s.target.dtype)
        )
        for s in loop.body
    )


def _strides_through_integers(statement: Statement, loop: For) -> bool:
    """Tell whether vectors of integers are put together number by number."""
    return any(
        load.dtype.kind in "iu" and any(loop.symbol in symbols_of(i) for i in load.index[:-1])
        for load in loads(statement)
    )


def _is_strided_copy(loop: For) -> bool:
    """Tell whether a loop copies elements, from or to places that are not next to each other."""
    match loop.body:
        case (Store(index=target, value=Load(index=source)),):
            return any(loop.symbol in symbols_of(i) for i in (*target[:-1], *source[:-1]))
        case _:
            return False


def _may_meet(loop: For) -> bool:
    """Tell whether iterations may write the same element, as those of a scatter do."""
    own = {s.buffer.name for s in loop.body if isinstance(s, Alloc)}
    for statement in loop.body:
        match statement:
            case Store(buffer=name, index=index) | Update(target=Load(buffer=name, index=index)):
                if name not in own and not any(loop.symbol in symbols_of(i) for i in index):
                    return True
            case _:
                pass
    return False


def _reductions(loop: For) -> tuple[tuple[str, str], ...] | None:
    """A loop's accumulators with their operations; None when lanes would change its meaning."""
    inside = {s.name for s in walk(loop.body) if isinstance(s, Declare)}
    found: dict[str, str] = {}
    kinds: set[str] = set()
    for statement in loop.body:
        if isinstance(statement, Update) and isinstance(statement.target, Ref):
            name, dtype = statement.target.name, statement.target.dtype
            if name in inside:
                continue
            if name in found or dtype.kind not in "fiub":
                return None
            found[name] = statement.op
            kinds.add(dtype.kind)
    if kinds == {"b"}:  # gcc needs no mark for these alone, and does better without
        return None
    for statement in loop.body:
        # A running value (a scan's) is read while it grows: its order is its meaning.
        if isinstance(statement, (Store, Declare, Update)) and any(
            isinstance(p, Ref) and p.name in found for p in parts(statement)
        ):
            return None
    return tuple(sorted((op, name) for name, op in found.items()))
