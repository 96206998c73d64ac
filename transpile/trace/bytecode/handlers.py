"""Handlers of exceptions, `except`, around what is being traced.

A program cannot handle what it raises. Where Python may raise an exception that a traced value
decides, as of an index or a divisor, and the user's code would handle it, the trace is an error:
the program has no exception there, and would go on with another value.
"""

from __future__ import annotations

import builtins
import contextlib
import dis
import sys
from contextlib import suppress
from functools import lru_cache
from types import CodeType, FrameType, FunctionType
from typing import Any

from transpile import errors
from transpile.ir.source_info import user_source
from transpile.trace.bytecode.rewriting import exception_ranges, instructions_of, original
from transpile.util.interrupt_safety import THREAD
from transpile.util.users_code import OURS

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
    """True where code knows a manager, or what makes one, that may suppress exceptions."""
    code = frame.f_code
    values = {**frame.f_globals, **frame.f_locals}
    known = [values.get(n) for n in (*code.co_names, *code.co_freevars, *code.co_varnames)]
    parts = [vars(value) for value in known if hasattr(value, "__dict__")]
    known += [part[name] for part in parts for name in code.co_names if name in part]
    return any(may_suppress_as(x) if isinstance(x, type) else may_suppress(x) for x in known)


def may_suppress(manager: Any) -> bool:
    """True for a context manager, or a generator function that makes one, whose end may be the end
    of an exception, too."""
    generator = getattr(manager, "gen", None) or getattr(manager, "__wrapped__", None)
    code = getattr(generator, "gi_code", None) or getattr(generator, "__code__", None)
    if isinstance(code, CodeType):
        return not code.co_filename.startswith(OURS) and _handles_yields(original(code))
    kind: Any = type(manager)
    return may_suppress_as(kind)


@lru_cache(maxsize=1024)
def may_suppress_as(kind: type) -> bool:
    """The same for a manager of a class: its `__exit__` may return what is true."""
    if issubclass(kind, suppress | contextlib.ExitStack):  # a stack: as what it holds
        return True
    end = getattr(kind, "__exit__", None)
    if not isinstance(end, FunctionType) or end.__module__ == contextlib.__name__:
        return False
    return _may_return_truth(original(end.__code__))


def _may_return_truth(code: CodeType) -> bool:
    constant: Any = code  # of the instruction before; the code: it loads none
    for instruction in instructions_of(code):
        name = dis.opname[instruction.code]
        if name == "RETURN_CONST" and code.co_consts[instruction.argument]:
            return True
        if name == "RETURN_VALUE" and constant:
            return True
        constant = code.co_consts[instruction.argument] if name == "LOAD_CONST" else code
    return False


def _handles_yields(code: CodeType) -> bool:
    """True for a generator in which an `except` or `suppress` is around a `yield`."""
    yields = [i.at for i in instructions_of(code) if dis.opname[i.code] == "YIELD_VALUE"]
    handlers = {_handlers_at(code, at) for at in yields}
    return _EXCEPT in handlers or (_WITH in handlers and suppress.__name__ in code.co_names)


def is_swallowed(error: BaseException) -> bool:
    """True where the last handler that an error has come to is one of the user's for exceptions of
    all kinds, or of classes of Python's: who names the package's own classes means them."""
    place = error.__traceback__
    if place is None or original(place.tb_frame.f_code) is place.tb_frame.f_code:
        return False
    code = place.tb_frame.f_code
    handler = _handlers_at(code, place.tb_lasti)
    if handler != _EXCEPT:
        return handler == _WITH and _suppresses(place.tb_frame)
    kinds = [getattr(builtins, name, None) for name in code.co_names]
    is_named = any(isinstance(kind, type) and isinstance(error, kind) for kind in kinds)
    return is_named or all(dis.opname[i.code] != "CHECK_EXC_MATCH" for i in instructions_of(code))


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
