"""Multiversion loops over sines, cosines and tangents by the magnitude of their angles.

Payne-Hanek reduction of a huge angle takes six times as long as Cody-Waite reduction of an ordinary
one in double precision, 1.5 times in single, and a test in the loop would keep it out of lanes. So
a first version assumes ordinary angles and accumulates the largest magnitude; if that is too large
or NaN, the loop runs again in the general version:

    for i simd near maximum:largest: largest = max(largest, |x[i]|);  out[i] = sin(x[i])
    if not largest <= limit: for i simd: out[i] = sin(x[i])

Both give the same bits for ordinary angles (runtime_c/elementary/trigonometry_near.h). The loop
must be idempotent: it reads nothing that it writes. Angles that `transpile.analysis.value_range`
bounds need no second version.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce

from transpile.analysis.value_range import angles, ordinary_angles
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import LANES_BOUND, ONE_VERSION
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
    dtypes = dict.fromkeys(angle.dtype for angle in limits)
    largest = {dtype: Ref(names.new("largest"), dtype) for dtype in dtypes}
    for dtype, ref in largest.items():
        yield Declare(ref.name, Literal(dtype.type(0), dtype), constant=False)
    updates = tuple(
        Update(largest[angle.dtype], "maximum", Apply("absolute", (angle,), angle.dtype))
        for angle in limits
    )
    reductions = tuple(("maximum", ref.name) for ref in largest.values())
    # After the declarations, whose names may occur in angles and their subscripts.
    declared = max((k + 1 for k, s in enumerate(loop.body) if isinstance(s, Declare)), default=0)
    body = (*loop.body[:declared], *updates, *loop.body[declared:])
    yield replace(loop, body=body, near=True, reductions=(*loop.reductions, *reductions))
    limit = min(limits.values())
    yield If(reduce(_either, (_is_far(ref, limit) for ref in largest.values())), (loop,))


def _pays(loop: For, angles: Iterable[Expr], machine: Machine) -> bool:
    """True if the time saved is worth the length of a second version."""
    dtypes = {angle.dtype for angle in angles}
    is_short = isinstance(loop.extent, int) and loop.extent < machine.shortest_single_angles
    return FLOAT64 in dtypes or (FLOAT32 in dtypes and not is_short)


def _is_far(largest: Ref, limit: float) -> Expr:
    """True if an angle was too large. A NaN, which hides larger angles, counts as one: not (largest
    <= limit)."""
    most = Literal(largest.dtype.type(limit), largest.dtype)
    return Apply("logical_not", (Apply("less_equal", (largest, most), BOOL),), BOOL)


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
