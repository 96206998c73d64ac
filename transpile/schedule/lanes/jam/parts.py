"""Unroll-and-jam long extremes and integer products: parts of a loop run side by side.

The largest of many numbers is one chain of vector operations, each of which waits for the one
before: four cycles for floats, up to fifteen for products of 64 bits, where the loads take one or
two. Parts of the loop that have an accumulator each are chains that overlap:

    for i < n: a = max(a, x[i])
    for i < n / 4: a = max(a, x[i]);  a2 = max(a2, x[i + n / 4]);  ...
    a = max(a, a2); ...

Legal for operations of which the order changes no bit. Sums of integers wait for one cycle and
gain nothing; those of floats compilers unroll. Runs after `flag_nans`.
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.analysis.cost_model import expression_cost, trips
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import LANES_BOUND
from transpile.ir.dims import Dim, Index, floor_divide
from transpile.ir.indices.values import as_value
from transpile.ir.loop_ir import Apply, Declare, For, If, Literal, Program, Ref, Statement, Update
from transpile.ir.loop_rewrite import (
    declared_names,
    expressions,
    loads,
    map_bodies,
    names_in,
    with_bodies,
)
from transpile.ir.primitive import TABLE
from transpile.ir.types import BOOL
from transpile.machine import Machine
from transpile.options import Options
from transpile.primitives.elementwise.arithmetic import multiply
from transpile.schedule.lanes.jam.rows import Copy
from transpile.schedule.lanes.outer.column_reductions import last_axis_stride
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import replace, same


@contract(requires=(LANES_BOUND,))
def jam_parts(program: Program, options: Options) -> Program:
    """The program with parts of such loops side by side."""
    names = Names(names_in(program))
    return map_bodies(program, lambda body: _body(body, names.inner(), options.machine))


def _body(body: tuple[Statement, ...], names: Names, machine: Machine) -> tuple[Statement, ...]:
    statements: list[Statement] = []
    for statement in body:
        parts = _parts_of(statement, machine) if isinstance(statement, For) else 1
        if isinstance(statement, For) and parts > 1:
            statements += _whole_or_not(statement, parts, names.inner(), machine)
        else:
            statements.append(with_bodies(statement, lambda b: _body(b, names, machine)))
    return same(body, tuple(statements))


def _parts_of(loop: For, machine: Machine) -> int:
    """In how many parts a loop runs: one if it stays as it is."""
    accumulators = {
        s.target.name: s.target
        for s in loop.body
        if isinstance(s, Update) and isinstance(s.target, Ref)
    }
    if (
        not loop.simd
        or loop.parallel
        or loop.lanes
        or loop.near
        or {name for _, name in loop.reductions} != accumulators.keys()
        or trips(loop) < machine.shortest_in_parts
        or not any(_waits(op, accumulators[name]) for op, name in loop.reductions)
        or not all(TABLE[op].may_reorder(accumulators[name].dtype) for op, name in loop.reductions)
        or not _is_cheap(loop, set(accumulators), machine)
    ):
        return 1
    chains = len(accumulators)
    return next((k for k in (4, 2) if k * chains <= machine.most_chains_of_parts), 1)


def _waits(op: str, accumulator: Ref) -> bool:
    """True if a vector operation on accumulators takes several cycles."""
    kind, size = accumulator.dtype.kind, accumulator.dtype.itemsize
    if op == multiply.name:
        return kind in "iu" and size > 2
    return bool(TABLE[op].chooses) and (kind == "f" or size > 4)


def _is_cheap(loop: For, accumulators: set[str], machine: Machine) -> bool:
    """True if a loop does nothing but update accumulators, by little work on elements that lie side
    by side."""
    for statement in loop.body:
        match statement:
            case Declare(symbol=None):
                pass
            case Update(target=Ref(name=name)) if name in accumulators:
                pass
            case _:
                return False
    strides = [
        last_axis_stride(load.index, loop.symbol)
        for s in loop.body
        for load in loads(s)
        if load.index
    ]
    costs = [expression_cost(e) for s in loop.body for e in expressions(s)]
    is_little = sum(c.flops for c in costs) <= machine.most_flops_of_parts
    has_functions = any(c.transcendentals for c in costs)
    return all(stride in (0, 1) for stride in strides) and is_little and not has_functions


def _whole_or_not(loop: For, parts: int, names: Names, machine: Machine) -> Iterator[Statement]:
    """The parts; of a block that may end early, in a branch, beside the loop as it was."""
    if loop.limit is None:
        yield from _in_parts(loop, parts, names, machine)
        return
    is_whole = Apply("less_equal", (as_value(loop.stop), as_value(loop.limit)), BOOL)
    whole = tuple(_in_parts(replace(loop, limit=None), parts, names, machine))
    yield If(is_whole, whole, (loop,))


def _in_parts(loop: For, parts: int, names: Names, machine: Machine) -> Iterator[Statement]:
    """The accumulators of the parts, the loop over them, one over what is left, and what combines
    them."""
    size = floor_divide(loop.extent, parts * machine.part_multiple) * machine.part_multiple
    dtypes = {
        s.target.name: s.target.dtype
        for s in loop.body
        if isinstance(s, Update) and isinstance(s.target, Ref)
    }
    own = sorted({*dtypes, *declared_names(loop.body)})
    index = Dim.of(loop.symbol)
    copies = [
        Copy(loop.symbol, index + size * k, own, names, is_first=k == 0) for k in range(parts)
    ]
    for op, name in loop.reductions:
        neutral = Literal(TABLE[op].neutral(dtypes[name]), dtypes[name])
        for copy in copies[1:]:
            yield Declare(copy.name(name), neutral, constant=False)
    yield replace(
        loop,
        stop=loop.start + size,
        body=tuple(copy.statement(s) for copy in copies for s in loop.body),
        reductions=tuple((op, copy.name(n)) for op, n in loop.reductions for copy in copies),
    )
    rest: Index = loop.start + size * parts
    if rest != loop.stop:
        yield replace(loop, start=rest)
    for op, name in loop.reductions:
        for copy in copies[1:]:
            yield Update(Ref(name, dtypes[name]), op, Ref(copy.name(name), dtypes[name]))
