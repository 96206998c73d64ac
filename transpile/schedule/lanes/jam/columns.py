"""Unroll-and-jam column reductions by four rows, with accumulators in registers.

`for row: for column in strip: acc[column] += x[row][column]` loads and stores every accumulator
once a row. Unrolled by four and jammed, it does so once in four rows (Callahan, Carr and Kennedy,
Improving register allocation for subscripted variables, 1990):

    for group: for column in strip:
        own = acc[column]; for row in group: own += x[row][column]; acc[column] = own

The rows of the window of a filter overlap, and form larger groups. Each accumulator sees the same
operands in the same order. Bodies that compute much per element gain
nothing and stay. Runs after `vectorize_loops`, on what `vectorize_columns` made.
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.analysis.cost_model import expression_cost, trips
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import INNERMOST_LANES, LANES_BOUND, THREADS_BOUND
from transpile.ir.dims import Dim, Index, Shape, Symbol, floor_divide, symbols_of
from transpile.ir.loop_ir import (
    Alloc,
    Buffer,
    Declare,
    Expr,
    For,
    Load,
    Program,
    Ref,
    Statement,
    Store,
    Update,
)
from transpile.ir.loop_rewrite import (
    accesses,
    map_bodies,
    map_statement,
    names_in,
    substitute_index,
    with_bodies,
    written,
)
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.lanes.outer.column_reductions import last_axis_stride
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import replace

_Element = tuple[str, Shape]


@contract(requires=(LANES_BOUND,), destroys=(INNERMOST_LANES, THREADS_BOUND))
def unroll_and_jam(program: Program, options: Options) -> Program:
    """The program with such loops unrolled and jammed."""
    machine = options.machine
    names = Names(names_in(program))
    return map_bodies(program, lambda body: tuple(_body(body, names.inner(), {}, machine)))


def _body(
    body: tuple[Statement, ...], names: Names, around: dict[str, Buffer], machine: Machine
) -> Iterator[Statement]:
    local = around | {s.buffer.name: s.buffer for s in body if isinstance(s, Alloc)}
    for statement in body:
        match statement:
            case For(body=(For(simd=True) as strip,)) if _may_unroll(statement, strip, machine):
                elements = _accumulators(statement, strip, local, machine)
                if elements:
                    yield from _grouped(statement, strip, elements, local, names, machine)
                    continue
            case _:
                pass
        yield with_bodies(statement, lambda inner: tuple(_body(inner, names, local, machine)))


def _may_unroll(rows: For, strip: For, machine: Machine) -> bool:
    """True if a loop over rows is sequential and long, a user's one if it is that of a window;
    `_accumulators` sees what it carries."""
    ends = (strip.start, strip.stop, 0 if strip.limit is None else strip.limit)
    if rows.parallel or rows.simd or rows.limit is not None:
        return False
    if any(rows.symbol in symbols_of(end) for end in ends):
        return False
    if _are_windows(rows, strip):
        return trips(rows) >= machine.fewest_window_rows
    return not rows.ordered and trips(rows) >= machine.fewest_jammed_rows


def _accumulators(
    rows: For, strip: For, local: dict[str, Buffer], machine: Machine
) -> list[_Element]:
    """The accumulators of a strip: elements of local arrays, one for each column and array; none if
    the strip does anything else, or much work."""
    own = {s.name for s in strip.body if isinstance(s, Declare)}
    for statement in strip.body:
        match statement:
            case Declare(symbol=None) | Update(target=Load()) | Store():
                pass
            case Update(target=Ref(name=name)) if name in own:
                pass
            case _:
                return []
    cost = [expression_cost(part) for s in strip.body for part in _values(s)]
    flops = sum(c.flops for c in cost)
    if flops > machine.most_jammed_flops or any(c.transcendentals for c in cost):
        return []
    changed = {name for s in strip.body for name in written(s)}
    elements = {e: None for s in strip.body for e in accesses(s) if e[0] in changed}
    arrays = {name for name, _ in elements}
    is_one_each = len(arrays) == len(elements) <= machine.most_jammed_accumulators
    is_of_columns = all(
        name in local
        and last_axis_stride(index, strip.symbol) == 1
        and not any(rows.symbol in symbols_of(i) for i in index)
        for name, index in elements
    )
    return list(elements) if is_one_each and is_of_columns else []


def _values(statement: Statement) -> tuple[Expr, ...]:
    return (statement.value,) if isinstance(statement, Declare | Update | Store) else ()


def _grouped(
    rows: For,
    strip: For,
    elements: list[_Element],
    local: dict[str, Buffer],
    names: Names,
    machine: Machine,
) -> Iterator[Statement]:
    """The loop over groups of rows, and the remainder loop, which of a window of known width is a
    smaller group."""
    inner = names.inner()
    variables = {e: Ref(inner.new(f"{e[0]}_own"), local[e[0]].dtype) for e in elements}
    extent, is_window = rows.extent, _are_windows(rows, strip)
    height = machine.most_window_rows if is_window else machine.jammed_rows

    def jammed(first: Index, count: int) -> For:
        """The strip with a group of rows."""
        updates = tuple(_in_variables(s, variables) for s in strip.body)
        unrolled = Symbol(rows.symbol.name, 0, count)
        row = first + rows.start + Dim.of(unrolled)
        body = tuple(substitute_index(s, rows.symbol, row) for s in updates)
        loads = (
            Declare(ref.name, Load(name, index, ref.dtype), constant=False)
            for (name, index), ref in variables.items()
        )
        stores = (Store(name, index, ref) for (name, index), ref in variables.items())
        return replace(strip, body=(*loads, For(unrolled, count, body), *stores))

    whole = floor_divide(extent, height)
    if whole != 0:
        group = Symbol(inner.new("group"), 0, whole)
        yield For(group, whole, (jammed(Dim.of(group) * height, height),))
    rest = extent - whole * height
    if is_window and isinstance(rest, int) and rest > 1:
        yield jammed(whole * height, rest)
    elif rest != 0:
        yield replace(rows, start=rows.start + whole * height)


def _are_windows(rows: For, strip: For) -> bool:
    """True if the rows are those of a window, which overlap: they are in the first cache, however
    many are read side by side."""
    indices = [index for s in strip.body for _, index in accesses(s) if index]
    strides = [last_axis_stride(index, rows.symbol) for index in indices]
    columns = [last_axis_stride(index, strip.symbol) for index in indices]
    is_moving = any(row and column for row, column in zip(strides, columns, strict=True))
    return is_moving and None not in strides


def _in_variables(statement: Statement, variables: dict[_Element, Ref]) -> Statement:
    """The statement with accumulators replaced by variables."""

    def on_expr(expr: Expr) -> Expr:
        if isinstance(expr, Load):
            return variables.get((expr.buffer, expr.index), expr)
        return expr

    mapped = map_statement(statement, on_expr, lambda index: index)
    if isinstance(mapped, Store):
        return Update(variables[mapped.buffer, mapped.index], "set", mapped.value)
    return mapped
