"""Rows in registers: what a thread of a team reads again, of an array or from its own stores.

Loops that are dealt out alike give a thread the same elements each time. An array of the team's of
which each element has one thread is an array of that thread's, by its turns; an element that
several such loops load is loaded by the first one, and kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from transpile.ir.dims import Dim, Index
from transpile.ir.loop_ir import Apply, Buffer, Expr, Load, Statement, Store, Swap, Update
from transpile.ir.loop_rewrite import (
    expressions,
    loads,
    map_statement,
    walk,
    with_bodies,
    written,
)
from transpile.symbols.identifiers import Names
from transpile.targets.cuda.device_ir import (
    Body,
    DeviceStatement,
    Registers,
    Shared,
    Slice,
    Spread,
    TeamCall,
    walk_device,
)
from transpile.targets.cuda.gpu import Gpu
from transpile.targets.cuda.mapping.barriers import Thread, Who, accesses_of, thread_of
from transpile.util.frozen_records import replace


def with_registers(body: Body, gpu: Gpu, names: Names) -> Body:
    """The statements of a team, with what one thread reads again in registers."""
    return _with_loads(_with_arrays(body, gpu), gpu, names)


# ------------------------------------------------------------------------------- arrays of a team


def _with_arrays(body: Body, gpu: Gpu) -> Body:
    """The arrays of which each element has one thread, by turns."""
    made: dict[str, Registers] = {}
    for statement in body:
        if isinstance(statement, Shared | Slice):
            registers = _registers(statement.buffer, body, gpu)
            if registers is not None:
                made[statement.buffer.name] = registers
    if not made:
        return body
    return tuple(
        made[s.buffer.name]
        if isinstance(s, Shared | Slice) and s.buffer.name in made
        else _by_turn(s, {n: r.buffer for n, r in made.items()})
        if isinstance(s, Spread)
        else s
        for s in body
    )


def _registers(buffer: Buffer, body: Body, gpu: Gpu) -> Registers | None:
    """The array by turns, if all accesses to an element are the same thread's."""
    who: set[Who] = set()
    turns = 0
    for statement in body:
        found = accesses_of(statement, buffer.name)
        if not found:
            continue
        who |= found
        turns = statement.turns if isinstance(statement, Spread) else 0
        if not turns:
            return None
    if len(who) != 1 or turns * buffer.dtype.itemsize > gpu.register_bytes:
        return None
    (thread,) = who
    if not isinstance(thread, Thread) or thread.varies or not thread.differs:
        return None
    return Registers(replace(buffer, shape=(turns,)))


def _slot(spread: Spread) -> tuple[Index, ...]:
    return (0 if spread.turn is None else Dim.of(spread.turn),)


def _by_turn(spread: Spread, buffers: Mapping[str, Buffer]) -> Spread:
    """The loop with the elements of arrays by turns."""
    slot = _slot(spread)

    def on_expr(expr: Expr) -> Expr:
        is_own = isinstance(expr, Load) and expr.buffer in buffers
        return replace(expr, index=slot) if is_own else expr

    def on_store(statement: Statement) -> Statement:
        if isinstance(statement, Store) and statement.buffer in buffers:
            return replace(statement, index=slot)
        return with_bodies(statement, lambda inner: tuple(map(on_store, inner)))

    body = tuple(on_store(map_statement(s, on_expr)) for s in plain(spread.body))
    return replace(spread, body=body)


def plain(body: Body) -> tuple[Statement, ...]:
    """The statements of an iteration, which one thread runs."""
    return body  # type: ignore[return-value]


# ------------------------------------------------------------------------------ elements of arrays


def _with_loads(body: Body, gpu: Gpu, names: Names) -> Body:
    """Elements that several loops of the body load, loaded by the first one."""
    changed = {name for s in walk_device(body) for name in _changed(s)}
    kept: dict[tuple[str, Thread], Buffer] = {}
    made: list[DeviceStatement] = []
    for position, statement in enumerate(body):
        if not (isinstance(statement, Spread) and statement.turns):
            made.append(statement)
            continue
        again = {
            (load.buffer, thread)
            for later in body[position + 1 :]
            if isinstance(later, Spread) and later.turns
            for load, thread in _loaded(later)
        }
        for load in always_loaded(plain(statement.body)):
            thread = thread_of(statement, load.index)
            if load.buffer in changed or thread is None or not thread.differs:
                continue
            key = load.buffer, thread
            size = statement.turns * load.dtype.itemsize
            if key in kept or key not in again or size > gpu.register_bytes:
                continue
            row = Buffer(names.new(f"{load.buffer}_row"), (statement.turns,), load.dtype)
            kept[key] = row
            made.append(Registers(row))
            first = Store(row.name, _slot(statement), load)
            statement = replace(statement, body=(first, *statement.body))
        made.append(_from_registers(statement, kept))
    return tuple(made)


def _changed(statement: DeviceStatement) -> tuple[str, ...]:
    """The arrays that a statement itself writes."""
    match statement:
        case TeamCall(writes=writes):
            return writes
        case Store() | Update() | Swap():
            return written(statement)
        case _:
            return ()


def _loaded(spread: Spread) -> Iterator[tuple[Load, Thread]]:
    for statement in walk(plain(spread.body)):
        for load in loads(statement):
            thread = thread_of(spread, load.index)
            if thread is not None:
                yield load, thread


def always_loaded(body: tuple[Statement, ...]) -> Iterator[Load]:
    """The elements that every iteration loads: those outside of branches and choices."""
    for statement in body:
        for expr in expressions(statement):
            yield from _outside_choices(expr)


def _outside_choices(expr: Expr) -> Iterator[Load]:
    match expr:
        case Load():
            yield expr
        case Apply(op="select", args=args):
            yield from _outside_choices(args[0])
        case Apply(args=args):
            for arg in args:
                yield from _outside_choices(arg)
        case _:
            pass


def _from_registers(spread: Spread, kept: Mapping[tuple[str, Thread], Buffer]) -> Spread:
    slot = _slot(spread)

    def on_expr(expr: Expr) -> Expr:
        if not isinstance(expr, Load):
            return expr
        thread = thread_of(spread, expr.index)
        row = None if thread is None else kept.get((expr.buffer, thread))
        return expr if row is None else Load(row.name, slot, expr.dtype)

    def mapped(statement: Statement) -> Statement:
        if isinstance(statement, Store) and statement.buffer in {r.name for r in kept.values()}:
            return statement
        return map_statement(statement, on_expr)

    return replace(spread, body=tuple(map(mapped, plain(spread.body))))
