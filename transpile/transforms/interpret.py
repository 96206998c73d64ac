"""The interpreter: a graph run with NumPy, by the NumPy column of each row; the tests' oracle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.graph import Atom, Const, Graph, Var
from transpile.trace import evaluate


def interpret(graph: Graph, values: Sequence[Any]) -> list[Any]:
    """The outputs of the graph for these inputs, as arrays."""
    environment: dict[Var, Any] = {
        v: np.asarray(x, v.type.dtype) for v, x in zip(graph.inputs, values, strict=True)
    }

    def read(atom: Atom) -> Any:
        return atom.value if isinstance(atom, Const) else environment[atom]

    for equation in graph.equations:
        results = evaluate(equation, [read(a) for a in equation.inputs])
        environment.update(zip(equation.outputs, results, strict=True))
    return [np.array(read(a)) for a in graph.outputs]
