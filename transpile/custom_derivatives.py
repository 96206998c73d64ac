"""The names of `jax.custom_derivatives`: rules of one's own for derivatives, and linear_call."""

from __future__ import annotations

from typing import Any

from transpile import tree
from transpile.functional.custom import (
    closure_convert,
    custom_gradient,
    custom_jvp,
    custom_vjp,
    linear_call,
)
from transpile.functional.placeholders import CustomVJPPrimal, SymbolicZero, zero_like

__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "custom_vjp_primal_tree_values",
    "linear_call",
    "zero_from_primal",
]


def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """The zero tangent of a value: an array, or with `symbolic_zeros` a SymbolicZero."""
    return SymbolicZero.from_primal_value(val) if symbolic_zeros else zero_like(val)


def custom_vjp_primal_tree_values(tree_: Any) -> Any:
    """The values of a pytree whose leaves are the CustomVJPPrimal of a forward rule with
    `symbolic_zeros`.

    Raises TypeError for other leaves.
    """

    def value_of(leaf: Any) -> Any:
        if type(leaf) is not CustomVJPPrimal:
            raise TypeError(f"unexpected leaf of type {type(leaf)}")
        return leaf.value

    return tree.map(value_of, tree_, is_leaf=lambda x: isinstance(x, CustomVJPPrimal))
