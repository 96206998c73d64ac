"""Block full reductions: each block has a partial result, and a second loop combines those in
order.

    for i: acc += x[i]
    for block: part = 0;  for i in block: part += x[i];  parts[block] = part
    for block: acc += parts[block]

Blocks may run in parallel. They depend on sizes alone, not on the number of threads, so that
results are the same bits on every machine, and the error of a blocked sum grows more slowly than
that of one running sum (Higham, The accuracy of floating point summation, 1993). A short reduction
is one loop; where the length is a runtime size, a test before both chooses, so that results are the
bits that they are of a known length.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

from transpile.analysis.cost_model import trips
from transpile.analysis.loop_dependences import outer_updates, reads_accumulator
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import NO_LANES, OF_LOOPS, OF_TEMPORARIES
from transpile.ir.dims import Dim, Index, Symbol, symbols_of
from transpile.ir.indices.requirements import is_at_most
from transpile.ir.indices.row_major import blocks_of
from transpile.ir.indices.values import as_value
from transpile.ir.loop_ir import (
    Apply,
    Buffer,
    Declare,
    Expr,
    For,
    If,
    Literal,
    Load,
    Program,
    Ref,
    Statement,
    Store,
    Update,
)
from transpile.ir.loop_rewrite import (
    children,
    declared_name,
    is_independent,
    map_bodies,
    map_sequences,
    map_statement,
    names_in,
    walk,
)
from transpile.ir.types import BOOL, INT64
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.product_order import may_repeat, products_in
from transpile.schedule.strip_mine import block_of
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, replace, same


@contract(requires=(NO_LANES,), destroys=(*OF_LOOPS, *OF_TEMPORARIES))
def block_reductions(program: Program, options: Options) -> Program:
    """The program with its outermost reductions blocked."""
    return _with_blocks(program, options.machine, has_versions=False)


@contract(requires=(NO_LANES,), destroys=(*OF_LOOPS, *OF_TEMPORARIES))
def block_long_reductions(program: Program, options: Options) -> Program:
    """The same, but where runtime sizes make them short."""
    return _with_blocks(program, options.machine, has_versions=True)


def _with_blocks(program: Program, machine: Machine, *, has_versions: bool) -> Program:
    names = Names(names_in(program))
    temporaries = list(program.temporaries)
    in_place = program.donated or program.written
    statements = [s for kernel in program.kernels for s in walk(kernel.body)]
    local = {declared_name(s) for s in statements}
    local |= {s.symbol.name for s in statements if isinstance(s, For)}

    def sequence(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
        body: list[Statement] = []
        starts: dict[str, Declare] = {}
        for statement in statements:
            if isinstance(statement, Declare):
                starts[statement.name] = statement
            is_loop = isinstance(statement, For) and not statement.ordered
            if (
                isinstance(statement, For)
                and is_loop
                and _is_of_program(statement, local)
                and not is_independent(statement)
                and (not products_in((statement,)) or (not in_place and may_repeat(statement)))
            ):
                body += _blocked(
                    statement, starts, names, temporaries, machine, has_versions=has_versions
                )
            else:
                body.append(statement)
        return tuple(body)

    program = map_bodies(program, lambda body: map_sequences(body, sequence))
    return changed(program, temporaries=same(program.temporaries, tuple(temporaries)))


def _blocked(
    loop: For,
    starts: dict[str, Declare],
    names: Names,
    temporaries: list[Buffer],
    machine: Machine,
    *,
    has_versions: bool,
) -> Iterator[Statement]:
    """The loop over blocks and the loop that combines them; the loop itself where it has no such
    reduction, uses running values, or is too short, which may be known at run time."""
    inner = max((_elements(s) for s in loop.body), default=1)
    size = max(1, machine.sum_block // max(inner, 1))
    updates = outer_updates(loop)
    carried = reads_accumulator(loop, updates)
    if (
        not updates
        or not updates.keys() <= starts.keys()
        or loop.limit is not None
        or carried
        or trips(loop) < machine.fewest_sum_blocks * size
    ):
        yield loop
        return
    few = machine.fewest_sum_blocks * size
    blocks = tuple(_in_blocks(loop, size, starts, updates, names, temporaries))
    is_long_text = sum(1 for _ in walk(loop.body)) > machine.most_versioned_statements
    has_versions = has_versions and not is_long_text and not products_in((loop,))
    if not has_versions or is_at_most(few, loop.extent):
        yield from blocks
        return
    is_long = Apply("greater_equal", (as_value(loop.extent), Literal(few, INT64)), BOOL)
    yield If(is_long, blocks, (loop,))


def _in_blocks(
    loop: For,
    size: int,
    starts: Mapping[str, Declare],
    updates: Mapping[str, str],
    names: Names,
    temporaries: list[Buffer],
) -> Iterator[Statement]:
    """The loop over blocks of this size, and the one that combines them."""
    number = blocks_of(loop.extent, size)
    block = Symbol(names.inner().new("block"), 0, number)
    partials = {
        name: Buffer(names.new(f"{name}_parts"), (number,), starts[name].dtype) for name in updates
    }
    temporaries += partials.values()
    parts = {name: Ref(names.inner().new(f"{name}_part"), starts[name].dtype) for name in updates}
    loop = _renamed(loop, parts)
    first = Dim.of(block) * size + loop.start
    body: list[Statement] = [replace(starts[n], name=parts[n].name) for n in updates]
    if size == 1:
        body.append(_once(loop, first))
    else:
        body.append(block_of(loop, first, size))
    body += [Store(partials[n].name, (Dim.of(block),), parts[n]) for n in updates]
    yield For(block, number, tuple(body))
    yield For(
        block,
        number,
        tuple(
            Update(
                Ref(name, starts[name].dtype),
                op,
                Load(partials[name].name, (Dim.of(block),), starts[name].dtype),
            )
            for name, op in updates.items()
        ),
    )


def _is_of_program(loop: For, local: Container[str]) -> bool:
    """True if the trip count is the same whenever the loop is reached: runtime sizes are the only
    symbols in it. `local`: the variables of kernels: loop indices, and lengths of slices."""
    return all(
        (s.extent is None or isinstance(s.extent, int)) and s.name not in local
        for s in symbols_of(loop.extent)
    )


def _renamed(loop: For, parts: dict[str, Ref]) -> For:
    """The loop with its accumulators renamed to those of a block."""

    def rename(expr: Expr) -> Expr:
        return parts.get(expr.name, expr) if isinstance(expr, Ref) else expr

    return replace(loop, body=tuple(map_statement(s, rename) for s in loop.body))


def _once(loop: For, index: Index) -> Statement:
    """The loop restricted to one iteration."""
    return replace(loop, start=index, stop=index + 1)


def _elements(statement: Statement) -> int:
    """The largest number of elements that a nest inside a statement runs over."""
    times = trips(statement) if isinstance(statement, For) else 1
    return times * max((_elements(s) for s in children(statement)), default=1)
