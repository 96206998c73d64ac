"""Barriers where the threads of a team depend on each other through memory.

Between two barriers, what one thread writes no other one reads or writes. An exception needs no
barrier: a loop that is dealt out like the one before, whose accesses to an array are those of the
same iterations, which are the same thread's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from functools import partial

from transpile.ir.dims import Dim, Index, Shape, Symbol, substitute, symbols_of
from transpile.ir.loop_ir import (
    Alloc,
    Declare,
    For,
    If,
    Load,
    Statement,
    Store,
    Swap,
    Update,
    While,
)
from transpile.ir.loop_rewrite import declared_names, loads, loads_of, walk, written
from transpile.targets.cuda.device_ir import (
    Barrier,
    Body,
    Combine,
    DeviceStatement,
    FromFirst,
    Over,
    Single,
    Spread,
    Team,
    TeamCall,
    Together,
    walk_device,
)
from transpile.util.frozen_records import dataclass, replace


@dataclass(frozen=True)
class Thread:
    """The thread that has an iteration of a loop that is dealt out, and the subscript by which it
    accesses an array, in terms of the iteration; it `varies` with the loops around, and `differs`
    from iteration to iteration."""

    over: Over
    ends: tuple[tuple[Index, Index, Index | None], ...]
    index: Shape
    varies: bool
    differs: bool


_FIRST = "first thread"
# Who made an access; None for what is not known.
Who = Thread | str | None


@dataclass
class Pending:
    """The accesses since the last barrier, of each array by whom."""

    reads: dict[str, set[Who]] = field(default_factory=dict)
    writes: dict[str, set[Who]] = field(default_factory=dict)

    def copy(self) -> Pending:
        """The same accesses, apart."""
        return Pending(*({n: set(w) for n, w in d.items()} for d in (self.reads, self.writes)))

    def add(self, other: Pending) -> None:
        """Add the accesses of others."""
        for own, new in ((self.reads, other.reads), (self.writes, other.writes)):
            for name, who in new.items():
                own.setdefault(name, set()).update(who)

    def only(self, names: frozenset[str]) -> Pending:
        """The accesses to some arrays."""
        return Pending(
            *({n: set(w) for n, w in d.items() if n in names} for d in (self.reads, self.writes))
        )

    def in_next_iteration(self) -> Pending:
        """The accesses as the next iteration of a loop knows them: what subscripts read of the loop
        is different there."""
        return Pending(
            *(
                {n: {_in_next_iteration(who) for who in w} for n, w in d.items()}
                for d in (self.reads, self.writes)
            )
        )

    def swap(self, first: str, second: str) -> None:
        """Exchange two arrays; who has accessed either, by which subscript, is not known behind."""
        for own in (self.reads, self.writes):
            if own.get(first) or own.get(second):
                own[first] = {None}
                own[second] = {None}

    def clear(self) -> None:
        """Behind a barrier."""
        self.reads.clear()
        self.writes.clear()

    def conflicts(self, now: Pending) -> bool:
        """True if these accesses and later ones need a barrier between them."""
        return (
            _meet(self.writes, now.reads)
            or _meet(self.writes, now.writes)
            or _meet(self.reads, now.writes)
        )


def _in_next_iteration(who: Who) -> Who:
    return None if isinstance(who, Thread) and who.varies else who


def _meet(before: dict[str, set[Who]], now: dict[str, set[Who]]) -> bool:
    for name in before.keys() & now.keys():
        both = before[name] | now[name]
        if both and (len(both) > 1 or None in both):
            return True
    return False


def with_barriers(body: Body, team: Team, repeated: frozenset[str] | None = None) -> Body:
    """The statements of a team, with barriers. `repeated`: they are an iteration of an independent
    loop, and the next one has these arrays again."""
    placing = _Placing(team)
    pending = Pending()
    made = placing.body(body, pending)
    if repeated is None:
        return made
    behind = pending.in_next_iteration()
    return placing.body(body, behind.only(repeated))


@dataclass(frozen=True)
class _Placing:
    """Places the barriers of a team. `pending` are the accesses before a statement, which become
    those behind it."""

    team: Team

    def body(self, body: Body, pending: Pending) -> Body:
        """The statements with barriers."""
        made: list[DeviceStatement] = []
        for statement in body:
            if isinstance(statement, Together):
                made += self.together(statement, pending)
                continue
            made += self.before(_accesses(statement), pending)
            if isinstance(statement, Swap):
                pending.swap(statement.first, statement.second)
            # What combines the parts of a block has barriers of its own.
            if isinstance(statement, Combine | FromFirst) and statement.team is Team.BLOCK:
                pending.clear()
            made.append(statement)
        return tuple(made)

    def before(self, now: Pending, pending: Pending) -> Body:
        """The barrier before these accesses, where there has to be one."""
        is_needed = pending.conflicts(now)
        if is_needed:
            pending.clear()
        pending.add(now)
        return (Barrier(self.team),) if is_needed else ()

    def together(self, statement: Together, pending: Pending) -> Body:
        """A loop or branch of all threads."""
        match statement.head:
            case For():
                return (replace(statement, bodies=self.repeated(statement.bodies, pending, {})),)
            case While(condition=condition):
                read = _read_by_all(loads_of(condition))
                return (replace(statement, bodies=self.repeated(statement.bodies, pending, read)),)
            case If(condition=condition):
                barrier = self.before(Pending(_read_by_all(loads_of(condition))), pending)
                behind = [pending.copy() for _ in statement.bodies]
                bodies = tuple(map(self.body, statement.bodies, behind))
                for other in behind:
                    pending.add(other)
                return (*barrier, replace(statement, bodies=bodies))

    def repeated(
        self, bodies: tuple[Body, ...], pending: Pending, read: dict[str, set[Who]]
    ) -> tuple[Body, ...]:
        """The body of a loop, the last one of these; what is before it prepares a condition that
        reads arrays."""
        for _ in range(2):  # the second time behind the end of the iteration before
            around = pending.copy()
            made = []
            for number, body in enumerate(bodies):
                placed = self.body(body, around)
                if number < len(bodies) - 1:
                    placed = (*placed, *self.before(Pending(read), around))
                made.append(placed)
            pending.add(around.in_next_iteration())
        return tuple(made)


def _read_by_all(elements: Iterable[Load]) -> dict[str, set[Who]]:
    return {load.buffer: {None} for load in elements}


def _accesses(statement: DeviceStatement) -> Pending:
    """Who accesses what in a statement."""
    now = Pending()
    match statement:
        case Spread():
            for inner in _of_one_thread(statement.body):
                _add(now, inner, partial(thread_of, statement))
        case Single():
            for inner in statement.body:
                _add(now, inner, lambda _: _FIRST)
        case TeamCall():
            now.reads = {name: {None} for name in statement.reads}
            now.writes = {name: {None} for name in statement.writes}
        case For() | If() | While() | Declare() | Store() | Update() | Alloc():
            _add(now, statement, lambda _: None)
        case _:
            pass
    return now


def _of_one_thread(body: Body) -> tuple[Statement, ...]:
    """The statements of a body that one thread runs."""
    kinds = (For, If, While, Declare, Store, Update, Alloc)
    plain = tuple(s for s in body if isinstance(s, kinds))
    assert len(plain) == len(body), "teams are not inside teams"
    return plain


def _add(now: Pending, statement: Statement, who: Callable[[Shape], Who]) -> None:
    """Add the accesses of statements that one thread runs, but those to its own arrays."""
    inside = list(walk((statement,)))
    own = declared_names((statement,))
    for one in inside:
        for load in loads(one):
            if load.buffer not in own:
                now.reads.setdefault(load.buffer, set()).add(who(load.index))
        for name in written(one):
            if name not in own:
                now.writes.setdefault(name, set()).add(who(_target(one)))


def _target(statement: Statement) -> Shape:
    if isinstance(statement, Store):
        return statement.index
    assert isinstance(statement, Update) and isinstance(statement.target, Load)
    return statement.target.index


def thread_of(spread: Spread, index: Shape) -> Thread | None:
    """The thread of an access, as what decides it; None if only run-time values do."""
    own: dict[Symbol, Index] = {
        loop.symbol: Dim.symbol(f"iteration{k}") for k, loop in enumerate(spread.loops)
    }
    if spread.turn is not None:
        own[spread.turn] = Dim.symbol("turn")
    body = _of_one_thread(spread.body)
    inside = declared_names(body)
    inside |= {s.symbol.name for s in walk(body) if isinstance(s, For)}
    every = set[Symbol]().union(*map(symbols_of, index))
    others = every - own.keys()
    if not all(symbols_of(i) for i in index) or any(s.name in inside for s in others):
        return None
    ends = tuple((f.start, f.stop, f.limit) for f in spread.loops)
    varies, differs = bool(others), bool(every & own.keys())
    at = tuple(substitute(i, own) for i in index)
    return Thread(spread.over, ends, at, varies, differs)


def accesses_of(statement: DeviceStatement, name: str) -> set[Who]:
    """Who accesses an array in a statement."""
    if isinstance(statement, Spread):
        now = _accesses(statement)
        return now.reads.get(name, set()) | now.writes.get(name, set())
    for inner in walk_device((statement,)):
        now = _accesses(inner)
        if name in now.reads or name in now.writes or name in _names_of(inner):
            return {None}
    return set()


def _names_of(statement: DeviceStatement) -> tuple[str, ...]:
    """The arrays that a statement exchanges, or that its condition reads."""
    match statement:
        case Swap(first=first, second=second):
            return first, second
        case Together(head=If(condition=condition) | While(condition=condition)):
            return tuple(load.buffer for load in loads_of(condition))
        case _:
            return ()
