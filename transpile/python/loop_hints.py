"""`unroll` and `no_unroll`: who runs a `for` loop, Python while it traces, or the program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from transpile import errors
from transpile.ir.source_info import user_source
from transpile.python.semantics.iterables import items_of
from transpile.trace.trace import current_trace
from transpile.util.interrupt_safety import THREAD

T = TypeVar("T", bound=Iterable[Any])


class Unrolled:
    """What Python runs over while it traces, however long it is."""

    def __init__(self, iterable: Iterable[Any]) -> None:
        self.iterable = iterable

    def __iter__(self) -> Iterator[Any]:
        return iter(self.iterable)

    def __len__(self) -> int:
        return len(self.iterable)  # type: ignore[arg-type]  # Python's error where it has none

    def __getitem__(self, key: Any) -> Any:
        return self.iterable[key]  # type: ignore[index]


class NotUnrolled:
    """What a loop of the program runs over, however short it is."""

    def __init__(self, iterable: Any) -> None:
        self.iterable = iterable

    def __iter__(self) -> Iterator[Any]:
        raise errors.UnsupportedError(
            f"{user_source()}: no_unroll is for what a `for` statement runs over, of a function "
            f"that is converted from its source"
        )


def unroll(iterable: T) -> T:
    """An iterable over which Python runs a `for` loop while tracing, whatever its length:
    `for k in transpile.unroll(range(100))`. Each iteration is a part of the program of its own.

    Without it Python runs loops of at most 64 equations. Outside of traced functions this is the
    iterable itself. Raises TracerError for one whose length only the program has.
    """
    if THREAD.python is None or current_trace() is None:
        return iterable
    items = items_of(iterable)
    if items is not None and not items.is_known:
        raise errors.TracerError(
            f"{user_source()}: unroll takes what has a length that is known while tracing; this "
            f"one depends on traced values. Make what it depends on static (static_argnums or "
            f"static_argnames), or leave out unroll: then it is a loop of the program."
        )
    hinted: Any = Unrolled(iterable)
    return hinted  # type: ignore[no-any-return]  # a loop sees the same items


def no_unroll(iterable: T) -> T:
    """An iterable over which the program runs a `for` loop, whatever its length: `for k in
    transpile.no_unroll(range(3))`.

    It is a range, an array, a list of numbers or of arrays of one shape, or zip, enumerate,
    reversed or numpy.ndindex of these. Outside of traced functions this is the iterable itself.
    Raises UnsupportedError for what has no items by number, CarryError or BranchError where Python
    has to run the loop, as it changes a shape, and ConcretizationTypeError in a function that is
    not converted from its source (`python_control_flow=False`).
    """
    if current_trace() is None:
        return iterable
    if THREAD.python is None:
        raise errors.ConcretizationTypeError(
            f"{user_source()}: no_unroll makes a loop of the program of a `for` statement, for "
            f"which its function is converted from its source; python_control_flow=False says that "
            f"it is not"
        )
    if items_of(iterable) is None:
        raise errors.UnsupportedError(
            f"{user_source()}: no_unroll takes a range, an array, a list of numbers or of arrays "
            f"of one shape, or zip, enumerate, reversed or numpy.ndindex of these, not a "
            f"{type(iterable).__name__}: the program takes items by their number"
        )
    hinted: Any = NotUnrolled(iterable)
    return hinted  # type: ignore[no-any-return]
