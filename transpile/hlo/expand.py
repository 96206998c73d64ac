"""Expand what XLA has no instruction for into simpler primitives.

An expansion is a function of traced arrays, as a user could write it, of the operands and params of
the primitive; `transpile.hlo.expansions` has them. What it uses is expanded in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.hlo.expansions import EXPANSIONS
from transpile.hlo.rules import rule_of
from transpile.hlo.rules.elementwise import has_instruction
from transpile.hlo.traced import traced
from transpile.ir.graph import Atom, Equation, Graph
from transpile.ir.graph_rewrite import Builder, rewrite
from transpile.ir.types import FLOAT32, is_half
from transpile.passes.control.inline_calls import inline, inline_calls
from transpile.passes.expand.windows import expand_window
from transpile.primitives.rules import bind_call


def expanded(graph: Graph) -> Graph:
    """The graph without calls and without what has an expansion; regions stay as they are."""
    return rewrite(rewrite(inline_calls(graph), _choice_of_windows), _rule)


def _choice_of_windows(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
    """What windows choose, as it is expanded for C; reductions of windows are instructions."""
    is_one = equation.primitive.kind == "window" and rule_of(equation.primitive) is None
    return expand_window(builder, equation) if is_one else None


def _rule(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
    name = equation.primitive.name
    is_elementwise = equation.primitive.kind == "elementwise"
    if rule_of(equation.primitive) and not (is_elementwise and not has_instruction(equation)):
        return None
    if name not in EXPANSIONS:
        return None
    types = [a.type for a in equation.inputs]
    is_wide = any(is_half(t.dtype) for t in types) and not equation.primitive.own_format
    function = _in_float32(equation) if is_wide else _function(equation)
    callee = inline_calls(traced(function, types, name))
    return inline(builder, callee, equation.inputs, _rule, builder.source)


def _function(equation: Equation) -> Callable[..., list[Any]]:
    """The expansion of an equation's primitive, for its params; elementwise ones are given operands
    of one shape, since the state of a loop keeps its types."""

    def function(*operands: Any) -> list[Any]:
        if equation.primitive.kind == "elementwise":
            shape: Any = equation.output.type.shape
            operands = tuple(np.broadcast_to(x, shape) for x in operands)
        results = EXPANSIONS[equation.primitive.name](*operands, **equation.params)
        return results if isinstance(results, list) else [results]

    return function


def _in_float32(equation: Equation) -> Callable[..., list[Any]]:
    """The primitive in float32, rounded to the equation's dtypes: as halves are computed in C."""

    def function(*operands: Any) -> list[Any]:
        wide = [x.astype(FLOAT32) if is_half(x.dtype) else x for x in operands]
        results = bind_call(equation.primitive, *wide, **equation.params)
        kinds = [v.type.dtype for v in equation.outputs]
        return [x.astype(dtype) for x, dtype in zip(results, kinds, strict=True)]

    return function
