"""`print` of traced values, and in statements that depend on them: when the program comes to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transpile import debug
from transpile.python.semantics.exceptions import as_python, traced_values, with_values
from transpile.trace.trace import current_trace


def print_(*values: Any, **options: Any) -> None:
    """`print`."""
    traced = [x for value in values for x in traced_values(value)]
    trace = current_trace()
    if traced or (trace is not None and trace.is_region):
        debug.callback(_Printing(values, options), *traced)
    else:
        print(*values, **options)


class _Printing:
    """Prints a line with the values that the program has."""

    __name__ = "print"

    def __init__(self, values: Sequence[Any], options: dict[str, Any]) -> None:
        self._values = values
        self._options = options

    def __call__(self, *values: Any) -> None:
        """Print it."""
        given = iter(values)
        parts = []
        for part in self._values:
            own = [as_python(next(given)) for _ in traced_values(part)]
            parts.append(with_values(part, own))
        print(*parts, **self._options)
