"""Computations that are made of traced functions: what reductions combine with, what sorts compare.

combined(b, "add", np.dtype("float32"))  ->  add.3 { x, y parameters; ROOT add(x, y) }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.hlo.builder import Builder
from transpile.hlo.module import Computation
from transpile.ir.graph import UNKNOWN_SOURCE, Graph, Var
from transpile.ir.types import ArrayType
from transpile.primitives.rules import apply
from transpile.transforms.closed import close


def traced(function: Callable[..., Sequence[Any]], types: Sequence[ArrayType], name: str) -> Graph:
    """The graph of a function of arrays of these types."""
    inputs = [Var(t.strong) for t in types]
    return close(function, inputs, name=name, source=UNKNOWN_SOURCE).graph


def computation(
    b: Builder, name: str, function: Callable[..., Sequence[Any]], types: Sequence[ArrayType]
) -> Computation:
    """The computation of a function of arrays of these types; it is made once in a module for each
    name and types. Several results are a tuple."""
    key = (name, tuple(types))
    if key not in b.shared.combiners:
        inner = b.computation(name)
        graph = traced(function, types, name)
        results = inner.emit(graph, [inner.parameter(t.strong) for t in types])
        root = results[0] if len(results) == 1 else inner.tuple(results)
        b.shared.combiners[key] = inner.finish(root)
    return b.shared.combiners[key]


def combined(b: Builder, primitive: str, dtype: np.dtype[Any]) -> Computation:
    """The computation of a binary primitive on two numbers."""
    number = ArrayType((), dtype)
    return computation(b, primitive, lambda x, y: [apply(primitive, x, y)], [number, number])
