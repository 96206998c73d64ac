"""Find out which code a trace executes, where some may be called by the program only.

What a callback reads when the program runs is not what the trace has read. A function is guarded as
a callback only if the trace has not called it as well, which no analysis of the code can tell.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any, TypeVar

from transpile.trace.bytecode.rewriting import original
from transpile.trace.static_lookup import function_in, in_class
from transpile.util.interrupt_safety import between

Result = TypeVar("Result")
Function = TypeVar("Function", bound=Callable[..., Any])

# The functions that take a callback.
TAKE_CALLBACKS: set[Any] = set()
_MAX_DEPTH = 8  # of partials in partials


def takes_callback(function: Function) -> Function:
    """Decorate a function of transpile that has the program call a function of the user."""
    TAKE_CALLBACKS.add(function)
    return function


class _Recorder:
    """A profile function that collects the code that is entered."""

    __slots__ = ("codes",)

    def __init__(self) -> None:
        self.codes: set[CodeType] = set()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            self.codes.add(original(frame.f_code))


def recorded(run: Callable[[], Result]) -> tuple[Result, set[CodeType] | None]:
    """The result of `run()`, and the code that it executed in this thread, or more. None in the
    place of that where a profiler has the hook for it."""
    active: Any = sys.getprofile()
    if active is not None:
        return run(), active.codes if isinstance(active, _Recorder) else None
    recorder = _Recorder()

    def run_whole() -> tuple[Result, set[CodeType] | None]:
        result = run()
        return result, recorder.codes if sys.getprofile() is recorder else None

    def end() -> None:
        if sys.getprofile() is recorder:
            sys.setprofile(None)

    return between(lambda: sys.setprofile(recorder), run_whole, end)


def codes_of(value: Any, depth: int = 0) -> Iterator[CodeType]:
    """The code that a call of a value enters, as far as it is known without a call."""
    if isinstance(value, MethodType):
        value = value.__func__
    if isinstance(value, functools.partial) and depth < _MAX_DEPTH:
        for part in (value.func, *value.args, *value.keywords.values()):
            yield from codes_of(part, depth + 1)
        return
    while type(value) is FunctionType and hasattr(value, "__wrapped__"):
        yield original(value.__code__)
        value = value.__wrapped__
    function = function_in(value) or function_in(in_class(type(value), "__call__"))
    if function is not None:
        yield original(function.__code__)
