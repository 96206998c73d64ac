"""Handlers of exceptions, `except`, around what is being traced.

A program cannot handle what it raises. Where Python may raise an exception that a traced value
decides, as of an index or a divisor, and the user's code would handle it, the trace is an error:
the program has no exception there, and would go on with another value.
"""

from __future__ import annotations

import contextlib
import dis
import sys
from contextlib import suppress
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

from transpile import errors
from transpile.ir.source_info import user_source
from transpile.trace.bytecode.rewriting import exception_ranges, instructions_of, original
from transpile.util.interrupt_safety import THREAD

# What Python's functions of numbers may raise.
OF_ARITHMETIC = (ZeroDivisionError, ValueError, OverflowError)
_EXCEPT, _WITH = "except", "with"
_BEFORE_MATCH = ("LOAD_", "BUILD_TUPLE", "PUSH_NULL")  # the classes of an `except`


def tests_of_arithmetic() -> Any:
    """What tests Python's numbers for exceptions, where somebody asks for them; else None."""
    is_asked_for = THREAD.checks_arithmetic or any(map(is_handled, OF_ARITHMETIC))
    return THREAD.arithmetic if is_asked_for else None


def is_handled(error: type[Exception]) -> bool:
    """True where code of the user's may handle an exception of this class."""
    if THREAD.python is not None:
        return bool(THREAD.python.handles(error))
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_exceptiontable and original(code) is not code and _is_in_try(frame):
            return True
        frame = frame.f_back
    return False


def refuse_handled(error: type[Exception], trace: Any) -> None:
    """End the trace where a handler of the user's may be for an exception that the program would
    raise: source says for which, and is asked for where the function is not converted."""
    if not is_handled(error):
        return
    text = (
        f"{user_source()}: a program cannot handle the {error.__name__} that Python raises in "
        f"`{user_source().text}` for some values. Ask before it, as by `if 0 <= k < len(values):` "
        f"or `if divisor != 0:`, and write there what the handler does, without a `try`."
    )
    if THREAD.python is not None:
        THREAD.python.refuse_handled(errors.UnsupportedError(text))
    trace.refused = errors.ConcretizationTypeError(text)
    if THREAD.refusals is not None:
        THREAD.refusals.append(trace.refused)
    raise trace.refused


def _is_in_try(frame: FrameType) -> bool:
    """True where a handler of this frame is for exceptions of the call that it makes."""
    handler = _handlers_at(frame.f_code, frame.f_lasti)
    return handler == _EXCEPT or (handler == _WITH and _suppresses(frame))


def _suppresses(frame: FrameType) -> bool:
    """True where code knows `contextlib.suppress`."""
    code = frame.f_code
    values = {**frame.f_globals, **frame.f_locals}
    known = [values.get(name) for name in (*code.co_names, *code.co_freevars)]
    if suppress in known:
        return True
    return contextlib in known and suppress.__name__ in code.co_names


@lru_cache(maxsize=1024)
def _handlers_at(code: CodeType, at: int) -> str:
    """What is for exceptions: an `except`, else a `with`, else nothing."""
    ranges = list(exception_ranges(code.co_exceptiontable))
    seen: set[int] = set()
    found = ""
    while True:
        target = next((t for start, end, t, _ in ranges if start <= at < end), None)
        if target is None or target in seen:
            return found
        if _is_handler(code, target):
            return _EXCEPT
        found = _WITH if _is_with(code, target) else found
        seen.add(target)
        at = target


def _is_with(code: CodeType, target: int) -> bool:
    """True for the end of a `with`, which an exception comes to."""
    names = [dis.opname[i.code] for i in instructions_of(code) if i.at >= target]
    return names[:2] == ["PUSH_EXC_INFO", "WITH_EXCEPT_START"]


def _is_handler(code: CodeType, target: int) -> bool:
    """True for an `except`: what follows compares the exception, or, for all of them, drops it."""
    behind = [i for i in instructions_of(code) if i.at >= target]
    names = [dis.opname[i.code] for i in behind]
    if names[:2] == ["PUSH_EXC_INFO", "POP_TOP"]:
        return True
    rest = (name for name in names[1:] if not name.startswith(_BEFORE_MATCH))
    return names[0] == "PUSH_EXC_INFO" and next(rest, "") == "CHECK_EXC_MATCH"
