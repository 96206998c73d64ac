"""The loop language: programs of kernels, kernels of loops over scalar expressions.

    Program   = inputs, outputs, temporaries, constants: Buffer*, kernels: Kernel*
    Kernel    = name, source, body: Statement*
    Statement = For | If | Declare | Update | Store | Alloc | Call
    Expr      = Literal | Ref | Load | IndexValue | Within | Apply

Subscripts are `Index`es: integer polynomials over the symbols of the loops around them. Immutable;
a schedule pass rebuilds what it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from transpile.dims import Index, Shape, Symbol, product, substitute, symbols_of
from transpile.errors import InternalError
from transpile.graph import UNKNOWN_SOURCE, Source
from transpile.types import BOOL, INT64, SHORT_NAMES

DType = np.dtype[Any]

# --------------------------------------------------------------------------------- expressions


@dataclass(frozen=True)
class Literal:
    """A number."""

    value: Any
    dtype: DType


@dataclass(frozen=True)
class Ref:
    """The value of a scalar variable."""

    name: str
    dtype: DType


@dataclass(frozen=True)
class Load:
    """An element of a buffer."""

    buffer: str
    index: Shape
    dtype: DType


@dataclass(frozen=True)
class IndexValue:
    """An index as an int64 number."""

    index: Index
    dtype: DType = INT64


@dataclass(frozen=True)
class Within:
    """The truth of `low <= index < high`."""

    index: Index
    low: Index
    high: Index
    dtype: DType = BOOL


@dataclass(frozen=True)
class Apply:
    """The elementwise primitive `op` of scalars. `select` evaluates only the operand it chooses."""

    op: str
    args: tuple[Expr, ...]
    dtype: DType


Expr = Literal | Ref | Load | IndexValue | Within | Apply

# ---------------------------------------------------------------------------------- statements


@dataclass(frozen=True)
class For:
    """`for symbol in range(start, stop)`, where stop is also at most `limit` when that is given.

    `parallel`: the iterations are independent and may run on several threads.
    `simd`: they may run in vector lanes; `reductions` names the accumulators (with their operation)
    that are then combined across lanes. `near`: the angles in it are taken for ordinary ones.
    """

    symbol: Symbol
    stop: Index
    body: tuple[Statement, ...]
    start: Index = 0
    limit: Index | None = None
    parallel: bool = False
    simd: bool = False
    collapse: int = 1
    reductions: tuple[tuple[str, str], ...] = ()
    near: bool = False

    @property
    def extent(self) -> Index:
        """How often the body runs, when there is no limit."""
        return self.stop - self.start


@dataclass(frozen=True)
class If:
    """Run `body` when the condition holds, else `orelse`."""

    condition: Expr
    body: tuple[Statement, ...]
    orelse: tuple[Statement, ...] = ()


@dataclass(frozen=True)
class Declare:
    """A scalar variable and its first value; `constant` when nothing updates it."""

    name: str
    value: Expr
    constant: bool = True

    @property
    def dtype(self) -> DType:
        """The dtype of the variable."""
        return self.value.dtype


@dataclass(frozen=True)
class Update:
    """`target = op(target, value)`: an accumulator's step."""

    target: Ref | Load
    op: str
    value: Expr


@dataclass(frozen=True)
class Store:
    """`buffer[index] = value`."""

    buffer: str
    index: Shape
    value: Expr


@dataclass(frozen=True)
class Alloc:
    """An array that lives for one iteration of the loop around it."""

    buffer: Buffer


@dataclass(frozen=True)
class Call:
    """A call of a runtime function; an operand is an Index or the address of a buffer's element."""

    function: str
    args: tuple[Index | Load, ...]
    writes: tuple[str, ...] = ()


Statement = For | If | Declare | Update | Store | Alloc | Call

# ------------------------------------------------------------------------------------ programs


@dataclass(frozen=True)
class Buffer:
    """An array in memory, in row-major order. `value` is that of a constant."""

    name: str
    shape: Shape
    dtype: DType
    value: Any = field(default=None, compare=False)

    @property
    def size_in_bytes(self) -> Index:
        """How much memory it takes."""
        return product(self.shape) * self.dtype.itemsize


@dataclass(frozen=True)
class Kernel:
    """One loop nest, or a few scalar statements, with the Python line it came from.

    `shapes` gives the buffers that the kernel sees in another shape than they have: with axes
    merged into one, which in row-major order is the same memory.
    """

    name: str
    body: tuple[Statement, ...]
    source: Source = UNKNOWN_SOURCE
    comment: tuple[str, ...] = ()
    shapes: tuple[tuple[str, Shape], ...] = ()


@dataclass(frozen=True)
class Program:
    """A whole program. `offsets` gives each temporary its place in the workspace, in bytes.

    `donated` names the inputs whose memory may be taken, `aliases` the pairs (output, input) that
    share memory; there the caller may pass the same array for both. `placements` says where each
    value of the graph lives, and why; it is for people.
    """

    name: str
    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    kernels: tuple[Kernel, ...]
    temporaries: tuple[Buffer, ...] = ()
    constants: tuple[Buffer, ...] = ()
    offsets: tuple[int, ...] = ()
    workspace: int = 0
    placements: tuple[str, ...] = ()
    donated: tuple[str, ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()

    def buffers(self) -> dict[str, Buffer]:
        """Every buffer by its name."""
        return {
            b.name: b for b in (*self.inputs, *self.outputs, *self.temporaries, *self.constants)
        }

    def __str__(self) -> str:
        return to_text(self)


# ---------------------------------------------------------------------------------- traversals


def subexpressions(expr: Expr) -> Iterator[Expr]:
    """The expression and everything in it, the outermost first."""
    yield expr
    if isinstance(expr, Apply):
        for arg in expr.args:
            yield from subexpressions(arg)


def expressions(statement: Statement) -> tuple[Expr, ...]:
    """The expressions that stand directly in a statement, targets left out."""
    match statement:
        case Declare(value=value) | Update(value=value) | Store(value=value):
            return (value,)
        case If(condition=condition):
            return (condition,)
        case Call(args=args):
            return tuple(a for a in args if isinstance(a, Load))
        case _:
            return ()


def children(statement: Statement) -> tuple[Statement, ...]:
    """The statements inside a statement."""
    match statement:
        case For(body=body):
            return body
        case If(body=body, orelse=orelse):
            return body + orelse
        case _:
            return ()


def walk(statements: tuple[Statement, ...]) -> Iterator[Statement]:
    """Every statement, in order, an outer one before those inside it."""
    for statement in statements:
        yield statement
        yield from walk(children(statement))


def loads(statement: Statement) -> Iterator[Load]:
    """The elements that a statement itself reads, an updated one among them."""
    for expr in expressions(statement):
        for sub in subexpressions(expr):
            if isinstance(sub, Load):
                yield sub
    if isinstance(statement, Update) and isinstance(statement.target, Load):
        yield statement.target


def written(statement: Statement) -> tuple[str, ...]:
    """The buffers that a statement itself writes."""
    match statement:
        case Store(buffer=buffer):
            return (buffer,)
        case Update(target=Load(buffer=buffer)):
            return (buffer,)
        case Call(writes=writes):
            return writes
        case _:
            return ()


def map_expr(expr: Expr, function: Callable[[Expr], Expr]) -> Expr:
    """The expression rebuilt from the leaves up, `function` applied to every part."""
    if isinstance(expr, Apply):
        args = tuple(map_expr(arg, function) for arg in expr.args)
        if args != expr.args:
            expr = replace(expr, args=args)
    return function(expr)


def map_statement(
    statement: Statement, on_expr: Callable[[Expr], Expr], on_index: Callable[[Index], Index]
) -> Statement:
    """The statement with every expression and every index rebuilt, all the way down."""

    def expression(expr: Expr) -> Expr:
        return map_expr(expr, lambda e: on_expr(map_indices(e, on_index)))

    def body(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(map_statement(s, on_expr, on_index) for s in statements)

    match statement:
        case For():
            limit = None if statement.limit is None else on_index(statement.limit)
            return replace(
                statement,
                start=on_index(statement.start),
                limit=limit,
                stop=on_index(statement.stop),
                body=body(statement.body),
            )
        case If():
            return If(expression(statement.condition), body(statement.body), body(statement.orelse))
        case Declare():
            return replace(statement, value=expression(statement.value))
        case Update():
            target = expression(statement.target)
            if not isinstance(target, (Ref, Load)):
                raise InternalError(f"an update of {target}")
            return Update(target, statement.op, expression(statement.value))
        case Store():
            return Store(
                statement.buffer, tuple(map(on_index, statement.index)), expression(statement.value)
            )
        case Call():
            args: list[Index | Load] = []
            for arg in statement.args:
                if isinstance(arg, Load):
                    mapped = expression(arg)
                    args.append(mapped if isinstance(mapped, Load) else arg)
                else:
                    args.append(on_index(arg))
            return replace(statement, args=tuple(args))
        case Alloc():
            return statement


def map_indices(expr: Expr, on_index: Callable[[Index], Index]) -> Expr:
    """One expression (not its operands) with its indices rebuilt."""
    match expr:
        case Load():
            return replace(expr, index=tuple(map(on_index, expr.index)))
        case IndexValue():
            return replace(expr, index=on_index(expr.index))
        case Within():
            return Within(on_index(expr.index), on_index(expr.low), on_index(expr.high))
        case _:
            return expr


def map_accesses(statement: Statement, on_access: Callable[[str, Shape], Shape]) -> Statement:
    """The statement with the subscripts of every element that is read or stored rebuilt."""

    def on_expr(expr: Expr) -> Expr:
        if isinstance(expr, Load):
            return replace(expr, index=on_access(expr.buffer, expr.index))
        return expr

    def on_store(inner: Statement) -> Statement:
        match inner:
            case For():
                return replace(inner, body=tuple(map(on_store, inner.body)))
            case If():
                return replace(
                    inner,
                    body=tuple(map(on_store, inner.body)),
                    orelse=tuple(map(on_store, inner.orelse)),
                )
            case Store():
                return replace(inner, index=on_access(inner.buffer, inner.index))
            case _:
                return inner

    return on_store(map_statement(statement, on_expr, lambda index: index))


def accesses(statement: Statement) -> Iterator[tuple[str, Shape]]:
    """The elements (buffer, subscripts) that a statement itself reads or stores."""
    for load in loads(statement):
        yield load.buffer, load.index
    if isinstance(statement, Store):
        yield statement.buffer, statement.index


def substitute_index(statement: Statement, symbol: Symbol, value: Index) -> Statement:
    """The statement with a loop's symbol replaced by an index."""
    return map_statement(statement, lambda e: e, lambda i: substitute(i, {symbol: value}))


def trip_count(loop: For, values: dict[Symbol, Index] | None = None) -> Index:
    """How often the body of a loop without `limit` runs."""
    return substitute(loop.extent, values or {})


def seen_by(program: Program, kernel: Kernel) -> dict[str, Buffer]:
    """The buffers of a program in the shapes in which a kernel sees them."""
    shapes = dict(kernel.shapes)
    return {
        name: replace(b, shape=shapes[name]) if name in shapes else b
        for name, b in program.buffers().items()
    }


def used_buffers(kernel: Kernel) -> tuple[list[str], set[str]]:
    """The buffers that a kernel reads or writes, in order of use, and those that it writes."""
    local = {s.buffer.name for s in walk(kernel.body) if isinstance(s, Alloc)}
    used: dict[str, None] = {}
    writes: set[str] = set()
    for statement in walk(kernel.body):
        for load in loads(statement):
            used.setdefault(load.buffer)
        for name in written(statement):
            used.setdefault(name)
            writes.add(name)
    return [name for name in used if name not in local], writes - local


def names_in(program: Program) -> set[str]:
    """Every name in a program: buffers, scalars, local arrays and loops."""
    names = set(program.buffers())
    for kernel in program.kernels:
        for statement in walk(kernel.body):
            match statement:
                case Declare(name=name) | Alloc(buffer=Buffer(name=name)):
                    names.add(name)
                case For(symbol=symbol):
                    names.add(symbol.name)
                case _:
                    pass
    return names


def is_independent(loop: For) -> bool:
    """Tell whether the iterations of a loop do not depend on each other: none updates a scalar, or
    the same element of an array, that was declared outside. (Different iterations store to
    different elements by construction.)"""
    inside = list(walk(loop.body))
    declared = {s.name for s in inside if isinstance(s, Declare)}
    declared |= {s.buffer.name for s in inside if isinstance(s, Alloc)}
    for statement in inside:
        match statement:
            case Update(target=Ref(name=name)):
                if name not in declared:
                    return False
            case Update(target=Load(buffer=buffer, index=index)):
                own = any(loop.symbol in symbols_of(i) for i in index)
                if buffer not in declared and not own:
                    return False
            case _:
                pass
    return True


# --------------------------------------------------------------------------------------- check


def check(program: Program) -> None:
    """Raise InternalError unless every name is known, every subscript has its buffer's rank, and
    every symbol belongs to a loop around its use."""
    buffers = program.buffers()

    def check_body(
        body: tuple[Statement, ...],
        symbols: frozenset[Symbol],
        names: set[str],
        local: dict[str, Buffer],
    ) -> None:
        def check_index(index: Index) -> None:
            free = {s for s in symbols_of(index) if s.extent is not None} - symbols
            if free:
                raise InternalError(f"{', '.join(map(str, free))} is not a loop here: {index}")

        def check_load(load: Load) -> None:
            buffer = local.get(load.buffer) or buffers.get(load.buffer)
            if buffer is None:
                raise InternalError(f"unknown buffer {load.buffer}")
            if len(buffer.shape) != len(load.index):
                raise InternalError(
                    f"{load.buffer} has {len(buffer.shape)} axes, not {len(load.index)}"
                )
            for index in load.index:
                check_index(index)

        for statement in body:
            for expr in expressions(statement):
                for sub in subexpressions(expr):
                    if isinstance(sub, Ref) and sub.name not in names:
                        raise InternalError(f"{sub.name} is read before it is declared")
            for load in loads(statement):
                check_load(load)
            match statement:
                case Declare(name=name):
                    names.add(name)
                case Alloc(buffer=buffer):
                    local[buffer.name] = buffer
                case Store(buffer=name, index=index):
                    check_load(Load(name, index, BOOL))
                case For(symbol=symbol):
                    check_body(statement.body, symbols | {symbol}, set(names), dict(local))
                case If():
                    check_body(statement.body, symbols, set(names), dict(local))
                    check_body(statement.orelse, symbols, set(names), dict(local))
                case _:
                    pass

    for kernel in program.kernels:
        check_body(kernel.body, frozenset(), set(), seen_by(program, kernel))


# ---------------------------------------------------------------------------------------- text


def to_text(program: Program) -> str:
    """The program in a short form of its own, for people and golden files."""
    lines = [f"program {program.name}"]
    for role in ("inputs", "outputs", "temporaries", "constants"):
        named = getattr(program, role)
        if named:
            lines.append(f"  {role}: {', '.join(map(_buffer_text, named))}")
    if program.placements:
        lines += ["  placements:", *(f"    {line}" for line in program.placements)]
    for kernel in program.kernels:
        where = f"  # {kernel.source}" if kernel.source.line else ""
        lines.append(f"kernel {kernel.name}{where}")
        lines += [f"  # {line}" for line in kernel.comment]
        lines += _body_text(kernel.body, "  ")
    return "\n".join(lines)


def _buffer_text(buffer: Buffer) -> str:
    return f"{buffer.name}:{SHORT_NAMES[buffer.dtype]}[{','.join(map(str, buffer.shape))}]"


def _body_text(body: tuple[Statement, ...], indent: str) -> list[str]:
    lines: list[str] = []
    for statement in body:
        lines.append(indent + _statement_text(statement))
        lines += _body_text(
            statement.body if isinstance(statement, (For, If)) else (), indent + "  "
        )
        if isinstance(statement, If) and statement.orelse:
            lines += [f"{indent}else", *_body_text(statement.orelse, indent + "  ")]
    return lines


def _statement_text(statement: Statement) -> str:
    match statement:
        case For():
            stop = str(statement.stop)
            if statement.limit is not None:
                stop = f"min({stop}, {statement.limit})"
            words = [f"for {statement.symbol} in {statement.start}..{stop}"]
            words += ["parallel"] * statement.parallel + ["simd"] * statement.simd
            words += [f"{op}:{name}" for op, name in statement.reductions]
            return " ".join(words)
        case If():
            return f"if {expr_text(statement.condition)}"
        case Declare():
            word = "let" if statement.constant else "var"
            return (
                f"{word} {statement.name}:{SHORT_NAMES[statement.dtype]} = "
                f"{expr_text(statement.value)}"
            )
        case Update():
            return f"{expr_text(statement.target)} {statement.op}= {expr_text(statement.value)}"
        case Store():
            return f"{_element(statement.buffer, statement.index)} = {expr_text(statement.value)}"
        case Alloc():
            return f"local {_buffer_text(statement.buffer)}"
        case Call():
            args = ", ".join(
                f"&{expr_text(a)}" if isinstance(a, Load) else str(a) for a in statement.args
            )
            return f"call {statement.function}({args})"


def _element(buffer: str, index: Shape) -> str:
    return f"{buffer}[{', '.join(map(str, index))}]"


def expr_text(expr: Expr) -> str:
    """An expression, primitives written as functions."""
    match expr:
        case Literal(value=value):
            return str(value)
        case Ref(name=name):
            return name
        case Load():
            return _element(expr.buffer, expr.index)
        case IndexValue(index=index):
            return f"({index})"
        case Within():
            return f"({expr.low} <= {expr.index} < {expr.high})"
        case Apply():
            name = SHORT_NAMES[expr.dtype] if expr.op == "convert_element_type" else expr.op
            return f"{name}({', '.join(map(expr_text, expr.args))})"
