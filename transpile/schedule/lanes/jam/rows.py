"""Unroll-and-jam row reductions by four rows, which have a chain of additions each.

A sum over a row in lanes is one chain of vector additions: at a latency of four cycles it takes
four times as long as its loads. Unrolled by four and jammed, four chains are under way, and what
does not depend on the row is loaded once (Callahan, Carr and Kennedy, Improving register allocation
for subscripted variables, 1990):

    for row: acc = 0; for column: acc += x[row][column] * v[column]; out[row] = acc
    for group: a, b, c, d = 0; for column: a += x[4 * group][column] * v[column]; b += ...

A loop of the user's is such a chain of numbers. The elements of a row are added in the order of
before, so no bit changes. Bodies that compute much per element gain nothing and stay, as do rows
that fill no vector. Runs after `vectorize_loops`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from transpile.analysis.cost_model import expression_cost, trips
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import LANES_BOUND, THREADS_BOUND
from transpile.ir.dims import Dim, Index, Shape, Symbol, floor_divide, substitute, symbols_of
from transpile.ir.loop_ir import Declare, Expr, For, Program, Ref, Statement, Store, Update
from transpile.ir.loop_rewrite import (
    declared_names,
    expressions,
    is_independent,
    loads,
    map_bodies,
    map_statement,
    names_in,
    with_bodies,
)
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.lanes.outer.column_reductions import last_axis_stride
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import replace


@contract(requires=(LANES_BOUND,), destroys=(THREADS_BOUND,))
def jam_rows(program: Program, options: Options) -> Program:
    """The program with four rows of such reductions at a time."""
    machine = options.machine
    names = Names(names_in(program))
    return map_bodies(program, lambda body: _inside(body, names.inner(), machine, 0))


def _body(
    body: tuple[Statement, ...], names: Names, machine: Machine, shared: int
) -> Iterator[Statement]:
    """The statements with loops over rows jammed, but for the next `shared` levels of loops, which
    threads share out together with the one around them."""
    for statement in body:
        left = shared
        if isinstance(statement, For):
            if shared == 0 and statement.collapse == 1:
                scope = names.inner()
                statement = _with_few_unrolled(statement, scope, machine)
                if _may_jam(statement, machine):
                    yield from _jammed(statement, scope, machine)
                    continue
            left = max(shared, statement.collapse) - 1
        yield with_bodies(statement, partial(_inside, names=names, machine=machine, shared=left))


def _inside(
    body: tuple[Statement, ...], names: Names, machine: Machine, shared: int
) -> tuple[Statement, ...]:
    return tuple(_body(body, names, machine, shared))


def _with_few_unrolled(loop: For, names: Names, machine: Machine) -> For:
    """The loop with one over two or three rows, as the columns of a narrow product are, unrolled
    and jammed."""
    match loop.body:
        case (For(extent=int(count)) as few,):
            if 1 < count < machine.jammed_rows and not few.parallel and _reduces(few, machine):
                own = sorted(declared_names(few.body))
                copies = [
                    Copy(few.symbol, few.start + k, own, names, is_first=k == 0)
                    for k in range(count)
                ]
                body = tuple(s for statement in few.body for s in _statement(statement, copies))
                return replace(loop, body=body)
        case _:
            pass
    return loop


def _may_jam(rows: For, machine: Machine) -> bool:
    """True if a loop over independent rows reduces each of them, by little work, and is long."""
    return trips(rows) >= machine.fewest_jammed_rows and _reduces(rows, machine)


def _reduces(rows: For, machine: Machine) -> bool:
    """True if a loop over independent rows reduces each of them, by little work."""
    if rows.simd or rows.limit is not None:
        return False
    if any(isinstance(s, Declare) and s.symbol is not None for s in rows.body):
        return False
    loops = [s for s in rows.body if isinstance(s, For)]
    others = [s for s in rows.body if not isinstance(s, For)]
    return (
        bool(loops)
        and len(others) <= machine.most_jammed_statements
        and all(isinstance(s, Declare | Store) for s in others)
        and all(_is_reduction(loop, rows, machine) for loop in loops)
        and not _leaves_cache(loops, rows, machine)
        and is_independent(rows)
    )


def _is_reduction(loop: For, rows: For, machine: Machine) -> bool:
    """True if a loop does nothing but update accumulators, cheaply: one in lanes by numbers that
    lie side by side, or one of the user's, whose additions wait for one another anyway."""
    is_chain = not loop.simd and not loop.independent
    if rows.symbol in symbols_of(loop.start) | symbols_of(loop.stop):
        return False
    strides = [
        last_axis_stride(load.index, loop.symbol)
        for s in loop.body
        for load in loads(s)
        if load.index
    ]
    is_in_order = is_chain or all(stride in (0, 1) for stride in strides)
    return is_in_order and is_cheap_chain(loop, machine)


def is_cheap_chain(loop: For, machine: Machine) -> bool:
    """True if a loop does nothing but update accumulators, by little work on each element, in lanes
    or in the user's order."""
    if not (loop.simd or loop.ordered) or loop.lanes or loop.near or loop.limit is not None:
        return False
    if trips(loop) < machine.shortest_jammed_row:
        return False
    own = declared_names(loop.body)
    chains = {s.target for s in loop.body if isinstance(s, Update)}
    if len(chains) * machine.jammed_rows > machine.most_jammed_chains:
        return False
    for statement in loop.body:
        match statement:
            case Declare(symbol=None):
                pass
            case Update(target=Ref(name=name)) if name not in own:
                pass
            case _:
                return False
    costs = [expression_cost(e) for s in loop.body for e in expressions(s)]
    is_cheap = sum(c.flops for c in costs) <= machine.most_jammed_row_flops
    return is_cheap and not any(c.transcendentals for c in costs)


def _leaves_cache(loops: list[For], rows: For, machine: Machine) -> bool:
    """True if several loops read the rows of a group, which the second cache does not hold: one row
    is there when it is read again."""
    read = [_row_bytes(loop, rows) for loop in loops]
    return len(loops) > 1 and machine.jammed_rows * max(read) > machine.l2_bytes


def _row_bytes(loop: For, rows: For) -> int:
    """The bytes of a row that a loop reads."""
    own = {load for s in loop.body for load in loads(s) if rows.symbol in _symbols(load.index)}
    return trips(loop) * sum(load.dtype.itemsize for load in own)


def _symbols(index: Shape) -> set[Symbol]:
    return {symbol for part in index for symbol in symbols_of(part)}


def _jammed(rows: For, names: Names, machine: Machine) -> Iterator[Statement]:
    """The loop over groups of rows, and the one over the rows that remain."""
    inner = names.inner()
    height = machine.jammed_rows
    whole = floor_divide(rows.extent, height)
    group = Symbol(inner.new("group"), 0, whole)
    first = Dim.of(group) * height + rows.start
    own = sorted(declared_names(rows.body))
    copies = [Copy(rows.symbol, first + k, own, inner, is_first=k == 0) for k in range(height)]
    body = tuple(s for statement in rows.body for s in _statement(statement, copies))
    yield replace(rows, symbol=group, start=0, stop=whole, body=body)
    rest: Index = rows.start + whole * height
    if rest != rows.stop:
        yield replace(rows, start=rest, parallel=False, threads=0)


class Copy:
    """One iteration of a group: its statements have its number, and scalars of their own, the first
    one those that were there."""

    def __init__(
        self, symbol: Symbol, number: Index, own: Iterable[str], names: Names, *, is_first: bool
    ) -> None:
        self._row, self._number = symbol, number
        self._names = {n: n if is_first else names.new(n) for n in own}

    def name(self, name: str) -> str:
        """The name of a scalar in this iteration."""
        return self._names.get(name, name)

    def statement(self, statement: Statement) -> Statement:
        """The statement for this iteration."""

        def on_expr(expr: Expr) -> Expr:
            return replace(expr, name=self.name(expr.name)) if isinstance(expr, Ref) else expr

        def on_index(index: Index) -> Index:
            return substitute(index, {self._row: self._number})

        mapped = map_statement(statement, on_expr, on_index)
        return (
            replace(mapped, name=self.name(mapped.name)) if isinstance(mapped, Declare) else mapped
        )


def _statement(statement: Statement, copies: list[Copy]) -> Iterator[Statement]:
    """A statement for each row; a loop with the bodies of all of them."""
    if not isinstance(statement, For):
        yield from (copy.statement(statement) for copy in copies)
        return
    body = tuple(copy.statement(s) for copy in copies for s in statement.body)
    reductions = tuple((op, c.name(name)) for op, name in statement.reductions for c in copies)
    yield replace(statement, body=body, reductions=reductions)
