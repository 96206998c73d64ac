"""Lists and arrays that are elements of lists of the program, whose arrays have them as they were:
nothing may be assigned to them elsewhere.

An array that a statement makes is followed: where nothing is assigned to it, or behind it, it is as
it was. One that goes on as a variable of loops and branches may be any array of its type there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from transpile import errors
from transpile.ir.graph import Var
from transpile.ir.source_info import user_source
from transpile.ir.types import ArrayType
from transpile.python.objects.containers import Lent, lists_in
from transpile.python.objects.references import NO_ARGUMENT, roots_of
from transpile.trace.trace import Trace
from transpile.trace.tracer import Tracer
from transpile.util.interrupt_safety import THREAD


class Kept:
    """The elements of the lists of a trace.

    arrays    of the program: of which trace, what each was, and where it became an element
    known     those of NumPy, and what was in them
    types     of those that go on as variables
    assigned  the types of all arrays that something is assigned to
    """

    def __init__(self) -> None:
        self.arrays: list[tuple[Trace, Var, Var, str]] = []
        self.known: list[tuple[Any, Any, str]] = []
        self.types: dict[tuple[Any, ...], str] = {}
        self.assigned: set[tuple[Any, ...]] = set()

    def keep(self, value: Any) -> None:
        """Note an array that is an element of a list from now on, or is read from one."""
        source = user_source()
        text = f"{source}: an array of the list in `{source.text}`"
        if isinstance(value, np.ndarray) and value.ndim:
            self.known.append((value, value.copy(), text))
        elif isinstance(value, Tracer) and value.ndim:
            for (trace, root), _ in roots_of(value):
                if trace.is_region and root not in trace.producers:
                    self.types[_key(root.type)] = text
                if root not in trace.stale:
                    self.arrays.append((trace, root, trace.newest(root), text))

    def goes_on(self, trace: Trace, values: Iterable[Any]) -> None:
        """Note that these values of a trace are variables behind it, or of its next iteration."""
        for value in values:
            if isinstance(value, Var) and self.arrays:
                root = trace.root_of(value)
                for owner, array, _, text in self.arrays:
                    if owner is trace and array is root:
                        self.types[_key(root.type)] = text

    def check(self) -> None:
        """Raise UnsupportedError where something is assigned to an array that is an element."""
        for trace, root, before, text in self.arrays:
            if root in trace.stale or trace.newest(root) is not before:
                raise _assigned(text)
        for value, before, text in self.known:
            if not np.array_equal(value, before, equal_nan=value.dtype.kind in "fc"):
                raise _assigned(text)
        for key, text in self.types.items():
            if key in self.assigned:
                raise _assigned(text)


def keep(value: Any) -> None:
    """Note the lists and arrays in an element of a list of the program."""
    source = user_source()
    for values in lists_in(value):
        what = f"{source}: a list that is an element of the one in `{source.text}`"
        THREAD.python.lent.append((what, Lent(values)))
    for leaf in value if type(value) in (tuple, list) else [value]:
        if type(leaf) in (tuple, list):
            keep(leaf)
        else:
            THREAD.python.kept.keep(leaf)


def _key(kind: ArrayType) -> tuple[Any, ...]:
    return kind.shape, kind.dtype


def _assigned(text: str) -> errors.UnsupportedError:
    problem = errors.UnsupportedError(
        f"{text} is assigned to elsewhere, or an array may be that is a variable like it: in the "
        f"program it is a copy. Give the list one of its own: values.append(x.copy()). What is "
        f"taken from it may be elsewhere, too: x = values.pop().copy()."
    )
    errors.blame(problem, NO_ARGUMENT)
    return problem
