"""Vectorise innermost loops: mark those whose iterations may run in lanes, with their reductions.

Floating-point reductions need the mark, because lanes change the order of additions; so do minima
and maxima of integers, which gcc leaves scalar otherwise. Not marked: loops that may carry a
dependence through memory, that read running values, that are too short for what they compute, or
that read several elements of each row of a wide array.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from transpile.analysis.cost_model import function_work, trips
from transpile.ir.calls import Call
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import LANES_BOUND, NO_LANES
from transpile.ir.dims import Dim, Index, Shape, substitute, symbols_of
from transpile.ir.indices.row_major import row_major
from transpile.ir.loop_ir import (
    Alloc,
    Buffer,
    Declare,
    For,
    If,
    Kernel,
    Load,
    Program,
    Ref,
    Statement,
    Store,
    Update,
    While,
)
from transpile.ir.loop_rewrite import (
    accesses,
    loads,
    map_kernels,
    may_reorder,
    parts,
    seen_by,
    walk,
    with_bodies,
)
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.lanes.outer.column_reductions import last_axis_stride
from transpile.util.frozen_records import changed, replace, same


@contract(provides=(LANES_BOUND,), destroys=(NO_LANES,))
def vectorize_loops(program: Program, options: Options) -> Program:
    """The program with its vector loops marked."""
    machine = options.machine

    def kernel(kernel: Kernel) -> Kernel:
        buffers = seen_by(program, kernel)
        body = tuple(_mark(s, buffers, machine) for s in kernel.body)
        return changed(kernel, body=same(kernel.body, body))

    return map_kernels(program, kernel)


def _mark(statement: Statement, buffers: Mapping[str, Buffer], machine: Machine) -> Statement:
    nested = isinstance(statement, For) and any(
        isinstance(s, (For, If, While, Call)) for s in statement.body
    )
    if not isinstance(statement, For) or nested or not _may_change_order(statement):
        return with_bodies(statement, lambda body: tuple(_mark(s, buffers, machine) for s in body))
    reductions = _reductions(statement)
    is_strided = _is_strided_copy(statement)
    if reductions is None or has_output_dependence(statement):
        return statement
    shortest = machine.shortest_strided_simd if is_strided else machine.shortest_simd
    length = trips(statement)
    is_left = statement.independent and not _is_long_row(statement, length, machine)
    if is_left and not (reductions and _has_runtime_strides(statement, buffers)):
        return statement
    if (
        length < shortest
        and (length - 1) * function_work(statement.body) < machine.least_saved_work
    ):
        return statement
    if _reads_wide_groups(statement, buffers, machine.widest_group):
        return statement
    is_slow = statement.ordered and any(_gathers_integers(s, statement) for s in statement.body)
    lanes = machine.strided_lanes if is_slow else 0
    return replace(statement, simd=True, lanes=lanes, reductions=reductions)


def _may_change_order(loop: For) -> bool:
    """True if iterations may be reordered: those of a user's loop only if they are independent, or
    all they do is update accumulators by operations that are exact in any order."""
    if not loop.ordered or loop.independent:
        return True
    return all(isinstance(s, Declare) or may_reorder(s) for s in loop.body)


def _is_long_row(loop: For, length: int, machine: Machine) -> bool:
    """True if a user's loop goes along rows, element by element, that compilers do not unroll: what
    else pays in lanes they know better."""
    variables = {s.symbol for s in loop.body if isinstance(s, Declare) and s.symbol is not None}
    own = variables | {loop.symbol}

    def is_along(index: Shape) -> bool:
        stride = last_axis_stride(index, loop.symbol)
        if stride not in (0, 1):
            return False
        rest = index[-1] - Dim.of(loop.symbol) * stride
        return all(own.isdisjoint(symbols_of(i)) for i in (*index[:-1], rest))

    return length >= machine.shortest_users_simd and all(
        is_along(index) for s in loop.body for _, index in accesses(s) if index
    )


def _has_runtime_strides(loop: For, buffers: Mapping[str, Buffer]) -> bool:
    """True if the loop reads elements whose distance is a runtime size: compilers leave it scalar
    unless it is marked."""
    following = {loop.symbol: Dim.of(loop.symbol) + 1}
    for load in (load for s in loop.body for load in loads(s) if load.buffer in buffers):
        offset = row_major(load.index, buffers[load.buffer].shape)
        if isinstance(substitute(offset, following) - offset, Dim):
            return True
    return False


def _gathers_integers(statement: Statement, loop: For) -> bool:
    """True if a vector of integers would be gathered element by element."""
    return any(
        load.dtype.kind in "iu" and any(loop.symbol in symbols_of(i) for i in load.index[:-1])
        for load in loads(statement)
    )


def _reads_wide_groups(loop: For, buffers: Mapping[str, Buffer], widest: int) -> bool:
    """True if an iteration reads several elements of a row of more than `widest` elements, and the
    next one those of another row: of `x[i, 0] * x[i, 1]`, where i is the loop's index."""
    groups: dict[tuple[str, int, Index], set[int]] = {}
    following = {loop.symbol: Dim.of(loop.symbol) + 1}
    for load in (load for s in loop.body for load in loads(s) if load.buffer in buffers):
        offset = row_major(load.index, buffers[load.buffer].shape)
        stride = substitute(offset, following) - offset
        if isinstance(offset, Dim) and isinstance(stride, int) and abs(stride) > widest:
            constant = dict(offset.terms).get((), 0)
            group = (load.buffer, abs(stride), offset - constant)
            groups.setdefault(group, set()).add(constant)
    return any(
        y - x < stride
        for (_, stride, _), constants in groups.items()
        for x, y in pairwise(sorted(constants))
    )


def _is_strided_copy(loop: For) -> bool:
    """True if the loop only copies elements, with a stride in source or target."""
    match loop.body:
        case (Store(index=target, value=Load(index=source)),):
            return any(loop.symbol in symbols_of(i) for i in (*target[:-1], *source[:-1]))
        case _:
            return False


def has_output_dependence(loop: For) -> bool:
    """True if iterations may write the same element, as those of a scatter do: an output
    dependence."""
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
    """The accumulators of a loop with their operations; None if lanes would change its results."""
    inside = {s.name for s in walk(loop.body) if isinstance(s, Declare)}
    ops: dict[str, str] = {}
    kinds: set[str] = set()
    for statement in loop.body:
        if isinstance(statement, Update) and isinstance(statement.target, Ref):
            name, dtype = statement.target.name, statement.target.dtype
            if name in inside:
                continue
            if name in ops or dtype.kind not in "fiub":
                return None
            ops[name] = statement.op
            kinds.add(dtype.kind)
    if kinds == {"b"}:  # gcc vectorises these better without a mark
        return None
    for statement in loop.body:
        # A running value is read, as in a scan: the order of iterations matters.
        if isinstance(statement, (Store, Declare, Update)) and any(
            isinstance(p, Ref) and p.name in ops for p in parts(statement)
        ):
            return None
    return tuple(sorted((op, name) for name, op in ops.items()))
