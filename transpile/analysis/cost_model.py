"""Cost model: operations and memory traffic, counted over fused loops.

An elementwise operation is one flop an element, elementary functions count as transcendentals, a
reduction of n elements is n - 1, a product of (m, k) by (k, n) is 2*m*n*k; views, constants and
copies are free. Costs of a body are multiplied by trip counts, so that they are exact for static
shapes.
"""

from __future__ import annotations

from collections.abc import Collection

from transpile.ir.calls import Call
from transpile.ir.dims import Index, Symbol, bounds, falling_symbols, substitute, symbols_of
from transpile.ir.indices.estimates import estimate
from transpile.ir.indices.row_major import product
from transpile.ir.indices.values import as_index
from transpile.ir.loop_ir import (
    Apply,
    Declare,
    Expr,
    For,
    If,
    Kernel,
    Load,
    Program,
    Statement,
    Store,
    Update,
    While,
)
from transpile.ir.loop_rewrite import (
    children,
    expressions,
    loads,
    parts,
    seen_by,
    subexpressions,
    walk,
    written,
)
from transpile.ir.primitive import TABLE
from transpile.machine import Machine
from transpile.util.frozen_records import dataclass, memoized

# A trip count of this size comes from a bound that is known at run time only.
UNBOUNDED = 1 << 62
# The assumed trip count of a while loop: with the weights, it makes the unit of work, in which the
# thresholds of a machine are.
TURNS = 10
# The time of a memory access, relative to a vector addition (`Primitive.weight`).
_ACCESS_WEIGHT = 2
# The operations of a routine in the time of a vector addition.
_FLOPS_OF_CALL = 8


@dataclass(frozen=True)
class Cost:
    """Operations and memory traffic."""

    flops: int = 0
    transcendentals: int = 0
    bytes: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.flops + other.flops,
            self.transcendentals + other.transcendentals,
            self.bytes + other.bytes,
        )


def trips(loop: For) -> int:
    """An upper bound of a loop's trip count, or an estimate; 1 if only run-time values bound it."""
    times = estimate(loop.extent)
    if _is_bounded(loop):
        times = min(times, estimate(loop.symbol.extent or 0))
    return times if times < UNBOUNDED // 2 else 1


def _is_bounded(loop: For) -> bool:
    """True if the range of the index is known, whatever the loop's end is."""
    return isinstance(loop.symbol.extent, int) and loop.start == 0


def expression_cost(expr: Expr) -> Cost:
    """The operations of an expression."""
    flops = transcendentals = 0
    for part in subexpressions(expr):
        if isinstance(part, Apply):
            primitive = part.primitive
            transcendentals += primitive.transcendental
            flops += 0 if primitive.transcendental else primitive.cost
    return Cost(flops, transcendentals)


def body_cost(body: tuple[Statement, ...], symbols: dict[Symbol, int] | None = None) -> Cost:
    """The operations of statements, multiplied by trip counts."""
    total = Cost()
    for statement in body:
        inner = Cost()
        for expr in expressions(statement):
            inner = inner + expression_cost(expr)
        match statement:
            case For():
                inside = body_cost(statement.body)
                times = trips(statement)
                inner = Cost(inside.flops * times, inside.transcendentals * times)
            case Update(op=op) if op != "set":
                inner = inner + Cost(flops=TABLE[op].cost)
            case Declare(constant=False):
                inner = inner + Cost(flops=-1)
            case Call():
                inner = Cost(flops=estimate(statement.flops))
            case If():  # one of its branches runs, and often both compute the same in other ways
                branches = map(body_cost, (statement.body, statement.orelse))
                inner = inner + max(branches, key=lambda c: c.flops + c.transcendentals)
            case _:
                inner = inner + body_cost(children(statement))
        total = total + inner
    return total


def kernel_bytes(program: Program, kernel: Kernel) -> int:
    """The bytes that a kernel reads and writes, each element once, without scratch memory."""
    buffers = seen_by(program, kernel)
    accessed: dict[tuple[str, bool, tuple[Index, ...]], int] = {}

    def seen(access: tuple[str, bool, tuple[Index, ...]], loops: tuple[For, ...]) -> None:
        # Versions of a loop, and what it leaves over, have the same subscripts.
        accessed[access] = max(accessed.get(access, 0), _elements(access[2], loops))

    def visit(body: tuple[Statement, ...], loops: tuple[For, ...]) -> None:
        for statement in body:
            writes, reads = written(statement), list(loads(statement))
            if isinstance(statement, Call):
                # Not arrays of the kernel's own, as which a schedule keeps parts of others.
                for name in ({load.buffer for load in reads} - statement.scratch) & buffers.keys():
                    accessed[name, name in writes, ()] = estimate(product(buffers[name].shape))
                continue
            for load in reads:
                seen((load.buffer, False, load.index), loops)
            for name in writes:
                index = _target(statement)
                seen((name, True, index), loops)
            if isinstance(statement, For):
                visit(statement.body, (*loops, statement))
            else:
                visit(children(statement), loops)

    visit(kernel.body, ())
    moved: dict[tuple[str, bool], int] = {}
    for (name, is_written, _), elements in accessed.items():
        if name in buffers:
            moved[name, is_written] = moved.get((name, is_written), 0) + elements
    return sum(
        min(elements, estimate(product(buffers[name].shape))) * buffers[name].dtype.itemsize
        for (name, _), elements in moved.items()
    )


def _elements(index: tuple[Index, ...], loops: tuple[For, ...]) -> int:
    """The number of elements that an access touches in all iterations of the enclosing loops. A
    subscript that is read from an array may differ in each of them."""
    used = {symbol for part in index for symbol in symbols_of(part)}
    for loop in reversed(loops):  # a loop over a block: which one it is, an outer loop says
        if loop.symbol in used and isinstance(loop.extent, int):
            used |= symbols_of(loop.start)
    own = {loop.symbol for loop in loops}
    from_array = any(s.extent is not None for s in used - own)
    return estimate(product(trips(loop) for loop in loops if from_array or loop.symbol in used))


def _target(statement: Statement) -> tuple[Index, ...]:
    if isinstance(statement, Store):
        return statement.index
    if isinstance(statement, Update) and isinstance(statement.target, Load):
        return statement.target.index
    return ()


def program_cost(program: Program) -> Cost:
    """The operations and memory traffic of a program."""
    total = Cost()
    for kernel in program.kernels:
        total = total + body_cost(kernel.body) + Cost(bytes=kernel_bytes(program, kernel))
    return total


@memoized
def work(statement: Statement) -> int:
    """An estimate of a statement's time, relative to a vector addition."""
    times = 1
    if isinstance(statement, For):
        times = trips(statement)
    elif isinstance(statement, While):
        times = TURNS
    return _own_work(statement) + times * sum(map(work, children(statement)))


def function_work(body: tuple[Statement, ...]) -> int:
    """The time of the elementary functions of statements, in vector additions."""
    inside = (part for s in body for part in parts(s) if isinstance(part, Apply))
    return sum(part.primitive.weight for part in inside if part.primitive.transcendental)


def _own_work(statement: Statement) -> int:
    own = _ACCESS_WEIGHT * (len(loads(statement)) + len(written(statement)))
    for part in parts(statement):
        if isinstance(part, Apply):
            own += part.primitive.weight
    return own


def work_for_sizes(
    statement: Statement,
    sizes: Collection[Symbol],
    by_limits: bool = False,
    variables: frozenset[Symbol] = frozenset(),
) -> Index:
    """The estimate `work`, as a polynomial in runtime sizes, and in variables that loops end at.
    `by_limits`: the loop over a block is taken to go on to the end of all blocks, which is less
    than a block for small sizes."""
    times: Index = 1
    if isinstance(statement, For):
        extent = statement.extent
        if by_limits and statement.limit is not None:
            extent = statement.limit - statement.start
        times = largest_of(extent, {*sizes, *variables})
        is_told = symbols_of(times) <= {*sizes} and not _is_bounded(statement)
        is_told = is_told and (symbols_of(extent) <= {*sizes} or bounds(extent)[1] is None)
        if symbols_of(extent).isdisjoint(variables) and not (is_told and symbols_of(times)):
            times = trips(statement)
    if isinstance(statement, While):
        times = TURNS
    inner: Index = 0
    for child in children(statement):
        inner = inner + work_for_sizes(child, sizes, by_limits, variables)
    if isinstance(statement, Call):
        inner = largest_of(statement.flops, sizes) // _FLOPS_OF_CALL
    return times * inner + _own_work(statement)


def surrounding_ends(loop: For) -> frozenset[Symbol]:
    """The numbers of its surroundings that a loop, or one inside it, begins or ends at."""
    inside = [s for s in walk((loop,)) if isinstance(s, For)]
    ends = (symbols_of(end) for s in inside for end in (s.start, s.stop, s.limit or 0))
    own = {s.symbol for s in inside}
    own |= {s.symbol for s in walk(loop.body) if isinstance(s, Declare) and s.symbol is not None}
    return frozenset[Symbol]().union(*ends) - own


def largest_of(extent: Index, sizes: Collection[Symbol]) -> Index:
    """A trip count, or a number of operations, where the symbols that are no sizes, as the indices
    of loops around it, make it large."""
    for _ in range(4):
        ends: dict[Symbol, Index] = {}
        falling = falling_symbols(extent)
        for symbol in (s for s in symbols_of(extent) if s not in sizes):
            last = symbol.lower if symbol.extent is None else symbol.extent - 1
            ends[symbol] = symbol.lower if symbol in falling else last
        extent = substitute(extent, ends)
    return extent


def work_of_brief(program: Program, machine: Machine) -> tuple[Index, ...]:
    """Estimates `work` of a program in its runtime sizes, if it takes so little time for some of
    them, whatever its values are, that other threads may wait for it: if one of these is small."""
    every = [s for kernel in program.kernels for s in walk(kernel.body)]
    if any(isinstance(s, While) or (isinstance(s, Call) and not s.is_steady) for s in every):
        return ()
    sizes = {*program.sizes}
    extents = [largest_of(s.extent, sizes) for s in every if isinstance(s, For)]
    if not all(symbols_of(extent) <= sizes for extent in extents):
        return ()
    if any((bounds(extent)[1] or 0) >= UNBOUNDED // 2 for extent in extents):
        return ()
    statements = [s for kernel in program.kernels for s in kernel.body]
    estimates: list[Index] = []
    for by_limits in (False, True) if sizes else (False,):
        total: Index = 0
        for statement in statements:
            total = total + _work_of_versions(statement, sizes, by_limits)
        least = substitute(total, {size: size.lower for size in sizes})
        if isinstance(least, int) and least < machine.least_lengthy_work:
            estimates.append(total)
    return tuple(dict.fromkeys(estimates))


def _work_of_versions(statement: Statement, sizes: Collection[Symbol], by_limits: bool) -> Index:
    """`work_for_sizes`, where what is done for n > 1 alone counts n - 1 times: not for n = 1, and
    more than it takes for greater ones, which are not brief then."""
    total = work_for_sizes(statement, sizes, by_limits)
    match statement:
        case If(condition=Apply(args=(x, y)) as condition, body=body, orelse=others):
            one, other, signs = as_index(x), as_index(y), condition.primitive.signs
        case _:
            return total
    if one is None or other is None or (0 in signs) == (1 in signs):
        return total
    beyond = one - other
    low = bounds(beyond)[0]
    if low is None or low < 0:
        return total
    for larger in body if 1 in signs else others:
        total = total + (beyond - 1) * work_for_sizes(larger, sizes, by_limits)
    return total
