"""Multiversion loops over sines, cosines and tangents by the magnitude of their angles, and over
rests of divisions by that of their quotients.

Payne-Hanek reduction of a huge angle takes six times as long as Cody-Waite reduction of an ordinary
one in double precision, 1.5 times in single, and a test in the loop would keep it out of lanes. So
a first version assumes ordinary angles and notes whether one was not; then the loop runs again in
the general version:

    for i simd near bitwise_or:far: far |= |x[i]| > limit;  out[i] = sin(x[i])
    if far != 0: for i simd: out[i] = sin(x[i])

A long loop does so for each block of its iterations, so that one huge angle costs no more than a
block. Both versions give the same bits for ordinary angles, and NaN for NaN
(runtime_c/elementary/trigonometry_near.h). The loop must be idempotent: it reads nothing that it
writes. Rests of divisions, `fmod` and its like (runtime_c/arithmetic/quotients_near.h), have
quotients where sines have angles; their general version calls the C library, which keeps a loop,
and what is fused with it, out of lanes. Angles that `transpile.analysis.value_range`
bounds need no second version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any

import numpy as np

from transpile.analysis.value_range import angles, measured, ordinary_angles
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import LANES_BOUND, ONE_VERSION
from transpile.ir.dims import Dim, Symbol
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
from transpile.ir.types import BOOL, FLOAT32, FLOAT64, INT32, INT64
from transpile.machine import Machine
from transpile.options import Options
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, replace, same

# Of the width of the angles, so that they have as many lanes.
_FLAGS: dict[np.dtype[Any], np.dtype[Any]] = {FLOAT32: INT32, FLOAT64: INT64}


@contract(requires=(LANES_BOUND,), destroys=(ONE_VERSION,))
def version_trig_loops(program: Program, options: Options) -> Program:
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
    """True if the loop is idempotent: it reads nothing that it writes, and has no reduction."""
    stores = {name for s in walk(loop.body) for name in written(s)}
    reads = {load.buffer for s in walk(loop.body) for load in loads(s)}
    plain = all(isinstance(s, Store | Declare) for s in loop.body)
    return plain and stores.isdisjoint(reads)


def _versions(
    loop: For, names: Names, ordinary: frozenset[Expr], machine: Machine
) -> Iterator[Statement]:
    """The loop for ordinary angles, and the general one under a test; the loop alone where that
    does not pay or an angle is guarded by a test of its subscript."""
    known = angles(p for s in loop.body for p in parts(s))
    limits = {angle: limit for angle, limit in known.items() if angle not in ordinary}
    if not _pays(loop, limits, machine):
        yield loop
        return
    exprs = [e for s in loop.body for e in expressions(s)]
    guarded = limits.keys() - angles(p for e in exprs for p in _unguarded(e)).keys()
    is_long = len(limits) > machine.most_angles
    if is_long or guarded:
        yield loop
        return
    size = machine.angle_block
    if (
        not isinstance(loop.stop, int)
        or loop.start != 0
        or loop.limit is not None
        or loop.stop < 2 * size
    ):
        yield from _both(loop, limits, names)
        return
    count = -(-loop.stop // size)
    block = Symbol(names.new("block"), 0, count)
    first = Dim.of(block) * size
    limit = None if loop.stop % size == 0 else loop.stop
    part = replace(
        loop, start=first, stop=first + size, limit=limit, parallel=False, threads=0, slack=0
    )
    body = tuple(_both(part, limits, names))
    yield replace(loop, symbol=block, stop=count, body=body, simd=False, lanes=0)


def _both(loop: For, limits: Mapping[Expr, float], names: Names) -> Iterator[Statement]:
    """The loop for ordinary angles, and the general one where one of them is not."""
    dtypes = dict.fromkeys(angle.dtype for angle in limits)
    far = {dtype: Ref(names.new("far"), _FLAGS[dtype]) for dtype in dtypes}
    for ref in far.values():
        yield Declare(ref.name, Literal(ref.dtype.type(0), ref.dtype), constant=False)
    updates = tuple(
        Update(far[angle.dtype], "bitwise_or", _is_far(angle, limit, far[angle.dtype].dtype))
        for angle, limit in limits.items()
    )
    reductions = tuple(("bitwise_or", ref.name) for ref in far.values())
    # After the declarations, whose names may occur in angles and their subscripts.
    declared = max((k + 1 for k, s in enumerate(loop.body) if isinstance(s, Declare)), default=0)
    body = (*loop.body[:declared], *updates, *loop.body[declared:])
    yield replace(loop, body=body, near=True, reductions=(*loop.reductions, *reductions))
    yield If(reduce(_either, map(_is_set, far.values())), (loop,))


def _pays(loop: For, limits: Mapping[Expr, float], machine: Machine) -> bool:
    """True if the time saved is worth the length of a second version."""
    dtypes = {angle.dtype for angle in limits}
    calls = (p for s in loop.body for p in parts(s) if isinstance(p, Apply))
    if any(p.primitive.near_of and measured(p) in limits for p in calls):
        return True
    trips = loop.extent if isinstance(loop.extent, int) else loop.symbol.extent
    is_short = isinstance(trips, int) and trips < machine.shortest_single_angles
    return FLOAT64 in dtypes or (FLOAT32 in dtypes and not is_short)


def _is_far(angle: Expr, limit: float, flag: np.dtype[Any]) -> Expr:
    """1 for an angle that is too large, 0 for others and for NaN; and for the quotients by 0 and of
    infinities, of which both versions give the same: neither is rare."""
    most, infinity = (Literal(angle.dtype.type(n), angle.dtype) for n in (limit, np.inf))
    is_far = Apply("greater", (_size(angle), most), BOOL)
    if isinstance(angle, Apply) and angle.op == "divide":
        dividend, divisor = angle.args
        is_finite = Apply("less", (_size(dividend), infinity), BOOL)
        is_far = Apply("logical_and", (is_far, is_finite), BOOL)
        if not isinstance(divisor, Literal):
            zero = Literal(angle.dtype.type(0), angle.dtype)
            divides = Apply("not_equal", (divisor, zero), BOOL)
            is_far = Apply("logical_and", (is_far, divides), BOOL)
    # A choice of 1 or 0 would keep a function that is called out of lanes.
    return Apply("convert_element_type", (is_far,), flag)


def _size(x: Expr) -> Expr:
    return Apply("absolute", (x,), x.dtype)


def _is_set(flag: Ref) -> Expr:
    return Apply("not_equal", (flag, Literal(flag.dtype.type(0), flag.dtype)), BOOL)


def _either(first: Expr, second: Expr) -> Expr:
    return Apply("logical_or", (first, second), BOOL)


def _unguarded(expr: Expr) -> Iterator[Expr]:
    """The subexpressions that are evaluated whatever the subscript is: arms of selects on `Within`
    are not."""
    yield expr
    if isinstance(expr, Apply):
        guards = expr.op == "select" and any(
            isinstance(p, Within) for p in subexpressions(expr.args[0])
        )
        for arg in expr.args[:1] if guards else expr.args:
            yield from _unguarded(arg)
