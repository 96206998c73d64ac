"""Index-set splitting: split loops where a condition on the index changes, and resolve the
condition.

Pads and concatenations are selects on where the index lies (`Within`):

    for i in 0..n + 2: out[i] = 1 <= i < n + 1 ? x[i - 1] : 0
    out[0] = 0;  for i in 1..n + 1: out[i] = x[i - 1];  out[n + 1] = 0

So are, in loops of the user's, tests of the counter, as those for the border of a grid:

    for i in range(n): x[i] = 0 if i == 0 or i == n - 1 else u[i - 1] + u[i + 1]

And loops of the user's that store the one element which the other iterations only read: in these
it is read once, and they can run in lanes.

    for j in range(n): d[i, j] = min(d[i, j], d[i, k] + d[k, j])        stores d[i, k] where j is k

Bounded by `most_pieces` and `most_piece_statements`, because code grows with each part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np

from transpile.analysis.integer_ranges import decides
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import (
    BOUNDS_RESOLVED,
    DIAGONALS_RESOLVED,
    NO_DEAD_SCALARS,
    NO_LANES,
    OF_LOOPS,
    SUBEXPRESSIONS_SHARED,
)
from transpile.ir.dims import Dim, Index, Symbol, bounds, substitute, symbols_of
from transpile.ir.indices.requirements import is_at_most
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
    Declare,
    Expr,
    For,
    If,
    IndexValue,
    Kernel,
    Literal,
    Load,
    Program,
    Ref,
    Statement,
    Store,
    Update,
    While,
    Within,
)
from transpile.ir.loop_rewrite import (
    declared_name,
    is_sequence,
    loads,
    map_kernels,
    map_statement,
    names_of_kernel,
    names_read,
    parts,
    substitute_index,
    walk,
    with_bodies,
)
from transpile.ir.types import BOOL, INT64
from transpile.machine import Machine
from transpile.options import Options
from transpile.primitives.elementwise import COMPLEX_PARTS, make_complex
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, memoized, replace, same

# Beyond all indices: the end of a range that has one end.
_FAR = 2**70


@contract(
    requires=(NO_LANES,),
    provides=(BOUNDS_RESOLVED,),
    destroys=(*OF_LOOPS, DIAGONALS_RESOLVED, SUBEXPRESSIONS_SHARED, NO_DEAD_SCALARS),
)
def split_index_sets(program: Program, options: Options) -> Program:
    """The program with its loops split where conditions on their indices change."""
    machine = options.machine
    buffers = Names(program.buffers())

    def cut(kernel: Kernel) -> Kernel:
        if not _has_choices(kernel.body) and not _has_meetings(kernel.body):
            return kernel
        body = tuple(_body(kernel.body, machine))
        return replace(
            kernel, body=unique_names(body, Names(names_of_kernel(kernel), outer=buffers))
        )

    return map_kernels(program, cut)


def _body(body: tuple[Statement, ...], machine: Machine) -> Iterator[Statement]:
    for statement in body:
        if is_sequence(statement) and not isinstance(statement, For):
            yield with_bodies(_simplified(statement), lambda inner: tuple(_body(inner, machine)))
        elif isinstance(statement, For):
            yield from _loop(statement, machine)
        else:
            yield statement


def unique_names(
    body: tuple[Statement, ...], names: Names, before: Iterable[str] = ()
) -> tuple[Statement, ...]:
    """The statements of one scope, where single iterations of split loops stand side by side, with
    fresh names for repeated declarations; `before` are those that the scope begins with."""
    seen = set(before)
    others: dict[str, str] = {}
    symbols: dict[Symbol, Index] = {}
    result: list[Statement] = []
    for statement in body:
        name = declared_name(statement)
        if name:
            others.pop(name, None)
        if name in seen:
            others[name] = names.new(name)
            if isinstance(statement, Declare) and statement.symbol is not None:
                symbol = replace(statement.symbol, name=others[name])
                symbols[statement.symbol] = Dim.of(symbol)
                statement = replace(statement, name=others[name], symbol=symbol)
        seen.add(name)
        statement = _with_unique_names(statement, names)
        result.append(_renamed(statement, others, symbols) if others else statement)
    return same(body, tuple(result))


def _with_unique_names(statement: Statement, names: Names) -> Statement:
    if not isinstance(statement, While):
        return with_bodies(statement, lambda inner: unique_names(inner, names))
    test = unique_names(statement.test, names)  # in one scope with the body
    declared = {name for s in test if (name := declared_name(s))}
    return changed(statement, test=test, body=unique_names(statement.body, names, declared))


def _renamed(
    statement: Statement, others: dict[str, str], symbols: dict[Symbol, Index]
) -> Statement:
    """The statement with scalars, local arrays and subscripts renamed."""

    def on_expr(expr: Expr) -> Expr:
        match expr:
            case Ref(name=name) if name in others:
                return replace(expr, name=others[name])
            case Load(buffer=buffer) if buffer in others:
                return replace(expr, buffer=others[buffer])
            case _:
                return expr

    def on_names(inner: Statement) -> Statement:
        match inner:
            case For() | If() | While():
                return with_bodies(inner, lambda body: tuple(map(on_names, body)))
            case Declare(name=name, symbol=None) if name in others:
                return replace(inner, name=others[name])
            case Declare(name=name, symbol=Symbol() as symbol) if symbol in symbols:
                # A nested declaration that shadows it: its uses are renamed, too.
                return replace(inner, name=others[name], symbol=replace(symbol, name=others[name]))
            case Alloc(buffer=buffer) if buffer.name in others:
                return Alloc(replace(buffer, name=others[buffer.name]))
            case Store(buffer=name) if name in others:
                return replace(inner, buffer=others[name])
            case _:
                return inner

    return on_names(map_statement(statement, on_expr, lambda index: substitute(index, symbols)))


def _loop(loop: For, machine: Machine) -> Iterator[Statement]:
    loop = changed(loop, body=same(loop.body, tuple(map(_simplified, loop.body))))
    cuts = _cuts(loop, machine)
    if not cuts:
        yield with_bodies(loop, lambda inner: tuple(_body(inner, machine)))
        return
    ends = [*cuts, loop.stop]
    start = loop.start
    for end in ends:
        yield from pieces(loop, start, end, machine)
        start = end


def pieces(loop: For, start: Index, end: Index, machine: Machine) -> Iterator[Statement]:
    """The iterations of a loop in [start, end): a loop, or the body of a single one, or nothing. A
    single one that the loop's limit may leave out is a loop, too."""
    if end - start == 0:
        return
    if end - start == 1 and loop.limit is None:
        inner = tuple(substitute_index(s, loop.symbol, start) for s in loop.body)
        yield from _body(_without_decided(tuple(map(_simplified, inner))), machine)
        return
    symbol = Symbol(loop.symbol.name, start if isinstance(start, int) else 0, end)
    # A symbol has a constant lower bound: what begins at a runtime index counts from there.
    counted = symbol if isinstance(start, int) else Symbol(f"{symbol}'", 0, end - start)
    value = Dim.of(counted) + (0 if isinstance(start, int) else start)
    inner = tuple(_simplified(substitute_index(s, loop.symbol, value)) for s in loop.body)
    if counted is not symbol:
        inner = tuple(substitute_index(s, counted, Dim.of(symbol) - start) for s in inner)
    piece = replace(loop, symbol=symbol, start=start, stop=end, body=_without_decided(inner))
    yield replace(piece, body=tuple(_body(piece.body, machine)))


def _cuts(loop: For, machine: Machine) -> list[Index]:
    """The iterations at which conditions on the loop's own index change, in order; those around
    what is most of the loop, or none, if they are too many; none if their order is not the same for
    all runtime sizes."""
    own = {loop.symbol, *symbols_of(loop.start), *symbols_of(loop.stop)}
    cuts: dict[Index, None] = {}
    for statement in walk(loop.body):
        for part in parts(statement):
            condition = _as_range(part) if loop.ordered else part
            if isinstance(condition, Within) and own.issuperset(_symbols_of(condition)):
                cuts.update(dict.fromkeys(_changes(condition, loop.symbol)))
    cuts.update(dict.fromkeys(_meetings(loop)))
    inside = _in_order([c for c in cuts if _is_inside(c, loop)])
    statements = sum(1 for _ in walk(loop.body))
    total = (len(inside) + 1) * statements
    most = machine.most_users_piece_statements if loop.ordered else machine.most_piece_statements
    if len(inside) >= machine.most_pieces or total > most:
        return _around_longest(loop, inside) if 3 * statements <= most else []
    return inside


def _around_longest(loop: For, cuts: list[Index]) -> list[Index]:
    """The cuts around a piece that is most of a loop of known length: there are many at the ends of
    a convolution of a few numbers, each of one iteration."""
    ends = [c for c in (loop.start, *cuts, loop.stop) if isinstance(c, int)]
    if len(ends) < len(cuts) + 2:
        return []
    first, last = max(pairwise(ends), key=lambda piece: piece[1] - piece[0])
    is_most = 2 * (last - first) > ends[-1] - ends[0]
    return [c for c in (first, last) if c in cuts] if is_most else []


def _as_range(expr: Expr) -> Expr:
    """The condition `low <= index < high` that a comparison of indices, or its opposite, is;
    another expression is itself."""
    match expr:
        case Apply(args=(x, y)) if signs := set(expr.primitive.signs):
            one, other = _index_of(x), _index_of(y)
            if one is None or other is None:
                return expr
            if signs == {-1, 1}:
                signs = {0}
            low = -_FAR if -1 in signs else min(signs)
            high = _FAR if 1 in signs else max(signs)
            return Within(one - other, low, high + 1)
    return expr


def _index_of(expr: Expr) -> Index | None:
    match expr:
        case IndexValue(index=index):
            return index
        case Literal(value=value, dtype=dtype) if dtype == INT64:
            return int(value)
    return None


def _without_decided(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """The statements of a scope without branches, and constants, whose truth is known."""
    result: list[Statement] = []
    for number, statement in enumerate(body):
        match statement:
            case Declare(value=Literal(dtype=dtype) as value, constant=True, symbol=None) if (
                dtype == BOOL
            ):
                known = Ref(statement.name, BOOL)
                rest = tuple(_with_truth(s, known, value) for s in body[number + 1 :])
                return (*result, *_without_decided(rest))
            case If(condition=Literal(value=truth)):
                arm = statement.body if truth else statement.orelse
                declared = {declared_name(s) for s in arm}
                if not any(isinstance(s, Alloc) for s in arm) and all(
                    declared.isdisjoint(names_read(s)) for s in body[number + 1 :]
                ):
                    result += _without_decided(arm)
                else:
                    result.append(with_bodies(statement, _without_decided))
            case _:
                result.append(with_bodies(statement, _without_decided))
    return tuple(result)


def _with_truth(statement: Statement, known: Ref, truth: Literal) -> Statement:
    return map_statement(statement, lambda e: resolved(truth if e == known else e))


def _symbols_of(condition: Within) -> frozenset[Symbol]:
    return symbols_of(condition.index) | symbols_of(condition.low) | symbols_of(condition.high)


def _changes(condition: Within, symbol: Symbol) -> list[Index]:
    """The first iterations at which `low <= a*i + b` and `a*i + b < high` change."""
    index = condition.index
    slope = dict(index.terms).get((symbol,), 0) if isinstance(index, Dim) else 0
    rest = index - Dim.of(symbol) * slope
    if not slope or symbol in symbols_of(rest):
        return []
    changes = []
    for bound in (condition.low, condition.high):
        # slope > 0: first i with slope*i + rest >= bound; slope < 0: the first with it < bound.
        if slope > 0:
            changes.append(-((rest - bound) // slope))
        else:
            changes.append((rest - bound) // -slope + 1)
    return changes


def _is_inside(cut: Index, loop: For) -> bool:
    """True if a cut divides a loop: no piece has less than no iterations, or certainly none."""
    if not (is_at_most(loop.start, cut) and is_at_most(cut, loop.stop)):
        return False
    return not (is_at_most(cut, loop.start) or is_at_most(loop.stop, cut))


def _in_order(cuts: list[Index]) -> list[Index]:
    """The cuts in order, without those whose place among the ones before is not known."""
    ordered: list[Index] = []
    for cut in cuts:
        before = [c for c in ordered if is_at_most(c, cut)]
        if all(is_at_most(cut, c) for c in ordered[len(before) :]):
            ordered.insert(len(before), cut)
    return ordered


def _meetings(loop: For) -> Iterator[Index]:
    """The iterations of an innermost loop of the user's that store an element which the others only
    read, and those behind them."""
    if not loop.ordered or loop.limit is not None or not _is_plain(loop.body):
        return
    own = {loop.symbol, *(s.symbol for s in walk(loop.body) if isinstance(s, Declare))}
    stored = [(name, index) for s in walk(loop.body) for name, index in _stored(s)]
    for load in dict.fromkeys(x for s in walk(loop.body) for x in loads(s)):
        if stored and all(own.isdisjoint(symbols_of(i)) for i in load.index):
            for name, index in stored:
                meeting = _meeting(index, load.index, loop) if name == load.buffer else None
                if meeting is not None:
                    yield meeting
                    yield meeting + 1


def _has_meetings(body: tuple[Statement, ...]) -> bool:
    """True if an iteration of a loop stores what the others only read."""
    return any(isinstance(s, For) and any(True for _ in _meetings(s)) for s in walk(body))


def _is_plain(body: tuple[Statement, ...]) -> bool:
    """True for elements and scalars alone, some of them under conditions."""
    return all(isinstance(s, Declare | Store | Update | If) for s in walk(body))


def _stored(statement: Statement) -> Iterator[tuple[str, tuple[Index, ...]]]:
    match statement:
        case Store(buffer=name, index=index) | Update(target=Load(buffer=name, index=index)):
            yield name, index


def _meeting(stored: tuple[Index, ...], read: tuple[Index, ...], loop: For) -> Index | None:
    """The one iteration of a loop that may store an element; None if there are others, or none."""
    moving = [(a, b) for a, b in zip(stored, read, strict=True) if loop.symbol in symbols_of(a)]
    if len(moving) != 1:
        return None
    subscript, place = moving[0]
    offset = subscript - Dim.of(loop.symbol)
    if loop.symbol in symbols_of(offset):
        return None
    for one, other in zip(stored, read, strict=True):
        least, most = bounds(one - other)
        if one is not subscript and ((least or 0) > 0 or (most or 0) < 0):
            return None
    return place - offset


def _simplified(statement: Statement) -> Statement:
    """The statement with every condition that the ranges decide resolved."""
    return map_statement(statement, resolved) if _has_choices((statement,)) else statement


def _has_choices(body: tuple[Statement, ...]) -> bool:
    """True if statements hold conditions that ranges may decide."""
    return any(_has_choice(statement) for statement in walk(body))


@memoized
def _has_choice(statement: Statement) -> bool:
    return any(isinstance(part, Within) or _may_be_decided(part) for part in parts(statement))


def _may_be_decided(expr: Expr) -> bool:
    """True if an expression is a select on a literal, or compares indices."""
    match expr:
        case Apply(op="select", args=(test, _, _)):
            return isinstance(test, Literal)
        case Apply(args=(x, y)):
            return bool(expr.primitive.signs) and None not in (_index_of(x), _index_of(y))
    return False


def resolved(expr: Expr) -> Expr:
    """The expression, with a condition resolved that the ranges of symbols decide."""
    if isinstance(expr, Within):
        low, high = bounds(expr.index - expr.low)[0], bounds(expr.high - expr.index)[0]
        if low is not None and high is not None and low >= 0 and high >= 1:
            return Literal(np.True_, BOOL)
        below, above = bounds(expr.index - expr.low)[1], bounds(expr.high - expr.index)[1]
        if (below is not None and below < 0) or (above is not None and above < 1):
            return Literal(np.False_, BOOL)
    match expr:
        case Apply(op="select", args=(Literal(value=condition), x, y)):
            return x if condition else y
        case Apply(args=(Apply(args=(x,)) as real, Apply(args=(y,)) as imag)) if x == y:
            parts = real.primitive, imag.primitive
            return x if expr.primitive is make_complex and parts == COMPLEX_PARTS else expr
        case Apply(args=(x, y)) if expr.dtype == BOOL:
            return _resolved_truth(expr, x, y)
    return expr


def _resolved_truth(expr: Apply, x: Expr, y: Expr) -> Expr:
    """A comparison of indices, or a conjunction or disjunction, of which the ranges, or one
    operand, say what it is."""
    first, second = _index_of(x), _index_of(y)
    if expr.primitive.signs and first is not None and second is not None:
        low, high = bounds(first - second)
        may_be = {-1: low is None or low < 0, 1: high is None or high > 0}
        may_be[0] = (low is None or low <= 0) and (high is None or high >= 0)
        truths = {sign in expr.primitive.signs for sign, may in may_be.items() if may}
        if len(truths) == 1:
            return Literal(np.bool_(truths.pop()), BOOL)
    deciding = decides(expr)
    for operand, other in ((x, y), (y, x)):
        if deciding is not None and isinstance(operand, Literal):
            return operand if bool(operand.value) is deciding else other
    return expr
