"""A loop in an expansion: over values that are all its state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from transpile.ir.graph import UNKNOWN_SOURCE, Var
from transpile.ir.types import type_of
from transpile.primitives.control.primitives import while_
from transpile.primitives.rules import bind_call
from transpile.transforms.closed import close


def while_loop(
    test: Callable[..., Any], step: Callable[..., list[Any]], state: Sequence[Any]
) -> list[Any]:
    """The state when the test of it is false; `step` gives the next state, of the same types. What
    the functions read must be in the state."""
    inputs = [Var(type_of(x).strong) for x in state]
    condition = close(lambda *v: [test(*v)], inputs, name="condition", source=UNKNOWN_SOURCE)
    body = close(step, inputs, name="body", source=UNKNOWN_SOURCE)
    assert not condition.captured and not body.captured
    return bind_call(while_, *state, condition=condition.graph, body=body.graph, consts=0)
