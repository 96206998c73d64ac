"""The interpreter: a graph run with NumPy, by the NumPy column of each row; the tests' oracle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.graph import Atom, Const, Graph, Var, live_equations
from transpile.trace import evaluate


def interpret(graph: Graph, values: Sequence[Any]) -> list[Any]:
    """The outputs of the graph for these inputs, as arrays.

    Equations that no output needs are left out, and values are forgotten after their last use.
    """
    environment: dict[Var, Any] = {
        v: np.asarray(x, v.type.dtype) for v, x in zip(graph.inputs, values, strict=True)
    }

    def read(atom: Atom) -> Any:
        return atom.value if isinstance(atom, Const) else environment[atom]

    equations = live_equations(graph.equations, graph.outputs)
    last_use = {a: e for e in equations for a in e.inputs if isinstance(a, Var)}
    for atom in graph.outputs:
        last_use.pop(atom, None)  # type: ignore[arg-type]  # a Const is not in it
    for equation in equations:
        results = evaluate(equation, [read(a) for a in equation.inputs])
        environment.update(zip(equation.outputs, results, strict=True))
        for atom in set(equation.inputs):
            if last_use.get(atom) is equation:  # type: ignore[arg-type]
                del environment[atom]  # type: ignore[arg-type]
    return [np.array(read(a)) for a in graph.outputs]
