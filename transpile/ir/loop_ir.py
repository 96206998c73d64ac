"""The loop IR: programs of kernels, kernels of loop nests over scalar expressions.

    Program   = inputs, outputs, temporaries, constants: Buffer*, kernels: Kernel*
    Kernel    = name, source, body: Statement*
    Statement = For | While | If | Declare | Update | Store | Alloc | Swap | Call
    Expr      = Literal | Ref | Load | IndexValue | Within | Apply

Subscripts are `Index`es: integer polynomials over the symbols of the loops around them. Immutable;
a schedule pass rebuilds what it changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any

import numpy as np

from transpile.ir.calls import Call, Strided
from transpile.ir.dims import Index, Shape, Symbol
from transpile.ir.graph import UNKNOWN_SOURCE, Site, Source
from transpile.ir.indices.lengths import Length, room_of
from transpile.ir.indices.row_major import product
from transpile.ir.indices.size_solver import sizes_of
from transpile.ir.number_text import number_text
from transpile.ir.primitive import TABLE, Primitive
from transpile.ir.types import BOOL, INT64, SHORT_NAMES, UINT8
from transpile.util.frozen_records import cached_property, dataclass

DType = np.dtype[Any]

# --------------------------------------------------------------------------------- expressions


@dataclass(frozen=True)
class Literal:
    """A number. Two are equal if their dtypes and bits are: 0.0 and -0.0 are not."""

    value: Any
    dtype: DType

    @cached_property
    def _bits(self) -> bytes:
        return np.asarray(self.value, self.dtype).tobytes()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Literal):
            return NotImplemented
        return self.dtype == other.dtype and self._bits == other._bits

    def __hash__(self) -> int:
        return hash(self._bits)


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

    @property
    def primitive(self) -> Primitive:
        """The primitive that `op` names."""
        return TABLE[self.op]

    def __hash__(self) -> int:
        """Memoised, so that hashing every subexpression takes linear time."""
        known: int | None = self.__dict__.get("_hash")
        if known is None:
            known = self.__dict__["_hash"] = hash((self.op, self.args, self.dtype))
        return known

    def __reduce__(self) -> tuple[Any, ...]:
        return Apply, (self.op, self.args, self.dtype)  # hashes are others in another process


Expr = Literal | Ref | Load | IndexValue | Within | Apply

# ---------------------------------------------------------------------------------- statements


@dataclass(frozen=True)
class For:
    """`for symbol in range(start, stop)`, where stop is also at most `limit` when that is given.

    parallel     the iterations have no dependences, and may run on several threads
    simd         they may run in vector lanes, at most `lanes` if that is given
    reductions   the accumulators, with their operations, that are combined across lanes
    threads      at most so many threads share a parallel loop, if given
    slack        an index of runtime sizes: where it is negative one thread runs a parallel loop
    near         the version of the loop for angles of ordinary magnitude
    ordered      a loop of the user's, around a sequence of loop nests, which may carry dependences
                 unless it is `independent` as well
    """

    symbol: Symbol
    stop: Index
    body: tuple[Statement, ...]
    start: Index = 0
    limit: Index | None = None
    parallel: bool = False
    simd: bool = False
    lanes: int = 0
    collapse: int = 1
    threads: int = 0
    reductions: tuple[tuple[str, str], ...] = ()
    near: bool = False
    ordered: bool = False
    independent: bool = False
    slack: Index = 0

    @property
    def extent(self) -> Index:
        """The trip count, if there is no limit."""
        return self.stop - self.start


@dataclass(frozen=True)
class While:
    """Run `body` as long as the condition holds, which `test` prepares each time."""

    condition: Expr
    body: tuple[Statement, ...]
    test: tuple[Statement, ...] = ()


@dataclass(frozen=True)
class If:
    """Run `body` when the condition holds, else `orelse`."""

    condition: Expr
    body: tuple[Statement, ...]
    orelse: tuple[Statement, ...] = ()


@dataclass(frozen=True)
class Declare:
    """A scalar variable and its first value; `constant` when nothing updates it.

    With a `symbol`, of the same name, the variable is an int64 that subscripts may read.
    """

    name: str
    value: Expr
    constant: bool = True
    symbol: Symbol | None = None
    source: Source = field(default=UNKNOWN_SOURCE, compare=False, repr=False)

    @property
    def dtype(self) -> DType:
        """The dtype of the variable."""
        return self.value.dtype


@dataclass(frozen=True)
class Update:
    """`target = op(target, value)`, the update of an accumulator; `set` assigns the value."""

    target: Ref | Load
    op: str
    value: Expr
    source: Source = field(default=UNKNOWN_SOURCE, compare=False, repr=False)

    @property
    def primitive(self) -> Primitive | None:
        """The primitive that `op` names; None for `set`."""
        return None if self.op == "set" else TABLE[self.op]


@dataclass(frozen=True)
class Store:
    """`buffer[index] = value`."""

    buffer: str
    index: Shape
    value: Expr
    source: Source = field(default=UNKNOWN_SOURCE, compare=False, repr=False)


@dataclass(frozen=True)
class Slot:
    """Storage of a local array: at byte `offset` of a slice of the buffer `home`, which has a slice
    for each thread. In statements `shared_out` among a team, it is the slice of the running thread,
    else the first one."""

    home: str
    offset: Index
    shared_out: bool


@dataclass(frozen=True)
class Alloc:
    """An array that lives for one iteration of the loop around it: on the stack, or in a slot."""

    buffer: Buffer
    slot: Slot | None = None


@dataclass(frozen=True)
class Swap:
    """Exchange the memory of two buffers of one type, for double buffering."""

    first: str
    second: str
    source: Source = field(default=UNKNOWN_SOURCE, compare=False, repr=False)


# The workspace of a call before storage is assigned.
UNALLOCATED = Strided(Load("", (), UINT8))


Statement = For | While | If | Declare | Update | Store | Alloc | Swap | Call
# Those that have a line of Python of their own.
LOCATED = (Declare, Update, Store, Swap, Call)

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
        """The bytes of all elements."""
        return product(self.shape) * self.dtype.itemsize


@dataclass(frozen=True)
class Kernel:
    """One loop nest, or a few scalar statements, with the Python line it came from.

    `shapes` gives the buffers that the kernel accesses in another shape than their own: with axes
    coalesced, which in row-major order is the same memory.
    """

    name: str
    body: tuple[Statement, ...]
    source: Source = UNKNOWN_SOURCE
    comment: tuple[str, ...] = ()
    shapes: tuple[tuple[str, Shape], ...] = ()


@dataclass(frozen=True)
class Program:
    """A whole program.

    offsets      the byte offset of each temporary in the workspace
    donated      the inputs whose memory may be reused
    written      pairs (input, output): an argument that is assigned to, and its new value
    aliases      pairs (output, input) that share memory: the caller may pass one array for both
    placements   the storage of each value of the graph, and the reason, for `as_text`
    sites        the call sites of effects, in the order of their numbers
    communicates it exchanges values with other devices, by a communicator that it is given
    lengths      what is known when the kernel has run that counts it, and the number that it is
    required     inequalities of sizes, without which the program ends with the error of this text
    results      the shapes of those outputs that have lengths for extents
    """

    name: str
    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    kernels: tuple[Kernel, ...]
    temporaries: tuple[Buffer, ...] = ()
    constants: tuple[Buffer, ...] = ()
    offsets: tuple[Index, ...] = ()
    workspace: Index = 0
    placements: tuple[str, ...] = ()
    donated: tuple[str, ...] = ()
    written: tuple[tuple[str, str], ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()
    sites: tuple[Site, ...] = ()
    communicates: bool = False
    lengths: tuple[tuple[Symbol, str], ...] = ()
    required: tuple[tuple[Index, Index, str], ...] = ()
    results: tuple[tuple[str, Shape], ...] = ()

    @cached_property
    def sizes(self) -> tuple[Symbol, ...]:
        """The runtime sizes that extents depend on, which the caller gives; behind them those that
        say for which lengths there is memory."""
        lengths = sorted((s for s, _ in self.lengths if isinstance(s, Length)), key=str)
        rooms = (room for length in lengths if (room := room_of(length)) is not None)
        return (*sizes_of(buffer.shape for buffer in self.inputs), *rooms)

    @cached_property
    def returned(self) -> tuple[Buffer, ...]:
        """The outputs in the shapes that results have, for which they have room."""
        shapes = dict(self.results)
        return tuple(
            Buffer(b.name, shapes[b.name], b.dtype) if b.name in shapes else b for b in self.outputs
        )

    @cached_property
    def returned_lengths(self) -> tuple[tuple[Symbol, str], ...]:
        """The lengths of results, and the outputs in which a caller finds them."""
        outputs = {b.name for b in self.outputs}
        return tuple((s, b) for s, b in self.lengths if b in outputs)

    def buffers(self) -> Mapping[str, Buffer]:
        """Every buffer by its name."""
        return self._by_name

    @cached_property
    def _by_name(self) -> Mapping[str, Buffer]:
        listed = (*self.inputs, *self.outputs, *self.temporaries, *self.constants)
        return MappingProxyType({b.name: b for b in listed})

    def __str__(self) -> str:
        return to_text(self)


# ---------------------------------------------------------------------------------------- text


def to_text(program: Program, *, sources: bool = False) -> str:
    """The program in a short form of its own, for people and golden files; with `sources`, each
    statement has its line of Python behind it."""
    lines = [f"program {program.name}"]
    if program.sizes:
        lines.append(f"  sizes: {', '.join(map(str, program.sizes))}")
    if program.lengths:
        lines.append(f"  lengths: {', '.join(f'{s} = {name}' for s, name in program.lengths)}")
    lines += [f"  requires {a} <= {b}: {text}" for a, b, text in program.required]
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
        lines += _body_text(kernel.body, "  ", sources)
    return "\n".join(lines)


def _buffer_text(buffer: Buffer) -> str:
    return f"{buffer.name}:{SHORT_NAMES[buffer.dtype]}[{','.join(map(str, buffer.shape))}]"


def _body_text(body: tuple[Statement, ...], indent: str, sources: bool) -> list[str]:
    lines: list[str] = []
    for statement in body:
        if isinstance(statement, While):
            lines += _while_text(statement, indent, sources)
            continue
        where = ""
        if sources and isinstance(statement, LOCATED) and statement.source.line:
            where = f"  # {statement.source}"
        lines.append(indent + _statement_text(statement) + where)
        inner = statement.body if isinstance(statement, (For, If)) else ()
        lines += _body_text(inner, indent + "  ", sources)
        if isinstance(statement, If) and statement.orelse:
            lines += [f"{indent}else", *_body_text(statement.orelse, indent + "  ", sources)]
    return lines


def _while_text(statement: While, indent: str, sources: bool) -> list[str]:
    inner = _body_text(statement.body, indent + "  ", sources)
    if not statement.test:
        return [f"{indent}while {expr_text(statement.condition)}", *inner]
    test = _body_text(statement.test, indent + "  ", sources)
    test.append(f"{indent}  while {expr_text(statement.condition)}")
    return [f"{indent}repeat", *test, *inner]


def _statement_text(statement: For | If | Declare | Update | Store | Alloc | Swap | Call) -> str:
    match statement:
        case For():
            stop = str(statement.stop)
            if statement.limit is not None:
                stop = f"min({stop}, {statement.limit})"
            words = [f"for {statement.symbol} in {statement.start}..{stop}"]
            words += ["ordered"] * (statement.ordered and not statement.independent)
            words += ["parallel"] * statement.parallel + ["simd"] * statement.simd
            words += [f"threads<={statement.threads}"] * bool(statement.threads)
            words += [f"if 0 <= {statement.slack}"] * (statement.slack != 0)
            words += [f"lanes<={statement.lanes}"] * bool(statement.lanes)
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
            slot = statement.slot
            where = "" if slot is None else f" at {slot.home} + {slot.offset}"
            return f"local {_buffer_text(statement.buffer)}{where}"
        case Swap():
            return f"swap {statement.first}, {statement.second}"
        case Call():
            given = ((n, x) for n, x in statement.operands.items() if x != "")
            operands = (f"{n}={_operand_text(x)}" for n, x in given)
            return f"call {statement.name}({', '.join(operands)})"


def _operand_text(operand: Any) -> str:
    if not isinstance(operand, Strided):
        return str(operand)
    strides = f" by ({', '.join(map(str, operand.strides))})" if operand.strides else ""
    return f"&{expr_text(operand.first)}{strides}"


def _element(buffer: str, index: Shape) -> str:
    return f"{buffer}[{', '.join(map(str, index))}]"


def expr_text(expr: Expr) -> str:
    """An expression, primitives written as functions."""
    match expr:
        case Literal(value=value):
            return number_text(value, expr.dtype)
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
