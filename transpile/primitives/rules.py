"""What the rules of many rows share: derivatives by operand, linear rows, batching by kind.

Rules are written with NumPy's functions and operators on tracers, like any traced function:
`sin` has the derivative `lambda t, out, x: t * np.cos(x)`. Operands that are constants are NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.ir.graph import Const
from transpile.ir.primitive import TABLE, Axis, Linear
from transpile.ir.types import ArrayType
from transpile.trace.trace import bind
from transpile.trace.tracer import Tracer
from transpile.util.frozen_records import dataclass

Rule = Callable[..., Any]  # (tangent, result, *operands, **params) -> its share of the tangent


def flat(*_: Any, **__: Any) -> None:
    """The derivative of what does not change when this operand moves a little."""


@dataclass(frozen=True, eq=False)
class ByOperand:
    """The derivative as the sum of the shares of the operands: a rule for each."""

    rules: tuple[Rule, ...]

    def __call__(
        self, tangents: Sequence[Any], result: Any, /, *operands: Any, **params: Any
    ) -> Any:
        """The result's tangent."""
        total = None
        for rule, tangent in zip(self.rules, tangents, strict=True):
            share = None if tangent is None else rule(tangent, result, *operands, **params)
            if share is not None:
                total = share if total is None else total + share
        return total


def linear(name: str) -> Rule:
    """The derivative of a row that is linear in all its operands together: itself."""

    def jvp(tangents: Sequence[Any], _: Any, /, *operands: Any, **params: Any) -> Any:
        moved = [zeros_like(x) if t is None else t for t, x in zip(tangents, operands, strict=True)]
        return apply(name, *moved, **params)

    return jvp


# -------------------------------------------------------------------------------------- batching


def batch_elementwise(name: str) -> Rule:
    """The batching of an elementwise row: operands that are not batched are repeated."""

    def rule(axis: Axis, batched: Sequence[bool], /, *operands: Any, **params: Any) -> Any:
        shape = next(tuple(x.shape) for x, b in zip(operands, batched, strict=True) if b)
        aligned = [
            x if b or is_scalar_constant(x) else spread(x, shape, range(1, len(shape)))
            for x, b in zip(operands, batched, strict=True)
        ]
        return apply(name, *aligned, **params), True

    return rule


def batch_first(name: str, shift: Callable[..., dict[str, Any]]) -> Rule:
    """The batching of a row of one operand by params: `shift(axis, **params)` makes room for the
    axis in front."""

    def rule(axis: Axis, _: Sequence[bool], x: Any, /, **params: Any) -> Any:
        return apply(name, x, **shift(axis, **params)), True

    return rule


# --------------------------------------------------------------------------------------- values


def apply(name: str, /, *operands: Any, **params: Any) -> Any:
    """Apply the row of that name."""
    return bind(TABLE[name], *operands, **params)


def is_scalar_constant(x: Any) -> bool:
    """Tell whether an operand is a constant without axes, which may stand beside arrays."""
    return isinstance(x, np.generic) or (isinstance(x, np.ndarray) and x.ndim == 0)


def spread(x: Any, shape: Sequence[Any], axes: Sequence[int]) -> Any:
    """The value in a larger shape, its axis k standing at axes[k]."""
    return bind(TABLE["broadcast_in_dim"], x, shape=tuple(shape), broadcast_dimensions=tuple(axes))


def in_front(x: Any, axis: Axis, batched: bool = False) -> Any:
    """The value repeated along a new axis in front, unless it has that axis already."""
    return x if batched else spread(x, (axis.size, *x.shape), range(1, 1 + x.ndim))


def is_zero(x: Any) -> bool:
    """Tell whether an operand is an array of zeros, by how it is made."""
    if not isinstance(x, Tracer):
        return not np.any(x)
    equation = x.owner.producers.get(x.variable)
    if equation is None or equation.primitive.name != "broadcast_in_dim":
        return False
    (value,) = equation.inputs
    return isinstance(value, Const) and not np.any(value.value)


def reshaped(x: Any, shape: Sequence[Any]) -> Any:
    """The elements in row-major order in another shape of the same size."""
    own = tuple(getattr(x, "shape", ()))  # a Python number has none
    return x if own == tuple(shape) else apply("reshape", x, shape=tuple(shape))


def transposed(x: Any, permutation: Sequence[int]) -> Any:
    """The array with its axes in another order."""
    if tuple(permutation) == tuple(range(len(permutation))):
        return x
    return apply("transpose", x, permutation=tuple(permutation))


def zeros(kind: ArrayType) -> Any:
    """A traced array of zeros."""
    return spread(Const(np.zeros((), kind.dtype)), kind.shape, ())


def zeros_like(x: Any) -> Any:
    """A traced array of zeros of the type of an operand, which may be Linear."""
    if isinstance(x, Linear):
        return zeros(x.type)
    return zeros(ArrayType(tuple(x.shape), x.dtype))
