"""Loops of functions of arrays whose number of iterations is a runtime size, or a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from transpile.ir.dims import Index
from transpile.ir.graph import Graph, Var
from transpile.ir.primitive import TABLE
from transpile.ir.source_info import user_source
from transpile.trace.trace import the_trace
from transpile.transforms.closed import Closed, close
from transpile.util.frozen_records import replace

Step = Callable[[list[Any], list[Any]], list[Any]]
Values = Callable[..., list[Any]]


def scanned(step: Step, carry: Sequence[Any], xs: Sequence[Any], length: Index) -> list[Any]:
    """The last carry of a loop over the first axes of arrays, and what its iterations give besides,
    stacked: `step` takes the carry and an element of each array, and gives the next carry and
    more. Arrays that it reads of its surroundings are operands of the loop."""
    trace = the_trace()
    count = len(carry)
    elements = [trace.atom(x).type.strong for x in xs]
    types = [trace.atom(v).type.strong for v in carry]
    types += [t.with_shape(t.shape[1:]) for t in elements]

    def body(*values: Any) -> list[Any]:
        return step(list(values[:count]), list(values[count:]))

    closed = close(body, [Var(t) for t in types], name=step.__name__, source=user_source())
    params = {
        "graph": closed.graph,
        "consts": len(closed.captured),
        "carry": count,
        "length": length,
        "reverse": False,
    }
    return trace.append(TABLE["scan"], (*closed.captured, *carry, *xs), params)


def repeated(
    condition: Values, body: Values, consts: Sequence[Any], carry: Sequence[Any]
) -> list[Any]:
    """The last carry of a loop that goes on as long as a condition holds. Both functions take the
    constants and the carry, and read nothing else."""
    trace = the_trace()
    operands = (*consts, *carry)
    inputs = [Var(trace.atom(v).type.strong) for v in operands]
    test, once = (
        close(f, inputs, name=f.__name__, source=user_source()).graph for f in (condition, body)
    )
    params = {"condition": test, "body": once, "consts": len(consts)}
    return trace.append(TABLE["while"], operands, params)


def chosen(condition: Any, first: Callable[[], Any], second: Callable[[], Any]) -> Any:
    """What one of two functions gives, of which only that one is run."""
    trace = the_trace()
    bodies = [
        close(lambda f=f: [f()], [], name="branch", source=user_source()) for f in (second, first)
    ]
    captured = {x.variable: x for b in bodies for x in b.captured}
    branches = tuple(_with_operands(b, captured) for b in bodies)
    return trace.append(TABLE["cond"], (condition, *captured.values()), {"branches": branches})[0]


def _with_operands(closed: Closed, captured: Iterable[Var]) -> Graph:
    """The graph as one of all these values."""
    own = dict(zip((x.variable for x in closed.captured), closed.graph.inputs, strict=True))
    return replace(closed.graph, inputs=tuple(own.get(v) or Var(v.type) for v in captured))
