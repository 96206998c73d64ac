"""Source locations: the file and line of user code that is running, and the name it assigns to."""

from __future__ import annotations

import dis
import linecache
import reprlib
import sys
from contextlib import ContextDecorator
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

from transpile.ir.graph import UNKNOWN_SOURCE, Source
from transpile.util.interrupt_safety import THREAD
from transpile.util.users_code import OURS

_STORES = ("STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF")
_SHOWN = reprlib.Repr()
_SHOWN.maxlevel = 4
_SHOWN.maxlist = _SHOWN.maxtuple = _SHOWN.maxdict = _SHOWN.maxset = 20
_SHOWN.maxstring = _SHOWN.maxother = _SHOWN.maxlong = 1000


def user_frame() -> FrameType | None:
    """The innermost frame that is none of transpile, NumPy and SciPy."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(OURS):
        frame = frame.f_back
    return frame


def shown(value: Any) -> str:
    """The text of a value in a message: of endless depth, of any length, and where its own `repr`
    fails."""
    return _SHOWN.repr(value)


def user_source() -> Source:
    """The file, line and function of the user's code that is being run."""
    frame = user_frame()
    if frame is None:
        return UNKNOWN_SOURCE
    return _source(frame.f_code, frame.f_lineno, THREAD.scope)


@lru_cache(maxsize=4096)
def _source(code: CodeType, line: int, scope: str) -> Source:
    text = linecache.getline(code.co_filename, line).strip()
    return Source(code.co_filename, line, code.co_name, text, scope)


class named_scope(ContextDecorator):  # a context and a decorator, like JAX's
    """A name for what is computed in this context, or by the decorated function.

    Comments of the C and error messages show it, after the names of the enclosing scopes; it has no
    other effect. Raises TypeError for a name that is no string.
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError("named_scope name argument must be a string.")
        self.name = name
        self._before: list[str] = []

    def __enter__(self) -> None:
        self._before.append(THREAD.scope)
        THREAD.scope = f"{THREAD.scope}/{self.name}" if THREAD.scope else self.name

    def __exit__(self, *_: object) -> None:
        THREAD.scope = self._before.pop()


def assigned_name() -> str:
    """The variable that the user's current expression is assigned to; `""` where there is none.

    It is read off the bytecode: the instruction after the call or operator under way is a STORE.
    """
    frame = user_frame()
    return _stores(frame.f_code).get(frame.f_lasti, "") if frame is not None else ""


@lru_cache(maxsize=1024)
def _stores(code: CodeType) -> dict[int, str]:
    """For each instruction that is followed by a store into a variable, the variable's name."""
    targets: dict[int, str] = {}
    previous = None
    for instruction in dis.get_instructions(code):
        if previous is not None and instruction.opname.startswith(_STORES):
            name = instruction.argval
            # In a call of a Python function, f_lasti is after the call's inline cache entries.
            for offset in range(previous, instruction.offset, 2):
                targets[offset] = name if isinstance(name, str) else name[0]
        previous = instruction.offset
    return targets


def function_source(function: object) -> Source:
    """Where a function is defined."""
    code = getattr(function, "__code__", None)
    if code is None:
        return UNKNOWN_SOURCE
    return Source(code.co_filename, code.co_firstlineno, code.co_name)
