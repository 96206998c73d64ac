"""Scopes: print the expressions and subscripts of statements for the templates.

A scope belongs to the body of a kernel or loop and is immutable: the body of an inner loop has a
scope of its own, made from that around it. The helpers, library routines and reductions that the
text of the program turns out to need are collected in the `Needs` that its scopes share.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from transpile.analysis.value_range import ordinary_angles
from transpile.codegen.c_expr import Printer, c_type
from transpile.codegen.c_functions import accumulated, assigning
from transpile.codegen.dialect import Dialect, suffix
from transpile.codegen.plan.unrolling import unrolling
from transpile.errors import InternalError
from transpile.ir.calls import Call, Strided
from transpile.ir.dims import Dim, Index, Shape, Symbol, sides, symbols_of
from transpile.ir.indices.requirements import may_be_0
from transpile.ir.loop_ir import (
    Apply,
    Buffer,
    DType,
    Expr,
    For,
    Kernel,
    Load,
    Program,
    Ref,
    Store,
    Update,
)
from transpile.ir.loop_rewrite import declared_names, names_in, walk
from transpile.ir.primitive import TABLE
from transpile.ir.types import BOOL, INT64, UINT8
from transpile.options import Options
from transpile.primitives.reductions import identity
from transpile.symbols import c_helpers
from transpile.symbols.identifiers import Names
from transpile.symbols.lapack import Libraries
from transpile.util.frozen_records import dataclass, replace

_NO_ENDS: Mapping[tuple[Index, Index], str] = {}


@dataclass(frozen=True)
class Reduction:
    """A reduction operation that OpenMP lacks, for a `declare reduction` directive; `in_gcc` is one
    that it has, and that is the same in gcc."""

    name: str
    dtype: DType
    start: Any
    combine: str
    in_gcc: str = ""


@dataclass(frozen=True)
class Needs:
    """What the text of a program needs besides its kernels.

    helpers      the functions of runtime_c that statements call
    routines     the library routines that these call
    linked       those of `helpers` that may be linked
    inlined      those of `helpers` that some call specialises
    reductions   the reduction operations that OpenMP lacks
    """

    helpers: set[str] = field(default_factory=set)
    routines: set[tuple[str, str]] = field(default_factory=set)
    linked: set[str] = field(default_factory=set)
    inlined: set[str] = field(default_factory=set)
    reductions: dict[str, Reduction] = field(default_factory=dict)

    @property
    def large(self) -> set[str]:
        """The helpers that programs may be linked with."""
        return self.linked - self.inlined


class ProgramScope:
    """The part of the scopes that the kernels of a program share."""

    def __init__(
        self, program: Program, options: Options, dialect: Dialect, libraries: Libraries
    ) -> None:
        self.program = program
        self.options = options
        self.dialect = dialect
        self.needs = Needs()
        self.targets = (*(library.kind for library in libraries if library is not None), "c")
        self.names = Names(names_in(program))
        self.sizes = {*program.sizes, *(length for length, _ in program.lengths)}

    def of_entry(self) -> Scope:
        """The scope of the program's own function."""
        return Scope(self, Printer(self.dialect, used=self.needs.helpers))

    def of_kernel(self, kernel: Kernel, values: Iterable[str], as_bytes: Iterable[str]) -> Scope:
        """The scope of a kernel's body; `values` are its parameters that are passed by value, the
        bools in `as_bytes` are read as integers."""
        printer = Printer(
            self.dialect,
            self.options.precise_math,
            values=frozenset(values),
            as_bytes=frozenset(as_bytes),
            used=self.needs.helpers,
            ordinary=ordinary_angles(kernel),
        )
        return Scope(self, printer)


@dataclass(frozen=True)
class Start:
    """The address of an array's first element, which is cast from that of its first row."""

    buffer: str
    element: str


@dataclass(frozen=True)
class Scope:
    """Prints the statements of a body.

    window     (name, value) of variables for subscripts, with which the body begins
    ends       the ends of strips that have a name
    collapsed  the indices of the loops around it that one pragma collapses
    lane       the index of the innermost loop, if that is one in lanes
    """

    shared: ProgramScope
    printer: Printer
    window: tuple[tuple[str, str], ...] = ()
    ends: Mapping[tuple[Index, Index], str] = field(default_factory=lambda: _NO_ENDS)
    collapsed: frozenset[Symbol] = frozenset()
    lane: Symbol | None = None

    # ------------------------------------------------------------------------------- programs

    @property
    def program(self) -> Program:
        """The program."""
        return self.shared.program

    @property
    def buffers(self) -> Mapping[str, Buffer]:
        """The program's buffers."""
        return self.shared.program.buffers()

    @property
    def options(self) -> Options:
        """The options, for templates that depend on one."""
        return self.shared.options

    @property
    def calls_back(self) -> bool:
        """False where a program that fails returns its code, and calls nobody."""
        return self.shared.dialect.calls_back

    def new_name(self, hint: str) -> str:
        """A new name, unique in the program."""
        return self.shared.names.new(hint)

    def helper(self, name: str) -> str:
        """The name of a helper, which is added to the program's needs."""
        self.shared.needs.helpers.add(name)
        return name

    # ---------------------------------------------------------------------------------- types

    def ctype(self, dtype: DType) -> str:
        """The type of values."""
        return c_type(self.shared.dialect, dtype)

    def element_type(self, name: str) -> str:
        """The type of the elements of a buffer."""
        dtype = self.buffers[name].dtype
        return self.counted(dtype) if name in self.printer.as_bytes else self.ctype(dtype)

    def counted(self, dtype: DType) -> str:
        """The type of accumulators: compilers vectorise reductions of integers, not of bools."""
        return c_type(self.shared.dialect, UINT8 if dtype == BOOL else dtype)

    # ---------------------------------------------------------------------------- expressions

    def print(self, expr: Expr) -> str:
        """An expression."""
        return self.printer.print(expr)

    def negated(self, expr: Expr) -> str:
        """The negation of a condition."""
        match expr:
            case Apply(op="logical_not", args=(inner,)):
                return self.printer.print(inner)
        return self.printer.print(Apply("logical_not", (expr,), BOOL))

    def assigned(self, expr: Expr) -> str:
        """An expression on the right side of an assignment."""
        return self.printer.assigned(expr)

    def change(self, update: Update) -> tuple[str, str]:
        """(operator, value) of an update `target operator= value`; "" is a plain assignment."""
        value = accumulated(update)
        if value is not None:
            return "", self.printer.print(value)
        operator = "" if update.op == "set" else assigning(update.op, update.target.dtype)
        return operator, self.printer.assigned(update.value)

    def element(self, buffer: str, index: Shape) -> str:
        """An element of a buffer."""
        return self.printer.element(buffer, index)

    def copied(self, store: Store) -> str:
        """The helper that copies a complex element part by part, in a loop whose lanes copy
        elements beside one another; "" for any other assignment."""
        match store.value:
            case Load(index=index, dtype=dtype) if dtype.kind == "c":
                if _is_beside(store.index, self.lane) and _is_beside(index, self.lane):
                    return self.helper(f"copy_{suffix(dtype)}")
        return ""

    def index(self, index: Index) -> str:
        """A subscript."""
        return self.printer.index(index)

    def at_least(self, slack: Index) -> str:
        """The condition that an index is not negative."""
        smaller, larger = sides(slack)
        return f"{self.index(larger)} >= {self.index(smaller)}"

    def symbols(self, index: Index) -> frozenset[Symbol]:
        """The runtime sizes in a size."""
        return symbols_of(index)

    def brackets(self, shape: Shape) -> str:
        """The extents of an array in its declaration."""
        return "".join([f"[{self.extent(extent)}]" for extent in shape])

    def extent(self, extent: Index) -> str:
        """The extent of an array in its declaration, which C wants positive even where the array
        has no elements."""
        return (
            f"{self.helper('at_least_1')}({self.index(extent)})"
            if may_be_0(extent)
            else (self.index(extent))
        )

    def addresses(self, arrays: tuple[Strided | None, ...]) -> list[str]:
        """The addresses of arrays; 0 for an empty one."""
        return ["0" if a is None else self._pointer(a.first) for a in arrays]

    def _pointer(self, load: Load) -> str:
        """The address of an element, of any type."""
        return load.buffer if self._may_be_null(load) else self.printer.address(load)

    def _may_be_null(self, load: Load) -> bool:
        """True for the beginning of an array of rows that may have none: it may be NULL, which has
        no first row."""
        buffer = self.buffers.get(load.buffer)
        is_start = len(load.index) > 1 and not any(load.index)
        return is_start and buffer is not None and any(map(may_be_0, buffer.shape))

    def invocation(self, call: Call) -> tuple[str, list[str | list[str] | Start]]:
        """The function and the arguments of a call: those of the first target that the intrinsic
        has, a linked library or C. A list is an array of integers."""
        invocation = call.invocation(*self.shared.targets)
        if c_helpers.find(invocation.function) is None:
            raise InternalError(
                f"runtime_c has no {invocation.function}, which the intrinsic {call.name} calls"
            )
        needs = self.shared.needs
        needs.helpers.add(invocation.function)
        needs.routines.update(invocation.routines)
        specialised = bool(invocation.routines) or call.is_specialised
        (needs.inlined if specialised else needs.linked).add(invocation.function)
        return invocation.function, [self._argument(a) for a in invocation.arguments]

    def _argument(
        self, argument: Index | Load | str | tuple[Index, ...]
    ) -> str | list[str] | Start:
        match argument:
            case str():
                return argument
            case Load() if self._may_be_null(argument):
                return Start(argument.buffer, self.element_type(argument.buffer))
            case Load():
                return self.printer.address(argument)
            case tuple():
                return [self.printer.index(index) for index in argument]
        return self.printer.index(argument)

    # ---------------------------------------------------------------------------------- loops

    def stop(self, loop: For) -> str:
        """The exclusive end of a loop."""
        stop = self.printer.index(loop.stop)
        if loop.limit is None:
            return stop
        limit = self.printer.index(loop.limit)
        least = f"{self.printer.function('minimum', INT64)}({stop}, {limit})"
        return self.ends.get((loop.stop, loop.limit), least)

    def unroll_count(self, loop: For) -> int:
        """How many iterations of a loop the compiler is asked to make one; 0: as it likes."""
        return unrolling(loop, self.shared.sizes)

    def inside(self, loop: For) -> Scope:
        """The scope of a loop's body."""
        printer = self.printer
        if (loop.near, loop.simd) != (printer.near, printer.lanes):
            near, lanes = printer.near or loop.near, printer.lanes or loop.simd
            printer = replace(printer, near=near, lanes=lanes)
        indices = self.collapsed | {loop.symbol}
        # No statement may be between collapsed loops: the innermost declares the window.
        collapsed = indices if loop.collapse > 1 else frozenset()
        lane = loop.symbol if loop.simd else None
        scope = Scope(self.shared, printer, ends=self.ends, collapsed=collapsed, lane=lane)
        strip = None if collapsed else self._common_strip(loop, indices)
        return scope if strip is None else self._with_window(scope, strip)

    def _common_strip(self, loop: For, indices: frozenset[Symbol]) -> For | None:
        """One of the inner loops over a strip that starts at these indices, if there are several
        and all have the same bounds."""
        inner = [s for s in walk(loop.body) if isinstance(s, For)]
        strips = [s for s in inner if indices & symbols_of(s.start)]
        if len(strips) < 2 or len({(s.start, s.stop, s.limit) for s in strips}) != 1:
            return None
        taken = {s.symbol.name for s in inner} | self.buffers.keys() | declared_names(loop.body)
        taken |= {size.name for size in self.program.sizes}
        taken |= {length.name for length, _ in self.program.lengths}
        taken |= {name for _, name in self.printer.indices}  # of a strip around it
        is_named_inside = any(s.symbol in symbols_of(strips[0].start) for s in inner)
        return None if is_named_inside or taken & {"first", "last"} else strips[0]

    def _with_window(self, scope: Scope, strip: For) -> Scope:
        """The scope with the names `first` and `last` for the bounds of a strip."""
        window, ends = [("first", self.printer.index(strip.start))], scope.ends
        if strip.limit is not None:
            window.append(("last", self.stop(strip)))
            ends = {(strip.stop, strip.limit): "last"}
        indices = (*scope.printer.indices, (strip.start, "first"))
        printer = replace(scope.printer, indices=indices)
        return replace(scope, printer=printer, window=tuple(window), ends=ends)

    def reductions(self, loop: For) -> Iterable[tuple[str, list[str]]]:
        """(operation, accumulators) of the reduction clauses of a loop."""
        targets, folded = {}, set()
        for s in walk(loop.body):
            if isinstance(s, Update) and isinstance(s.target, Ref):
                targets[s.target.name] = s.target.dtype
                if s.op != "set":
                    folded.add(s.target.name)
        combined: dict[str, list[str]] = {}
        for op, name in loop.reductions:
            combiner = self._combiner(op, targets[name], is_number=name not in folded)
            combined.setdefault(combiner, []).append(name)
        return combined.items()

    def _combiner(self, op: str, dtype: DType, is_number: bool) -> str:
        """OpenMP's name of a reduction operation, which is declared where OpenMP has none.
        `is_number`: the accumulator is set to what compares as better, and is no NaN."""
        operator = assigning(op, dtype)
        start = identity(op, dtype).value[()]
        if operator == "&" and dtype.kind == "i":
            # Its own begins with a number without a sign in clang, which then warns.
            return self._declared(f"{op}_{suffix(dtype)}", dtype, start, "omp_out &= omp_in")
        if operator:
            return {"|": "||", "&": "&&"}.get(operator, operator) if dtype.kind == "b" else operator
        sign = TABLE[op].chooses
        if dtype.kind in "iu" and sign:
            return "max" if sign > 0 else "min"
        if is_number and sign:
            # gcc combines lanes by its own in a few steps, by others one after the other. Clang's
            # own begin with the largest number, where this begins with infinity.
            better, of_gcc = ("larger", "max") if sign > 0 else ("smaller", "min")
            combine = f"omp_out = omp_in {'>' if sign > 0 else '<'} omp_out ? omp_in : omp_out"
            return self._declared(f"{better}_{suffix(dtype)}", dtype, start, combine, of_gcc)
        name = self.printer.function(op, dtype)
        return self._declared(name, dtype, start, f"omp_out = {name}(omp_out, omp_in)")

    def _declared(self, name: str, dtype: DType, start: Any, combine: str, in_gcc: str = "") -> str:
        self.shared.needs.reductions[name] = Reduction(name, dtype, start, combine, in_gcc)
        return name


def _is_beside(index: Shape, lane: Symbol | None) -> bool:
    """True if the next lane has the element behind that of this one."""
    if lane is None or not index or lane not in symbols_of(index[-1]):
        return False
    *outer, last = index
    return not any(lane in symbols_of(i) for i in (*outer, last - Dim.of(lane)))
