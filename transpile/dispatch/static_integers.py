"""Integer arguments that decide what Python computes: the length of a list, a rank, an axis.

Such an argument is made static by itself. A call whose trace ends with a
TracerIntegerConversionError that is about integer arguments alone is made again by a sibling of the
function, for which they are static, and so are later calls that have no program. What a shape alone
depends on needs none of this: it is a size that the program finds.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from transpile.errors import TracerIntegerConversionError
from transpile.trace.call_signature import place_of
from transpile.util.lazy.loggers import Log

if TYPE_CHECKING:
    from transpile.dispatch.jitted import Wrapped
    from transpile.dispatch.tracing import Config

logger = Log("transpile")
Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class StaticIntegers:
    """The integer arguments of a function that have become static.

    make   the jitted function of other settings
    """

    def __init__(
        self, function: Callable[..., Any], config: Config, make: Callable[[Any, Config], Wrapped]
    ) -> None:
        self._function = function
        self._config = config
        self._make = make
        self._names: frozenset[str] = frozenset()
        self.sibling: Wrapped | None = None

    def called(
        self, run: Callable[[Any, Any], Any], of: Callable[[Wrapped], Any], arguments: Arguments
    ) -> Any:
        """`run` of the arguments of a call; or, where some have become static, or do so now, what
        `of` says of the sibling, called with them."""
        given = self._as_integers(self._names, arguments)
        if self.sibling is not None and given is not None:
            return of(self.sibling)(*given[0], **given[1])
        try:
            return run(*arguments)
        except TracerIntegerConversionError as error:
            given = self._as_integers(error.arguments, arguments)
            if given is None:
                raise
            self._become_static(error)
        assert self.sibling is not None  # as it has just been made
        return of(self.sibling)(*given[0], **given[1])

    def _as_integers(self, names: frozenset[str], arguments: Arguments) -> Arguments | None:
        """The arguments of a call, those of these names as Python's integers; None where one of
        them is no integer, or there are none."""
        parameters = self._config.parameters
        if not names or not self._config.static or not self._config.python_control_flow:
            return None
        args, kwargs = list(arguments[0]), dict(arguments[1])
        positions = {name: n for n, name in enumerate(parameters.positional[: len(args)])}
        for name in names:
            holder: Any = kwargs if name in kwargs else args
            place: Any = name if name in kwargs else positions.get(name)
            if place is None or not _is_integer(holder[place]):
                return None
            holder[place] = operator.index(holder[place])
        return tuple(args), kwargs

    def _become_static(self, error: TracerIntegerConversionError) -> None:
        parameters = self._config.parameters
        self._names |= error.arguments
        positions = [n for n, name in enumerate(parameters.positional) if name in self._names]
        parameters = dataclasses.replace(
            parameters,
            static_argnums=tuple(sorted({*parameters.static_argnums, *positions})),
            static_argnames=parameters.static_argnames | self._names,
            any_static=True,
        )
        config = dataclasses.replace(self._config, parameters=parameters)
        self.sibling = self._make(self._function, config)
        names = sorted(self._names)
        logger.warning(
            "%s: Python needs the value of %s while it traces %s, which has a program for each "
            "value from here on, as with static_argnames=%r. Lengths of arrays and bounds of "
            "loops would not need it.",
            str(error).partition(": ")[0],
            " and ".join(map(repr, names)),
            place_of(self._function),
            names,
        )


def _is_integer(value: Any) -> bool:
    is_array = isinstance(value, np.ndarray | np.generic) and value.shape == ()
    return type(value) is int or (is_array and value.dtype.kind in "iu")
