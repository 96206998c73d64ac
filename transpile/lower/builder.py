"""Build loops: a tree of fused loops, whose storage is assigned, becomes statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from transpile.analysis.source_lines import with_source
from transpile.errors import InternalError
from transpile.fusion.nodes import (
    Branch,
    CallBack,
    Compact,
    InRow,
    LibraryCall,
    Loop,
    LoopNode,
    Loops,
    Measure,
    Nest,
    Node,
    Reduce,
    Region,
    Scan,
    Scatter,
    nodes_of,
)
from transpile.ir.dims import Dim, Shape, Symbol
from transpile.ir.indices.values import convert
from transpile.ir.loop_ir import Alloc, Declare, Expr, For, If, Literal, Ref, Statement, Update
from transpile.ir.loop_rewrite import map_expr
from transpile.ir.types import INT64
from transpile.lower import control_flow
from transpile.lower.callbacks import call_back
from transpile.lower.library_calls import library_call
from transpile.lower.storage import BranchStorage, Frame, LoopStorage
from transpile.lower.writer import Writer, start_of
from transpile.symbols.identifiers import Names

Items = Sequence[Nest | Node]


def kernel_body(frame: Frame, names: Names, items: Items, depth: int) -> tuple[Statement, ...]:
    """The statements of a kernel, in which no number has the name of a loop; loops stand in one
    another up to this depth."""
    scope = names.inner()
    writer = Writer(frame, names, scope)
    for level in range(depth):
        scope.new(writer.loop_name(level))
    return tuple(_statements(writer, items))


def _statements(writer: Writer, items: Items) -> Iterator[Statement]:
    """The statements of loops, and of what stands between them, with their lines of Python."""
    for item in items:
        if isinstance(item, Nest):
            yield from _nest(writer, item)
        else:
            yield from (with_source(s, item.equation.source) for s in _of_node(writer, item))


def _of_node(writer: Writer, node: Node) -> Iterator[Statement]:
    """The statements of a node."""
    match node:
        case LoopNode():
            yield from writer.element(node)
        case Loop():
            yield from _loop(writer, node)
        case Branch():
            yield from _branch(writer, node)
        case LibraryCall():
            yield from library_call(writer, node)
        case CallBack():
            yield from call_back(writer, node)
        case Scatter():
            yield from _scatter(writer, node)
        case Compact():
            yield from _compact(writer, node)
        case Measure():
            yield from _measure(writer, node)
        case _:
            raise InternalError(f"no statements for {node}")


def _nest(writer: Writer, nest: Nest) -> Iterator[Statement]:
    """A loop that nodes share, between the beginnings and the ends of accumulations in it."""
    depth, extent = nest.depth, nest.symbol.extent
    if extent is None:
        raise InternalError(f"the loop {nest.symbol} has no extent")
    symbol = Symbol(writer.loop_name(depth), 0, extent)
    accumulating: list[Reduce | Scan] = []
    for node in nest.nodes:
        writer.name_loop(node, depth, symbol)
        match node:
            case Reduce() if depth == node.rank:
                accumulating.append(node)
            case Scan() if depth == node.rank - 1:
                accumulating.append(node)
            case _:
                pass
    for node in accumulating:
        start = start_of(node)
        yield Declare(writer.scalar(node), start, constant=False, source=node.equation.source)
    body: list[Statement] = []
    for node in nest.nodes:
        home = writer.loops.homes[node]
        if isinstance(home, InRow) and home.loop is nest:
            body.append(Alloc(writer.row(node, home)))
    body += writer.iteration(_statements(writer, nest.items))
    if body:
        yield For(symbol, extent, tuple(body))
    for node in accumulating:
        if isinstance(node, Reduce):
            kept = writer.keep(node, Ref(writer.scalars[node], node.var.type.dtype))
            yield from (with_source(s, node.equation.source) for s in kept)


def _scatter(writer: Writer, node: Scatter) -> Iterator[Statement]:
    """All elements first, unless they are there already; then the updates, in order."""
    out = writer.stored(node.var)
    writer.tested = {}
    if writer.frame.places.get(node.equation.inputs[0]) != out:
        yield from writer.nest(node.first, node, lambda i, v: [out.store(i, v)], node.tests)

    def update(index: Shape, value: Expr) -> list[Statement]:
        statement: Statement = out.store(index, value)
        if node.combine != "set":
            statement = Update(out.load(index), node.combine, value)
        for test in node.tests:
            condition = writer.expression(node.then, test, node)
            condition = map_expr(condition, lambda e: writer.tested.get(e, e))
            statement = If(condition, (statement,))
        return [statement]

    yield from writer.nest(node.then, node, update, node.tests)


def _compact(writer: Writer, node: Compact) -> Iterator[Statement]:
    """One loop over the mask: each element is stored behind those that it selects so far, where the
    next one overwrites it unless the mask holds."""
    count = Ref(writer.scope.new("count"), INT64)
    places = [writer.stored(v) for v in node.results]
    extent = node.equation.inputs[0].type.shape[0]
    at = Symbol(writer.scope.new("at"), 0, extent)
    loop = Symbol(writer.loop_name(0), 0, extent)
    body: list[Statement] = []
    for value in node.lambdas:
        writer.symbols[value] = {symbol: Dim.of(loop) for symbol in value.order}
        body += writer.subscripts(value, node)
    mask, *values = (writer.expression(value, value.body, node) for value in node.lambdas)
    if values:
        body.append(Declare(at.name, count, symbol=at))
    body += (p.store((Dim.of(at),), v) for p, v in zip(places[1:], values, strict=True))
    body.append(Update(count, "add", convert(mask, INT64)))
    yield Declare(count.name, Literal(0, INT64), constant=False)
    yield For(loop, extent, tuple(body))
    yield places[0].store((), count)
    yield from _length(writer, node, count)


def _measure(writer: Writer, node: Measure) -> Iterator[Statement]:
    """The number, stored where the entry reads the length."""
    yield from writer.subscripts(node.value, node)
    value = writer.expression(node.value, node.value.body, node)
    count = Ref(writer.scope.new("count"), INT64)
    yield Declare(count.name, value)
    yield writer.stored(node.results[0]).store((), count)
    yield from _length(writer, node, count)


def _length(writer: Writer, node: Compact | Measure, count: Ref) -> Iterator[Statement]:
    """The variable of a length in a body; elsewhere it is a parameter of later kernels."""
    if writer.block.scope.is_body:
        (length,) = node.counted
        yield Declare(length.name, count, symbol=length)


def _loop(writer: Writer, node: Loop) -> Iterator[Statement]:
    """A loop of the user's: what comes before it, the loop, and what comes after it."""
    storage = writer.frame.regions[node]
    if not isinstance(storage, LoopStorage):
        raise InternalError(f"{node.equation.primitive} has the storage of a branch")
    limits = control_flow.limits(writer, node)
    yield from limits.declared
    yield from control_flow.begin(writer, node, storage)
    inner = writer.body(node.body, writer.scope.inner())
    body = (*_statements(inner, node.body.items), *control_flow.hand_on(inner, storage))
    if node.condition is not None:
        condition = writer.body(node.condition, inner.scope.inner())  # declared side by side
        test = tuple(_statements(condition, node.condition.items))
        yield control_flow.while_(condition, test, body)
    else:
        yield from control_flow.loop(node, storage, limits.bounds, body)
    yield from control_flow.end(writer, storage)


def _branch(writer: Writer, node: Branch) -> Iterator[Statement]:
    storage = writer.frame.regions[node]
    if not isinstance(storage, BranchStorage):
        raise InternalError(f"{node.equation.primitive} has the storage of a loop")
    yield from control_flow.declarations(storage)
    bodies: list[tuple[Statement, ...]] = []
    for part in node.parts:
        inner = writer.body(part, writer.scope.inner())
        bodies.append(tuple(_statements(inner, part.items)))
    yield from control_flow.choice(writer, node, bodies)


def loop_depth(loops: Loops) -> int:
    """How deep loops may stand in one another."""
    deepest = 0
    for node in nodes_of(loops.items):
        own = max((len(value.order) for value in node.lambdas), default=0)
        inside = [loop_depth(part) for part in node.parts] if isinstance(node, Region) else []
        deepest = max(deepest, own, 1 + max(inside, default=-1))
    return deepest
