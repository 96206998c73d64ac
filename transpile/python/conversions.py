"""The conversion of a function, and of those that it calls, while it is traced."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import CodeType, FunctionType
from typing import Any, TypeVar

from transpile import errors
from transpile.ir.dims import Dim
from transpile.ir.indices.lengths import refused
from transpile.ir.source_info import user_source
from transpile.python import operations
from transpile.python.objects.containers import Lent
from transpile.python.rolling import RolledError, UnrolledError
from transpile.python.semantics import bounds, builtins, math_functions
from transpile.python.semantics.branches import if_
from transpile.python.semantics.exceptions import HandledError, raise_
from transpile.python.semantics.generators import Generating
from transpile.python.semantics.iterables import Chosen, is_stackable
from transpile.python.semantics.numbers import is_unknown
from transpile.python.semantics.values import EndedError
from transpile.python.syntax.conversion import Consumer, Conversion, conversion, converted
from transpile.python.syntax.definitions import NoSourceError
from transpile.trace.bytecode.call_resolution import resolving
from transpile.trace.bytecode.rewriting import original
from transpile.trace.captured_arrays import passed_over
from transpile.util.interrupt_safety import THREAD, as_before, between

T = TypeVar("T")
_SUBSTITUTES: dict[int, tuple[Any, Any]] = {
    id(function): (function, ours)
    for table in (builtins.TABLE, math_functions.TABLE)
    for function, ours in table.items()
}


_REQUESTS = (
    RolledError,
    UnrolledError,
    bounds.CountedError,
    HandledError,
    EndedError,
    errors.TracerError,
)


def _raised(text: str) -> tuple[()]:
    raise_(lambda: refused(text), None)
    return ()


class Conversions:
    """How a function is traced from source, after a trace of it has failed.

    substitutes  by id: a callable, and what takes its place
    rolled       the sites of loops that become loops of the program, and why
    unrolled     those that cannot, and why
    changing     by the site of a loop: the attributes that it changes
    counting     what the greatest numbers in statements are, that only the program has
    handlers     of the `try` statements that are being traced: functions that give their classes
    lent         what traced values have chosen of the user's lists and objects, which are copies
    """

    def __init__(self, failure: errors.TracerError | None) -> None:
        self.failure = failure
        self.substitutes = _SUBSTITUTES
        self.rolled: dict[Any, str] = {}
        self.unrolled: dict[Any, Exception] = {}
        self.changing: dict[Any, Any] = {}
        self.counting = bounds.Counting()
        self.handlers: list[Callable[[], Any]] = []
        self.lent: list[tuple[str, Lent]] = []
        self.refused: dict[str, None] = {}

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
        result = attempt()
        for what, lent in self.lent:
            if lent.is_changed():
                raise errors.UnsupportedError(
                    f"{what} is changed later. As a traced value chooses it, it is a copy: keep "
                    f"the values in an array, and assign to an element of it, values[k] = value."
                )
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
            case HandledError() | EndedError():
                raise request.error from None
            case errors.TracerError():
                for note in self.refused:
                    request.add_note(note)
                raise request
            case _:
                raise request

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
            made = conversion(code, code.co_filename, consumer)
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

    def subscripted(self, container: Any, key: Any) -> Any:
        """What is subscripted in the place of a container: of a list, its stacked items."""
        is_index = is_unknown(key) and not key.shape and key.dtype.kind in "iu"
        return Chosen(container) if is_index and is_stackable(container) else container
