"""Arguments that become static by themselves.

Functions, texts, types, dtypes, slices and members of enumerations are no arrays: a call with one
of them is made by a sibling of the function, for which that argument is static. So is a call whose
trace ends with an error for which numbers among the arguments, or a few integers in an array, are
to blame: they decide what Python computes (the length of a list, a rank, an axis or several of
them, a flag), or lengths of which it is not known whether they fit others. What a shape alone
depends on needs none of this: it is a size that the program finds.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import re
from collections.abc import Callable, Iterable, Set
from types import BuiltinFunctionType, EllipsisType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from transpile.errors import (
    BLAMABLE,
    TracerBoolConversionError,
    TracerError,
    TracerIntegerConversionError,
    blamed,
)
from transpile.trace.call_key import Held, Rejected, abstract
from transpile.trace.call_signature import place_of
from transpile.util.lazy.loggers import Log

if TYPE_CHECKING:
    from transpile.dispatch.jitted import Wrapped
    from transpile.dispatch.tracing import Config

logger = Log("transpile")
Arguments = tuple[tuple[Any, ...], dict[str, Any]]


# What functions and methods read is guarded, as it is for the function itself.
_CONSTANT = (str, bytes, enum.Enum, type, np.dtype, range, slice, EllipsisType)
_PLACE = re.compile(r"\S+:\d+")  # a file and a line, with which errors of traces begin
_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodType, np.ufunc)

# With so many programs it is likely that an argument is another one in each call.
_MANY = 16


class StaticArguments:
    """The arguments of a function that have become static.

    Which of them are static in a call, its own types say, and not the calls before: so a call is
    accepted, or refused, in any order of calls.

    make     the jitted function of other settings
    jitted   the classes of jitted functions
    siblings by the names of their static arguments: the functions that make the calls
    """

    def __init__(
        self,
        function: Callable[..., Any],
        config: Config,
        make: Callable[[Any, Config], Wrapped],
        jitted: tuple[type, ...],
    ) -> None:
        self._function = function
        self._config = config
        self._make = make
        self._jitted = jitted
        self._names: dict[Any, frozenset[str]] = {}  # by the types of calls
        self._told: set[frozenset[str]] = set()
        self._failure = ""  # of the last trace that has made arguments static
        self._warned = False
        self.siblings: dict[frozenset[str], Wrapped] = {}

    def called(
        self, run: Callable[[Any, Any], Any], of: Callable[[Wrapped], Any], arguments: Arguments
    ) -> Any:
        """`run` of the arguments of a call; or, where some have become static, or do so now, what
        `of` says of the sibling, called with them."""
        if not self._config.static:
            return run(*arguments)
        traced = [*self._traced(*arguments)]
        constant = frozenset([name for name, value in traced if self._is_constant(value)])
        if constant:
            if constant not in self._told:
                self._told.add(constant)
                logger.info("%s: %s is no array, and static", self._place, _listed(constant))
            given = self._as_static(constant, arguments)
            if given is None:  # an argument that is given twice, as the call will say
                return run(*arguments)
            return self._of_sibling(of, constant, given, _ANEW)
        key = self._key(arguments) if self._names else None
        if key in self._names:
            given = self._as_static(self._names[key], arguments)
            if given is not None:
                return self._of_sibling(of, self._names[key], given, "")
        try:
            return run(*arguments)
        except BLAMABLE as error:
            own = {name for name, _ in traced}  # others are of a trace around
            names = blamed(error) & own if self._config.python_control_flow else frozenset()
            given = self._as_static(names, arguments) if names else None
            if given is None or self._is_for_a_conversion(error, names, given):
                raise
            failure = error
        return self._retried(of, names, given, failure, self._key(arguments))

    def _key(self, arguments: Arguments) -> Any:
        """The types of a call, and which numbers are arrays without axes, as data may be; None
        where it has none."""
        pairs = self._traced(*arguments)
        arrays = frozenset(name for name, x in pairs if isinstance(x, np.ndarray) and not x.ndim)
        try:
            return self._config.parameters.describe(*arguments, abstract)[0], arrays
        except (TypeError, ValueError, RecursionError, Rejected):
            return None

    def _is_for_a_conversion(self, error: Exception, names: Set[str], given: Arguments) -> bool:
        """True for the test of a number in a function that would be converted, had it a source: it
        has a note of that."""
        values = [value for name, value in self._traced(*given) if name in names]
        has_note = isinstance(error, TracerBoolConversionError) and hasattr(error, "__notes__")
        return has_note and not all(isinstance(value, bool) for value in values)

    def _retried(
        self,
        of: Callable[[Wrapped], Any],
        names: frozenset[str],
        given: Arguments,
        failure: Exception,
        key: Any,
    ) -> Any:
        """The call, whose trace has failed, with these names static. They stay so where that has a
        trace."""
        sibling, is_known = self._sibling(names), False
        try:
            result = of(sibling)(*given[0], **given[1])
            is_known = True
        finally:
            if is_known or sibling._cache_size():
                if key is not None:
                    self._names[key] = names
                self._failure = _first_line(failure)
                self._log(names, failure)
        return result

    def _log(self, static: frozenset[str], failure: Exception) -> None:
        """Say once why a call whose trace has failed has made arguments static."""
        if static in self._told:
            return
        self._told.add(static)
        names, place = sorted(static), str(failure).partition(": ")[0]
        advice = ""
        if isinstance(failure, TracerError):
            reason = f"Python needs the value of {_listed(names)} while it traces"
            if isinstance(failure, TracerIntegerConversionError):
                advice = f" {_LENGTHS}"
        else:
            reason = f"lengths that follow from {_listed(names)} have to be known while tracing"
        setting = f"static_argnames={names!r}"
        if any("[" in name for name in names):  # of *args
            numbers = self.siblings[static]._parameters.static_argnums
            setting = f"static_argnums={numbers!r}"
        logger.warning(
            "%s%s %s, which has a program for each value from here on, as with %s.%s",
            f"{place}: " if _PLACE.fullmatch(place) else "",
            reason,
            self._place,
            setting,
            advice,
        )

    @property
    def _place(self) -> str:
        return place_of(self._function)

    def _is_constant(self, value: Any) -> bool:
        """True for a value that is no array and does not change."""
        is_function = isinstance(value, (*_FUNCTIONS, *self._jitted))
        # some subclasses are pytrees
        return isinstance(value, _CONSTANT) or is_function or type(value) is functools.partial

    def _traced(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterable[tuple[str, Any]]:
        """The arguments of a call that are not static by the caller's word, with their names."""
        parameters = self._config.parameters
        static = parameters.positions(parameters.static_argnums, len(args))
        names = parameters.static_argnames
        given = [(parameters.name_of(n), x) for n, x in enumerate(args) if n not in static]
        return given + [item for item in kwargs.items() if item[0] not in names]

    def _as_static(self, names: frozenset[str], arguments: Arguments) -> Arguments | None:
        """The arguments of a call, numbers among those of these names as Python's; None where one
        of them can be no static argument."""
        name_of = self._config.parameters.name_of
        args = [(name_of(n), value) for n, value in enumerate(arguments[0])]
        pairs = [*args, *arguments[1].items()]
        held = [self._held(value) if name in names else value for name, value in pairs]
        if any(value is _NOT_STATIC for value in held):
            return None
        return tuple(held[: len(args)]), dict(zip(arguments[1], held[len(args) :], strict=True))

    def _held(self, value: Any) -> Any:
        """A value as a static argument; _NOT_STATIC where it cannot be one."""
        if isinstance(value, slice):  # which has no hash before Python 3.12
            return Held(value)
        if self._is_constant(value) or value is None:
            return value
        if not isinstance(value, tuple | list | dict) and not _is_short(value):
            return _number(value)
        if type(value) not in (tuple, list, dict, np.ndarray) or not _holds_numbers(value):
            return _NOT_STATIC
        return Held(value)

    def _of_sibling(
        self, of: Callable[[Wrapped], Any], names: frozenset[str], given: Arguments, advice: str
    ) -> Any:
        sibling = self._sibling(names)
        result = of(sibling)(*given[0], **given[1])
        if not self._warned and sibling._cache_size() >= _MANY:
            self._warned = True
            logger.warning(
                "%s has been compiled for %d values of %s. %s",
                self._place,
                sibling._cache_size(),
                _listed(names),
                advice or f"Each takes a program: {self._failure} {_LENGTHS}",
            )
        return result

    def _sibling(self, names: frozenset[str]) -> Wrapped:
        """The function for which arguments of these names are static, with a bounded number of
        programs."""
        if names not in self.siblings:
            parameters = self._config.parameters
            further = [int(n[:-1].rpartition("[")[2]) for n in names if n.endswith("]")]
            count = len(parameters.positional) + max(further, default=-1) + 1
            config = dataclasses.replace(
                self._config, parameters=parameters.with_static(names, count)
            )
            self.siblings[names] = self._make(self._function, config)
        return self.siblings[names]


_ANEW = (
    "A function that is made for each call, such as a lambda or a partial, is another value each "
    "time: make it once."
)
_LENGTHS = "Lengths of arrays and bounds of loops would not need it."


def _first_line(failure: Exception) -> str:
    """What an error says first, as a sentence."""
    line = str(failure).partition("\n")[0]
    return line if line.endswith(".") else f"{line}."


def _listed(names: Iterable[str]) -> str:
    return " and ".join(map(repr, sorted(names)))


_NOT_STATIC = object()
_DEEPEST = 8  # containers in containers
_SHORT = 8  # elements: axes, a shape, widths; more are data


def _number(value: Any) -> Any:
    """A number as a static argument, NumPy's with their dtypes; _NOT_STATIC for what is none."""
    is_array = isinstance(value, np.ndarray | np.generic) and value.shape == ()
    if type(value) in (int, bool, float, complex):
        return value
    if is_array and value.dtype.kind in "iub":
        return value[()]
    return value if isinstance(value, np.inexact) else _NOT_STATIC


def _is_short(value: Any) -> bool:
    """True for an array of a few integers: places, axes, widths."""
    is_array = isinstance(value, np.ndarray) and value.ndim > 0
    return is_array and value.dtype.kind in "iu" and value.size <= _SHORT


def _holds_numbers(value: Any, depth: int = 0) -> bool:
    """True for a number, None, a text, for lists, tuples and dicts of them that are not nested
    deeply, and for arrays of a few integers."""
    if _is_short(value):
        return True
    if type(value) in (tuple, list, dict):
        items = value.values() if type(value) is dict else value
        return depth < _DEEPEST and all(_holds_numbers(item, depth + 1) for item in items)
    return value is None or isinstance(value, str) or _number(value) is not _NOT_STATIC
