"""Simplify truths: what a function of one truth and a constant is, and a choice between truths."""

from __future__ import annotations

import numpy as np

from transpile.ir.graph import Atom, Const, Equation, Var
from transpile.ir.graph_rewrite import Builder
from transpile.ir.types import BOOL, ArrayType
from transpile.primitives import axes, elementwise
from transpile.trace.trace import evaluate


def of_one_truth(builder: Builder, equation: Equation) -> Atom | None:
    """A truth made of another one, which may be a number, and a constant: itself, its negation or a
    constant. Of `mask == False` C makes no code in lanes."""
    shape = equation.output.type.shape
    for position, atom in enumerate(equation.inputs):
        inner = builder.producer(atom, elementwise.convert)
        test = inner.inputs[0] if inner is not None else atom
        other = equation.inputs[1 - position]
        if not isinstance(other, Const) or not other.is_scalar:
            continue
        if test.type.dtype != BOOL or atom.type.shape != shape:
            continue
        values = [atom.type.dtype.type(truth) for truth in (False, True)]
        pairs = [(v, other.value) if position == 0 else (other.value, v) for v in values]
        kind = Var(ArrayType((), equation.output.type.dtype))
        scalar = Equation(equation.primitive, (), equation.params, (kind,))
        no, yes = (bool(evaluate(scalar, pair)[0]) for pair in pairs)
        if no == yes:
            same = {"shape": shape, "broadcast_dimensions": ()}
            truth = Const(np.bool_(yes))
            return builder.apply(axes.broadcast_in_dim, truth, **same) if shape else truth
        return test if yes else builder.apply(elementwise.logical_not, test)
    return None


def select_of_truths(builder: Builder, equation: Equation) -> Atom | None:
    """`test ? x : False` as `test & x`, and `test ? True : y` as `test | y`."""
    test, x, y = equation.inputs
    known: dict[Atom, bool] = {
        a: bool(a.value) for a in (x, y) if isinstance(a, Const) and a.is_scalar
    }
    if known.get(y) is False:
        return builder.apply(elementwise.logical_and, test, x)
    if known.get(x) is True:
        return builder.apply(elementwise.logical_or, test, y)
    return None
