"""Scopes for the templates of CUDA: what C's scopes print, and what teams of threads need."""

from __future__ import annotations

from dataclasses import field

import numpy as np

from transpile.analysis.cost_model import trips, work
from transpile.analysis.value_range import ordinary_angles
from transpile.codegen.c_expr import UNARY, Printer
from transpile.codegen.c_functions import applied
from transpile.codegen.dialect import suffix
from transpile.codegen.line_wrapping import WIDTH
from transpile.codegen.scope import ProgramScope, Scope
from transpile.errors import InternalError
from transpile.ir.indices.row_major import product
from transpile.ir.loop_ir import (
    Buffer,
    DType,
    Expr,
    For,
    If,
    IndexValue,
    Kernel,
    Literal,
    Load,
    Ref,
    Statement,
    While,
)
from transpile.ir.loop_rewrite import loads
from transpile.ir.primitive import TABLE
from transpile.ir.types import (
    BOOL,
    DTYPES,
    INT32,
    INT64,
    UINT8,
    finfo,
    is_half,
    kind_letter,
    real_dtype,
)
from transpile.primitives.reductions import scan_start
from transpile.targets.cuda.device_ir import (
    AtomicUpdate,
    Combine,
    DeviceKernel,
    DeviceStatement,
    FromFirst,
    Over,
    Section,
    Shared,
    Spread,
    Team,
    TeamCall,
    read_by,
    walk_device,
)
from transpile.targets.cuda.gpu import WARP
from transpile.targets.cuda.mapping.counters import fit_ints
from transpile.targets.cuda.routines.tiles import (
    FINISHES,
    GATHERS,
    TENSOR_FLOATS,
    HalfTiles,
    Tiles,
    half_tiles_of,
    longest_transform,
    tiles_of,
)
from transpile.util.frozen_records import dataclass, replace

_PRINTED = frozenset(
    [
        "For",
        "If",
        "While",
        "Declare",
        "Update",
        "AtomicUpdate",
        "Store",
        "Alloc",
        "Swap",
        "Spread",
        "Section",
        "Together",
        "Single",
        "Combine",
        "FromFirst",
        "Barrier",
        "Shared",
        "Slice",
        "Registers",
        "Pack",
        "Unrolled",
        "TeamCall",
        "EndIf",
    ]
)

# Integers of 64 bits as functions of CUDA take them; without a sign, sums and bits are the same.
_SIGNED, _UNSIGNED = "long long", "unsigned long long"

# Iterations of a loop of little work that are unrolled.
UNROLLED = 8
MOST_UNROLLED_WORK = 64
_AROUND_CLAUSES = 8  # characters of the head of a loop


@dataclass(frozen=True)
class TeamFunction:
    """A function that all threads of a team call with a value each: the values combined by an
    operation, or, without one, the first thread's.

    lanes      of a team that is a warp, or part of one
    combined   the expression of `value` and `other`
    """

    name: str
    team: Team
    lanes: int
    op: str
    dtype: DType
    combined: str


@dataclass(frozen=True)
class Scan:
    """Prefixes: `combined` is the expression of `before` and `x`; a row begins with `start`."""

    dtype: DType
    words: str
    combined: str
    start: str


@dataclass(frozen=True)
class TeamNeeds:
    """The functions of teams, the parts of warps that are teams, and the routines with the dtypes,
    that kernels use."""

    functions: dict[str, TeamFunction] = field(default_factory=dict)
    masks: dict[int, None] = field(default_factory=dict)
    routines: dict[tuple[str, str], None] = field(default_factory=dict)


@dataclass
class IntPrinter(Printer):
    """Prints expressions where counters are ints: an index as a number is an int64."""

    def _print(self, expr: Expr) -> tuple[str, int]:
        if isinstance(expr, IndexValue) and not isinstance(expr.index, int):
            return f"(int64_t){self.index(expr.index, UNARY)}", UNARY
        return super()._print(expr)


@dataclass(frozen=True)
class DeviceScope(Scope):
    """Prints the statements of a device kernel.

    counter  the type of counters
    threads  of a block
    lanes    of a team that is a warp, or part of one
    block    the number of a block
    """

    teams: TeamNeeds = field(default_factory=TeamNeeds)
    counter: str = "int64_t"
    threads: int = 0
    lanes: int = WARP
    block: str = "blockIdx.x"

    def in_section(self, section: Section) -> DeviceScope:
        """The scope of what some blocks run, which have numbers of their own."""
        return replace(self, block=section.block)

    def node(self, statement: DeviceStatement) -> str:
        """The name of a statement's macro: its class."""
        name = type(statement).__name__
        if name not in _PRINTED:
            raise InternalError(f"no macro of CUDA prints {statement}")
        return name

    def clauses(self, indent: str, *clauses: str) -> str:
        """The clauses of a loop: on one line, if that is not too long, or on a line each."""
        line = "; ".join(clauses)
        if len(indent) + _AROUND_CLAUSES + len(line) <= WIDTH:
            return line
        return (";\n" + indent + " " * len("for (")).join(clauses)

    def stop(self, loop: For) -> str:
        """The exclusive end of a loop."""
        if loop.limit is None or self.counter != "int":
            return super().stop(loop)
        least = self.printer.function("minimum", INT32)
        return f"{least}({self.index(loop.stop)}, {self.index(loop.limit)})"

    def first(self, spread: Spread, start: str, turn: str) -> str:
        """The number of a member's iteration: of its first one, or of that of a turn."""
        members = {
            Over.GRID_THREADS: self._of_grid(1, spread.turns or 1),
            Over.GRID_WARPS: self._of_grid(self.lanes),
            Over.GRID_BLOCKS: self.block,
            Over.BLOCK_THREADS: "threadIdx.x",
            Over.WARP_LANES: f"threadIdx.x % {self.lanes}",
        }
        number = members[spread.over]
        if start.startswith("-"):
            # Threads are numbered without a sign, to which C++ converts a negative int beside them.
            number = f"({self.counter})({number})"
        each = {
            Over.GRID_THREADS: self.threads,
            Over.BLOCK_THREADS: self.threads,
            Over.WARP_LANES: self.lanes,
        }
        further = f"{each[spread.over]} * {turn}" if turn else ""
        return " + ".join(part for part in (start, number, further) if part)

    def _of_grid(self, each: int, turns: int = 1) -> str:
        """The number of a team of so many threads in the grid, whose blocks have so many turns."""
        block = self.block if self.counter == "int" else f"(int64_t){self.block}"
        if each == 1:
            return f"{block} * {self.threads * turns} + threadIdx.x"
        return f"{block} * {self.threads // each} + threadIdx.x / {each}"

    def is_of_grid(self, spread: Spread) -> bool:
        """True if all of the kernel is inside the loop."""
        return spread.over in (Over.GRID_THREADS, Over.GRID_WARPS, Over.GRID_BLOCKS)

    def step(self, spread: Spread) -> str:
        """How far apart the iterations of a member are."""
        grid = "gridDim.x" if self.counter == "int" else "(int64_t)gridDim.x"
        return {
            Over.GRID_THREADS: f"{grid} * {self.threads}",
            Over.GRID_WARPS: f"{grid} * {self.threads // self.lanes}",
            Over.GRID_BLOCKS: "gridDim.x",
            Over.BLOCK_THREADS: str(self.threads),
            Over.WARP_LANES: str(self.lanes),
        }[spread.over]

    def is_first(self, team: Team) -> str:
        """The condition that a thread is the first one of its team."""
        lane = f"threadIdx.x % {self.lanes}" if team is Team.WARP else "threadIdx.x"
        return f"{lane} == 0"

    def mask(self) -> str:
        """The lanes of a team that is part of a warp."""
        self.teams.masks[self.lanes] = None
        return f"lanes_of_{self.lanes}()"

    def unrolling(self, loop: For, body: tuple[Statement, ...]) -> int:
        """How many iterations of a loop are unrolled, so that several loads are on their way."""
        nested = any(isinstance(s, For | While | If) for s in body)
        if nested or trips(loop) < UNROLLED or sum(map(work, body)) > MOST_UNROLLED_WORK:
            return 0
        return UNROLLED if any(True for s in body for _ in loads(s)) else 0

    def trip_count(self, spread: Spread) -> str:
        """The number of iterations of a nest."""
        return self.index(product(loop.extent for loop in spread.loops))

    def number_of(self, spread: Spread, loop: For) -> str:
        """The number of the iteration of one of the loops of a nest, of that of the nest."""
        position = spread.loops.index(loop)
        inner = product(f.extent or 1 for f in spread.loops[position + 1 :])  # if 0, none runs
        number = spread.item if inner == 1 else f"{spread.item} / {self.printer.index(inner, 10)}"
        return number if position == 0 else f"{number} % {self.printer.index(loop.extent or 1, 11)}"

    def is_read(self, spread: Spread, name: str) -> bool:
        """True if the body of a nest reads an index of it, or all of them are computed from it."""
        if name == spread.item:
            return any(self.is_read(spread, f.symbol.name) for f in spread.loops)
        return any(symbol.name == name for s in walk_device(spread.body) for symbol in read_by(s))

    def combined(self, statement: Combine) -> str:
        """The value of an accumulator when the parts of all threads are combined."""
        function = self.team_function(statement.team, statement.op, statement.target.dtype)
        call = Ref(f"{function}({statement.part.name})", statement.target.dtype)
        if statement.part == statement.target:
            return call.name
        return self.print(applied(statement.op, (statement.target, call), call.dtype))

    def from_first(self, statement: FromFirst) -> str:
        """The first thread's value of a scalar."""
        function = self.team_function(statement.team, "", statement.target.dtype)
        return f"{function}({statement.target.name})"

    def team_function(self, team: Team, op: str, dtype: DType) -> str:
        """The name of a function of a team, which the program then has."""
        lanes = self.lanes if team is Team.WARP else WARP
        who = team.value if lanes == WARP else f"lanes{lanes}"
        name = f"{who}_{op or 'first'}_{suffix(dtype)}"
        if op and team is Team.BLOCK:
            self.team_function(Team.WARP, op, dtype)
        if lanes != WARP:
            self.mask()
        if name not in self.teams.functions:
            value: Expr = Ref("value", dtype)
            combined = applied(op, (value, Ref("other", dtype)), dtype) if op else value
            self.teams.functions[name] = TeamFunction(
                name, team, lanes, op, dtype, self.assigned(combined)
            )
        return name

    def shuffled_as(self, dtype: DType) -> str:
        """How a value goes to another lane: by itself, as an int, or in two parts."""
        if dtype.kind == "c":
            return "parts"
        return "itself" if dtype.itemsize >= 4 else "int"

    def dtype_of(self, name: str) -> DType:
        """The dtype of a suffix, which may have words in front."""
        return next(d for d in DTYPES if suffix(d) == name.rpartition("_")[2])

    def longest_transform(self, dtype: DType) -> int:
        """The numbers of a transform in shared memory."""
        return longest_transform(dtype)

    def is_float(self, dtype: DType) -> bool:
        """True for floats, halves among them."""
        return kind_letter(dtype) == "f"

    def infinity_bits(self, dtype: DType) -> str:
        """The bits of an infinity."""
        bits = np.array(np.inf, dtype).view(f"u{dtype.itemsize}")
        return f"{int(bits):#x}"

    def neutral(self, dtype: DType) -> str:
        """What a sum begins with: -0.0 leaves the sign of a zero."""
        return self.print(Literal(dtype.type(-0.0 if dtype.kind == "f" else 0), dtype))

    def scan_of(self, suffix: str) -> Scan:
        """The scan with a suffix: a dtype, behind an operation that is not the sum."""
        combine, _, name = suffix.rpartition("_")
        dtype = self.dtype_of(name)
        operands = Ref("before", dtype), Ref("x", dtype)
        combined = self.assigned(applied(combine or "add", operands, dtype))
        start = self.neutral(dtype)
        if combine:
            start = self.print(Literal(scan_start(combine, dtype).value[()], dtype))
        return Scan(dtype, combine or "add", combined, start)

    def tiles(self, dtype: DType, threads: int, suffix: str = "") -> Tiles:
        """How so many threads share a tile of a product."""
        return tiles_of(dtype, threads, suffix)

    def finishes(self, suffix: str) -> str:
        """Of a product with a suffix, who has its results: "" for memory, else a `Finish`, "then"
        the numbers that memory would have, "sums" those of halves in float32."""
        return next((who for who, word in FINISHES.items() if suffix.startswith(word)), "")

    def of_factors(self, suffix: str) -> str:
        """The suffix of a product without that."""
        return suffix.removeprefix(FINISHES.get(self.finishes(suffix), "")).removeprefix(GATHERS)

    def gathers(self, suffix: str) -> bool:
        """True for a product with a suffix whose left operand is a `Gather`."""
        return GATHERS in suffix

    def has_tensor_floats(self, suffix: str) -> bool:
        """True for products of float32 on tensor cores."""
        return suffix == TENSOR_FLOATS

    def half_tiles(self, threads: int) -> HalfTiles:
        """The same for a product of halves."""
        return half_tiles_of(threads)

    def is_half_float(self, dtype: DType) -> bool:
        """True for float16 and bfloat16, which are their bits."""
        return is_half(dtype)

    def team_sum(self, suffix: str) -> str:
        """The function for the sum of a warp."""
        return self.team_function(Team.WARP, "add", self.dtype_of(suffix))

    def block_sum(self, suffix: str) -> str:
        """The function for the sum of a block."""
        return self.team_function(Team.BLOCK, "add", self.dtype_of(suffix))

    def block_maximum(self, suffix: str) -> str:
        """The function for the largest number of a block."""
        return self.team_function(Team.BLOCK, "maximum", self.dtype_of(suffix))

    def epsilon(self, suffix: str) -> str:
        """The distance of 1 to the next number."""
        dtype = self.dtype_of(suffix)
        return self.print(Literal(finfo(dtype).eps, dtype))

    def real_suffix(self, dtype: DType) -> str:
        """The suffix of the dtype of the parts of complex numbers, or of real ones."""
        return suffix(real_dtype(dtype))

    def block_minimum(self) -> str:
        """The function for the least integer of a block."""
        return self.team_function(Team.BLOCK, "minimum", INT64)

    def uses(self, routine: str, dtype: str) -> str:
        """Say that a routine calls another one."""
        self.teams.routines[routine, dtype] = None
        return ""

    def call(self, statement: TeamCall) -> tuple[str, list[str]]:
        """The function of a routine, and its arguments behind the first ones."""
        if statement.finish is not None:
            self.uses("finishing", "")
        self.teams.routines[statement.routine, statement.suffix] = None
        return f"block_{statement.routine}_{statement.suffix}", [
            a
            if isinstance(a, str)
            else self.printer.address(a)
            if isinstance(a, Load)
            else self.printer.index(a)
            for a in statement.arguments
        ]

    def atomic(self, statement: AtomicUpdate) -> tuple[str, str]:
        """The function of an update, and the type by which CUDA calls that of the element, which is
        "" for its own."""
        primitive, dtype = TABLE[statement.op], statement.target.dtype
        own = ""
        if dtype.kind in "iu" and dtype.itemsize == INT64.itemsize:
            own = _SIGNED if primitive.chooses and dtype == INT64 else _UNSIGNED
        elif dtype == INT32 and not primitive.chooses:
            own = "unsigned"  # products wrap around
        return primitive.atomic, own

    def elements(self, buffer: Buffer) -> str:
        """The number of elements of an array, at least 1."""
        return self.extent(product(buffer.shape))

    def real(self, dtype: DType) -> str:
        """The type of the parts of complex numbers, or of real ones."""
        return self.ctype(real_dtype(dtype))

    def of_accumulator(self, dtype: DType) -> str:
        """The type in which accumulators are counted."""
        return self.ctype(UINT8 if dtype == BOOL else dtype)

    def is_for_each_warp(self, statement: Shared) -> bool:
        """True if each warp of a block has the array."""
        return statement.team is Team.WARP


def scope_of(
    shared: ProgramScope, kernel: Kernel, teams: TeamNeeds, launched: DeviceKernel | None = None
) -> DeviceScope:
    """The scope of a kernel's body."""
    has_ints = launched is not None and fit_ints(launched)
    printer = (IntPrinter if has_ints else Printer)(
        shared.dialect,
        shared.options.precise_math,
        used=shared.needs.helpers,
        ordinary=ordinary_angles(kernel),
    )
    scope = DeviceScope(shared, printer, teams=teams, counter="int" if has_ints else "int64_t")
    if launched is None:
        return scope
    return replace(scope, threads=launched.threads, lanes=launched.lanes)
