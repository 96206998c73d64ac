"""Compute float16 and bfloat16 in float32: widen operands, round each result once.

Halves are storage formats here. NumPy and ml_dtypes round after each operation too, element by
element. Where the operation is exact (a comparison, a maximum, a negation), readers take the
float32 result itself. What only changes bits, such as a sign, is computed on the half as well, for
those that read that; what nobody reads is dead code. Primitives that only move elements move
halves; scans and scatters keep theirs, because they round at every iteration, unless there is
nothing to round: running maxima are those of the float32 numbers.

    y = sqrt(x): float16   ->   wide = convert(x): float32; root = sqrt(wide); y = convert(root)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.contracts import contract
from transpile.ir.contracts.graphs import (
    NO_CALLS,
    NO_COMMON_SUBEXPRESSIONS,
    NO_DEAD_CODE,
    NO_HALF_ARITHMETIC,
    OWN_OUTPUTS,
)
from transpile.ir.graph import Atom, Const, Equation, Graph, Var
from transpile.ir.graph_rewrite import Builder, rewrite
from transpile.ir.primitive import TABLE
from transpile.ir.types import FLOAT32, FLOAT64, computed_dtype, is_bfloat16, is_half
from transpile.machine import USUAL, Machine
from transpile.primitives import elementwise

# Kinds of primitives that move halves without computing, or round at every iteration.
_OWN_FORMAT = ("view", "generate", "piecewise", "scan", "scatter", "control", "callback")


@contract(
    requires=(NO_CALLS,),
    provides=(NO_HALF_ARITHMETIC,),
    destroys=(NO_DEAD_CODE, NO_COMMON_SUBEXPRESSIONS, OWN_OUTPUTS),
)
def widen_halves(graph: Graph, machine: Machine = USUAL) -> Graph:
    """Leave float16 and bfloat16 to loads, stores and moves of elements; compute in float32."""
    dtypes = {a.type.dtype for e in graph.equations for a in (*e.inputs, *e.outputs)}
    if not any(map(is_half, dtypes)):
        return graph
    return rewrite(graph, _WidenHalves())


class _WidenHalves:
    """The rewrite rule. `wide` maps a half to its float32 value, `narrow` a wider value to the half
    that it equals."""

    def __init__(self) -> None:
        self.wide: dict[Atom, Atom] = {}
        self.narrow: dict[Atom, Atom] = {}

    def __call__(self, builder: Builder, equation: Equation) -> Sequence[Atom] | None:
        """The atoms that replace the outputs of an equation, or None to keep it."""
        primitive = equation.primitive
        if not any(is_half(a.type.dtype) for a in (*equation.inputs, *equation.outputs)):
            return None
        folds = primitive.kind in ("reduce", "scan")
        is_exact = TABLE[primitive.combine].exact if folds else primitive.exact
        rounds_in_turn = primitive.kind in _OWN_FORMAT and not (folds and is_exact)
        if rounds_in_turn or primitive.own_format:
            return None
        if primitive is elementwise.convert:
            return self._convert(builder, equation)
        name, builder.name = builder.name, ""
        inputs = [self._widen(builder, a) for a in equation.inputs]
        if primitive is elementwise.sign and is_bfloat16(equation.inputs[0].type.dtype):
            results: Sequence[Atom] = [self._sign(builder, inputs[0])]
        else:
            results = self._in_float32(builder, equation, inputs)
        builder.name = name
        if "e" in primitive.c:
            half = builder.apply(primitive, *equation.inputs)
            self._relate(half, results[0])
            return [half]
        return [
            self._round(builder, result, var.type.dtype, is_exact)
            for result, var in zip(results, equation.outputs, strict=True)
        ]

    def _in_float32(
        self, builder: Builder, equation: Equation, inputs: Sequence[Atom]
    ) -> Sequence[Atom]:
        """The results of an equation on widened operands."""
        params = {
            key: computed_dtype(value) if isinstance(value, np.dtype) else value
            for key, value in equation.params.items()
        }
        types = equation.primitive.result_types([a.type for a in inputs], params)
        outputs = tuple(Var(type_, "") for type_ in types)
        builder.add(Equation(equation.primitive, tuple(inputs), params, outputs, equation.source))
        return outputs

    def _sign(self, builder: Builder, x: Atom) -> Atom:
        """ml_dtypes keeps the sign of zero, which NumPy drops."""
        is_zero = builder.apply(elementwise.equal, x, Const(np.float32(0)))
        return builder.apply(elementwise.select, is_zero, x, builder.apply(elementwise.sign, x))

    def _widen(self, builder: Builder, atom: Atom) -> Atom:
        """The float32 value of a half; other values as they are."""
        if not is_half(atom.type.dtype):
            return atom
        widened = self.wide.get(atom)
        if widened is None:
            if isinstance(atom, Const) and atom.is_scalar:
                widened = Const(atom.value.astype(FLOAT32))
            else:
                widened = builder.apply(elementwise.convert, atom, dtype=FLOAT32)
            self._relate(atom, widened)
        return widened

    def _round(self, builder: Builder, result: Atom, dtype: np.dtype[Any], is_exact: bool) -> Atom:
        """A result rounded to the half that it has to be; results of other dtypes as they are."""
        if not is_half(dtype):
            return result
        half = builder.apply(elementwise.convert, result, dtype=dtype)
        if is_exact:
            self._relate(half, result)
        return half

    def _relate(self, half: Atom, wide: Atom) -> None:
        self.wide[half] = wide
        self.narrow.setdefault(wide, half)

    def _convert(self, builder: Builder, equation: Equation) -> Sequence[Atom] | None:
        """Convert from a half through its float32 value, and a widened half back to itself.

        float64 to float16 stays as it is, rounded once; ml_dtypes rounds by way of float32. So do
        integers, and those of one byte fit into the significand of either half.
        """
        (x,) = equation.inputs
        dtype: np.dtype[Any] = equation.params["dtype"]
        if x.type.dtype == dtype:
            return [x]
        if is_half(x.type.dtype):
            wide = self._widen(builder, x)
            if dtype == FLOAT32:
                return [wide]
            result = builder.apply(elementwise.convert, wide, dtype=dtype)
            if dtype == FLOAT64:
                self.narrow[result] = x
            return [result]
        if x.type.dtype.kind in "biu":
            wide = builder.apply(elementwise.convert, x, dtype=FLOAT32)
            return [self._round(builder, wide, dtype, is_exact=x.type.dtype.itemsize == 1)]
        half = self.narrow.get(x)
        return [half] if half is not None and half.type.dtype == dtype else None
