"""Scopes for the templates of CUDA: what C's scopes print, and what teams of threads need."""

from __future__ import annotations

from dataclasses import field

import numpy as np

from transpile.analysis.value_range import ordinary_angles
from transpile.codegen.c_expr import Printer
from transpile.codegen.c_functions import applied
from transpile.codegen.dialect import suffix
from transpile.codegen.line_wrapping import WIDTH
from transpile.codegen.scope import ProgramScope, Scope
from transpile.errors import InternalError
from transpile.ir.indices.row_major import product
from transpile.ir.loop_ir import Buffer, DType, Expr, Kernel, Load, Ref
from transpile.ir.types import BOOL, DTYPES, INT64, UINT8, is_half
from transpile.targets.cuda.device_ir import (
    Combine,
    DeviceStatement,
    FromFirst,
    Shared,
    Spread,
    Team,
    TeamCall,
)
from transpile.targets.cuda.tiles import HalfTiles, Tiles, half_tiles_of, tiles_of
from transpile.util.frozen_records import dataclass

_PRINTED = frozenset(
    [
        "For",
        "If",
        "While",
        "Declare",
        "Update",
        "Store",
        "Alloc",
        "Swap",
        "Spread",
        "Together",
        "Single",
        "Combine",
        "FromFirst",
        "Barrier",
        "Shared",
        "Slice",
        "TeamCall",
    ]
)

_AROUND_CLAUSES = 8  # characters of the head of a loop


@dataclass(frozen=True)
class TeamFunction:
    """A function that all threads of a team call with a value each: the values combined by an
    operation, or, without one, the first thread's.

    combined   the expression of `value` and `other`
    """

    name: str
    team: Team
    op: str
    dtype: DType
    combined: str


@dataclass(frozen=True)
class TeamNeeds:
    """The functions of teams, and the routines with the dtypes, that kernels call."""

    functions: dict[str, TeamFunction] = field(default_factory=dict)
    routines: dict[tuple[str, str], None] = field(default_factory=dict)


@dataclass(frozen=True)
class DeviceScope(Scope):
    """Prints the statements of a device kernel."""

    teams: TeamNeeds = field(default_factory=TeamNeeds)

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

    def over(self, spread: Spread) -> str:
        """Whom iterations are dealt to, as a word for templates."""
        return spread.over.name

    def trip_count(self, spread: Spread) -> str:
        """The number of iterations of a nest."""
        return self.index(product(loop.extent for loop in spread.loops))

    def inner_count(self, spread: Spread, number: int) -> str:
        """The iterations of the loops inside one of a nest."""
        return self.printer.index(product(f.extent for f in spread.loops[number + 1 :]), 10)

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
        name = f"{team.value}_{op or 'first'}_{suffix(dtype)}"
        if op and team is Team.BLOCK:
            self.team_function(Team.WARP, op, dtype)
        if name not in self.teams.functions:
            value: Expr = Ref("value", dtype)
            combined = applied(op, (value, Ref("other", dtype)), dtype) if op else value
            self.teams.functions[name] = TeamFunction(
                name, team, op, dtype, self.assigned(combined)
            )
        return name

    def shuffled_as(self, dtype: DType) -> str:
        """How a value goes to another lane: by itself, as an int, or in two parts."""
        if dtype.kind == "c":
            return "parts"
        return "itself" if dtype.itemsize >= 4 else "int"

    def dtype_of(self, name: str) -> DType:
        """The dtype of a suffix."""
        return next(d for d in DTYPES if suffix(d) == name)

    def tiles(self, dtype: DType, threads: int) -> Tiles:
        """How so many threads share a tile of a product."""
        return tiles_of(dtype, threads)

    def half_tiles(self, threads: int) -> HalfTiles:
        """The same for a product of halves."""
        return half_tiles_of(threads)

    def is_half_float(self, dtype: DType) -> bool:
        """True for float16 and bfloat16, which are their bits."""
        return is_half(dtype)

    def team_sum(self, suffix: str) -> str:
        """The function for the sum of a warp."""
        return self.team_function(Team.WARP, "add", self.dtype_of(suffix))

    def block_minimum(self) -> str:
        """The function for the least integer of a block."""
        return self.team_function(Team.BLOCK, "minimum", INT64)

    def uses(self, routine: str, dtype: str) -> str:
        """Say that a routine calls another one."""
        self.teams.routines[routine, dtype] = None
        return ""

    def call(self, statement: TeamCall) -> tuple[str, list[str]]:
        """The function of a routine, and its arguments behind the first ones."""
        self.teams.routines[statement.routine, statement.suffix] = None
        return f"block_{statement.routine}_{statement.suffix}", [
            a
            if isinstance(a, str)
            else self.printer.address(a)
            if isinstance(a, Load)
            else self.printer.index(a)
            for a in statement.arguments
        ]

    def elements(self, buffer: Buffer) -> str:
        """The number of elements of an array, at least 1."""
        return self.extent(product(buffer.shape))

    def real(self, dtype: DType) -> str:
        """The type of the parts of complex numbers."""
        return self.ctype(np.dtype(f"f{dtype.itemsize // 2}"))

    def of_accumulator(self, dtype: DType) -> str:
        """The type in which accumulators are counted."""
        return self.ctype(UINT8 if dtype == BOOL else dtype)

    def is_for_each_warp(self, statement: Shared) -> bool:
        """True if each warp of a block has the array."""
        return statement.team is Team.WARP


def scope_of(shared: ProgramScope, kernel: Kernel, teams: TeamNeeds) -> DeviceScope:
    """The scope of a kernel's body."""
    printer = Printer(
        shared.dialect,
        shared.options.precise_math,
        used=shared.needs.helpers,
        ordinary=ordinary_angles(kernel),
    )
    return DeviceScope(shared, printer, teams=teams)
