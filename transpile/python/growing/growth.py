"""How long a list may become that statements of the program add elements to.

Each addition is noted where it is traced. A branch adds what one of its paths adds at most, a loop
as often as it has iterations at most. Where the list is made, that is the room which it needs: a
statement for which there is too little of it is traced again, with more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, TypeVar

from transpile import errors
from transpile.ir.dims import Index
from transpile.ir.indices.requirements import is_at_most
from transpile.ir.source_info import user_source
from transpile.trace.trace import Trace, current_trace
from transpile.util.interrupt_safety import THREAD

T = TypeVar("T")
# For a list of which nobody knows how long it may become: as many elements as the caller has memory
# for.
OPEN = inf
# In the place of a type of numbers: of a list that statements of the program make longer, or
# shorter.
GROWING: Any = object()


class GrownError(BaseException):
    """A statement is to be traced again, with a list that has room for so many elements, or one
    more and elements of these types: what `fit` of the list takes."""

    def __init__(self, grown: Growing, *needs: Any) -> None:
        self.grown = grown
        self.needs = needs


class RoomError(BaseException):
    """The trace begins anew, with room for so many elements from the beginning on, or elements of
    these types, in the lists that are made at `site`."""

    def __init__(self, site: Any, needed: float | None, elements: Any) -> None:
        self.site = site
        self.needed = needed
        self.elements = elements


class Change:
    """What a part of a trace does to the length of a list.

    most   how many elements it adds at most; None where nobody knows
    exact  how much longer the list is behind it, a number; None where values decide
    source where the last element is added
    """

    def __init__(self, most: Index | None, exact: int | None, source: Any) -> None:
        self.most = most
        self.exact = exact
        self.source = source


class Growing:
    """A list whose length changes.

    owner  the trace that has made it
    site   where, if the function has
    room   for how many elements there is memory
    most   how long it is at most, where it has been made
    known  how long it is there; None where values decide
    named  the traces in which variables may be the list that hold its arrays by themselves
    is_taken  a statement that is being traced has taken its arrays
    """

    owner: Trace | None
    room: Index
    most: Index
    known: int | None
    is_taken = False
    site: Any = None

    def __init__(self, owner: Trace | None) -> None:
        self.owner = owner
        self.changes: dict[int, tuple[Trace, Change]] = {}
        self.named: list[Trace | None] = []
        if THREAD.python is not None:
            THREAD.python.growing.append(self)

    def fit(self, *needs: Any) -> None:
        """Have memory for what is needed."""
        raise NotImplementedError

    def change_by(self, change: Change) -> None:
        """Note a change of the length in the trace that is active."""
        self.check(change)
        trace = current_trace()
        if trace is self.owner:
            self.most = _sum(self.most, change.most)
            self.known = _sum(self.known, change.exact)
            return
        assert trace is not None  # or nothing would be traced
        _, before = self.changes.get(id(trace), (trace, Change(0, 0, change.source)))
        both = Change(
            _sum(before.most, change.most), _sum(before.exact, change.exact), change.source
        )
        self.changes[id(trace)] = trace, both

    def check(self, change: Change) -> None:
        """Raise GrownError where there is too little room for a change."""
        if current_trace() is not self.owner:
            return
        if change.most is None:
            raise GrownError(self, OPEN)
        needed = self.most + change.most
        if not is_at_most(needed, self.room):
            raise GrownError(self, needed)

    def changed_in(self, trace: Trace) -> Change | None:
        """What a part of the trace has changed."""
        found = self.changes.get(id(trace))
        return None if found is None or found[0] is not trace else found[1]


def _sum(one: Any, other: Any) -> Any:
    return None if one is None or other is None else one + other


def chosen(traces: Sequence[Trace]) -> None:
    """Note what a branch adds, of which one of these is a path."""
    changes = []
    for grown in THREAD.python.growing:
        found = [c for c in map(grown.changed_in, traces) if c is not None]
        if found:
            changes.append((grown, _either(found, len(found) < len(traces))))
    _note(changes)
    _settle_names(traces)


def _either(changes: Sequence[Change], or_none: bool) -> Change:
    most = changes[0].most
    for change in changes[1:]:
        if most is None or change.most is None:
            most = None
        elif not is_at_most(change.most, most):
            most = change.most if is_at_most(most, change.most) else most + change.most
    exact = {change.exact for change in changes} | ({0} if or_none else set())
    return Change(most, exact.pop() if len(exact) == 1 else None, changes[0].source)


def _note(changes: Sequence[tuple[Growing, Change]]) -> None:
    """Note all of these changes, or none where a list has too little room."""
    for grown, change in changes:
        grown.check(change)
    for grown, change in changes:
        grown.change_by(change)


def _settle_names(traces: Sequence[Trace]) -> None:
    """Note that variables behind a statement may be the lists whose arrays it has taken."""
    here = current_trace()
    for grown in THREAD.python.growing:
        inside = any(trace is other for trace in traces for other in grown.named)
        if (grown.is_taken or inside) and not any(here is other for other in grown.named):
            grown.named.append(here)
        grown.is_taken = False


def repeated(
    trace: Trace, most: Callable[[], Index | None], exact: int | None, test: Trace | None = None
) -> None:
    """Note what a loop adds, of which this is an iteration, and perhaps one test of its condition.

    most   how many iterations there are at most; None where nobody knows
    exact  how many there are; None where values decide
    """
    changes = []
    for grown in THREAD.python.growing:
        change = grown.changed_in(trace)
        tested = None if test is None else grown.changed_in(test)
        if change is not None:
            whole = 0 if change.most == 0 else _product(change.most, most())
            of_all = 0 if change.exact == 0 else _product(change.exact, exact)
            change = Change(whole, of_all, change.source)
        if tested is not None:  # once more than there are iterations
            before = change or Change(0, 0, tested.source)
            change = Change(before.most if tested.most == 0 else None, None, tested.source)
        if change is not None:
            changes.append((grown, change))
    _note(changes)
    _settle_names([trace] if test is None else [trace, test])


def _product(one: Any, other: Any) -> Any:
    return None if one is None or other is None else one * other


def fitted(run: Callable[[], T]) -> T:
    """The result of `run()`, which traces a statement, as often as its lists need more room."""
    while True:
        try:
            return run()
        except GrownError as request:
            if request.grown.owner is not current_trace():
                raise
            for grown in THREAD.python.growing:
                grown.is_taken = False
            request.grown.fit(*request.needs)


def endless(source: Any) -> Exception:
    """What to raise where nobody knows how long a list may become."""
    return errors.CarryError(
        f"{source}: `{source.text}` adds to a list in a loop of which nothing says how often it "
        f"runs, so that there is no bound for the memory of the list. Say how many elements it has "
        f"at most, where it is made: values = transpile.with_room([], n)."
    )


def source_of_change() -> Any:
    """Where the user's code adds an element."""
    return user_source()
