"""Keyword arguments that functions of the namespace have and NumPy's lack, such as `size=`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from transpile.numpy.core.promotion import EXPORTS, has_tracer
from transpile.trace.trace import trace_function
from transpile.trace.tracer import named
from transpile.transforms.interpret import interpret


def accepts_more(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let the function of the namespace take keywords that NumPy's lacks: given one of these, it
    runs the traced implementation on plain arrays too."""

    def decorate(implementation: Callable[..., Any]) -> Callable[..., Any]:
        public = EXPORTS[implementation.__name__]

        @functools.wraps(public)
        def function(*args: Any, **kwargs: Any) -> Any:
            if all(kwargs.get(name) is None for name in names):
                return public(*args, **{k: v for k, v in kwargs.items() if k not in names})
            if has_tracer(args) or has_tracer(kwargs):
                return named(implementation(*args, **kwargs))
            return _at_once(implementation, args, kwargs)

        function.__wrapped__ = public.__wrapped__
        function.__signature__ = inspect.signature(implementation)  # type: ignore[attr-defined]
        EXPORTS[implementation.__name__] = function
        return implementation

    return decorate


def _at_once(implementation: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The result of an implementation on plain arrays."""

    def traced() -> tuple[list[Any], Any]:
        result = implementation(*args, **kwargs)
        return (list(result), type(result)) if isinstance(result, tuple) else ([result], None)

    graph, structure = trace_function(traced, [], [])
    values = interpret(graph, [])
    if structure is None:
        return values[0]
    return structure(*values) if hasattr(structure, "_fields") else tuple(values)
