"""Pack columns that expensive loops read into blocks, which vector lanes read in order.

A loop over rows that reads columns of them finds its elements far apart. Compilers put few such
loops into lanes, and some by loading whole rows: gcc 12 refuses two columns of rows of 5 elements,
and one of rows of 16. For a cheap body that hardly matters; an elementary function takes four to
eight times as long. So a first loop copies the elements of a block into local arrays, and a second
one reads those:

    for i: out[i] = exp(x[i, 0]) * exp(x[i, 3])
    for block: for i in block: a[i - first] = x[i, 0], b[i - first] = x[i, 3]
               for i in block: out[i] = exp(a[i - first]) * exp(b[i - first])

A loop around other loops has no lanes: what is expensive in it beside them, such as one column of a
row that is copied, is computed in a loop of its own in the same way:

    for i: y[i, 0] = exp(a[i]);  for j in 1..n: y[i, j] = x[i, j]
    for block: for i in block: e[i - first] = exp(a[i])
               for i in block: y[i, 0] = e[i - first];  for j in 1..n: y[i, j] = x[i, j]

Numbers of one or two bytes are widened in the same way where functions are computed in wider
floats in a short loop: a vector of bytes has so many lanes that most of the loop would be its rest,
which compilers finish number by number:

    for i in 0..52: out[i] = exp(f64(x[i]))
    for i in 0..52: wide[i] = f64(x[i])
    for i in 0..52: out[i] = exp(wide[i])

Blocks are short, so that a processor begins to load the next one while it computes. Only elements
that the loop does not write, and that are there in every iteration. One column of rows whose length
is no power of two stays as it is: compilers load its elements into lanes one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from transpile.analysis.cost_model import function_work
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import NO_LANES, OF_LOOPS, STACK_BOUNDED, SUBEXPRESSIONS_SHARED
from transpile.ir.dims import Index, is_within, symbols_of
from transpile.ir.indices.row_major import row_major, step_of
from transpile.ir.loop_ir import (
    Apply,
    Buffer,
    Declare,
    Expr,
    For,
    Kernel,
    Load,
    Program,
    Ref,
    Statement,
    Store,
    Update,
)
from transpile.ir.loop_rewrite import (
    declared_names,
    is_independent,
    loads,
    loads_of,
    map_kernels,
    names_in,
    parts,
    seen_by,
    subexpressions,
    walk,
    with_bodies,
    written,
)
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.domain.staged_values import staged, staged_in_blocks
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, same


@contract(requires=(NO_LANES,), destroys=(*OF_LOOPS, SUBEXPRESSIONS_SHARED, STACK_BOUNDED))
def pack_columns(program: Program, options: Options) -> Program:
    """The program with expensive loops reading packed blocks of columns."""
    machine = options.machine
    names = Names(names_in(program))

    def packed(kernel: Kernel) -> Kernel:
        buffers = seen_by(program, kernel)
        body = tuple(_body(kernel.body, buffers, names, machine))
        return changed(kernel, body=same(kernel.body, body))

    return map_kernels(program, packed)


def _body(
    body: tuple[Statement, ...], buffers: Mapping[str, Buffer], names: Names, machine: Machine
) -> Iterator[Statement]:
    for statement in body:
        found: tuple[Expr, ...] = ()
        if isinstance(statement, For):
            found = (
                _columns(statement, buffers, machine)
                or _values(statement, machine)
                or _narrow(statement, buffers, machine)
            )
            pairs = tuple(_packed(statement, found, names, machine)) if found else (statement,)
        if found and pairs != (statement,):
            is_done = isinstance(statement, For) and not any(
                isinstance(s, For) for s in statement.body
            )
            # values may be of columns
            yield from pairs if is_done else _body(pairs, buffers, names, machine)
        else:
            yield with_bodies(statement, lambda inner: tuple(_body(inner, buffers, names, machine)))


def _values(loop: For, machine: Machine) -> tuple[Expr, ...]:
    """The expensive values that a loop around others stores or names, if nothing that the loop
    makes is needed for them."""
    if not any(isinstance(s, For) for s in loop.body) or not is_independent(loop):
        return ()
    own = {name for s in walk(loop.body) for name in written(s)} | declared_names(loop.body)
    values = [s.value for s in loop.body if isinstance(s, Store | Declare)]
    return tuple(dict.fromkeys(v for v in values if _is_worth_lanes(v, own, machine)))


def _is_worth_lanes(value: Expr, own: set[str], machine: Machine) -> bool:
    """True for an expensive value that reads nothing of these names."""
    inside = list(subexpressions(value))
    used = {p.buffer for p in inside if isinstance(p, Load)}
    used |= {p.name for p in inside if isinstance(p, Ref)}
    used |= {symbol.name for p in loads_of(value) for i in p.index for symbol in symbols_of(i)}
    cost = sum(p.primitive.weight for p in inside if isinstance(p, Apply))
    return cost >= machine.least_packed_work and own.isdisjoint(used)


def _columns(loop: For, buffers: Mapping[str, Buffer], machine: Machine) -> tuple[Load, ...]:
    """The elements that are worth packing of those that a loop reads; none if its body is cheap, or
    iterations depend on each other."""
    if loop.ordered or not all(isinstance(s, Store | Declare | Update) for s in loop.body):
        return ()
    inside = [part for s in loop.body for part in parts(s)]
    cost = sum(part.primitive.weight for part in inside if isinstance(part, Apply))
    if cost < machine.least_packed_work:
        return ()
    computed = {s.symbol for s in loop.body if isinstance(s, Declare)}
    own = {name for s in loop.body for name in written(s)}
    groups: dict[tuple[str, Index], dict[Load, None]] = {}
    for load in (load for s in loop.body for load in loads(s)):
        if load.buffer not in buffers or load.buffer in own:
            continue
        used = {symbol for i in load.index for symbol in symbols_of(i)}
        shape = buffers[load.buffer].shape
        stride = step_of(row_major(load.index, shape), loop.symbol)
        if not isinstance(stride, int) or abs(stride) < machine.shortest_packed_stride:
            continue
        if computed.isdisjoint(used) and all(map(is_within, load.index, shape)):
            groups.setdefault((load.buffer, stride), {})[load] = None
    worth = [g for (_, stride), g in groups.items() if len(g) > 1 or _is_hard(stride, g, machine)]
    columns = tuple(load for group in worth for load in group)
    return columns if len(columns) <= machine.most_packed else ()


def _narrow(loop: For, buffers: Mapping[str, Buffer], machine: Machine) -> tuple[Apply, ...]:
    """The conversions of narrow numbers that an expensive short loop makes in every iteration."""
    extent = loop.extent
    if not isinstance(extent, int) or extent > machine.packed_block:
        return ()
    if loop.ordered or not all(isinstance(s, Store | Declare | Update) for s in loop.body):
        return ()
    if function_work(loop.body) < machine.least_packed_work:
        return ()
    computed = {s.symbol for s in loop.body if isinstance(s, Declare)}
    own = {name for s in loop.body for name in written(s)}
    found: dict[Apply, None] = {}
    for part in (part for s in loop.body for part in parts(s)):
        match part:
            case Apply(op="convert_element_type", args=(Load(dtype=narrow) as load,)):
                used = {symbol for i in load.index for symbol in symbols_of(i)}
                lanes = machine.vector_bytes // 2 // narrow.itemsize
                is_widened = narrow.itemsize <= 2 and part.dtype.itemsize > 2
                if (
                    not is_widened
                    or extent % lanes == 0
                    or load.buffer not in buffers
                    or load.buffer in own
                ):
                    continue
                shape = buffers[load.buffer].shape
                is_there = all(map(is_within, load.index, shape))
                if loop.symbol in used and computed.isdisjoint(used) and is_there:
                    found[part] = None
            case _:
                pass
    return tuple(found) if len(found) <= machine.most_packed else ()


def _is_hard(stride: Index, group: Mapping[Load, None], machine: Machine) -> bool:
    """True for a stride of two vectors or more that is a power of two."""
    (load,) = group
    elements = abs(stride) if isinstance(stride, int) else 0
    is_power = elements & (elements - 1) == 0
    return is_power and elements * load.dtype.itemsize > machine.vector_bytes


def _packed(
    loop: For, columns: tuple[Expr, ...], names: Names, machine: Machine
) -> Iterator[Statement]:
    """The loop with packed columns, or values: a pair of loops if it is short, a loop over blocks
    of pairs if it is long."""
    extent, size = loop.extent, machine.packed_block
    values = {column: _name(column) for column in columns}
    if not isinstance(extent, int) or extent < machine.shortest_packed:
        yield loop
    elif extent <= size:
        yield from staged(loop, extent, values, names)
    elif loop.limit is None or extent % size == 0:
        yield staged_in_blocks(loop, extent, size, values, names)
    else:
        yield loop


def _name(packed: Expr) -> str:
    match packed:
        case Load(buffer=buffer):
            return f"{buffer}_column"
        case Apply(op="convert_element_type", args=(Load(buffer=buffer),)):
            return f"{buffer}_wide"
        case _:
            return "value"
