"""Costs: what a program computes and moves, counted over its fused loops.

An elementwise operation is one flop an element, elementary functions count as transcendentals, a
reduction of n elements is n - 1, a product of (m, k) by (k, n) is 2*m*n*k; views, constants and
copies are free. Loops are multiplied by their trip counts, so the counts are exact for static
shapes.
"""

from __future__ import annotations

from transpile.ir.calls import Call
from transpile.ir.dims import Index, Symbol, bounds, product, symbols_of
from transpile.ir.loop_ir import (
    Apply,
    Declare,
    Expr,
    For,
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
from transpile.util.frozen_records import dataclass, once

# A loop with more iterations than this has bounds that are known at run time only.
UNBOUNDED = 1 << 62
# How often the body of a while is taken to run.
TURNS = 10
# The time of an access to memory, an addition of vector lanes being 1 (`Primitive.weight`).
_ACCESS_WEIGHT = 2
# Programs with less work take some microseconds, or a few tens where nothing is vectorised.
_BRIEF = 30_000


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


def count(index: Index) -> int:
    """A number of iterations or elements; the largest possible for an index, 1 where unknown."""
    high = bounds(index)[1]
    return max(high, 0) if high is not None else 1


def trips(loop: For) -> int:
    """How often a loop's body runs, at most; 1 where a value decides."""
    times = count(loop.extent)
    return times if times < UNBOUNDED // 2 else 1


def expression_cost(expr: Expr) -> Cost:
    """The operations of an expression."""
    flops = transcendentals = 0
    for part in subexpressions(expr):
        if isinstance(part, Apply):
            row = part.primitive
            transcendentals += row.transcendental
            flops += 0 if row.transcendental else row.cost
    return Cost(flops, transcendentals)


def body_cost(body: tuple[Statement, ...], symbols: dict[Symbol, int] | None = None) -> Cost:
    """The operations of statements, loops multiplied out."""
    total = Cost()
    for statement in body:
        inner = Cost()
        for expr in expressions(statement):
            inner = inner + expression_cost(expr)
        match statement:
            case For():
                one = body_cost(statement.body)
                times = trips(statement)
                inner = Cost(one.flops * times, one.transcendentals * times)
            case Update(op=op) if op != "set":
                inner = inner + Cost(flops=TABLE[op].cost)
            case Declare(constant=False):
                inner = inner + Cost(flops=-1)
            case Call():
                inner = Cost(flops=count(statement.flops))
            case _:
                inner = inner + body_cost(children(statement))
        total = total + inner
    return total


def kernel_bytes(program: Program, kernel: Kernel) -> int:
    """The memory that a kernel reads and writes, each element once; scratch memory is left out."""
    buffers = seen_by(program, kernel)
    touched: dict[tuple[str, bool, tuple[Index, ...]], int] = {}

    def visit(body: tuple[Statement, ...], loops: tuple[For, ...]) -> None:
        for statement in body:
            writes, reads = written(statement), list(loads(statement))
            if isinstance(statement, Call):
                for name in {load.buffer for load in reads} - statement.scratch:
                    touched[name, name in writes, ()] = count(product(buffers[name].shape))
                continue
            for load in reads:
                touched[load.buffer, False, load.index] = _elements(load.index, loops)
            for name in writes:
                index = _target(statement)
                touched[name, True, index] = _elements(index, loops)
            if isinstance(statement, For):
                visit(statement.body, (*loops, statement))
            else:
                visit(children(statement), loops)

    visit(kernel.body, ())
    moved: dict[tuple[str, bool], int] = {}
    for (name, is_written, _), elements in touched.items():
        if name in buffers:
            moved[name, is_written] = moved.get((name, is_written), 0) + elements
    return sum(
        min(elements, count(product(buffers[name].shape))) * buffers[name].dtype.itemsize
        for (name, _), elements in moved.items()
    )


def _elements(index: tuple[Index, ...], loops: tuple[For, ...]) -> int:
    """How many elements an access touches in all iterations of the loops around it: a subscript
    from an array may be another one in each of them."""
    used = {symbol for part in index for symbol in symbols_of(part)}
    own = {loop.symbol for loop in loops}
    from_array = any(s.extent is not None for s in used - own)
    return count(product(trips(loop) for loop in loops if from_array or loop.symbol in used))


def _target(statement: Statement) -> tuple[Index, ...]:
    if isinstance(statement, Store):
        return statement.index
    if isinstance(statement, Update) and isinstance(statement.target, Load):
        return statement.target.index
    return ()


def program_cost(program: Program) -> Cost:
    """The whole program's operations and memory traffic."""
    total = Cost()
    for kernel in program.kernels:
        total = total + body_cost(kernel.body) + Cost(bytes=kernel_bytes(program, kernel))
    return total


@once
def work(statement: Statement) -> int:
    """An estimate of the time that a statement takes, an addition of vector lanes being 1."""
    own = _ACCESS_WEIGHT * (len(loads(statement)) + len(written(statement)))
    for part in parts(statement):
        if isinstance(part, Apply):
            own += part.primitive.weight
    times = 1
    if isinstance(statement, For):
        times = trips(statement)
    elif isinstance(statement, While):
        times = TURNS
    return own + times * sum(map(work, children(statement)))


def is_brief(program: Program) -> bool:
    """Tell whether a program takes so little time that others may wait for it, for all that its
    values may be."""
    every = [s for kernel in program.kernels for s in walk(kernel.body)]
    if any(isinstance(s, While | Call) for s in every):
        return False
    ends = [bounds(s.extent)[1] for s in every if isinstance(s, For)]
    if any(high is None or high >= UNBOUNDED // 2 for high in ends):
        return False
    return sum(work(s) for kernel in program.kernels for s in kernel.body) < _BRIEF
