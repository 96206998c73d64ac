"""What has been traced and compiled for a function, and which of its calls are made in C."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import field
from types import FunctionType
from typing import TYPE_CHECKING, Any

from transpile.runtime.tier_up import how_often
from transpile.stages import Compiled, Fast, Run, Traced
from transpile.trace.guards import Watch
from transpile.util.fork_safe_lock import Lock
from transpile.util.frozen_records import dataclass
from transpile.util.lazy_imports import Later

if TYPE_CHECKING:
    from transpile.runtime import fast_call
else:
    fast_call = Later("transpile.runtime.fast_call")


_NAME = "__transpile__"


@dataclass(eq=False)
class Traces:
    """Everything traced so far for one function and one set of settings, by key.

    fast      what a call needs
    entries   what calls in C look at
    """

    traced: dict[Any, Traced] = field(default_factory=dict)
    fast: dict[Any, tuple[Fast, Watch | None]] = field(default_factory=dict)
    entries: list[Any] = field(default_factory=list)
    lock: Any = field(default_factory=Lock)

    def clear(self) -> None:
        """Forget all."""
        with self.lock:
            self.traced.clear()
            self.fast.clear()
            self.entries.clear()

    def keep(
        self,
        key: Any,
        compiled: Compiled,
        watch: Watch | None,
        owner: type,
        disabled: list[Any],
    ) -> None:
        """Run this program from now on for calls with that key.

        Where there are many, calls of instances of `owner` are made in C while `disabled` is empty.
        """
        often = how_often() if compiled.is_direct else 0

        def quicken() -> None:
            fast_call.install(owner, disabled)
            with self.lock:
                found = self.fast.get(key)
                if found is not None and found[0] is counted:  # and not a later trace's
                    self.fast[key] = compiled.fast, watch
                    fast_call.put(self.entries, key, compiled.in_process(), watch)

        execute, kept, finish = compiled.fast
        counted = (_counted(execute, often, quicken) if often else execute, kept, finish)
        with self.lock:
            self.entries[:] = [entry for entry in self.entries if entry.key != key]
            self.fast[key] = counted, watch
        if often == 1:
            quicken()


class OfFunction:
    """The traces of one function, by settings.

    It stands in the function's own dict, so that it goes when the function goes. In pickles of the
    function, by cloudpickle, an empty dict stands there.
    """

    def __init__(self, function: FunctionType) -> None:
        self._function = weakref.ref(function)
        self._tables: dict[Any, Traces] = {}

    @classmethod
    def of(cls, function: FunctionType) -> OfFunction:
        """That of a function."""
        found = function.__dict__.get(_NAME)
        # functools.wraps copies attributes from one function to another.
        if type(found) is not cls or found._function() is not function:
            found = function.__dict__[_NAME] = cls(function)
        return found

    def table(self, settings: Any) -> Traces:
        """The traces for some settings."""
        return self._tables.setdefault(settings, Traces())

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, ()


def _counted(execute: Run, often: int, then: Callable[[], None]) -> Run:
    """A program that calls `then` when it runs for that time."""
    count = 0

    def run(leaves: Any) -> list[Any]:
        nonlocal count
        count += 1
        if count >= often:
            then()
        return execute(leaves)

    return run
