"""The operations that converted functions call.

A statement is called with the values of its variables by their names, and gives those behind it:
the value of one, nothing of none, and else their tuple. So do the functions that its blocks become.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transpile.python.checked_values import Shared, assert_, bound, bound_if
from transpile.python.fresh_values import fresh
from transpile.python.none_values import (
    equals,
    given,
    handed,
    holds,
    is_none,
    is_none_alone,
    never_none,
    not_none,
    or_given,
    passed,
)
from transpile.python.objects.number_lists import exchanged
from transpile.python.semantics import branches, loops
from transpile.python.semantics.branches import choose
from transpile.python.semantics.conditions import and_, compare, is_singleton, not_, or_
from transpile.python.semantics.exceptions import (
    format_,
    goes_on,
    handled,
    managed,
    passed_on,
    percent,
    raise_,
    text,
)
from transpile.python.semantics.generators import Generated, listed, loop_over, selected
from transpile.python.semantics.values import (
    Unbound,
    here,
    is_sequence,
    only_here,
    returned,
    returned_or_none,
)

__all__ = [
    "Generated",
    "Shared",
    "Unbound",
    "and_",
    "assert_",
    "bound",
    "bound_if",
    "choose",
    "compare",
    "equals",
    "exchanged",
    "for_",
    "format_",
    "fresh",
    "given",
    "goes_on",
    "handed",
    "handled",
    "here",
    "holds",
    "if_",
    "is_none",
    "is_none_alone",
    "is_sequence",
    "is_singleton",
    "listed",
    "managed",
    "never_none",
    "not_",
    "not_none",
    "only_here",
    "or_",
    "or_given",
    "passed",
    "passed_on",
    "percent",
    "raise_",
    "returned",
    "returned_or_none",
    "selected",
    "text",
    "until",
    "updating",
    "while_",
]

Block = Callable[..., Any]


class Mark:
    """What a loop does with some of its variables."""

    def __init__(self, names: tuple[str, ...], is_end: bool) -> None:
        self.names = names
        self.is_end = is_end


def until(*names: str) -> Mark:
    """The variables of a loop of which each one ends it where it is true."""
    return Mark(names, is_end=True)


def updating(*names: str) -> Mark:
    """The variables that a loop changes by `x += y` alone: arrays stay the same objects."""
    return Mark(names, is_end=False)


def if_(test: Any, then: Block, otherwise: Block | None = None, /, **state: Any) -> Any:
    """An `if` statement."""
    other = _same if otherwise is None else _of_tuples(otherwise, len(state))
    chosen = _of_tuples(then, len(state)), other
    return _plain(branches.if_(test, *chosen, tuple(state), tuple(state.values())))


def for_(iterable: Any, body: Block, /, *marks: Mark, **state: Any) -> Any:
    """A `for` statement, whose body takes an item and the variables."""
    each = _of_tuples(body, len(state))
    stops, names = _marked(marks, state)
    return _plain(loop_over(iterable)(each, stops, names, tuple(state.values())))


def while_(condition: Block, body: Block, /, *marks: Mark, **state: Any) -> Any:
    """A `while` statement."""
    each = _of_tuples(body, len(state))
    stops, names = _marked(marks, state)
    return _plain(loops.while_(condition, each, stops, names, tuple(state.values())))


def _marked(
    marks: tuple[Mark, ...], state: dict[str, Any]
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The positions of the flags that end a loop, and the names, with a `+` of what is updated."""
    flags = [name for mark in marks if mark.is_end for name in mark.names]
    updated = [name for mark in marks if not mark.is_end for name in mark.names]
    stops = tuple(number for number, name in enumerate(state) if name in flags)
    return stops, tuple(f"+{name}" if name in updated else name for name in state)


def _of_tuples(block: Block, count: int) -> Block:
    """A function of a block, whose result is a tuple in any case."""
    if count > 1:
        return block

    def call(*values: Any) -> tuple[Any, ...]:
        result = block(*values)
        return (result,) if count else ()

    return call


def _same(*values: Any) -> tuple[Any, ...]:
    return values


def _plain(values: tuple[Any, ...]) -> Any:
    if len(values) == 1:
        return values[0]
    return values or None
