"""Unroll-and-jam recurrences by four rows, which add together what they have in common.

The rows of a substitution wait for one another, but only at the end: all terms of the first row,
and as many of the next ones, are made of what is known before the group. Four chains of additions
are under way, as in `jam_rows`. What is left of a row comes behind the row before it:

    for i: s = b[i]                              for g: s, s2, s3, s4 = b[4 * g], ...
           for j < i: s -= l[i][j] * x[j]   ->          for j < 4 * g: s -= l[4 * g][j] * x[j]; ...
           x[i] = s                                     x[4 * g] = s
                                                        s2 -= l[4 * g + 1][4 * g] * x[4 * g]; ...

So it is in factorizations, and where a loop behind the sum takes it (`y += a[i] * s`). A row adds
its terms in the order of before, so no bit changes. It is legal where what moves forward, the terms
in common and what stands before the sum, meets nothing that it overtakes: loop distribution
(R. Allen and K. Kennedy, Optimizing Compilers for Modern Architectures, 2001, sections 5.6 and
8.4). Runs after `jam_rows`, which has the loops whose rows are independent.
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.analysis.cost_model import trips
from transpile.analysis.elements.accesses import are_apart, element_accesses
from transpile.analysis.elements.bounds import OUTSIDE, Ranges, inside
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import LANES_BOUND, THREADS_BOUND
from transpile.ir.dims import Dim, Index, Symbol, bounds, floor_divide, substitute, symbols_of
from transpile.ir.loop_ir import Declare, For, If, Program, Ref, Statement, Store, Update
from transpile.ir.loop_rewrite import (
    accesses,
    declared_names,
    map_bodies,
    names_in,
    names_read,
    substitute_index,
    walk,
    with_bodies,
)
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.lanes.jam.rows import is_cheap_chain
from transpile.schedule.lanes.outer.scopes import with_own_names
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import dataclass, replace, same

Body = tuple[Statement, ...]

_ONE, _OTHER = "''", "'''"  # mark what two statements of a group count


@contract(requires=(LANES_BOUND,), destroys=(THREADS_BOUND,))
def jam_recurrences(program: Program, options: Options) -> Program:
    """The program with four rows of such recurrences at a time."""
    names = Names(names_in(program))
    jam = _Jam(names, options.machine)
    return map_bodies(program, lambda body: jam.body(body, OUTSIDE))


@dataclass(frozen=True)
class _Row:
    """The statements of one row.

    before  declares the sums
    chain   adds to them
    after   has them
    """

    before: Body
    chain: For
    after: Body

    @staticmethod
    def of(body: Body, place: int) -> _Row:
        """The statements of a row whose chain is at a place."""
        chain = body[place]
        assert isinstance(chain, For)
        return _Row(body[:place], chain, body[place + 1 :])

    @property
    def body(self) -> Body:
        """All of them."""
        return (*self.before, self.chain, *self.after)


class _Jam:
    """Jams the loops over rows in statements."""

    def __init__(self, names: Names, machine: Machine) -> None:
        self._names = names
        self._machine = machine
        self._height = machine.jammed_rows

    def body(self, body: Body, ranges: Ranges) -> Body:
        """The statements with such loops jammed. `ranges` has those of the loops around."""
        return same(body, tuple(s for statement in body for s in self._jammed(statement, ranges)))

    def _jammed(self, statement: Statement, ranges: Ranges) -> Body:
        if not isinstance(statement, For):
            return (with_bodies(statement, lambda body: self.body(body, ranges)),)
        row = self._row_of(statement)
        if row is not None:
            jammed = self._in_groups(statement, row, ranges)
            if jammed is not None:
                return jammed
        within = inside(statement, ranges)
        return (with_bodies(statement, lambda body: self.body(body, within)),)

    def _row_of(self, rows: For) -> _Row | None:
        """The statements of a loop over rows that have such a chain; None for other loops."""
        is_own = rows.ordered and not rows.independent and rows.limit is None
        if not is_own or trips(rows) < self._machine.fewest_jammed_rows:
            return None
        first = next((k for k, s in enumerate(rows.body) if isinstance(s, For)), None)
        if first is None:
            return None
        row = _Row.of(rows.body, first)
        simple = sum(not isinstance(s, For) for s in walk(rows.body))
        if simple > self._machine.most_jammed_statements or not _is_copied(row):
            return None
        return row if self._is_chain(row.chain, rows.symbol) and _is_alone(row) else None

    def _is_chain(self, loop: For, row: Symbol) -> bool:
        """True if a loop adds term after term, and as many in the next row, or one more."""
        if loop.simd or loop.independent or not is_cheap_chain(loop, self._machine):
            return False
        grows = substitute(loop.stop, {row: Dim.of(row) + 1}) - loop.stop
        return row not in symbols_of(loop.start) and grows in (0, 1)

    def _in_groups(self, rows: For, row: _Row, ranges: Ranges) -> Body | None:
        """The loop over groups of rows, and the one over the rows that remain; None where that
        would change what statements meet."""
        whole = floor_divide(rows.extent, self._height)
        group = Symbol(self._names.new("group"), 0, whole)
        first = Dim.of(group) * self._height + rows.start
        copies = [self._copy(rows, row, first + k, k) for k in range(self._height)]
        groups = replace(rows, symbol=group, start=0, stop=whole, body=())
        within = inside(groups, ranges)
        chain = copies[0].chain
        least, _ = bounds(substitute(chain.stop - chain.start, within.counted))
        if least is None or least < 0:
            return None
        rests = [self._rest(copy, chain.stop) for copy in copies]
        together = replace(chain, body=tuple(s for c in copies for s in c.chain.body))
        if not _is_legal(copies, rests, together, within):
            return None
        ends: Iterator[Statement] = (
            s for copy, rest in zip(copies, rests, strict=True) for s in (*rest, *copy.after)
        )
        if not any(rests) and _is_shared(row.after, rows.symbol):
            loops = [loop for copy in copies for loop in copy.after if isinstance(loop, For)]
            ends = iter([replace(loops[0], body=tuple(s for loop in loops for s in loop.body))])
        body = (*(s for copy in copies for s in copy.before), together, *ends)
        left: Index = rows.start + whole * self._height
        remaining = () if left == rows.stop else (replace(rows, start=left),)
        return (replace(groups, body=body), *remaining)

    def _copy(self, rows: For, row: _Row, number: Index, place: int) -> _Row:
        """One row of a group: its statements have its number, scalars of their own, and the symbol
        of the first row's chain, whose range all of them share."""
        symbol = row.chain.symbol
        if symbol.extent is not None:
            end = substitute(symbol.extent, {rows.symbol: number - place})
            symbol = replace(symbol, extent=end)
        chain = substitute_index(row.chain, row.chain.symbol, Dim.of(symbol))
        assert isinstance(chain, For)
        body = (*row.before, replace(chain, symbol=symbol), *row.after)
        body = tuple(substitute_index(s, rows.symbol, number) for s in body)
        if place:
            body = with_own_names(body, self._names, declared_names(rows.body))
        return _Row.of(body, len(row.before))

    def _rest(self, row: _Row, start: Index) -> Body:
        """What a row adds behind the terms that the group has in common."""
        count = row.chain.stop - start
        assert isinstance(count, int)
        body: list[Statement] = []
        for k in range(count):
            terms = (substitute_index(s, row.chain.symbol, start + k) for s in row.chain.body)
            body += with_own_names(tuple(terms), self._names, declared_names(row.chain.body))
        return tuple(body)


def _is_copied(row: _Row) -> bool:
    """True if a row consists of what may stand several times in a group."""
    known = Declare | Store | Update | For | If
    return (
        all(isinstance(s, Declare | Store | Update) for s in row.before)
        and all(isinstance(s, known) for s in walk(row.after))
        and not any(isinstance(s, Declare) and s.symbol is not None for s in walk(row.body))
    )


def _is_shared(after: Body, row: Symbol) -> bool:
    """True for one loop in lanes whose iterations change, and read of what they change, the same
    elements in each row: the rows may take turns at each of them."""
    if len(after) != 1 or not isinstance(after[0], For):
        return False
    loop = after[0]
    symbols = {symbol for end in (loop.start, loop.stop) for symbol in symbols_of(end)}
    if not loop.simd or loop.reductions or loop.limit is not None or row in symbols:
        return False
    if not all(isinstance(s, Store) for s in loop.body):
        return False
    changed = {s.buffer for s in loop.body if isinstance(s, Store)}
    found = {(name, index) for s in loop.body for name, index in accesses(s) if name in changed}
    is_same = all(row not in symbols_of(i) for _, index in found for i in index)
    return is_same and len(found) == len(changed)


def _is_alone(row: _Row) -> bool:
    """True if the chain adds to scalars of its row, and neither it nor what stands before it reads
    or changes a scalar that other rows change."""
    before, own = declared_names(row.before), declared_names(row.body)
    updated = {target.name for target in map(_accumulator, walk(row.body)) if target is not None}
    shared = updated - own
    read = frozenset[str]().union(*map(names_read, (*row.before, row.chain)))
    chained = {target.name for target in map(_accumulator, row.chain.body) if target is not None}
    return chained <= before and shared.isdisjoint(read)


def _accumulator(statement: Statement) -> Ref | None:
    target = statement.target if isinstance(statement, Update) else None
    return target if isinstance(target, Ref) else None


def _is_legal(copies: list[_Row], rests: list[Body], chain: For, ranges: Ranges) -> bool:
    """True if nothing meets what it overtakes: what a row does before its sum, and the terms in
    common, come before the rest of the rows above."""
    after = [
        element_accesses((*rest, *copy.after), ranges, _OTHER)
        for copy, rest in zip(copies, rests, strict=True)
    ]
    for place, copy in enumerate(copies):
        terms = replace(chain, body=copy.chain.body)
        moved = element_accesses((*copy.before, terms), ranges, _ONE)
        if not all(are_apart(moved, others) for others in after[:place]):
            return False
        before = element_accesses(copy.before, ranges, _ONE)
        others = (replace(chain, body=c.chain.body) for c in copies[:place])
        if not all(are_apart(before, element_accesses((o,), ranges, _OTHER)) for o in others):
            return False
    return True
