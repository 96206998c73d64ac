"""The named axes that are in scope: those over which the code under way is mapped.

A collective is traced with the size of each axis that it names. The scope is of the thread, not of
a trace: functions that are traced later, such as the backward pass of a custom derivative, are put
into that of their `vmap` again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from transpile.ir.primitive import Axis
from transpile.ir.source_info import user_source
from transpile.trace.bytecode.call_resolution import resolved
from transpile.util.interrupt_safety import THREAD, Result, as_before, between


def with_axes(axes: Sequence[Axis], run: Callable[[], Result]) -> Result:
    """The result of `run()`, in which these axes are in scope, the last ones innermost."""

    def begin() -> None:
        THREAD.axes = (*THREAD.axes, *axes)

    return between(begin, run, as_before())


def in_scope_of(axes: Sequence[Axis], function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which runs with these axes in scope."""

    @functools.wraps(function)
    def scoped(*args: Any, **kwargs: Any) -> Any:
        return with_axes(axes, lambda: resolved(function)(*args, **kwargs))

    return scoped


def axes_in_scope() -> tuple[Axis, ...]:
    """The axes in scope, the innermost last, those without a name among them."""
    axes: tuple[Axis, ...] = THREAD.axes
    return axes


def named_axis(name: Hashable) -> Axis:
    """The innermost axis of that name; a NameError if there is none."""
    for axis in reversed(axes_in_scope()):
        if axis.name is not None and axis.name == name:
            return axis
    raise NameError(f"{user_source()}: unbound axis name: {name}")
