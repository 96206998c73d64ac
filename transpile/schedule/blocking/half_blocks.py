"""Halves are converted by loops of their own, in blocks, which are calls of routines.

gcc 12 has no vector code for the instructions that convert halves, and makes one of the dozen
integer operations that they take otherwise: more than most of what is computed of them. So a loop
over elements of float16 is split (fission): a block of operands is widened into a local array, the
loop reads and writes float32 there, and the results are rounded.

    for i: y[i] = float16(exp(float32(x[i])))

    for block:  for i in block: x_wide[i - first] = float32(x[i])
                for i in block: y_wide[i - first] = exp(x_wide[i - first])
                for i in block: y[i] = float16(y_wide[i - first])

When loops are settled, those that only convert become calls of `runtime_c/arrays/half.h`. Elements
that stand one behind the other are staged, that are read in every iteration and that the loop does
not write. What is rounded in between stays in lanes as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

from transpile.intrinsics.conversions import RoundHalves, WidenHalves
from transpile.ir.calls import Strided
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import NO_LANES, OF_LOOPS, STACK_BOUNDED, SUBEXPRESSIONS_SHARED
from transpile.ir.dims import Dim, Index, Shape, Symbol, bounds, substitute, symbols_of
from transpile.ir.indices.row_major import blocks_of, step_of
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
    Buffer,
    Declare,
    Expr,
    For,
    Load,
    Program,
    Statement,
    Store,
    Update,
)
from transpile.ir.loop_rewrite import (
    declared_names,
    expressions,
    is_independent,
    loads,
    map_bodies,
    map_statement,
    names_in,
    with_bodies,
    written,
)
from transpile.ir.types import FLOAT16, FLOAT32
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.strip_mine import block_of
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import replace

Body = tuple[Statement, ...]


@contract(requires=(NO_LANES,), destroys=(*OF_LOOPS, SUBEXPRESSIONS_SHARED, STACK_BOUNDED))
def stage_halves(program: Program, options: Options) -> Program:
    """The program whose loops over halves compute on blocks of float32."""
    names = Names(names_in(program))
    machine = options.machine

    def within(body: Body) -> Body:
        return tuple(s for statement in body for s in of(statement))

    def of(statement: Statement) -> Iterator[Statement]:
        if isinstance(statement, For) and _suits(statement, machine):
            yield from _staged(statement, names, machine)
        else:
            yield with_bodies(statement, within)

    return map_bodies(program, within)


def _suits(loop: For, machine: Machine) -> bool:
    """True for a loop of scalars that is long enough."""
    most = bounds(loop.extent)[1]
    return (
        not loop.ordered
        and all(isinstance(s, Store | Declare | Update) for s in loop.body)
        and (most is None or most >= machine.shortest_half_loop)
    )


def _staged(loop: For, names: Names, machine: Machine) -> Iterator[Statement]:
    """The loop, or what takes its place."""
    size = machine.half_block
    is_single = isinstance(loop.extent, int) and loop.extent <= size
    if not is_single and (loop.limit is not None or not is_independent(loop)):
        yield loop
        return
    widened, rounded = _widened(loop), _rounded(loop)
    pays = widened or rounded
    if not pays or len(widened) + len(rounded) > machine.most_half_arrays:
        yield loop
    elif is_single:
        yield from _parts(loop, loop.extent, widened, rounded, names)
    else:
        count = blocks_of(loop.extent, size)
        block = Symbol(names.new("block"), 0, count)
        part = block_of(loop, loop.start + Dim.of(block) * size, size)
        yield For(block, count, tuple(_parts(part, size, widened, rounded, names)))


def _parts(
    loop: For, extent: Index, widened: tuple[Apply, ...], rounded: tuple[Store, ...], names: Names
) -> Iterator[Statement]:
    """The loops that widen, the loop on float32, and those that round; a loop that only converts
    as it is."""
    if _is_conversion(loop):
        yield loop
        return
    place = (Dim.of(loop.symbol) - loop.start,)
    first: list[Statement] = []
    last: list[Statement] = []
    elements: dict[Expr, Expr] = {}
    kept: dict[Store, Store] = {}

    def array(name: str) -> Load:
        buffer = Buffer(names.new(f"{name}_wide"), (extent,), FLOAT32)
        arrays.append(Alloc(buffer))
        return Load(buffer.name, place, FLOAT32)

    arrays: list[Statement] = []
    for widening in widened:
        (half,) = widening.args
        elements[widening] = wide = array(half.buffer if isinstance(half, Load) else "half")
        first.append(replace(loop, body=(Store(wide.buffer, place, widening),)))
    for store in rounded:
        wide = array(store.buffer)
        value = store.value.args[0] if isinstance(store.value, Apply) else store.value
        kept[store] = replace(store, buffer=wide.buffer, index=place, value=value)
        result = replace(store, value=Apply("convert_element_type", (wide,), FLOAT16))
        last.append(replace(loop, body=(result,)))

    def of_array(expr: Expr) -> Expr:
        return elements.get(expr, expr) if isinstance(expr, Apply) else expr

    body = tuple(
        map_statement(kept.get(s, s) if isinstance(s, Store) else s, of_array) for s in loop.body
    )
    yield from (*arrays, *first, replace(loop, body=body), *last)


def _widened(loop: For) -> tuple[Apply, ...]:
    """The conversions of elements that every iteration reads, one behind the other."""
    own = {name for s in loop.body for name in written(s)} | declared_names(loop.body)
    found = (c for s in loop.body for e in expressions(s) for c in _conversions(e))
    return tuple(
        dict.fromkeys(
            c
            for c in found
            if isinstance(load := c.args[0], Load)
            and load.buffer not in own
            and _is_in_order(load.index, loop.symbol, own)
        )
    )


def _conversions(expr: Expr) -> Iterator[Apply]:
    """The conversions of elements to float32 that are computed in any case."""
    if _is_widening(expr):
        yield expr
    elif isinstance(expr, Apply):
        for arg in expr.args[:1] if expr.op == "select" else expr.args:
            yield from _conversions(arg)


def _rounded(loop: For) -> tuple[Store, ...]:
    """The stores of rounded numbers, one behind the other, to arrays that nothing else accesses."""
    stored = [name for s in loop.body for name in written(s)]
    read = {load.buffer for s in loop.body for load in loads(s)}
    own = declared_names(loop.body)
    return tuple(
        s
        for s in loop.body
        if isinstance(s, Store)
        and _is_rounding(s.value)
        and stored.count(s.buffer) == 1
        and s.buffer not in read
        and _is_in_order(s.index, loop.symbol, own)
    )


def _is_widening(expr: Expr) -> TypeGuard[Apply]:
    """True for an element of float16 that is converted to float32."""
    match expr:
        case Apply(op="convert_element_type", args=(Load(dtype=source),)):
            return bool(source == FLOAT16 and expr.dtype == FLOAT32)
        case _:
            return False


def _is_rounding(expr: Expr) -> TypeGuard[Apply]:
    """True for a float32 that is rounded to float16."""
    match expr:
        case Apply(op="convert_element_type", args=(x,)):
            return bool(x.dtype == FLOAT32 and expr.dtype == FLOAT16)
        case _:
            return False


def _is_in_order(index: Shape, symbol: Symbol, own: set[str]) -> bool:
    """True if each iteration has the element behind that of the one before, in subscripts that do
    not depend on what the loop computes."""
    if not index or any(s.name in own for i in index for s in symbols_of(i)):
        return False
    *outer, last = index
    step = step_of(last, symbol)
    return step == 1 and not any(symbol in symbols_of(i) for i in outer)


def _is_conversion(loop: For) -> bool:
    """True for a loop that only converts the elements of one array to those of another."""
    match loop.body:
        case (Store(buffer=out, index=index, value=Apply(args=(Load() as x,)) as value),):
            return (
                (_is_widening(value) or _is_rounding(value))
                and x.buffer != out
                and _is_in_order(x.index, loop.symbol, set())
                and _is_in_order(index, loop.symbol, set())
            )
        case _:
            return False


@contract()
def call_conversions(program: Program, options: Options) -> Program:
    """The program with calls in the place of loops that only convert halves."""

    def within(body: Body) -> Body:
        return tuple(map(of, body))

    def of(statement: Statement) -> Statement:
        is_call = isinstance(statement, For) and statement.simd and not statement.parallel
        if is_call and isinstance(statement, For) and _is_conversion(statement):
            return _call(statement)
        return with_bodies(statement, within)

    return map_bodies(program, within)


def _call(loop: For) -> Statement:
    """The call that does what a loop does."""
    (store,) = loop.body
    assert isinstance(store, Store) and isinstance(store.value, Apply)
    (x,) = store.value.args
    assert isinstance(x, Load)
    routine = WidenHalves if x.dtype == FLOAT16 else RoundHalves
    end = loop.stop if loop.limit is None else loop.limit

    def first(load: Load) -> Strided:
        at_start = {loop.symbol: loop.start}
        return Strided(replace(load, index=tuple(substitute(i, at_start) for i in load.index)))

    out = Load(store.buffer, store.index, store.value.dtype)
    return routine(loop.extent, end - loop.start, first(x), first(out), source=store.source)
