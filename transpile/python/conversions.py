"""The conversion of a function, and of those that it calls, while it is traced."""

from __future__ import annotations

import dis
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from types import CodeType, FunctionType
from typing import Any, TypeVar

from transpile import errors
from transpile.ir.dims import Dim
from transpile.ir.indices.lengths import refused
from transpile.ir.source_info import user_source
from transpile.ir.types import BOOL, ArrayType
from transpile.python import operations
from transpile.python.growing import heaps, joins, ordering
from transpile.python.growing.arrays import is_unknown as is_unknown_slice
from transpile.python.growing.deques import GrowingDeque, RingError
from transpile.python.growing.growth import GROWING, Growing, RoomError
from transpile.python.growing.joint import JointError, JointLists, unite
from transpile.python.growing.kept import Kept
from transpile.python.growing.lists import GrowingList
from transpile.python.growing.rings import GrowingRing
from transpile.python.lookups import is_table, looked_up, method_of
from transpile.python.mathematics import functions
from transpile.python.none_values import result_of
from transpile.python.objects.containers import Lent
from transpile.python.objects.number_lists import ListedError, is_in, made_of, type_in
from transpile.python.objects.ranges import is_nonzero, range_of
from transpile.python.objects.references import NO_ARGUMENT
from transpile.python.rolling import RolledError, UnrolledError
from transpile.python.semantics import bounds, builtins, exceptions
from transpile.python.semantics.branches import if_
from transpile.python.semantics.exceptions import HandledError, Handler, raise_
from transpile.python.semantics.generators import Generating
from transpile.python.semantics.iterables import Chosen, is_stackable
from transpile.python.semantics.numbers import as_integer, is_unknown
from transpile.python.semantics.values import EndedError, joined
from transpile.python.syntax.conversion import Consumer, Conversion, conversion, converted
from transpile.python.syntax.definitions import NoSourceError
from transpile.trace.bytecode.call_resolution import resolving
from transpile.trace.bytecode.rewriting import original
from transpile.trace.captured_arrays import passed_over
from transpile.trace.trace import current_trace
from transpile.util.interrupt_safety import THREAD, as_before, between
from transpile.util.users_code import OURS

T = TypeVar("T")
_SUBSTITUTES: dict[int, tuple[Any, Any]] = {
    id(function): (function, ours)
    for module in (builtins, exceptions, functions, heaps, joins, ordering)
    for function, ours in module.TABLE.items()
}


_REQUESTS = (
    RolledError,
    UnrolledError,
    bounds.CountedError,
    ListedError,
    RoomError,
    JointError,
    RingError,
    HandledError,
    EndedError,
    errors.TracerError,
)


# What compares two values: in C, if they are tuples.
_COMPARE = dis.opmap["COMPARE_OP"]


def _raised(text: str) -> tuple[()]:
    raise_(lambda: refused(text), None)
    return ()


class _Taken:
    """What is subscripted in the place of a list, of which a list has been taken already."""

    def __init__(self, item: Any) -> None:
        self._item = item

    def __getitem__(self, _: Any) -> Any:
        return self._item


def _wide(one: Any, other: Any) -> Any:
    """The type of numbers of two types; None: of any."""
    if GROWING in (one, other):
        return GROWING
    return joined(one, other) if one is not None and other is not None else one or other


_CHANGING_LENGTH = {
    *("append", "extend", "insert", "pop", "clear", "remove"),
    *("popleft", "appendleft", "extendleft", "rotate"),
}


class Conversions:
    """How a function is traced from source, after a trace of it has failed.

    substitutes  by id: a callable, and what takes its place
    rolled       the sites of loops that become loops of the program, and why
    unrolled     those that cannot, and why
    changing     by the site of a loop: the attributes that it changes
    counting     what the greatest numbers in statements are, that only the program has
    handlers     of the `try` statements that are being traced
    conditions   what is known to hold where a branch is traced, or not to
    lent         what traced values have chosen of the user's lists and objects, which are copies
    lists        where lists are made that are arrays, and a type that their elements hold, if any
    made         the lists that the trace has made, and where
    arrays       those of them that are arrays; owners: of which trace, by ids
    growing      those that statements of the program make longer
    rooms        by their sites: how long they may be at least, and of what elements
    joint        those of them that have one room
    rings        where deques are made that use both ends alike
    kept         the elements of these lists
    chosen       those inside of them that traced values have chosen, which are copies
    met_none     a variable is None on one path, and a value on another one
    none         the error with which the trace ended before the program had such variables
    compared     the files and lines at which tuples of traced values are compared
    """

    def __init__(self, failure: errors.TracerError | None) -> None:
        self.failure = failure
        self.substitutes = _SUBSTITUTES
        self.rolled: dict[Any, str] = {}
        self.unrolled: dict[Any, Exception] = {}
        self.changing: dict[Any, Any] = {}
        self.counting = bounds.Counting()
        self.handlers: list[Handler] = []
        self.conditions: list[tuple[Any, bool]] = []
        self.lent: list[tuple[str, Lent]] = []
        self.lists: dict[Any, Any] = {}
        self.made: list[tuple[Any, Any]] = []
        self.arrays: list[tuple[Any, Any]] = []
        self.owners: dict[int, Any] = {}
        self.growing: list[Growing] = []
        self.rooms: dict[Any, tuple[float, Any]] = {}
        self.joint = JointLists()
        self.rings: set[Any] = set()
        self.kept = Kept()
        self.chosen: list[tuple[list[Any], Any]] = []
        self.compared: set[tuple[str, int]] = set()
        self.refused: dict[str, None] = {}
        self.met_none = False
        self.none: errors.TracerError | None = None

    def retried(self, attempt: Callable[[], T]) -> T:
        """Trace with conversions, as often as loops ask for it."""
        while True:
            try:
                return between(self._begin, partial(self._checked, attempt), as_before())
            except _REQUESTS as request:
                self._grant(request)
            except NameError as error:
                # What a `finally` of the user's reads has no value where a request passes it.
                self._grant(passed_over(error, *_REQUESTS) or error)

    def _checked(self, attempt: Callable[[], T]) -> T:
        """The result of an attempt, which changes no copy in the place of what it stands for."""
        self.lent.clear()
        self.made.clear()
        self.arrays.clear()
        self.owners.clear()
        self.growing.clear()
        self.joint.begin()
        self.kept = Kept()
        self.chosen.clear()
        result = attempt()
        self.kept.check()
        for what, lent in self.lent:
            if lent.is_changed():
                changed = errors.UnsupportedError(
                    f"{what} is changed later. As a traced value chooses it, it is a copy: keep "
                    f"the values in an array, and assign to an element of it, values[k] = value."
                )
                errors.blame(changed, NO_ARGUMENT)
                raise changed
        return result

    def _grant(self, request: BaseException) -> None:
        """Note what a trace has asked for, or raise what it ended with."""
        match request:
            case RolledError():
                self.rolled[request.site] = request.reason
            case UnrolledError():
                self.rolled.pop(request.site, None)
                self.unrolled[request.site] = request.reason
            case bounds.CountedError():
                self.counting.sites.setdefault(request.outermost, {})[request.site] = None
            case ListedError(site=site, kind=kind):
                sites = self.lists if site is None else [site]
                before = dict(self.lists)
                self.lists |= {each: _wide(before.get(each), kind) for each in sites}
                if self.lists == before:
                    raise errors.InternalError(f"the list that is made at {site}")
            case RoomError(site=site):
                needed, elements = self.rooms.get(site, (0, None))
                found = max(needed, request.needed or 0), request.elements or elements
                if found == (needed, elements):
                    raise errors.InternalError(f"the room of the list that is made at {site}")
                self.rooms[site] = found
            case RingError():
                self.rings.add(request.site)
            case JointError():
                self.joint.join(request)
            case HandledError() | EndedError():
                raise request.error from None
            case errors.TracerError() if self._is_of_tuples(request):
                pass
            case errors.TracerError() if self.met_none and self.none is None:
                self.none = request
                self.rolled.clear()
                self.unrolled.clear()
            case errors.TracerError():
                request = self.none or request
                for note in self.refused:
                    request.add_note(note)
                raise request
            case _:
                raise request

    def _is_of_tuples(self, error: BaseException) -> bool:
        """True where a comparison of tuples has asked for a truth, which is noted by its line."""
        if type(error) is not errors.TracerBoolConversionError:  # sizes have errors of their own
            return False
        place, last = error.__traceback__, None
        while place is not None:
            last = last if place.tb_frame.f_code.co_filename.startswith(OURS) else place
            place = place.tb_next
        if last is None or last.tb_frame.f_code.co_code[last.tb_lasti] != _COMPARE:
            return False
        site = last.tb_frame.f_code.co_filename, last.tb_lineno
        is_new = site not in self.compared
        self.compared.add(site)
        return is_new

    def _begin(self) -> None:
        THREAD.python = self

    def converted(self, function: FunctionType) -> FunctionType:
        """The function from its converted source, where there is one."""
        made = self._conversion(function, function.__code__)
        return function if made is None else converted(function, made, operations)

    def _conversion(
        self, function: FunctionType, code: CodeType, consumer: Consumer | None = None
    ) -> Conversion | None:
        try:
            lines = frozenset(n for file, n in self.compared if file == code.co_filename)
            made = conversion(code, code.co_filename, consumer, lines, self.none is not None)
        except NoSourceError as problem:
            self.refused[f"{function.__qualname__} was not converted: {problem}."] = None
            return None
        if made is not None and THREAD.record is not None:
            THREAD.record.converted(code, made.lines)
        return made

    def generating(self, function: FunctionType, natively: FunctionType) -> Callable[..., Any]:
        """What is called in the place of a generator function: its loops may be the program's,
        where a `for` consumes it. `natively` is the one that Python runs."""
        return partial(Generating, partial(self._consuming, function), natively)

    def _consuming(
        self, function: FunctionType, names: tuple[str, ...], stops: tuple[int, ...]
    ) -> tuple[FunctionType, tuple[str, ...], bool] | None:
        made = self._conversion(function, original(function.__code__), Consumer(names, stops))
        if made is None:
            return None
        function = resolving(converted(function, made, operations))
        return function, made.parameters, made.is_endless

    def handles(self, error: type[Exception]) -> bool:
        """True where a handler of the user's is for exceptions of a class."""
        return any(handler.is_for(error) for handler in self.handlers)

    def refuse_handled(self, error: Exception) -> None:
        """End the trace with an error, whatever the user's handlers are for."""
        raise HandledError(error)

    def is_below(self, index: Any, size: Any) -> bool:
        """True for an index that is in range, as the loops around it say."""
        limits = range_of(index) if isinstance(size, int) else None
        return limits is not None and -size <= limits[0] and limits[1] < size

    def is_nonzero(self, value: Any) -> bool:
        """True for a number that cannot be 0, as loops and branches around it say."""
        return is_nonzero(value)

    def require(self, smaller: Any, larger: Any, text: str) -> None:
        """End the program with NumPy's error where an inequality of sizes, or of numbers, does not
        hold."""
        if self.counting.present is not None:
            return  # it is asked when the statement runs
        sizes = [x.as_value() if isinstance(x, Dim) else x for x in (smaller, larger)]
        if_(sizes[0] > sizes[1], lambda: _raised(text), lambda: (), (), ())

    def greatest(self, count: Any) -> Any:
        """A size that a length in a statement is at most; None where nobody can find one."""
        source = user_source()
        site = "length", source.file, source.line
        bounds.note(site, count)
        found = bounds.greatest(count, site)
        return None if found is None else found[0]

    def made_list(self, values: Any, site: Any) -> Any:
        """What a list is that the function has just made: an array, where an earlier trace has
        asked for that; else it is noted."""
        if self.lists.get(site) is GROWING:
            growing: Any = GrowingList(values) if type(values) is list else None
            if type(values) is deque:
                is_ring = site in self.rings or values.maxlen is not None
                growing = (GrowingRing if is_ring else GrowingDeque)(list(values))
                if is_ring:
                    growing.bound(values.maxlen)
            growing.begin(site)
            return growing
        is_asked_for = site in self.lists and type(values) is list
        made = made_of(values, self.lists[site]) if is_asked_for else None
        result = values if made is None else made
        (self.made if made is None else self.arrays).append((result, site))
        self.owners[id(result)] = current_trace()
        return result

    def unite(self, one: Any, other: Any) -> None:
        """Begin anew where two values of a variable are lists that may have one room."""
        unite(one, other, self.made)

    def assigned(self, kind: ArrayType) -> None:
        """Note the type of an array that something is assigned to."""
        self.kept.assigned.add((kind.shape, kind.dtype))

    def check_list(self, target: list[Any], keys: tuple[Any, ...]) -> None:
        """Raise ListedError where an element of a list at a traced index is assigned to, and the
        list may be an array."""
        parts = [slice(*keys)] if len(keys) > 1 else keys  # two bounds, from Python 3.12 on
        if any(isinstance(part, slice) and is_unknown_slice(part) for part in parts):
            self.grows(target, is_needed=True)
        is_at_unknown = any(is_unknown(k) and not k.shape and k.dtype.kind in "iu" for k in keys)
        self._list(target, is_at_unknown)

    def method(self, method: Any) -> Any:
        """What is called in the place of a method of a list or dict; None: that itself. Raises
        ListedError where a list is sorted by traced numbers, or one is changed that traced values
        have chosen."""
        target = method.__self__
        if type(target) is dict:
            return method_of(target, method.__name__)
        if method.__name__ in _CHANGING_LENGTH:
            self.grows(target)
        self._list(target, method.__name__ == "sort" and any(map(is_unknown, target)))
        return method_of(target, method.__name__)

    def grows(self, target: Any, *, is_needed: bool = False) -> None:
        """Raise ListedError where a statement of the program changes the length of a list that the
        function has made before it, or where it is needed."""
        trace = current_trace()
        is_here = (
            trace is None or not trace.is_region or self.owners.get(id(target), trace) is trace
        )
        if is_here and not is_needed:
            return
        for values, site in [*self.made, *self.arrays]:
            if values is target and site[0]:
                raise ListedError(site, GROWING)

    def _list(self, target: list[Any], is_needed: bool) -> None:
        """Raise ListedError for a list that is to be an array, if it may: for one that is a copy of
        it, as a variable of a loop is, for all lists that the function makes."""
        made = [(x, site) for x, site in self.made if site not in self.lists]
        for values, site in [*self.chosen, *(made if is_needed else ())]:
            if site not in self.lists and is_in(values, target):
                raise ListedError(site, type_in(target))
        further = [site for values, site in made if values]
        if is_needed and further and type_in(target) is not None:
            raise ListedError(further[0], None)

    def listed_arguments(self, names: Iterable[str], values: Iterable[Any]) -> list[Any]:
        """The arguments of the function, lists among them as arrays where that was asked for."""
        pairs = zip(names, values, strict=True)
        return [self.made_list(x, ("", name)) if type(x) is list else x for name, x in pairs]

    def result(self, value: Any, function: str) -> Any:
        """The result of the function."""
        return value if self.none is None else result_of(value, function)

    def subscripted(self, container: Any, key: Any) -> Any:
        """What is subscripted in the place of a container: of a list, its stacked items."""
        if type(container) is list and isinstance(key, slice) and is_unknown_slice(key):
            self.grows(container, is_needed=True)
        is_scalar = is_unknown(key) and not key.shape
        if is_scalar and is_table(container) and not self.handles(KeyError):
            return _Taken(looked_up(container, key))
        is_index = is_unknown(key) and not key.shape and key.dtype.kind in "iub"
        if not is_index or not is_stackable(container):
            return container
        if key.dtype == BOOL and type(container[0]) is list:
            return container  # which may change, and is no array whose index is a truth value
        chosen = Chosen(container)
        if key.dtype == BOOL:
            return _Taken(chosen[as_integer(key)])
        if type(container[0]) is list:
            item = chosen[key]
            site = next((s for values, s in self.made if is_in(values, container)), None)
            self.chosen += [] if site is None else [(item, site)]
            return _Taken(item)
        return chosen
