"""The summary of a program: what all its statements together say to a C compiler, and to those who
print them. It is made in one walk, and kept by each kernel.

The length is the names and numbers in the statements. A C compiler takes time by it, so it decides
how much of that time a program gets (`compile_budget.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

from transpile.codegen.c_functions import dtype_of_column, infix
from transpile.codegen.plan.gcc_faults import (
    chains_extremes,
    computes_of_choices,
    flags_around_faults,
    flags_for_lanes,
    gathers_far_elements,
    is_integer_choice,
    is_short_reduction,
    loses_lanes,
    misaligns,
    rounding_of,
    row_moved_by,
    splits_truths,
)
from transpile.ir.calls import Call
from transpile.ir.dims import Index, Symbol
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
    Buffer,
    Declare,
    Expr,
    For,
    If,
    Kernel,
    Literal,
    Load,
    Ref,
    Statement,
    Store,
    Update,
    While,
)
from transpile.ir.loop_rewrite import indices, parts, walk
from transpile.util.frozen_records import dataclass, memoized

# `int64_t i = ; i < ; i++`, of which the ends are counted for themselves; `const double x`.
_OF_LOOP = 5
_OF_DECLARATION = 3


@dataclass(frozen=True)
class Summary:
    """What is true of kernels.

    length                  the names and numbers in their statements, as C has them
    is_complex              a value is complex, though perhaps no array is
    reduces_short_integers  gcc 12 may err (`gcc_faults.py`)
    drops_roundings         likewise
    loses_lanes             likewise
    misaligns               likewise
    splits_truths           gcc may leave a loop out of lanes (`gcc_faults.py`)
    computes_of_choices     likewise
    gathers_far_elements    gcc may make slow lanes (`gcc_faults.py`)
    chains_extremes         gcc may make slow chains (`gcc_faults.py`)
    moves_short_rows        gcc may call functions for short rows (`gcc_faults.py`)
    moves_long_rows         gcc should call functions for long rows (`gcc_faults.py`)
    is_in_lanes             the iterations of a loop are lanes
    is_branched             there is a branch, or a loop until a condition fails
    integer_choices         operations of integers that are choices in C, as their quotients
    is_parallel             the iterations of a loop are shared among threads
    is_marked               a loop has a directive of OpenMP
    intrinsics              the routines that are called
    """

    length: int
    is_complex: bool
    reduces_short_integers: bool
    drops_roundings: bool
    loses_lanes: bool
    misaligns: bool
    splits_truths: bool
    computes_of_choices: bool
    gathers_far_elements: bool
    chains_extremes: bool
    moves_short_rows: bool
    moves_long_rows: bool
    is_in_lanes: bool
    is_branched: bool
    integer_choices: int
    is_parallel: bool
    is_marked: bool
    intrinsics: frozenset[type[Call]]


def summary_of(kernels: Iterable[Kernel]) -> Summary:
    """The summary of kernels, all of a program or some."""
    each = list(map(_summary, kernels))
    return Summary(
        sum(s.length for s in each),
        any(s.is_complex for s in each),
        any(s.reduces_short_integers for s in each),
        any(s.drops_roundings for s in each),
        any(s.loses_lanes for s in each),
        any(s.misaligns for s in each),
        any(s.splits_truths for s in each),
        any(s.computes_of_choices for s in each),
        any(s.gathers_far_elements for s in each),
        any(s.chains_extremes for s in each),
        any(s.moves_short_rows for s in each),
        any(s.moves_long_rows for s in each),
        any(s.is_in_lanes for s in each),
        any(s.is_branched for s in each),
        sum(s.integer_choices for s in each),
        any(s.is_parallel for s in each),
        any(s.is_marked for s in each),
        frozenset().union(*(s.intrinsics for s in each)),
    )


@memoized
def _summary(kernel: Kernel) -> Summary:
    length = choices = 0
    is_complex = reduces_short = loses = splits = of_choices = far = chains = in_lanes = (
        is_branched
    ) = False
    is_parallel = is_marked = misaligned = False
    local: dict[str, Buffer] = {}
    intrinsics: set[type[Call]] = set()
    roundings: set[str] = set()
    rows: set[str] = set()
    for statement in walk(kernel.body):
        length += _length(statement)
        for part in parts(statement):
            is_complex = is_complex or part.dtype.kind == "c"
            if isinstance(part, Apply) and not reduces_short:
                reduces_short = is_short_reduction(part.op, part.dtype)
            choices += is_integer_choice(part)
            roundings.add(rounding_of(part))
        match statement:
            case Update():
                short = is_short_reduction(statement.op, statement.target.dtype)
                reduces_short = reduces_short or short
            case For():
                is_parallel = is_parallel or statement.parallel
                is_marked = is_marked or statement.parallel or statement.simd
                in_lanes = in_lanes or statement.simd
                loses = loses or (statement.simd and loses_lanes(statement.body))
                misaligned = misaligned or (statement.simd and misaligns(statement, local))
                splits = splits or (statement.simd and splits_truths(statement.body))
                in_arms = statement.simd and computes_of_choices(statement.body)
                of_choices = of_choices or in_arms
                far = far or gathers_far_elements(statement)
                rows.add(row_moved_by(statement))
                chains = chains or (not statement.simd and chains_extremes(statement))
            case Alloc(buffer=buffer, slot=None):
                local[buffer.name] = buffer
            case If():
                is_branched = True
            case While():
                is_branched = True
                chains = chains or chains_extremes(statement)
            case Call():
                intrinsics.add(type(statement))
            case _:
                pass
    drops = {"rounds", "widens"} <= roundings or "rounds a half" in roundings
    faults = reduces_short, drops, loses, misaligned
    moves = "short" in rows, "long" in rows
    marks = is_complex, *faults, splits, of_choices, far, chains, *moves, in_lanes, is_branched
    return Summary(length, *marks, choices, is_parallel, is_marked, frozenset(intrinsics))


def _length(statement: Statement) -> int:
    """The names and numbers that stand directly in a statement."""
    total = sum(map(_of_expression, parts(statement))) + sum(map(_of_index, indices(statement)))
    match statement:
        case For():
            return total + _OF_LOOP
        case Declare() | Alloc():
            return total + _OF_DECLARATION
        case Update(target=Ref()) | Store() | Call():
            return total + 1
        case _:
            return total


def _of_expression(expr: Expr) -> int:
    """One for a variable or function, none for an operator; a float's digits are two numbers."""
    match expr:
        case Apply(op="convert_element_type"):
            return 1
        case Apply():
            return 0 if infix(expr.op, dtype_of_column(expr)) else 1
        case Ref() | Load():
            return 1
        case Literal():
            return 2 if expr.dtype.kind == "f" else 1
        case _:
            return 0


def _of_index(index: Index) -> int:
    if isinstance(index, int):
        return 1
    total = 0
    for monomial, coefficient in index.terms:
        total += abs(coefficient) != 1 or not monomial
        for atom in monomial:
            if isinstance(atom, Symbol):
                total += 1
            else:
                total += _of_index(atom.dividend) + _of_index(atom.divisor)
    return total


def gcc_flags(summary: Summary, *, calls_helpers: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The flags without which gcc may err in a program, and all of gcc's flags."""
    faults = flags_around_faults(
        reduces_short_integers=summary.reduces_short_integers,
        drops_roundings=summary.drops_roundings,
        loses_lanes=summary.loses_lanes,
        misaligns=summary.misaligns,
    )
    lanes = flags_for_lanes(
        is_in_lanes=summary.is_in_lanes,
        is_branched=summary.is_branched,
        integer_choices=summary.integer_choices,
        splits_truths=summary.splits_truths,
        computes_of_choices=summary.computes_of_choices,
        gathers_far_elements=summary.gathers_far_elements,
        chains_extremes=summary.chains_extremes,
        moves_short_rows=summary.moves_short_rows and not summary.moves_long_rows,
        calls_helpers=calls_helpers,
    )
    return faults, tuple(dict.fromkeys((*faults, *lanes)))
