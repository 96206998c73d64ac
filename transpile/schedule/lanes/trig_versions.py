"""Multiversion loops over sines, cosines and tangents by the magnitude of their angles, and over
rests of divisions by that of their quotients.

Payne-Hanek reduction of a huge angle takes six to sixty times as long as Cody-Waite reduction of an
ordinary one in double precision, 1.5 times in single, and a test in the loop would keep it out of
lanes. So a first version assumes ordinary angles and notes whether one was not; then the loop runs
again in the general version:

    for i simd near bitwise_or:far: far |= |x[i]| > limit;  out[i] = sin(x[i])
    if far != 0: for i simd: out[i] = sin(x[i])

A long loop does so for each block of its iterations, so that one huge angle costs no more than a
block. Both versions give the same bits for ordinary angles, and NaN for NaN
(runtime_c/elementary/trigonometry_near.h). What the loop reads and writes, accumulators and the
elements that each iteration updates, is kept by the first version and put back by the second:

    s_before = s                                   y_before: an array as long as a block
    for i simd near: y_before[i] = y[i];  far |= |x[i]| > limit;  y[i] += sin(x[i]);  s += y[i]
    if far != 0: s = s_before;  for i simd: y[i] = y_before[i];  y[i] += sin(x[i]);  s += y[i]

Rests of divisions, `fmod` and its like (runtime_c/arithmetic/quotients_near.h), have quotients
where sines have angles; their general version calls the C library, which keeps a loop, and what is
fused with it, out of lanes. Angles that `transpile.analysis.value_range` bounds need no second
version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any

import numpy as np

from transpile.analysis.value_range import angles, measured, ordinary_angles
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import LANES_BOUND, ONE_VERSION
from transpile.ir.dims import Dim, Index, Symbol, symbols_of
from transpile.ir.indices.row_major import blocks_of, limit_of_blocks, step_of
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
    Buffer,
    Declare,
    Expr,
    For,
    If,
    Kernel,
    Literal,
    Load,
    Program,
    Ref,
    Statement,
    Store,
    Update,
    Within,
)
from transpile.ir.loop_rewrite import (
    accesses,
    changed_by,
    expressions,
    loads,
    map_kernels,
    name_of,
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
from transpile.util.frozen_records import changed, dataclass, replace, same

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
        if isinstance(statement, For) and statement.simd:
            yield from _versions(statement, names, ordinary, machine)
        else:
            yield with_bodies(
                statement, lambda inner: tuple(_body(inner, names, ordinary, machine))
            )


def _versions(
    loop: For, names: Names, ordinary: frozenset[Expr], machine: Machine
) -> Iterator[Statement]:
    """The loop for ordinary angles, and the general one under a test; the loop alone where that
    does not pay, an angle is guarded by a test of its subscript, or it cannot run again."""
    known = angles(p for s in walk(loop.body) for p in parts(s))
    limits = {angle: limit for angle, limit in known.items() if angle not in ordinary}
    if not _pays(loop, limits, machine):
        yield loop
        return
    exprs = [e for s in walk(loop.body) for e in expressions(s)]
    guarded = limits.keys() - angles(p for e in exprs for p in _unguarded(e)).keys()
    kept = _kept_by(loop)
    if len(limits) > machine.most_angles or guarded or kept is None:
        yield loop
        return
    if not _has_blocks(loop, kept, machine.angle_block):
        yield from _both(loop, limits, kept, names)
    elif loop.reductions and loop.parallel:
        yield loop  # an accumulator has a copy in each thread, of which none is kept
    else:
        yield _in_blocks(loop, machine.angle_block, limits, kept, names)


def _has_blocks(loop: For, kept: _Kept, size: int) -> bool:
    """True for a loop that keeps more elements than a block has, and for a long one of a known
    length without accumulators, which would be put together once for each block."""
    extent = loop.extent
    if kept.elements:
        return not isinstance(extent, int) or extent > size
    is_whole = loop.start == 0 and loop.limit is None and not loop.reductions
    return is_whole and isinstance(extent, int) and extent >= 2 * size


def _in_blocks(
    loop: For, size: int, limits: Mapping[Expr, float], kept: _Kept, names: Names
) -> For:
    """A loop over blocks of the iterations, each with both versions."""
    count = blocks_of(loop.extent, size)
    block = Symbol(names.new("block"), 0, count)
    first = Dim.of(block) * size + loop.start
    limit = limit_of_blocks(loop.stop, loop.extent, size) if loop.limit is None else loop.limit
    part = replace(
        loop, start=first, stop=first + size, limit=limit, parallel=False, threads=0, slack=0
    )
    body = tuple(_both(part, limits, kept, names))
    blocks = replace(loop, symbol=block, start=0, stop=count, limit=None, body=body)
    return replace(blocks, simd=False, lanes=0, reductions=())


def _both(
    loop: For, limits: Mapping[Expr, float], kept: _Kept, names: Names
) -> Iterator[Statement]:
    """The loop for ordinary angles, and the general one where one of them is not."""
    dtypes = dict.fromkeys(angle.dtype for angle in limits)
    far = {dtype: Ref(names.new("far"), _FLAGS[dtype]) for dtype in dtypes}
    for ref in far.values():
        yield Declare(ref.name, Literal(ref.dtype.type(0), ref.dtype), constant=False)
    restore: list[Statement] = []
    for scalar in kept.scalars:
        before = Ref(names.new(f"{scalar.name}_before"), scalar.dtype)
        yield Declare(before.name, scalar)
        restore.append(Update(scalar, "set", before))
    lane = Dim.of(loop.symbol) - loop.start
    own_keep, own_restore = [], []
    for element in kept.elements:
        array = Buffer(names.new(f"{element.buffer}_before"), (loop.extent,), element.dtype)
        yield Alloc(array)
        copy = Load(array.name, (lane,), element.dtype)
        own_keep.append(Store(copy.buffer, copy.index, element))
        own_restore.append(Store(element.buffer, element.index, copy))
    notes = tuple(("bitwise_or", ref.name) for ref in far.values())
    body = (*own_keep, *_noted(loop.body, limits, far))
    yield replace(loop, body=body, near=True, reductions=(*loop.reductions, *notes))
    again = replace(loop, body=(*own_restore, *loop.body))
    yield If(reduce(_either, map(_is_set, far.values())), (*restore, again))


def _noted(
    body: tuple[Statement, ...], limits: Mapping[Expr, float], far: Mapping[np.dtype[Any], Ref]
) -> Iterator[Statement]:
    """The statements, and before each, or after the declarations that they begin with, the notes
    of the angles in it."""
    known: set[Expr] = set()
    pending: list[Statement] = []
    is_head = True
    for statement in body:
        is_head = is_head and isinstance(statement, Declare)
        own = [a for a in angles(parts(statement)) if a in limits and a not in known]
        known.update(own)
        pending += (_note(far[angle.dtype], angle, limits[angle]) for angle in own)
        if not is_head:
            yield from pending
            pending = []
        yield with_bodies(statement, lambda inner: tuple(_noted(inner, limits, far)))
        changed_names = {name for s in walk((statement,)) for name in changed_by(s)}
        known = {a for a in known if changed_names.isdisjoint(map(name_of, _variables(a)))}
    yield from pending


def _note(flag: Ref, angle: Expr, limit: float) -> Update:
    return Update(flag, "bitwise_or", _is_far(angle, limit, flag.dtype))


def _variables(expr: Expr) -> Iterator[Load | Ref]:
    return (p for p in subexpressions(expr) if isinstance(p, Load | Ref))


@dataclass(frozen=True)
class _Kept:
    """What a loop has to have again before it can run again.

    scalars    the accumulators
    elements   of each array of which an iteration reads its own element and then writes it, that
               element
    """

    scalars: tuple[Ref, ...]
    elements: tuple[Load, ...]


def _kept_by(loop: For) -> _Kept | None:
    """What a loop reads and changes; None where iterations share elements of an array, or have
    several, where a value that is computed says where, and where elements that are only written
    under a condition may not exist."""
    statements = tuple(walk(loop.body))
    if not all(isinstance(s, Store | Declare | Update | For | If) for s in statements):
        return None
    declared = {s.name for s in statements if isinstance(s, Declare)}
    inner = {s.symbol for s in statements if isinstance(s, Declare | For)}
    targets = [s.target for s in statements if isinstance(s, Update)]
    scalars = [t for t in targets if isinstance(t, Ref) and t.name not in declared]
    read = {load.buffer for s in statements for load in loads(s)}
    always = {name for s in loop.body for name in written(s)}
    elements: list[Load] = []
    for name, dtype in {n: _dtype(s) for s in statements for n in written(s)}.items():
        places = {index for s in statements for n, index in accesses(s) if n == name}
        if name not in always or any(inner & symbols_of(part) for at in places for part in at):
            return None
        if name in read:
            (index, *others) = places
            if others or not any(_moves(part, loop.symbol) for part in index):
                return None
            if _is_read_first(name, loop.body):
                elements.append(Load(name, index, dtype))
    return _Kept(tuple(dict.fromkeys(scalars)), tuple(elements))


def _is_read_first(name: str, body: tuple[Statement, ...]) -> bool:
    """True if statements read an array before they store to it."""
    for statement in body:
        if any(load.buffer == name for s in walk((statement,)) for load in loads(s)):
            return True
        if name in written(statement):
            return False
    return False


def _dtype(statement: Statement) -> np.dtype[Any]:
    """That of the elements which a statement writes."""
    assert isinstance(statement, Store | Update)
    return statement.value.dtype if isinstance(statement, Store) else statement.target.dtype


def _moves(index: Index, symbol: Symbol) -> bool:
    """True if no two iterations have the same value of an index."""
    step = step_of(index, symbol)
    return isinstance(step, int) and step != 0


def _pays(loop: For, limits: Mapping[Expr, float], machine: Machine) -> bool:
    """True if the time saved is worth the length of a second version."""
    dtypes = {angle.dtype for angle in limits}
    calls = [p for s in walk(loop.body) for p in parts(s) if isinstance(p, Apply)]
    quotients = (p for p in calls if p.primitive.near_of.get(p.dtype.kind) == "divide")
    if any(measured(p) in limits for p in quotients):
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
