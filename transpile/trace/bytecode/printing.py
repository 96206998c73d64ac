"""What `print` writes while a function is traced: once, though a trace may begin anew."""

from __future__ import annotations

import builtins
import io
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from transpile.trace.bytecode.call_resolution import SUBSTITUTES
from transpile.util.interrupt_safety import THREAD, as_before, between

T = TypeVar("T")


def print_(*values: Any, file: Any = None, flush: bool = False, **options: Any) -> None:
    """`print`; what a traced function prints waits until it is known that this trace is kept."""
    if THREAD.printed is None:
        builtins.print(*values, file=file, flush=flush, **options)
        return
    text = io.StringIO()
    builtins.print(*values, file=text, **options)
    THREAD.printed.append((text.getvalue(), sys.stdout if file is None else file, flush))


def printing_once(attempt: Callable[..., T], run: Callable[[Callable[..., T]], T]) -> T:
    """`run(attempt)`, where each further attempt forgets what those before it have printed. What
    is left is printed behind the outermost one, also where it fails."""
    printed = THREAD.printed
    lines = [] if printed is None else printed
    first = len(lines)

    def anew(*args: Any, **kwargs: Any) -> T:
        del lines[first:]
        return attempt(*args, **kwargs)

    def begin() -> None:
        THREAD.printed = lines

    try:
        return between(begin, lambda: run(anew), as_before())
    finally:
        while printed is None and lines:
            text, file, flush = lines.pop(0)
            builtins.print(text, end="", file=file, flush=flush)


SUBSTITUTES[id(print)] = (print, print_)
