"""`raise` and `assert` where a traced value decides: the program fails there (`fail`), with a code
in C and the exception in Python.

What the exception is made of stands in the trace; its texts are formatted when it is raised.
"""

from __future__ import annotations

import copy
import dis
import os
import re
import string
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, TypeVar

import numpy as np

from transpile import errors
from transpile.ir.dims import Dim
from transpile.ir.graph import Atom, Var
from transpile.ir.source_info import user_source
from transpile.ir.types import BOOL
from transpile.primitives.effects.callbacks import Callback, Same
from transpile.primitives.effects.failures import fail
from transpile.python.objects.list_functions import opened
from transpile.python.semantics.values import EndedError
from transpile.pytree.extended_dtypes import flatten_arrays
from transpile.trace.bytecode import watched_calls
from transpile.trace.bytecode.handlers import may_suppress
from transpile.trace.trace import Trace, bind, current_trace
from transpile.trace.tracer import TracedText, Tracer
from transpile.util.interrupt_safety import THREAD

E = TypeVar("E", bound=BaseException)


class Text:
    """An f-string with traced values: pieces of text, and values with conversion and format."""

    def __init__(self, pieces: Sequence[Any]) -> None:
        self.pieces = pieces

    @classmethod
    def of(cls, text: TracedText) -> Text:
        """One that is made by `+` of texts and `str(x)`."""
        return cls([(p, -1, "") if isinstance(p, Tracer) else p for p in text.pieces])

    def values(self) -> list[Tracer]:
        """The traced values, those in containers, too."""
        return [x for p in self.pieces if isinstance(p, tuple) for x in traced_values(p[0])]

    def formatted(self, values: Sequence[Any]) -> str:
        """The text with these in the places of the traced values."""
        given = iter(values)
        parts = []
        for piece in self.pieces:
            if isinstance(piece, tuple):
                value, conversion, spec = piece
                own = [next(given) for _ in traced_values(value)]
                value = with_values(value, own) if own else value
                parts.append(_formatted(value, conversion, spec))
            else:
                parts.append(piece)
        return "".join(parts)


_CONVERSIONS: dict[int, Callable[[Any], Any]] = {
    -1: lambda value: value,
    ord("s"): str,
    ord("r"): repr,
    ord("a"): ascii,
}


_PERCENT = -2  # a conversion: the format is one of `%`
_FORMATS = re.compile(r"%(?:\((\w+)\))?([-+ #0]*\d*(?:\.\d+)?)([diouxXeEfFgGcrsa%])")


def _formatted(value: Any, conversion: int, spec: str) -> str:
    if conversion != _PERCENT:
        return format(_CONVERSIONS[conversion](value), spec)
    return repr(value) if isinstance(value, _Blank) else spec % (value,)


def percent(template: str, values: Any) -> Any:
    """`template % values`, of traced ones too, whose texts are made when they are there."""
    if not traced_values(opened(values)):
        return template % values
    given = values if isinstance(values, tuple) else (values,)
    pieces: list[Any] = []
    end = number = 0
    for found in _FORMATS.finditer(template):
        name, flags, kind = found.groups()
        pieces.append(template[end : found.start()])
        end = found.end()
        if kind == "%":
            pieces.append("%")
            continue
        if name is None and number >= len(given):
            raise TypeError("not enough arguments for format string")
        value = values[name] if name is not None else given[number]
        number += name is None
        pieces.append((value, _PERCENT, f"%{flags}{kind}"))
    if number < len(given) and not isinstance(values, dict):
        raise TypeError("not all arguments converted during string formatting")
    if "%" in "".join([piece for piece in pieces if piece != "%" and isinstance(piece, str)]):
        return template % values
    return text(*pieces, template[end:])


def format_(template: str, *args: Any, **kwargs: Any) -> Any:
    """`template.format(...)`, of traced values too, whose texts are made when they are there."""
    if not traced_values(opened((args, kwargs))):
        return template.format(*args, **kwargs)
    pieces: list[Any] = []
    number = 0
    for literal, field, spec, conversion in string.Formatter().parse(template):
        pieces.append(literal)
        if field is None:
            continue
        if not re.fullmatch(r"\w*", field) or "{" in (spec or ""):
            return template.format(*args, **kwargs)
        place: Any = int(field) if field.isdigit() else field or number
        number += not field
        value = args[place] if isinstance(place, int) else kwargs[place]
        pieces.append((value, ord(conversion) if conversion else -1, spec))
    return text(*pieces)


def text(*pieces: Any) -> Any:
    """An f-string, of texts and (value, conversion, format)."""
    made = Text([(opened(_value(p[0])), *p[1:]) if isinstance(p, tuple) else p for p in pieces])
    return made if made.values() else made.formatted(())


_OURS = f"{__name__.partition('.')[0]}."
_OWN = (errors.TranspileError, errors.TracerError)


class HandledError(BaseException):
    """Ends a trace in which a user's handler would be for an exception of the program, or for what
    a trace cannot do, which is `error`."""

    def __init__(self, error: Exception) -> None:
        self.error = error


@contextmanager
def handled(kinds: Callable[[], Any], raising: tuple[int, ...] = ()) -> Iterator[None]:
    """Around the body of a `try`, whose handlers are for exceptions of these classes; those at the
    numbers `raising` raise them again, and do nothing else."""
    handlers = THREAD.python.handlers
    handler = Handler(kinds, raising)
    handlers.append(handler)
    try:
        yield
    except _OWN as error:  # Python, which has values, would not raise it
        if handler.is_for(type(error), of_package=True):
            raise HandledError(error) from None
        raise
    finally:
        handlers.pop()


class Handler:
    """The handlers of a `try`: the classes that they are for, of which the first one counts."""

    def __init__(self, kinds: Callable[[], Any], raising: tuple[int, ...]) -> None:
        self._kinds = kinds
        self._raising = raising

    def is_for(self, error: type[BaseException], *, of_package: bool = False) -> bool:
        """True where one of them does something about exceptions of a class."""
        for number, kind in enumerate(self._kinds()):
            for each in _classes((kind,)):
                if issubclass(error, each) and not (of_package and _is_own(each)):
                    return number not in self._raising
        return False


@contextmanager
def suppressed(*kinds: Any) -> Iterator[None]:
    """`contextlib.suppress`, a handler for exceptions of these classes."""
    try:
        with handled(lambda: kinds):
            yield
    except kinds:
        passed_on()


class _Managed:
    """A context manager that may suppress exceptions of the user's: a handler for them. It is not
    told what ends a trace."""

    def __init__(self, manager: Any) -> None:
        self._manager = manager
        suppressed = getattr(manager, "_exceptions", None) if type(manager) is suppress else None
        self._handling = handled(lambda: suppressed or (Exception,))

    def __enter__(self) -> Any:
        entered = type(self._manager).__enter__(self._manager)
        self._handling.__enter__()
        return entered

    def __exit__(self, *what: Any) -> Any:
        self._handling.__exit__(*what)
        return goes_on_behind(what[1]) and type(self._manager).__exit__(self._manager, *what)


def managed(manager: Any) -> Any:
    """What a `with` enters for a context manager."""
    kind = type(manager)
    is_manager = hasattr(kind, "__enter__") and hasattr(kind, "__exit__")
    return _Managed(manager) if is_manager and may_suppress(manager) else manager


TABLE: dict[Any, Any] = {suppress: suppressed}


def goes_on() -> bool:
    """Whether what a `finally` does is to be done: not where a trace ends."""
    return goes_on_behind(sys.exc_info()[1])


def goes_on_behind(error: BaseException | None) -> bool:
    """Whether an exception is one of the user's, or none."""
    return error is None or (isinstance(error, Exception) and not isinstance(error, _OWN))


def passed_on() -> None:
    """Where a handler for all exceptions begins: what ends a trace is none of these."""
    error = sys.exc_info()[1]
    if error is not None and _is_request(error):
        raise error


def _is_request(error: BaseException) -> bool:
    """True for what asks for another trace."""
    return not isinstance(error, Exception) and type(error).__module__.startswith(_OURS)


def _classes(kinds: Any) -> Iterator[type[BaseException]]:
    """The classes of handlers, each of which may be for several."""
    for kind in kinds:
        if isinstance(kind, tuple):
            yield from _classes(kind)
        else:
            yield kind


def _is_own(kind: type[BaseException]) -> bool:
    """True for a class of the package's errors, which is asked for by name."""
    return issubclass(kind, _OWN)


def raise_(later: Callable[[], Any], cause: Any) -> None:
    """`raise`: at once, or when the program comes to it."""
    error = later()
    if isinstance(error, type):
        error = error()
    error.args = tuple(
        Text.of(part) if isinstance(part, TracedText) else opened(part) for part in error.args
    )
    trace = current_trace()
    if trace is None or not trace.is_region:
        error.args = tuple(_known(part) for part in error.args)
        raise error from cause
    if THREAD.python.handles(type(error)):
        raise HandledError(
            errors.UnsupportedError(
                f"{user_source()}: a program cannot handle the {type(error).__name__} that it "
                f"raises where a traced value decides. Write what the handler does in the place of "
                f"the raise."
            )
        )
    error.__cause__ = cause
    raising = _Raising(error)
    callback = Callback(raising.__name__, raising, Same(raising), failure=_described(error))
    bind(fail, *(x for part in raising.parts for x in traced_values(part)), callback=callback)


def decided(error: E, condition: Any) -> E:
    """An error of paths that are unlike each other, with the arguments noted by which the condition
    chooses one: where these are integers or flags, the trace is made again, of each value."""
    is_unlike = isinstance(error, errors.BranchError | errors.CarryError)
    if is_unlike and isinstance(condition, Tracer) and not errors.blamed(error):
        errors.blame(error, frozenset(var.name for var in deciding(condition)))
    return error


def deciding(condition: Tracer) -> set[Var]:
    """The inputs that a condition is computed from, those of traces around, too."""
    inputs: set[Var] = set()
    seen: set[Var] = set()
    stack: list[tuple[Trace, Atom]] = [(condition.owner, condition.variable)]
    while stack:
        trace, atom = stack.pop()
        if not isinstance(atom, Var) or atom in seen:
            continue
        seen.add(atom)
        outer = {here: tracer for tracer, here in trace.captures.values()}
        if atom in trace.counters:  # the number of an iteration: known, once their number is
            most = trace.counters[atom]
            stack += [(most.owner, most.variable)] if isinstance(most, Tracer) else []
        elif atom in trace.producers:
            stack += [(trace, part) for part in trace.producers[atom].inputs]
        elif atom in outer:
            stack.append((outer[atom].owner, outer[atom].variable))
        else:
            inputs.add(atom)
    return inputs


# Of look-ups and of arithmetic, on values that are known while tracing.
_IMPLICIT = (LookupError, ZeroDivisionError)
# Those of conversions, of unpacking and of the like, where neither the package raises them nor what
# a trace cannot do is behind them.
_OF_USER = (ValueError, ArithmeticError, StopIteration)
_PACKAGE = os.path.dirname(os.path.abspath(errors.__file__)) + os.sep
# What calls foreign code, or Python's own functions, in the place of the user's code.
_HERE = os.path.dirname(os.path.abspath(__file__))
_LOOKUPS = os.path.join(os.path.dirname(_HERE), "lookups.py")
_CALLS = (watched_calls.__file__, _LOOKUPS, _HERE + os.sep)
_RAISE = dis.opmap["RAISE_VARARGS"]


def ending(branch: Callable[[], Any]) -> Any:
    """What a branch that a traced value chooses gives. Where Python raises in it, as for an index
    that is out of the range of a list, the program does so when it comes there."""
    try:
        return branch()
    except (*_IMPLICIT, *_OF_USER) as error:
        if isinstance(error, _OWN) or errors.blamed(error):
            raise
        if not (isinstance(error, _IMPLICIT) or _is_users(error)):
            raise
        failure = error.with_traceback(None)  # whose frames hold the trace
    raise_(lambda: failure, None)
    raise EndedError(failure)


def _is_users(error: Exception) -> bool:
    """True for an exception that Python raises, too, as it comes of known values: the user's code
    raises it, or what that calls of other packages."""
    place = error.__traceback__
    if place is None or any(trace.refused is not None for trace in THREAD.traces):
        return False
    while place.tb_next is not None:
        if _is_given_tracers(place.tb_frame):
            return False
        place = place.tb_next
    code = place.tb_frame.f_code
    if not code.co_filename.startswith(_PACKAGE):
        return True
    is_called = code.co_filename.startswith(_CALLS) and code.co_code[place.tb_lasti] != _RAISE
    return is_called and not _is_given_tracers(place.tb_frame)


def _is_given_tracers(frame: FrameType) -> bool:
    """True for the call of foreign code with traced values, which that does not know."""
    if frame.f_code.co_filename != watched_calls.__file__:
        return False
    given = frame.f_locals
    values = (*given.get("args", ()), *given.get("kwargs", {}).values())
    return any(isinstance(value, Tracer) for value in values)


def _known(part: Any) -> Any:
    return part.formatted([repr(x) for x in part.values()]) if isinstance(part, Text) else part


def _value(part: Any) -> Any:
    """A runtime size as the traced number that it is."""
    return part.as_value() if isinstance(part, Dim) else part


class _Blank:
    """Stands for a value that only the program knows, in any format."""

    def __repr__(self) -> str:
        return "{}"

    def __format__(self, _: str) -> str:
        return "{}"


def _described(error: BaseException) -> str:
    """The class and the text of an exception, as tracebacks end, with `{}` for traced values."""
    parts: list[Any] = []
    for part in error.args:
        if isinstance(part, Text):
            part = part.formatted([_Blank()] * len(part.values()))
        parts.append(_Blank() if isinstance(part, Tracer | Dim) else part)
    name = type(error).__name__
    if not parts:
        return name
    return f"{name}: {parts[0] if len(parts) == 1 else tuple(parts)}"


def traced_values(part: Any) -> list[Tracer]:
    """The traced values in a text, or a container."""
    if isinstance(part, Text):
        return part.values()
    return [leaf for leaf in flatten_arrays(part)[0] if isinstance(leaf, Tracer)]


def with_values(part: Any, values: Sequence[Any]) -> Any:
    """A text, or a container, with these in the places of the traced values."""
    if isinstance(part, Text):
        return part.formatted(values)
    leaves, structure = flatten_arrays(part)
    given = iter(values)
    return structure.unflatten([next(given) if isinstance(x, Tracer) else x for x in leaves])


class _Raising:
    """Raises an exception with the values that the program has."""

    def __init__(self, error: BaseException) -> None:
        self._error = error
        self.parts = [_value(part) for part in error.args]
        self.__name__ = type(error).__name__

    def __call__(self, *values: Any) -> None:
        """Raise it."""
        given = iter(values)
        parts = []
        for part in self.parts:
            own = [as_python(next(given), weak) for weak in weak_values(part)]
            parts.append(with_values(part, own))
        error = copy.copy(self._error)
        error.args = tuple(parts)
        error.__cause__ = self._error.__cause__
        raise error


def weak_values(part: Any) -> list[bool]:
    """Which of the traced values in a text, or a container, are numbers of Python's."""
    return [value.type.weak for value in traced_values(part)]


def as_python(value: Any, is_weak: bool) -> Any:
    """A number as Python's, if it is one; arrays and their elements as they are."""
    array = np.asarray(value)
    is_python = is_weak or array.dtype == BOOL
    return array.item() if is_python and not array.ndim else array[()]
