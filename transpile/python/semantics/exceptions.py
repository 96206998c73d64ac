"""`raise` and `assert` where a traced value decides: the program calls back, and the exception ends
the call.

What the exception is made of stands in the trace; its texts are formatted when it is raised.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from transpile import debug
from transpile.ir.source_info import user_source
from transpile.python.semantics.branches import if_, not_
from transpile.python.semantics.values import Maybe, Unbound, truth
from transpile.trace.trace import current_trace
from transpile.trace.tracer import Tracer


class Text:
    """An f-string with traced values: pieces of text, and values with conversion and format."""

    def __init__(self, pieces: Sequence[Any]) -> None:
        self.pieces = pieces

    def values(self) -> list[Tracer]:
        """The traced values."""
        return [p[0] for p in self.pieces if isinstance(p, tuple) and isinstance(p[0], Tracer)]

    def formatted(self, values: Sequence[Any]) -> str:
        """The text with these in the places of the traced values."""
        given = iter(values)
        parts = []
        for piece in self.pieces:
            if isinstance(piece, tuple):
                value, conversion, spec = piece
                value = next(given) if isinstance(value, Tracer) else value
                parts.append(format(_CONVERSIONS[conversion](value), spec))
            else:
                parts.append(piece)
        return "".join(parts)


_CONVERSIONS: dict[int, Callable[[Any], Any]] = {
    -1: lambda value: value,
    ord("s"): str,
    ord("r"): repr,
    ord("a"): ascii,
}


def text(*pieces: Any) -> Any:
    """An f-string, of texts and (value, conversion, format)."""
    made = Text(pieces)
    return made if made.values() else made.formatted(())


def raise_(later: Callable[[], Any], cause: Any) -> None:
    """`raise`: at once, or when the program comes to it."""
    error = later()
    if isinstance(error, type):
        error = error()
    trace = current_trace()
    if trace is None or not trace.is_region:
        error.args = tuple(_known(part) for part in error.args)
        raise error from cause
    error.__cause__ = cause
    traced = [x for part in error.args for x in _traced(part)]
    debug.callback(_Raising(error), *traced)


def assert_(test: Any, message: Callable[[], Any]) -> None:
    """`assert`."""
    holds = truth(test)
    if not isinstance(holds, Tracer):
        if not holds:
            raise_(lambda: _failed(message()), None)
        return
    if_(not_(holds), lambda: _asserted(message), lambda: (), (), ())


def _asserted(message: Callable[[], Any]) -> tuple[()]:
    raise_(lambda: _failed(message()), None)
    return ()


def _failed(message: Any) -> AssertionError:
    return AssertionError() if message is None else AssertionError(message)


def bound(value: Any) -> Any:
    """The value of a variable that some path reaches without one."""
    if type(value) is Unbound:
        raise _unbound(value.name)
    if type(value) is not Maybe:
        return value
    name = value.name
    if_(not_(value.is_bound), lambda: _raised(name), lambda: (), (), ())
    return value.value


def _raised(name: str) -> tuple[()]:
    raise_(lambda: _unbound(name), None)
    return ()


def _unbound(name: str) -> UnboundLocalError:
    return UnboundLocalError(
        f"{user_source()}: cannot access local variable {name!r} where it is not associated with "
        f"a value"
    )


def _known(part: Any) -> Any:
    return part.formatted([repr(x) for x in part.values()]) if isinstance(part, Text) else part


def _traced(part: Any) -> list[Tracer]:
    if isinstance(part, Text):
        return part.values()
    return [part] if isinstance(part, Tracer) else []


class _Raising:
    """Raises an exception with the values that the program has."""

    def __init__(self, error: BaseException) -> None:
        self._error = error
        self.__name__ = type(error).__name__

    def __call__(self, *values: Any) -> None:
        """Raise it."""
        given = iter(values)
        parts = []
        for part in self._error.args:
            own = [next(given).item() for _ in _traced(part)]
            if isinstance(part, Text):
                part = part.formatted(own)
            elif isinstance(part, Tracer):
                (part,) = own
            parts.append(part)
        error = copy.copy(self._error)
        error.args = tuple(parts)
        error.__cause__ = self._error.__cause__
        raise error
