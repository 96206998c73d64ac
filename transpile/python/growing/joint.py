"""Lists that a variable is one after the other, as `frontier` is where a loop ends with `frontier =
following`: they have one room, which the caller of the program gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from transpile.ir.dims import Index
from transpile.ir.indices.requirements import is_at_most
from transpile.ir.source_info import user_source
from transpile.python.growing.elements import Elements
from transpile.python.growing.growth import GROWING, Growing, endless
from transpile.python.objects.number_lists import ListedError
from transpile.python.semantics.bounds import room_around, root_trace
from transpile.util.interrupt_safety import THREAD


class JointError(BaseException):
    """The trace begins anew, with one room for the lists that are made at these sites, of elements
    of these types; `items`: with which they are made, at most."""

    def __init__(self, sites: Iterable[Any], elements: Elements | None, items: int = 0) -> None:
        self.sites = frozenset(sites)
        self.elements = elements
        self.items = items


class Joint:
    """Lists that have one room.

    sites     where they are made
    elements  what they hold
    items     with how many elements they are made, at most
    rooms     the room that they have, by the trace whose caller gives it
    """

    def __init__(self) -> None:
        self.sites: frozenset[Any] = frozenset()
        self.elements: Elements | None = None
        self.items = 0
        self.rooms: dict[int, Index] = {}

    def joined(self, other: Joint | JointError) -> Joint:
        """The lists of both."""
        made = Joint()
        made.sites = self.sites | other.sites
        made.items = max(self.items, other.items)
        made.elements = self.holding(other.elements)
        return made

    def room(self) -> Index:
        """The room of each of them."""
        root = id(root_trace())
        if root not in self.rooms:
            room = room_around()
            if room is None:
                raise endless(user_source())
            self.rooms[root] = room + self.items
        return self.rooms[root]

    def holding(self, elements: Elements | None) -> Elements | None:
        """What a list of such elements holds."""
        if elements is None or self.elements is None:
            return elements or self.elements
        return elements.with_(self.elements) or elements

    def is_like(self, other: Joint) -> bool:
        """True for the same lists of the same elements."""
        return (self.sites, self.items, self.elements) == (other.sites, other.items, other.elements)


class JointLists:
    """The lists of a trace that have one room, by their sites."""

    def __init__(self) -> None:
        self._by_site: dict[Any, Joint] = {}

    def of(self, sites: Iterable[Any]) -> Joint | None:
        """Those that are made at one of these sites."""
        return next((self._by_site[site] for site in sites if site in self._by_site), None)

    def is_new(self, request: JointError) -> bool:
        """False where these lists have one room already."""
        before = self.of(request.sites)
        return before is None or not self._with(request).is_like(before)

    def join(self, request: JointError) -> None:
        """Let lists have one room."""
        joint = self._with(request)
        self._by_site |= dict.fromkeys(joint.sites, joint)

    def _with(self, request: JointError) -> Joint:
        joint = Joint().joined(request)
        for site in request.sites:
            if site in self._by_site:
                joint = self._by_site[site].joined(joint)
        return joint

    def begin(self) -> None:
        """Begin a trace, whose caller gives room anew."""
        for joint in self._by_site.values():
            joint.rooms.clear()


def unite(one: Any, other: Any, made: Iterable[tuple[Any, Any]]) -> None:
    """Have the trace begin anew where two values of a variable are lists of the program that may
    have one room; `made`: the lists that the function makes, and where."""
    for pair in _pairs(one, other):
        for values in pair:
            if not isinstance(values, Growing):
                site = next((site for x, site in made if x is values), None)
                if site is None:
                    return
                raise ListedError(site, GROWING)
        if not _are_joint(*pair):
            known = [values.elements for values in pair if values.elements is not None]
            wide = known[0].with_(known[-1]) if known else None
            request = JointError(frozenset().union(*map(_sites, pair)), wide)
            if wide is not None and all(map(_sites, pair)) and THREAD.python.joint.is_new(request):
                raise request


def _are_joint(one: Any, other: Any) -> bool:
    """True for lists of equal elements that have one room."""
    if one.elements is None or one.elements != other.elements:
        return False
    return is_at_most(one.room, other.room) and is_at_most(other.room, one.room)


def _sites(values: Any) -> frozenset[Any]:
    """Where the lists are made that a value may be."""
    if values.elements is not None:
        return frozenset(values.elements.sites)
    return frozenset() if values.site is None else frozenset([values.site])


def _pairs(one: Any, other: Any) -> Iterator[tuple[Any, Any]]:
    """The lists at the same places of two values, of which one is a list of the program."""
    if isinstance(one, Growing) or isinstance(other, Growing):
        if isinstance(one, Growing | list) and isinstance(other, Growing | list):
            yield one, other
    elif type(one) is type(other) and isinstance(one, list | tuple) and len(one) == len(other):
        for pair in zip(one, other, strict=True):
            yield from _pairs(*pair)
    elif type(one) is dict and type(other) is dict and one.keys() == other.keys():
        for key in one:
            yield from _pairs(one[key], other[key])
