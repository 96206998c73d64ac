"""Halves: what is computed on float16 and bfloat16 is computed in float32 instead, and rounded.

Halves are for memory. Every operation on them converts its operands, computes, and rounds its
result back, once, which is what NumPy and ml_dtypes do element by element. A result that float32
holds without rounding (of a comparison, a maximum, a negation) needs no way back for its readers.
Rows that only move elements move them as they are; running sums and scatters stay, because they
round at each step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.graph import Atom, Const, Equation, Graph, Var
from transpile.ir.graph_rewrite import Builder, rewrite
from transpile.ir.primitive import TABLE
from transpile.ir.types import BFLOAT16, FLOAT32, FLOAT64, HALVES, computed_dtype
from transpile.machine import USUAL, Machine
from transpile.primitives import elementwise

# Kinds whose rows read halves and write them without computing, or round at each step.
_OWN_FORMAT = ("view", "generate", "piecewise", "scan", "scatter", "control", "effect")


def halves(graph: Graph, machine: Machine = USUAL) -> Graph:
    """The graph in which float16 and bfloat16 are read, written and moved, and nothing else."""
    dtypes = {a.type.dtype for e in graph.equations for a in (*e.inputs, *e.outputs)}
    if dtypes.isdisjoint(HALVES):
        return graph
    return rewrite(graph, _Halves())


class _Halves:
    """The rule of the rewrite. `wide` has the float32 value of a half, where it is there already;
    `narrow` has the half of such a value, and of a float64."""

    def __init__(self) -> None:
        self.wide: dict[Atom, Atom] = {}
        self.narrow: dict[Atom, Atom] = {}

    def __call__(self, builder: Builder, equation: Equation) -> Sequence[Atom] | None:
        """What stands for the results of an equation, or None to keep it."""
        row = equation.primitive
        if not any(a.type.dtype in HALVES for a in (*equation.inputs, *equation.outputs)):
            return None
        if row.kind in _OWN_FORMAT or row.own_format:
            return None
        if row is elementwise.convert:
            return self._convert(builder, equation)
        name, builder.name = builder.name, ""
        inputs = [self._widened(builder, a) for a in equation.inputs]
        if row is elementwise.sign and equation.inputs[0].type.dtype == BFLOAT16:
            results: Sequence[Atom] = [self._sign(builder, inputs[0])]
        else:
            results = self._computed(builder, equation, inputs)
        builder.name = name
        is_exact = TABLE[row.combine].exact if row.kind == "reduce" else row.exact
        return [
            self._narrowed(builder, result, var.type.dtype, is_exact)
            for result, var in zip(results, equation.outputs, strict=True)
        ]

    def _computed(
        self, builder: Builder, equation: Equation, inputs: Sequence[Atom]
    ) -> Sequence[Atom]:
        """The equation in float32."""
        params = {
            key: computed_dtype(value) if isinstance(value, np.dtype) else value
            for key, value in equation.params.items()
        }
        types = equation.primitive.result_types([a.type for a in inputs], params)
        outputs = tuple(Var(type_, "") for type_ in types)
        builder.add(Equation(equation.primitive, tuple(inputs), params, outputs, equation.source))
        return outputs

    def _sign(self, builder: Builder, x: Atom) -> Atom:
        """ml_dtypes keeps the sign of a zero, which NumPy drops."""
        is_zero = builder.apply(elementwise.equal, x, Const(np.float32(0)))
        return builder.apply(elementwise.select, is_zero, x, builder.apply(elementwise.sign, x))

    def _widened(self, builder: Builder, atom: Atom) -> Atom:
        """The float32 value of a half; other values as they are."""
        if atom.type.dtype not in HALVES:
            return atom
        found = self.wide.get(atom)
        if found is None:
            if isinstance(atom, Const) and atom.is_scalar:
                found = Const(atom.value.astype(FLOAT32))
            else:
                found = builder.apply(elementwise.convert, atom, dtype=FLOAT32)
            self._are_one(atom, found)
        return found

    def _narrowed(
        self, builder: Builder, result: Atom, dtype: np.dtype[Any], is_exact: bool
    ) -> Atom:
        """A result as the half that it was asked for; results of other dtypes as they are."""
        if dtype not in HALVES:
            return result
        half = builder.apply(elementwise.convert, result, dtype=dtype)
        if is_exact:
            self._are_one(half, result)
        return half

    def _are_one(self, half: Atom, wide: Atom) -> None:
        self.wide[half] = wide
        self.narrow.setdefault(wide, half)

    def _convert(self, builder: Builder, equation: Equation) -> Sequence[Atom] | None:
        """A conversion from a half is one from its float32 value. float64 is rounded to float16 at
        once; ml_dtypes goes by way of float32."""
        (x,) = equation.inputs
        dtype: np.dtype[Any] = equation.params["dtype"]
        if x.type.dtype == dtype:
            return [x]
        if x.type.dtype in HALVES:
            wide = self._widened(builder, x)
            if dtype == FLOAT32:
                return [wide]
            result = builder.apply(elementwise.convert, wide, dtype=dtype)
            if dtype == FLOAT64:
                self.narrow[result] = x
            return [result]
        half = self.narrow.get(x)
        return [half] if half is not None and half.type.dtype == dtype else None
