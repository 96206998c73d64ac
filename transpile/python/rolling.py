"""Who runs a loop, Python while it traces or the program, and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from transpile import errors
from transpile.ir.graph import Equation, graphs_in
from transpile.ir.source_info import user_source
from transpile.python.loop_hints import Unrolled
from transpile.python.objects.containers import asking
from transpile.python.semantics.iterables import ENDLESS, Items, behind_endless
from transpile.python.semantics.values import truth
from transpile.trace.trace import current_trace
from transpile.trace.tracer import Tracer
from transpile.util.interrupt_safety import THREAD

# Equations of a loop that Python runs, beyond which it becomes one of the program: what C compilers
# unroll by themselves is shorter, and every further one costs them time.
MOST_UNROLLED = 64
LONG = f"Python would trace more than {MOST_UNROLLED} equations"
ASKED = "no_unroll asks for it"
FLAG = "a traced condition may end it"
# Why a statement cannot be a loop of the program.
REFUSED = (errors.CarryError, errors.BranchError, errors.TracerError, errors.UnsupportedError)


class RolledError(BaseException):
    """The trace begins anew, with a loop of the program for the statement at `site`."""

    def __init__(self, site: Any, reason: str) -> None:
        self.site = site
        self.reason = reason


class UnrolledError(BaseException):
    """The trace begins anew, and Python runs the loop at `site`, as the program cannot."""

    def __init__(self, site: Any, reason: Exception) -> None:
        self.site = site
        self.reason = reason


def times(count: int) -> str:
    """A number of iterations."""
    return "one iteration" if count == 1 else f"{count} iterations"


def _length(equation: Equation) -> int:
    """The number of equations that C is made of: with those of the loops and branches inside."""
    return 1 + sum(_length(inner) for graph in graphs_in(equation) for inner in graph.equations)


def has_axes(value: Any) -> bool:
    """True for an array that is no number."""
    return isinstance(value, Tracer | np.ndarray) and value.ndim > 0


def unchanged(*values: Any) -> tuple[Any, ...]:
    """What an iteration behind the end of a loop gives."""
    return values


def same(number: Any) -> Any:
    """The item of an iteration that is its number."""
    return number


def tested(condition: Callable[..., Any], values: Sequence[Any], is_first: bool) -> Any:
    """What a condition says. The program asks the first one, too, if it is traced."""
    run: Callable[[], Any] = lambda: truth(condition(*values))  # noqa: E731
    return asking(run, condition) if is_first else run()


class LoopStatement:
    """A loop statement: its variables, who runs it, and whether it has a first iteration, whatever
    the arguments of the program are."""

    def __init__(self, names: tuple[str, ...], stops: tuple[int, ...]) -> None:
        self.source = source = user_source()
        self.site = source.file, source.line, names, stops
        self._names = names
        self.names = [name.lstrip("+") for name in names]
        self.is_updated = [name.startswith("+") for name in names]
        self.stops = stops
        self.is_asked_for = False
        self.surely_begins = False

    def with_names(self, also: tuple[str, ...]) -> Self:
        """The loop with further variables."""
        if not also:
            return self
        loop = type(self)((*self._names, *also), self.stops)
        loop.is_asked_for, loop.site = self.is_asked_for, self.site
        loop.surely_begins = self.surely_begins
        return loop

    @property
    def is_rolled(self) -> bool:
        """True where the user, or an earlier attempt, asks for a loop of the program."""
        return self.is_asked_for or self.site in THREAD.python.rolled

    def ended(self, items: Items, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """The variables behind a loop."""
        return behind_endless(values, self.stops) if items.length is ENDLESS else values

    def equations(self) -> int:
        """The length of the trace so far."""
        trace = current_trace()
        return len(trace.equations) if trace else 0

    def assignments(self) -> int:
        """How many assignments to arrays there are in the trace so far."""
        trace = current_trace()
        return len(trace.written) if trace else 0

    def check_length(self, begin: int) -> None:
        """Roll the loop where Python has traced too much of it."""
        trace = current_trace()
        if trace and sum(map(_length, trace.equations[begin:])) > MOST_UNROLLED:
            raise RolledError(self.site, LONG)

    def why_rolled(self, items: Items) -> str:
        """What to tell of a loop of the program."""
        if not items.is_known:
            return "a loop of the program, as the number of its iterations is traced"
        reason = ASKED if self.is_asked_for else THREAD.python.rolled[self.site]
        return f"a loop of the program with {times(items.length)}, as {reason}"

    def why_unrolled(self, iterable: Any, items: Items | None) -> str:
        """What to tell of a loop that Python runs."""
        if isinstance(iterable, Unrolled):
            return "run by Python while tracing, as unroll asks for it"
        if items is None:
            return f"run by Python while tracing, as it is over a {type(iterable).__name__}"
        outcome = f"run by Python while tracing, {times(items.length)}"
        reason = THREAD.python.unrolled.get(self.site)
        if reason is None:
            return f"{outcome}: at most {MOST_UNROLLED} equations"
        return f"{outcome}: no loop of the program, as {reason}"

    def refused(self, items: Items, reason: Exception) -> BaseException:
        """What to raise where the loop cannot be one of the program: Python runs it if it is short.
        A ValueError may be about lengths, which may fit where they are numbers."""
        is_short = items.is_known and items.length <= MOST_UNROLLED
        if is_short and not self.is_asked_for:
            return UnrolledError(self.site, reason)
        if items.is_known and not isinstance(reason, ValueError):
            of_loop = f"So `{self.source.text}` is no loop of the program"
            reason.add_note(
                f"{of_loop}: leave out no_unroll."
                if self.is_asked_for
                else f"{of_loop}; and Python does not run it while tracing, as its "
                f"{items.length} iterations are more than {MOST_UNROLLED}."
            )
        return reason
