"""Flags against faults of gcc, for the programs that they may affect.

gcc 12 vectorises sums, minima and maxima of several terms in straight-line code (SLP), also after
it has unrolled a loop. Where the terms are comparisons converted to integers of 8 or 16 bits, it
uses the vector mask in their place, in which a true lane has all bits set:
`(uint8_t)(x[0] > 0) + ... + (uint8_t)(x[3] > 0)` of four true terms is 252. Wider integers are
converted correctly. There, too, it drops the rounding of two numbers of double precision to single
and back: of `y[0] = (float)x[0]; y[1] = (float)x[1]` it makes a copy, also where these are the last
two iterations of a loop in lanes.

Jump threading makes branches of choices that follow from each other, as those of a quotient of
quotients. gcc does not vectorise such a loop. Or gcc 12 puts the addition to a sum of integers into
a branch, masks that, and takes the masked load of the sum and its store for different memory: lanes
are lost. Scalar code with branches is faster for jump threading.

Partial redundancy elimination computes what is made of a choice in each of its arms, and where one
arm is a constant before the loop: of `max(x, 0) == y` it makes a truth that is one of two, for
which gcc has no vector.

Both passes do so with elementary functions, too, whose C has choices: of `arctan(max(x, 0.3))`, or
`power(logaddexp2(x, y), 0.1)`, what follows a choice is computed once for each of its arms, in
branches.

The vectors that finish a loop in lanes are half as wide as the others. Where rows of a local array
begin at multiples of those, but not of the others, gcc 12 loads them as aligned, and does not align
the array: the program ends with a fault. It was seen where the loop in lanes reads several rows.

Of a minimum of three integers, or more, gcc takes first the one that was computed last. In a loop
of the user's, as of the distance of two texts, it is the one that the iteration before has made,
for which both choices wait then: as they are written, one of them does.

Where gcc gathers a vector of eight elements of 64 bits that lie apart, the pass for straight-line
code stores them one by one, and the vector is read from there: it waits for all of these stores.

A loop that copies or fills a row gcc makes a call of `memcpy` or `memset`. Where the row is short,
and as long as an iteration around it says, the call takes longer than the loop, and waits for what
was stored just before: vectors that begin elsewhere are not forwarded to its loads. Long rows are
copied faster by the call, around the caches.

For x86, gcc 12 copies a short constant array as numbers of 32 or 64 bytes. One that is a word of
64 bits repeated, and then zeros, or the bits of the word's sign, it stores as that word everywhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from transpile.codegen.c_functions import dtype_of_column, infix
from transpile.ir.dims import Index, Symbol, bounds, symbols_of, terms_of
from transpile.ir.indices.row_major import step_of
from transpile.ir.loop_ir import (
    Apply,
    Buffer,
    Declare,
    DType,
    Expr,
    For,
    Literal,
    Load,
    Ref,
    Statement,
    Store,
    Update,
    While,
)
from transpile.ir.loop_rewrite import loads, parts, subexpressions, walk
from transpile.ir.types import BOOL

_REDUCING = {"add", "subtract", "maximum", "minimum"}
_LARGEST = 2  # bytes
_WORD = 8  # bytes
_WORDS_AT_ONCE = (4, 8)
_NO_STRAIGHT_LINE_VECTORS = ("-fno-tree-slp-vectorize",)
_NO_NEW_BRANCHES = ("-fno-thread-jumps",)
_NO_TRUTHS_OF_ARMS = ("-fno-tree-pre",)
_NO_CALLS_IN_ARMS = ("-fno-tree-sink",)
_NO_SHORTER_VECTORS = ("--param=vect-epilogues-nomask=0",)
_NO_OTHER_ORDER = ("-fno-tree-reassoc",)
_NO_CALLS_FOR_ROWS = ("-fno-tree-loop-distribute-patterns",)
_VECTOR = 64  # bytes of the widest
_SHORT_ROW = 16 << 10  # bytes
_LONG_ROW = 256 << 10  # bytes


def is_short_reduction(op: str, dtype: DType) -> bool:
    """Tell whether gcc could err where this operation reduces several terms."""
    return op in _REDUCING and dtype.kind in "iu" and dtype.itemsize <= _LARGEST


def rounding_of(part: Expr) -> str:
    """Tell a conversion of double precision to a shorter format from one of single to double, by a
    word; `""` for all else. gcc could drop both of a kernel that has both, and one to a half, whose
    helper widens."""
    if not isinstance(part, Apply) or part.op != "convert_element_type":
        return ""
    source, target = _bytes_of_real(part.args[0].dtype), _bytes_of_real(part.dtype)
    return {(8, 4): "rounds", (8, 2): "rounds a half", (4, 8): "widens"}.get((source, target), "")


def _bytes_of_real(dtype: DType) -> int:
    """The size of a float, or of the parts of a complex number; 0 for other dtypes."""
    if dtype.kind == "c":
        return dtype.itemsize // 2
    return dtype.itemsize if dtype.kind == "f" else 0


def loses_lanes(statements: Sequence[Statement]) -> bool:
    """Tell whether gcc could lose lanes of a sum in a loop in lanes with this body: of integers,
    beside something else that is computed of the same choices."""
    updates = [s for s in statements if isinstance(s, Update) and isinstance(s.target, Ref)]
    return len(updates) > 1 and any(s.target.dtype.kind in "iu" and s.op == "add" for s in updates)


def misaligns(loop: For, local: Mapping[str, Buffer]) -> bool:
    """Tell whether gcc could take rows of local arrays for aligned in a loop in lanes: where a loop
    inside of it goes over rows that are no whole vectors long."""
    return any(
        _is_row_of(load, inner.symbol, local)
        for inner in walk(loop.body)
        if isinstance(inner, For)
        for statement in walk(inner.body)
        for load in loads(statement)
    )


def _is_row_of(load: Load, counter: Symbol, local: Mapping[str, Buffer]) -> bool:
    """True for an element of a local array whose row has the counter's number."""
    buffer = local.get(load.buffer)
    if buffer is None or not any(counter in symbols_of(i) for i in load.index[:-1]):
        return False
    length = buffer.shape[-1]
    return not isinstance(length, int) or length * buffer.dtype.itemsize % _VECTOR != 0


def flags_around_faults(
    *, reduces_short_integers: bool, drops_roundings: bool, loses_lanes: bool, misaligns: bool
) -> tuple[str, ...]:
    """gcc's additional flags without which a program may be miscompiled."""
    flags = _NO_STRAIGHT_LINE_VECTORS if reduces_short_integers or drops_roundings else ()
    flags = (*flags, *_NO_NEW_BRANCHES) if loses_lanes else flags
    return (*flags, *_NO_SHORTER_VECTORS) if misaligns else flags


def is_integer_choice(part: Expr) -> bool:
    """Tell whether an operation of integers is one or several choices in C."""
    return isinstance(part, Apply) and part.dtype.kind in "iu" and not part.primitive.speculatable


def splits_truths(statements: tuple[Statement, ...]) -> bool:
    """Tell whether gcc could compute truths in the arms of a choice, in a loop in lanes with this
    body: where there are truths, and a choice between a constant and another number."""
    inside = [p for s in walk(statements) for p in parts(s) if isinstance(p, Apply)]
    has_truths = any(p.dtype == BOOL for p in inside)
    return has_truths and any(_chooses_a_constant(p) for p in inside)


def computes_of_choices(statements: tuple[Statement, ...]) -> bool:
    """Tell whether gcc could compute an elementary function in the arms of a choice, in a loop in
    lanes with this body: one of what another function, or a choice, has made."""
    declared = [s for s in walk(statements) if isinstance(s, Declare)]
    named = {s.name for s in declared if any(map(_has_choices, _applied(s.value)))}
    return any(
        part.primitive.transcendental and any(_is_of_choices(x, named) for x in part.args)
        for statement in walk(statements)
        for part in parts(statement)
        if isinstance(part, Apply)
    )


def _is_of_choices(value: Expr, named: Collection[str]) -> bool:
    """True if a number is computed by choices, or of a constant that is."""
    inside = subexpressions(value)
    return any(isinstance(x, Ref) and x.name in named for x in inside) or any(
        map(_has_choices, _applied(value))
    )


def _applied(value: Expr) -> Iterator[Apply]:
    return (x for x in subexpressions(value) if isinstance(x, Apply))


def _has_choices(part: Apply) -> bool:
    """True for what may be choices in C, as functions of floats are."""
    of_floats = not part.primitive.speculatable and part.dtype.kind == "f"
    is_operator = bool(infix(part.op, dtype_of_column(part)))
    return (of_floats and not is_operator) or bool(part.primitive.chooses) or part.op == "select"


def _chooses_a_constant(part: Apply) -> bool:
    is_choice = part.primitive.chooses or part.op == "select"
    return bool(is_choice) and any(isinstance(arg, Literal) for arg in part.args)


def gathers_far_elements(loop: For) -> bool:
    """Tell whether gcc could gather elements of 64 bits that lie apart in this loop of the user's,
    which has no mark."""
    if loop.simd or not all(isinstance(s, Declare | Store | Update) for s in loop.body):
        return False
    return any(
        load.dtype.itemsize == 8 and _is_far(load.index, loop.symbol)
        for statement in loop.body
        for load in loads(statement)
    )


def _is_far(index: tuple[Index, ...], counter: Symbol) -> bool:
    """True if the elements of two iterations do not lie side by side."""
    if any(counter in symbols_of(i) for i in index[:-1]):
        return True
    return any(abs(dict(terms_of(i)).get((counter,), 0)) > 1 for i in index[-1:])


def row_moved_by(loop: For) -> str:
    """Tell a short row from a long one, by a word, in a loop that copies or fills it; `""` for a
    length that is known and not long, and for all other loops."""
    match loop.body:
        case (Store(index=(*_, last), value=Literal() | Load() as value) as store,):
            pass
        case _:
            return ""
    reads = [last] if isinstance(value, Literal) else [last, *value.index[-1:]]
    if any(step_of(i, loop.symbol) != 1 for i in reads):
        return ""
    most = bounds(loop.extent)[1]
    size = _LONG_ROW if most is None else most * store.value.dtype.itemsize
    if size >= _LONG_ROW:
        return "long"
    return "short" if size <= _SHORT_ROW and not isinstance(loop.extent, int) else ""


def chains_extremes(loop: For | While) -> bool:
    """Tell whether an iteration of this loop, whose iterations are no lanes, takes the minimum or
    maximum of three integers or more: gcc may take them in another order."""
    known: dict[str, str] = {}  # constants that are such extremes of two
    for statement in loop.body:
        if not isinstance(statement, Declare | Store | Update):
            continue
        op, operands = _extreme(statement.value)
        if any(isinstance(x, Ref) and known.get(x.name) == op for x in operands):
            return True
        if op and isinstance(statement, Declare):
            known[statement.name] = op
    return False


def _extreme(value: Expr) -> tuple[str, tuple[Expr, ...]]:
    """Which extreme of two integers a value is, and of which; `""` for others."""
    if value.dtype.kind not in "iu":
        return "", ()
    match value:
        case Apply(op="minimum" | "maximum" as op, args=args):
            return op, args
        case Apply(op="select", args=(Apply(op=test, args=(x, y)), *arms)):
            first = {"less": "minimum", "greater": "maximum"}.get(test.removesuffix("_equal"), "")
            if first and arms == [x, y]:
                return first, (x, y)
            if first and arms == [y, x]:
                return "maximum" if first == "minimum" else "minimum", (x, y)
    return "", ()


def flags_for_lanes(
    *,
    is_in_lanes: bool,
    is_branched: bool,
    integer_choices: int,
    splits_truths: bool,
    computes_of_choices: bool,
    gathers_far_elements: bool,
    chains_extremes: bool,
    moves_short_rows: bool,
    calls_helpers: bool,
) -> tuple[str, ...]:
    """gcc's additional flags without which it may not vectorise a program's loops in lanes, or
    makes slow lanes or slow chains."""
    is_chain = is_in_lanes and not is_branched and integer_choices > 1
    in_arms = computes_of_choices and not is_branched
    flags = _NO_NEW_BRANCHES if is_chain or in_arms else ()
    flags = (*flags, *_NO_TRUTHS_OF_ARMS) if splits_truths or in_arms else flags
    flags = (*flags, *_NO_CALLS_IN_ARMS) if calls_helpers else flags
    flags = (*flags, *_NO_OTHER_ORDER) if chains_extremes else flags
    flags = (*flags, *_NO_CALLS_FOR_ROWS) if moves_short_rows else flags
    return (*flags, *_NO_STRAIGHT_LINE_VECTORS) if gathers_far_elements else flags


def notes(flags: tuple[str, ...]) -> list[str]:
    """The line about them in the comment of a program."""
    return [f"gcc: only with {' '.join(flags)}, without which gcc 12 errs"] if flags else []


def is_repeated_too_often(value: np.ndarray[Any, Any]) -> bool:
    """Tell whether gcc could store a part of this constant array as a word repeated that is not."""
    data = value.tobytes()
    return any(
        _has_such_a_part(np.frombuffer(data, np.int64, (len(data) - start) // _WORD, start), n)
        for start in range(0, min(_WORD, len(data)), value.itemsize)
        for n in _WORDS_AT_ONCE
    )


def _has_such_a_part(words: np.ndarray[Any, Any], n: int) -> bool:
    """True if n words side by side are one word twice or more, and then only bits of its sign."""
    parts = [words[k : k + max(0, len(words) - n + 1)] for k in range(n)]
    sign = parts[0] >> np.int64(8 * _WORD - 1)
    same, rest = (parts[0] == parts[1]) & (parts[0] != sign), np.full(len(sign), True)
    found = np.full(len(sign), False)
    for k in range(n - 1, 1, -1):
        rest &= parts[k] == sign
        found |= rest & np.logical_and.reduce([same, *(p == parts[0] for p in parts[2:k])])
    return bool(found.any())
