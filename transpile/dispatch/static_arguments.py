"""Arguments that become static by themselves.

Functions, texts, types, dtypes and members of enumerations are no arrays: a call with one of them
is made by a sibling of the function, for which that argument is static. So is a call whose trace
ends with an error for which integer arguments are to blame: they decide what Python computes (the
length of a list, a rank, an axis), or lengths of which it is not known whether they fit others.
What a shape alone depends on needs none of this: it is a size that the program finds.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import operator
import re
from collections.abc import Callable, Iterable, Set
from types import BuiltinFunctionType, EllipsisType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from transpile.errors import (
    BLAMABLE,
    TracerFloatConversionError,
    TracerIntegerConversionError,
    blamed,
)
from transpile.trace.call_signature import place_of
from transpile.util.lazy.loggers import Log

if TYPE_CHECKING:
    from transpile.dispatch.jitted import Wrapped
    from transpile.dispatch.tracing import Config

logger = Log("transpile")
Arguments = tuple[tuple[Any, ...], dict[str, Any]]


# What functions and methods read is guarded, as it is for the function itself.
_CONSTANT = (str, bytes, enum.Enum, type, np.dtype, range, EllipsisType)
_PLACE = re.compile(r"\S+:\d+")  # a file and a line, with which errors of traces begin
_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodType, np.ufunc)

# With so many programs it is likely that a function is another one in each call.
_MANY = 16


class StaticArguments:
    """The arguments of a function that have become static.

    make     the jitted function of other settings
    jitted   the classes of jitted functions
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
        self._names: frozenset[str] = frozenset()
        parameters = config.parameters
        positional, static = parameters.positional, parameters.static_argnums
        numbers = {n % len(positional) for n in static if -1 - n < len(positional) > n}
        self._positions = [
            (n, name)
            for n, name in enumerate(positional)
            if n not in numbers and name not in parameters.static_argnames
        ]
        self._warned = False
        self.sibling: Wrapped | None = None

    def called(
        self, run: Callable[[Any, Any], Any], of: Callable[[Wrapped], Any], arguments: Arguments
    ) -> Any:
        """`run` of the arguments of a call; or, where some have become static, or do so now, what
        `of` says of the sibling, called with them."""
        if not self._config.static:
            return run(*arguments)
        constant = [name for name, value in self._traced(*arguments) if self._is_constant(value)]
        if not self._names.issuperset(constant):
            self._become_static(constant)
            logger.info("%s: %s is no array, and static", self._place, _listed(constant))
        if self._names:
            given = self._as_static(self._names, arguments)
            if given is not None:
                return self._of_sibling(of, given, constant)
        try:
            return run(*arguments)
        except BLAMABLE as error:
            names = blamed(error) if self._config.python_control_flow else frozenset()
            given = self._as_static(self._names | names, arguments) if names else None
            if given is None:
                raise
            failure = error
        return self._retried(of, given, names, failure)

    def _retried(
        self, of: Callable[[Wrapped], Any], given: Arguments, names: Set[str], failure: Exception
    ) -> Any:
        """The call, whose trace has failed, with these names static. They stay so where that has a
        trace."""
        before = self._names, self.sibling
        self._become_static(names)
        is_known = False
        try:
            result = self._of_sibling(of, given, [])
            is_known = True
        finally:
            if is_known or (self.sibling is not None and self.sibling._cache_size()):
                self._log(failure)
            else:
                self._names, self.sibling = before
        return result

    def _log(self, failure: Exception) -> None:
        """Say why a call whose trace has failed has made arguments static."""
        names, place = sorted(self._names), str(failure).partition(": ")[0]
        if isinstance(failure, TracerIntegerConversionError | TracerFloatConversionError):
            reason = f"Python needs the value of {_listed(names)} while it traces"
            advice = " Lengths of arrays and bounds of loops would not need it."
        else:
            reason = f"lengths that follow from {_listed(names)} have to be known while tracing"
            advice = ""
        logger.warning(
            "%s%s %s, which has a program for each value from here on, as with "
            "static_argnames=%r.%s",
            f"{place}: " if _PLACE.fullmatch(place) else "",
            reason,
            self._place,
            names,
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
        """The arguments of a call that have names and are not static by the caller's word."""
        given = [(name, args[n]) for n, name in self._positions if n < len(args)]
        static = self._config.parameters.static_argnames
        return given + [item for item in kwargs.items() if item[0] not in static]

    def _as_static(self, names: frozenset[str], arguments: Arguments) -> Arguments | None:
        """The arguments of a call, integers among those of these names as Python's; None where one
        of them can be no static argument."""
        args, kwargs = list(arguments[0]), dict(arguments[1])
        positional = self._config.parameters.positional
        positions = {name: n for n, name in enumerate(positional[: len(args)])}
        for name in names:
            holder: Any = kwargs if name in kwargs else args
            place: Any = name if name in kwargs else positions.get(name)
            if place is None:
                continue  # the default, which the sibling has
            if _is_integer(holder[place]):
                holder[place] = operator.index(holder[place])
            elif not self._is_constant(holder[place]):
                return None
        return tuple(args), kwargs

    def _of_sibling(
        self, of: Callable[[Wrapped], Any], given: Arguments, constant: list[str]
    ) -> Any:
        assert self.sibling is not None  # as some arguments are static
        result = of(self.sibling)(*given[0], **given[1])
        if constant and not self._warned and self.sibling._cache_size() >= _MANY:
            self._warned = True
            logger.warning(
                "%s has been compiled for %d values of %s. A function that is made for each call, "
                "such as a lambda or a partial, is another value each time: make it once.",
                self._place,
                self.sibling._cache_size(),
                _listed(constant),
            )
        return result

    def _become_static(self, names: Iterable[str]) -> None:
        parameters = self._config.parameters
        self._names |= frozenset(names)
        positions = [n for n, name in enumerate(parameters.positional) if name in self._names]
        parameters = dataclasses.replace(
            parameters,
            static_argnums=tuple(sorted({*parameters.static_argnums, *positions})),
            static_argnames=parameters.static_argnames | self._names,
            any_static=True,
        )
        config = dataclasses.replace(self._config, parameters=parameters)
        self.sibling = self._make(self._function, config)


def _listed(names: Iterable[str]) -> str:
    return " and ".join(map(repr, sorted(names)))


def _is_integer(value: Any) -> bool:
    is_array = isinstance(value, np.ndarray | np.generic) and value.shape == ()
    return type(value) is int or (is_array and value.dtype.kind in "iu")
