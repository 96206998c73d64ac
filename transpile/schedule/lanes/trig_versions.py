"""Versions: loops over sines, cosines and tangents exist twice.

The reduction of a huge angle takes six times as long as that of an ordinary one in double
precision, and half as long again in single, and a test inside the loop would keep it out of vector
lanes. So the loop runs as if every angle were ordinary, notes whether one was not, and only then
runs again for all angles. Both give the same bits for ordinary ones
(runtime_c/elementary/trigonometry_near.h). Angles that are known to be ordinary
(`transpile.analysis.value_range`) need no second version.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce

from transpile.analysis.value_range import angles, ordinary_angles
from transpile.ir.loop_ir import (
    Apply,
    Declare,
    Expr,
    For,
    If,
    Kernel,
    Literal,
    Program,
    Ref,
    Statement,
    Store,
    Update,
    Within,
)
from transpile.ir.loop_rewrite import (
    expressions,
    loads,
    map_kernels,
    names_in,
    parts,
    subexpressions,
    walk,
    with_bodies,
    written,
)
from transpile.ir.types import BOOL, FLOAT32, FLOAT64
from transpile.machine import Machine
from transpile.options import Options
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, replace, same


def versions(program: Program, options: Options) -> Program:
    """The program with such loops in two versions; unchanged where libm computes the functions."""
    machine = options.machine
    if options.precise_math:
        return program
    names = Names(names_in(program))

    def with_versions(kernel: Kernel) -> Kernel:
        body = tuple(_body(kernel.body, names, ordinary_angles(kernel), machine))
        return changed(kernel, body=same(kernel.body, body))

    return map_kernels(program, with_versions)


def _body(
    body: tuple[Statement, ...], names: Names, ordinary: frozenset[Expr], machine: Machine
) -> Iterator[Statement]:
    for statement in body:
        if isinstance(statement, For) and statement.simd and _can_run_again(statement):
            yield from _versions(statement, names, ordinary, machine)
        else:
            yield with_bodies(
                statement, lambda inner: tuple(_body(inner, names, ordinary, machine))
            )


def _can_run_again(loop: For) -> bool:
    """Tell whether running the loop twice gives the same: it reads nothing that it writes."""
    stores = {name for s in walk(loop.body) for name in written(s)}
    reads = {load.buffer for s in walk(loop.body) for load in loads(s)}
    plain = all(isinstance(s, Store | Declare) for s in loop.body)
    return plain and stores.isdisjoint(reads)


def _versions(
    loop: For, names: Names, ordinary: frozenset[Expr], machine: Machine
) -> Iterator[Statement]:
    known = angles(p for s in loop.body for p in parts(s))
    limits = {angle: limit for angle, limit in known.items() if angle not in ordinary}
    if not _pays(loop, limits, machine):
        yield loop
        return
    whole = [e for s in loop.body for e in expressions(s)]
    guarded = limits.keys() - angles(p for e in whole for p in _unguarded(e)).keys()
    is_long = len(limits) > machine.most_angles
    if is_long or guarded:
        yield loop
        return
    dtypes = dict.fromkeys(angle.dtype for angle in limits)
    largest = {dtype: Ref(names.new("largest"), dtype) for dtype in dtypes}
    for dtype, ref in largest.items():
        yield Declare(ref.name, Literal(dtype.type(0), dtype), constant=False)
    notes = tuple(
        Update(largest[angle.dtype], "maximum", Apply("absolute", (angle,), angle.dtype))
        for angle in limits
    )
    noted = tuple(("maximum", ref.name) for ref in largest.values())
    # Behind the declarations, whose names may stand in the angles and in their subscripts.
    place = max((k + 1 for k, s in enumerate(loop.body) if isinstance(s, Declare)), default=0)
    body = (*loop.body[:place], *notes, *loop.body[place:])
    yield replace(loop, body=body, near=True, reductions=(*loop.reductions, *noted))
    limit = min(limits.values())
    yield If(reduce(_either, (_is_far(ref, limit) for ref in largest.values())), (loop,))


def _pays(loop: For, angles: Iterable[Expr], machine: Machine) -> bool:
    """Tell whether the time saved is worth the second version."""
    dtypes = {angle.dtype for angle in angles}
    is_short = isinstance(loop.extent, int) and loop.extent < machine.shortest_single_angles
    return FLOAT64 in dtypes or (FLOAT32 in dtypes and not is_short)


def _is_far(largest: Ref, limit: float) -> Expr:
    """Written so that a NaN, which hides larger angles, counts as far too."""
    most = Literal(largest.dtype.type(limit), largest.dtype)
    return Apply("logical_not", (Apply("less_equal", (largest, most), BOOL),), BOOL)


def _either(first: Expr, second: Expr) -> Expr:
    return Apply("logical_or", (first, second), BOOL)


def _unguarded(expr: Expr) -> Iterator[Expr]:
    """The parts of an expression that may be computed without asking where the index lies."""
    yield expr
    if isinstance(expr, Apply):
        guards = expr.op == "select" and any(
            isinstance(p, Within) for p in subexpressions(expr.args[0])
        )
        for arg in expr.args[:1] if guards else expr.args:
            yield from _unguarded(arg)
