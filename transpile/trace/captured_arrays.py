"""Lift NumPy arrays that a function captures to traced constants, where it indexes them by traced
values.

`table[i]` with a captured array and a traced index runs ndarray.__getitem__, which needs a concrete
index. A function that failed so is traced again as a copy, together with the functions that it
names: in the copies' closures and globals, tracers replace arrays.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CellType, FunctionType, MethodType
from typing import Any, TypeVar

import numpy as np

from transpile import errors
from transpile.ir.graph import Const
from transpile.ir.indices.polynomial_text import can_be_declared
from transpile.ir.primitive import TABLE
from transpile.ir.source_info import user_source
from transpile.ir.types import SHORT_NAMES
from transpile.trace.bytecode.call_resolution import resolved
from transpile.trace.bytecode.handlers import is_swallowed
from transpile.trace.bytecode.made_arrays import AssignedError
from transpile.trace.bytecode.printing import printing_once
from transpile.trace.bytecode.reads import global_names
from transpile.trace.call_signature import function_name
from transpile.trace.trace import LongTraceError, bind
from transpile.util.interrupt_safety import THREAD, as_before, between

T = TypeVar("T")
E = TypeVar("E", bound=BaseException)
# The errors of indexing a concrete array by a traced value.
FAILURES = (errors.TracerIntegerConversionError, errors.TracerArrayConversionError)
# Of a function's trace, beyond which its loops become loops of the program, if they can: a C
# compiler takes half a second for as many, and up to four where each is a loop of its own.
MOST_EQUATIONS = 500
# Makes the conversions of a function from its source, of the error, if any, that asks for them.
CONVERSIONS: list[Callable[[errors.TracerError | None], Any]] = []
_MAX_ITEMS = 64  # of a container whose arrays are lifted
_MAX_DEPTH = 4  # of nested containers
_NOT_USERS = ("transpile", "numpy")  # whose functions name no user arrays


class Surroundings:
    """Copies of functions in which tracers of the active trace replace captured arrays."""

    def __init__(self) -> None:
        self.tracers: dict[int, Any] = {}
        self._kept: list[Any] = []  # keeps arrays alive, so that their ids stay unique
        self._copies: dict[int, Any] = {}

    def of(self, value: Any, depth: int = 0) -> Any:
        """The value with arrays replaced by tracers, in functions and containers too; the value
        itself if it has none."""
        if isinstance(value, np.ndarray) and value.dtype in SHORT_NAMES and value.ndim:
            return self._tracer(value)
        if isinstance(value, functools.partial):
            return self._partial(value)
        if isinstance(value, MethodType):
            function = self.of(value.__func__)
            return value if function is value.__func__ else MethodType(function, value.__self__)
        if isinstance(value, FunctionType):
            return self._function(value)
        if type(value) in (tuple, list, dict) and len(value) <= _MAX_ITEMS and depth < _MAX_DEPTH:
            return self._container(value, depth + 1)
        inner = getattr(value, "__wrapped__", None)  # a jitted function runs as the plain one here
        if isinstance(inner, FunctionType) and hasattr(value, "trace"):
            copy = self.of(inner)
            return value if copy is inner else copy
        return value

    def called(self, function: Any) -> Any:
        """The copy of a function, checked to assign to no captured array."""
        copy = resolved(self.of(function))

        def unchanging(*args: Any, **kwargs: Any) -> Any:
            result = copy(*args, **kwargs)
            if any(t.variable is not t.original for t in self.tracers.values()):
                raise errors.UnsupportedError(
                    f"{user_source()}: {function_name(function)} assigns at a traced index into an "
                    f"array of its surroundings, which stays what it is until the program runs. "
                    f"Return the new values, and assign them there."
                )
            return result

        return unchanging

    def _tracer(self, array: np.ndarray[Any, Any]) -> Any:
        if id(array) not in self.tracers:
            self._kept.append(array)
            self.tracers[id(array)] = bind(
                TABLE["broadcast_in_dim"],
                Const(array),
                shape=array.shape,
                broadcast_dimensions=tuple(range(array.ndim)),
            )
        return self.tracers[id(array)]

    def _partial(self, value: functools.partial[Any]) -> Any:
        parts = (value.func, *value.args, *value.keywords.values())
        copies: list[Any] = [self.of(part) for part in parts]
        if all(a is b for a, b in zip(copies, parts, strict=True)):
            return value
        count = 1 + len(value.args)
        keywords = dict(zip(value.keywords, copies[count:], strict=True))
        function, *args = copies[:count]
        return functools.partial(function, *args, **keywords)

    def _container(self, value: Any, depth: int) -> Any:
        items = list(value.values()) if type(value) is dict else list(value)
        copies = [self.of(item, depth) for item in items]
        if all(a is b for a, b in zip(copies, items, strict=True)):
            return value
        return dict(zip(value, copies, strict=True)) if type(value) is dict else type(value)(copies)

    def _function(self, function: FunctionType) -> FunctionType:
        key = id(function)
        if key in self._copies:
            return self._copies[key]  # type: ignore[no-any-return]

        @functools.wraps(function)
        def later(*args: Any, **kwargs: Any) -> Any:  # it may call itself
            return self._copies[key](*args, **kwargs)

        self._copies[key] = later
        cells = [_content(cell) for cell in function.__closure__ or ()]
        new_cells = [self.of(value) for value in cells]
        is_users = (function.__module__ or "").split(".")[0] not in _NOT_USERS
        names = [
            n for n in global_names(function.__code__) if n in function.__globals__ and is_users
        ]
        values = [function.__globals__[n] for n in names]
        new_values = [self.of(value) for value in values]
        defaults = self.of(function.__defaults__)
        pairs = [*zip(cells, new_cells, strict=True), *zip(values, new_values, strict=True)]
        if all(a is b for a, b in pairs) and defaults is function.__defaults__:
            self._copies[key] = function
            return function
        closure = tuple(
            cell if new is old else CellType(new)
            for cell, old, new in zip(function.__closure__ or (), cells, new_cells, strict=True)
        )
        scope = {**function.__globals__, **dict(zip(names, new_values, strict=True))}
        copy = FunctionType(function.__code__, scope, function.__name__, defaults, closure)
        copy.__kwdefaults__ = function.__kwdefaults__
        copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
        copy.__dict__.update(function.__dict__)
        self._copies[key] = copy
        return copy


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled
        return None


def retried(attempt: Callable[[Callable[[], Any], bool], T], function: Any) -> T:
    """Trace by `attempt(make, is_lifted)`, where `make()`, called in the trace, gives the function:
    itself first; after a failure to index a captured array, the copy with lifted arrays. Python may
    ask for the values of these, if the trace knows any values. Where Python wants a value that no
    trace has, the function is traced once more, converted from its source.

    Where traced values are assigned to an array that the function makes, the next attempt traces
    the call that makes it. What the function prints in attempts that are given up is not shown.
    """
    if THREAD.record is not None:
        attempt = THREAD.record.attempted(attempt)
    return printing_once(attempt, lambda anew: _retried(anew, function))


def _retried(attempt: Callable[[Callable[[], Any], bool], T], function: Any) -> T:
    tried = functools.partial(_with_made_arrays, attempt, function, set())
    refusals: list[errors.TracerError] = []
    if THREAD.python is not None or not CONVERSIONS:
        return tried()
    if not THREAD.converts:
        traced = _with_longest(THREAD.longest, tried, refusals)
        for refusal in filter(is_swallowed, refusals):
            raise refusal
        return traced
    undecided: errors.UndecidedSizeError | None = None
    long = False
    try:
        longest = MOST_EQUATIONS if THREAD.longest is None else THREAD.longest
        traced = _with_longest(longest, tried, refusals)
        if not refusals:
            return traced
        # An `except` of the user's has seen the error, and the trace is of what it does then.
        conversions = CONVERSIONS[0](refusals[0])
    except LongTraceError:
        conversions = CONVERSIONS[0](None)
        long = True
    except errors.ConcretizationTypeError as failure:
        conversions = CONVERSIONS[0](failure)
        undecided = failure if isinstance(failure, errors.UndecidedSizeError) else None
    except NameError:  # what it was to bind has no value where a `finally` of the user's reads it
        if not refusals:
            raise
        conversions = CONVERSIONS[0](refusals[0])
    try:
        result: T = _with_longest(None, functools.partial(conversions.retried, tried))
    except (errors.TracerError, errors.UnsupportedError) as refusal:
        if undecided is not None and can_be_declared(undecided):
            raise undecided from None  # it says which constraint would settle it
        if not long:
            raise
        try:
            return _without_conversion(tried)  # as it is, then
        except errors.ConcretizationTypeError:
            raise refusal from None
    return result


def _with_longest(longest: int | None, run: Callable[[], T], refusals: Any = None) -> T:
    def begin() -> None:
        THREAD.longest = longest
        THREAD.refusals = refusals

    return between(begin, run, as_before())


def _without_conversion(run: Callable[[], T]) -> T:
    def begin() -> None:
        THREAD.converts = False
        THREAD.longest = None

    return between(begin, run, as_before())


def _with_made_arrays(
    attempt: Callable[[Callable[[], Any], bool], T], function: Any, found: set[Any]
) -> T:
    """Trace with the calls traced that make arrays to which traced values are assigned.

    found  where earlier attempts have found such calls; those of this one are added
    """
    around = THREAD.sites or frozenset()
    while True:
        sites = around | found
        try:
            return _with_sites(sites, lambda: _lifted_if_indexed(attempt, function))
        except AssignedError as assigned:
            site = assigned.site
        except NameError as error:
            cause = passed_over(error, AssignedError)
            if cause is None:
                raise
            site = cause.site
        if site in sites:
            raise errors.InternalError(f"the array made at {site}")
        found.add(site)


def passed_over(error: BaseException, *kinds: type[E]) -> E | None:
    """The exception over which another one was raised, if it is of one of these kinds: what a
    `finally` of the user's reads has no value where an exception of ours leaves its `try` early."""
    context: BaseException | None = error
    while context is not None:
        if isinstance(context, kinds):
            return context
        context = context.__context__
    return None


def _with_sites(sites: frozenset[Any], run: Callable[[], T]) -> T:
    """Run with the calls at these sites making traced arrays."""

    def begin() -> None:
        THREAD.sites = sites

    return between(begin, run, as_before())


def _lifted_if_indexed(attempt: Callable[[Callable[[], Any], bool], T], function: Any) -> T:
    try:
        return attempt(lambda: resolved(function), False)
    except FAILURES:
        pass  # if the failure has another cause, the second attempt raises it again
    return attempt(lambda: Surroundings().called(function), True)
