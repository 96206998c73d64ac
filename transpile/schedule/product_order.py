"""Products in NumPy's order, where the order decides whether they overflow.

Lanes and blocks have products of their own. One that is infinite meets one that is 0, and the
result is NaN, where NumPy, which multiplies one number after the other, has been 0 since the first
0. So a product that did not stay in the range of its dtype is computed again, in order:

    for i simd multiply:acc: acc *= x[i]
    if not (least <= |acc| <= largest):
        acc = 1
        for block in order:
            if acc is finite and not 0:
                for i in block in order: acc *= x[i]
            else:
                limit = |acc|;  for i in block simd multiply:acc: acc *= limit * x[i]

`limit * x[i]` is 0, an infinity or NaN, and so is each product of these in any order: once the
running product is one of them, it takes lanes again. Runs after `vectorize_loops`. What a loop
overwrites it cannot read again: its product is not reordered in the first place.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from transpile.analysis.cost_model import trips
from transpile.ir.calls import Call
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import INNERMOST_LANES, LANES_BOUND, ONE_VERSION, STACK_BOUNDED
from transpile.ir.dims import Dim, Symbol
from transpile.ir.indices.row_major import blocks_of
from transpile.ir.loop_ir import (
    Alloc,
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
    Swap,
    Update,
    While,
)
from transpile.ir.loop_rewrite import (
    children,
    declared_name,
    loads,
    map_bodies,
    map_statement,
    names_in,
    names_read,
    walk,
    with_bodies,
    written,
)
from transpile.ir.types import BOOL
from transpile.machine import Machine
from transpile.options import Options
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import replace

Body = tuple[Statement, ...]


# Its loops in order are a second copy of what is in lanes, local arrays and all.
@contract(requires=(LANES_BOUND, INNERMOST_LANES, ONE_VERSION), destroys=(STACK_BOUNDED,))
def restore_product_order(program: Program, options: Options) -> Program:
    """The program whose products are those of NumPy's order where they leave the range of their
    dtype; unchanged under `fast_math`, which has no infinities."""
    if options.fast_math:
        return program
    names = Names(names_in(program))
    return map_bodies(program, lambda body: _in_body(body, frozenset(), names, options.machine))


def may_repeat(loop: For) -> bool:
    """True if what the loop computes can be computed again: it overwrites nothing that it reads."""
    is_plain = not any(isinstance(s, Call | While | Swap) for s in walk((loop,)))
    return is_plain and _written((loop,)).isdisjoint(_read((loop,)))


def products_in(statements: Body) -> set[str]:
    """The accumulators of products whose partial results may leave the range of their dtype."""
    updates = (s for s in walk(statements) if isinstance(s, Update) and _leaves_range(s))
    return {s.target.name for s in updates if isinstance(s.target, Ref)}


def _leaves_range(statement: Update) -> bool:
    primitive, dtype = statement.primitive, statement.target.dtype
    return primitive is not None and dtype.kind in primitive.leaves_range


def _in_body(body: Body, done: frozenset[str], names: Names, machine: Machine) -> Body:
    """The statements of a body, each product that they reorder behind the one in order. Those that
    are `done` are parts of one outside."""
    starts = {s.name: s for s in body if isinstance(s, Declare) and not s.constant}
    products = [_Product(body, starts[n]) for n in sorted(products_in(body) & starts.keys() - done)]
    products = [p for p in products if p.is_reordered]
    behind: dict[int, list[Statement]] = {}
    for product in products:
        again = product.in_order(names, machine)
        if again is None:
            body = tuple(_without_lanes(s, product.start.name) for s in body)
        else:
            behind.setdefault(product.last, []).append(again)
            done |= product.parts
    result: list[Statement] = []
    for position, statement in enumerate(body):
        result.append(with_bodies(statement, lambda b: _in_body(b, done, names, machine)))
        result += behind.get(position, ())
    return tuple(result)


def _without_lanes(statement: Statement, name: str) -> Statement:
    """The statement with loops that multiply an accumulator out of lanes."""
    if isinstance(statement, For) and any(name == own for _, own in statement.reductions):
        return replace(statement, simd=False, lanes=0, reductions=())
    return with_bodies(statement, lambda body: tuple(_without_lanes(s, name) for s in body))


class _Product:
    """The statements of a body that multiply an accumulator, which the body declares.

    last     the position of the last one
    parts    the accumulators of its blocks
    """

    def __init__(self, body: Body, start: Declare) -> None:
        self.body = body
        self.start = start
        self.target = Ref(start.name, start.dtype)
        self.positions = [k for k, s in enumerate(body) if self._multiplies(s)]
        self.last = self.positions[-1]
        self.blocks = {k: _blocks_of(body[k], self.target, body[:k]) for k in self.positions}
        self.parts = frozenset(part for _, part in filter(None, self.blocks.values()))

    def _multiplies(self, statement: Statement) -> bool:
        return any(isinstance(s, Update) and s.target == self.target for s in walk((statement,)))

    @property
    def is_reordered(self) -> bool:
        """True if lanes or blocks have products of their own."""
        loops = (s for k in self.positions for s in walk((self.body[k],)) if isinstance(s, For))
        in_lanes = any(self.target.name == name for loop in loops for _, name in loop.reductions)
        return in_lanes or bool(self.parts)

    def in_order(self, names: Names, machine: Machine) -> If | None:
        """The product in order, where it left its range; None if it cannot be computed again."""
        again: list[Statement] = [Update(self.target, "set", self.start.value)]
        for position in self.positions:
            statement, blocks = self.body[position], self.blocks[position]
            if blocks is not None:
                statement = _renamed(blocks[0], blocks[1], self.target)
            again += (
                _in_order(s, self.target, names, machine)
                for s in _slice((statement,), self.target.name)
            )
        first = self.body.index(self.start)
        around = self.body[first : self.last + 1]
        others = [s for k, s in enumerate(around, first) if k not in self.positions]
        if any(self.target.name in names_read(s) for s in others) or any(
            isinstance(s, Call | While | Swap) for s in walk(around)
        ):
            return None
        overwritten = _written(around) & (_read(tuple(again)) - _declared(tuple(again)))
        return None if overwritten else If(_left_range(self.target), tuple(again))


def _blocks_of(statement: Statement, target: Ref, before: Body) -> tuple[For, str] | None:
    """The loop over blocks whose partial products a loop multiplies, and the name of those."""
    if not isinstance(statement, For):
        return None
    values = [s.value for s in statement.body if isinstance(s, Update) and s.target == target]
    if len(values) != 1 or not isinstance(values[0], Load):
        return None
    index = (Dim.of(statement.symbol),)
    for loop in before:
        if isinstance(loop, For) and loop.symbol == statement.symbol:
            for s in loop.body:
                if isinstance(s, Store) and (s.buffer, s.index) == (values[0].buffer, index):
                    return (loop, s.value.name) if isinstance(s.value, Ref) else None
    return None


def _renamed(blocks: For, part: str, target: Ref) -> For:
    """The loop over blocks that multiplies the target itself."""

    def rename(expr: Expr) -> Expr:
        return target if isinstance(expr, Ref) and expr.name == part else expr

    def in_lanes(statement: Statement) -> Statement:
        if isinstance(statement, For):
            own = ((op, target.name if n == part else n) for op, n in statement.reductions)
            statement = replace(statement, reductions=tuple(own))
        return with_bodies(statement, lambda body: tuple(map(in_lanes, body)))

    kept = (s for s in blocks.body if declared_name(s) != part)
    return replace(blocks, body=tuple(in_lanes(map_statement(s, rename)) for s in kept))


def _slice(statements: Body, name: str) -> Body:
    """The statements on which a scalar depends, without stores to what is not local."""
    wanted, before = {name}, 0
    kept: Body = ()
    while before != len(wanted):  # an iteration may need what is made later in the one before
        before = len(wanted)
        kept = _kept_of(wanted, statements)
    return kept


def _kept_of(wanted: set[str], body: Body) -> Body:
    return tuple(_kept(body, wanted))[::-1]


def _kept(statements: Body, wanted: set[str]) -> Iterator[Statement]:
    """The statements that the wanted scalars and arrays need, the last one first; what these read
    is wanted, too."""
    for statement in reversed(statements):
        match statement:
            case For() | If():
                statement = with_bodies(statement, partial(_kept_of, wanted))
                if not children(statement):
                    continue
                if isinstance(statement, For):
                    own = tuple((op, n) for op, n in statement.reductions if n in wanted)
                    statement = replace(statement, reductions=own)
            case Declare(name=name) | Alloc(buffer=Buffer(name=name)) if name not in wanted:
                continue
            case Update(target=Ref(name=name) | Load(buffer=name)) if name not in wanted:
                continue
            case Store(buffer=name) if name not in wanted:
                continue
            case _:
                pass
        wanted |= names_read(statement) | _read((statement,))
        yield statement


def _read(statements: Body) -> set[str]:
    return {load.buffer for s in walk(statements) for load in loads(s)}


def _written(statements: Body) -> set[str]:
    return {name for s in walk(statements) for name in written(s)}


def _declared(statements: Body) -> set[str]:
    return {declared_name(s) for s in walk(statements)}


def _in_order(
    statement: Statement, target: Ref, names: Names, machine: Machine, is_inner: bool = False
) -> Statement:
    """The statement on one thread and with its iterations in order, where these multiply the
    target; innermost loops in lanes where the target is 0, an infinity or NaN already."""
    if not any(isinstance(s, Update) and s.target == target for s in walk((statement,))):
        return statement
    if not isinstance(statement, For):
        return with_bodies(
            statement,
            lambda body: tuple(_in_order(s, target, names, machine, is_inner) for s in body),
        )
    in_order = replace(
        statement,
        body=tuple(_in_order(s, target, names, machine, True) for s in statement.body),
        **_ONE_AFTER_THE_OTHER,
    )
    if not any(target.name == name for _, name in statement.reductions):
        return in_order
    if is_inner:
        return _with_lanes_after(in_order, statement, target, names)
    if statement.limit is not None or trips(statement) <= machine.product_block:
        return in_order
    number = blocks_of(statement.extent, machine.product_block)
    block = Symbol(names.inner().new("block"), 0, number)
    first = Dim.of(block) * machine.product_block + statement.start
    piece = {"start": first, "stop": first + machine.product_block, "limit": statement.stop}
    in_order, statement = replace(in_order, **piece), replace(statement, **piece)
    body = (_with_lanes_after(in_order, statement, target, names),)
    return For(block, number, body, ordered=True)


_ONE_AFTER_THE_OTHER = {
    "parallel": False,
    "collapse": 1,
    "threads": 0,
    "simd": False,
    "lanes": 0,
    "reductions": (),
    "ordered": True,
}


def _with_lanes_after(in_order: For, in_lanes: For, target: Ref, names: Names) -> If:
    """The loop in order while the target is finite and not 0, else the one in lanes."""
    limit = Ref(names.inner().new("limit"), target.dtype)

    def limited(statement: Statement) -> Statement:
        if isinstance(statement, Update) and statement.target == target:
            value = Apply("multiply", (limit, statement.value), target.dtype)
            return replace(statement, value=value)
        return with_bodies(statement, lambda body: tuple(map(limited, body)))

    own = tuple((op, name) for op, name in in_lanes.reductions if name == target.name)
    body = tuple(map(limited, in_lanes.body))
    is_finite = Apply("isfinite", (target,), BOOL)
    is_nonzero = Apply("not_equal", (target, Literal(target.dtype.type(0), target.dtype)), BOOL)
    return If(
        Apply("logical_and", (is_finite, is_nonzero), BOOL),
        (in_order,),
        (
            Declare(limit.name, Apply("absolute", (target,), target.dtype)),
            replace(in_lanes, body=body, reductions=own),
        ),
    )


def _left_range(target: Ref) -> Expr:
    """True if no part of a product is an ordinary number of its dtype: not for NaNs."""
    parts: list[Expr] = [target]
    dtype = target.dtype
    if dtype.kind == "c":
        dtype = np.zeros((), dtype).real.dtype
        parts = [Apply("real", (target,), dtype), Apply("imag", (target,), dtype)]
    sizes = [Apply("absolute", (part,), dtype) for part in parts]
    size = sizes[0] if len(sizes) == 1 else Apply("maximum", tuple(sizes), dtype)
    numbers = np.finfo(dtype)
    is_in_range = Apply(
        "logical_and",
        (
            Apply("greater_equal", (size, Literal(numbers.smallest_normal, dtype)), BOOL),
            Apply("less_equal", (size, Literal(numbers.max, dtype)), BOOL),
        ),
        BOOL,
    )
    return Apply("logical_not", (is_in_range,), BOOL)
