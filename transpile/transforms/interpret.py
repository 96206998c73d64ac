"""Evaluate a graph with the NumPy reference of each primitive; the oracle of the tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Index, Symbol
from transpile.ir.graph import Atom, Const, Graph, Var
from transpile.ir.graph_rewrite import counts_of, in_sizes, live_equations
from transpile.trace.trace import evaluate
from transpile.util.interrupt_safety import THREAD, as_before, between


def interpret(graph: Graph, values: Sequence[Any]) -> list[Any]:
    """The outputs of the graph for these inputs, as arrays."""
    return Interpreter(graph)(values)


def interpret_up_to(
    graph: Graph, values: Sequence[Any], most: int, goes_on: Callable[[], bool] | None = None
) -> list[Any] | None:
    """As `interpret`; None where loops make more than so many equations of it, or where `goes_on`
    says before one of them that it should not."""

    def begin() -> None:
        THREAD.most_equations = most
        THREAD.goes_on = goes_on

    try:
        return between(begin, lambda: interpret(graph, values), as_before())
    except _TooLongError:
        return None


def has_loop(graph: Graph) -> bool:
    """True if a loop is in the graph or its regions: it has more equations to compute than stand
    there."""
    is_loop = any(
        e.primitive.kind == "control" and e.primitive.name != "cond" for e in graph.equations
    )
    return is_loop or any(map(has_loop, graph.subgraphs()))


class _TooLongError(Exception):
    """There are more equations to compute than were allowed, or they should not be any more."""


class Interpreter:
    """A graph made ready to be run with NumPy, as often as a loop goes around.

    Equations that no output needs are left out, and values are forgotten after their last use.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._equations = live_equations(graph.equations, graph.outputs)
        self._has_lengths = bool(counts_of(self._equations))
        last_use = {a: e for e in self._equations for a in e.inputs if isinstance(a, Var)}
        for atom in graph.outputs:
            last_use.pop(atom, None)  # type: ignore[arg-type]  # a Const is not in it
        self._forgotten = [
            [v for v in dict.fromkeys(e.inputs) if isinstance(v, Var) and last_use.get(v) is e]
            for e in self._equations
        ]

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """The outputs for these inputs, as arrays."""
        if THREAD.most_equations is not None:
            THREAD.most_equations -= 1 + len(self._equations)
            if THREAD.most_equations < 0:
                raise _TooLongError
        environment: dict[Var, Any] = {
            v: np.asarray(x, v.type.dtype) for v, x in zip(self.graph.inputs, values, strict=True)
        }

        def read(atom: Atom) -> Any:
            return atom.value if isinstance(atom, Const) else environment[atom]

        sizes: dict[Symbol, Index] = {}
        goes_on = THREAD.goes_on
        for equation, forgotten in zip(self._equations, self._forgotten, strict=True):
            if goes_on is not None and not goes_on():
                raise _TooLongError
            if self._has_lengths:
                equation = in_sizes(equation, sizes)
            results = evaluate(equation, [read(a) for a in equation.inputs])
            if equation.primitive.kind == "length":
                sizes[equation.params["length"]] = int(results[0])
            environment.update(zip(equation.outputs, results, strict=True))
            for var in forgotten:
                del environment[var]
        return [np.array(read(a)) for a in self.graph.outputs]
