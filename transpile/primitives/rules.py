"""Transformation rules that many primitives share, and the functions that rules are written with.

A rule is traced like any function: it is written with NumPy's functions and operators on tracers,
as in `lambda t, out, x: t * np.cos(x)`, the JVP of `sin`. Operands that are constants are NumPy
arrays and scalars.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.ir.graph import Const
from transpile.ir.primitive import TABLE, Axis, Linear, Order, Permuted, Primitive
from transpile.ir.types import ArrayType
from transpile.trace.trace import bind
from transpile.trace.tracer import Tracer
from transpile.util.frozen_records import dataclass

Rule = Callable[..., Any]  # (tangent, result, *operands, **params) -> a term of the tangent


def flat(*_: Any, **__: Any) -> None:
    """The JVP of an operand by which the derivative is zero."""


@dataclass(frozen=True, eq=False)
class ByOperand:
    """A JVP as the sum of a term for each operand, by a rule each."""

    rules: tuple[Rule, ...]

    def __call__(
        self, tangents: Sequence[Any], result: Any, /, *operands: Any, **params: Any
    ) -> Any:
        """The result's tangent; None for zero."""
        total = None
        for rule, tangent in zip(self.rules, tangents, strict=True):
            term = None if tangent is None else rule(tangent, result, *operands, **params)
            if term is not None:
                total = term if total is None else total + term
        return total


def linear(name: str) -> Rule:
    """The JVP of a primitive that is jointly linear in its operands: itself, of the tangents."""

    def jvp(tangents: Sequence[Any], _: Any, /, *operands: Any, **params: Any) -> Any:
        dense = [zeros_like(x) if t is None else t for t, x in zip(tangents, operands, strict=True)]
        return apply(name, *dense, **params)

    return jvp


# -------------------------------------------------------------------------------------- batching


def permute_alike(order: Order, *types: ArrayType, **params: Any) -> Permuted:
    """The permute rule of an elementwise primitive: the order of the result for all operands."""
    return [order if t.shape else () for t in types], params


def batch_elementwise(name: str) -> Rule:
    """The batching rule of an elementwise primitive: operands that are not batched are
    broadcast."""

    def rule(axis: Axis, batched: Sequence[bool], /, *operands: Any, **params: Any) -> Any:
        shape = next(tuple(x.shape) for x, b in zip(operands, batched, strict=True) if b)
        aligned = [
            x if b or is_scalar_constant(x) else broadcast(x, shape, range(1, len(shape)))
            for x, b in zip(operands, batched, strict=True)
        ]
        return apply(name, *aligned, **params), True

    return rule


def batch_first(name: str, shift: Callable[..., dict[str, Any]]) -> Rule:
    """The batching rule of a primitive of one operand that changes only its params:
    `shift(axis, **params)` gives those for an operand with the batch axis in front."""

    def rule(axis: Axis, _: Sequence[bool], x: Any, /, **params: Any) -> Any:
        return apply(name, x, **shift(axis, **params)), True

    return rule


# --------------------------------------------------------------------------------------- values


def apply(name: str, /, *operands: Any, **params: Any) -> Any:
    """Bind the primitive of that name."""
    return bind(TABLE[name], *operands, **params)


def bind_call(primitive: Primitive, *operands: Any, **params: Any) -> list[Any]:
    """Bind a primitive; its results are a list also if there is one."""
    results = bind(primitive, *operands, **params)
    return results if isinstance(results, list) else [results]


def is_scalar_constant(x: Any) -> bool:
    """True if an operand is a constant without axes, which elementwise primitives take as it is."""
    return isinstance(x, np.generic) or (isinstance(x, np.ndarray) and x.ndim == 0)


def broadcast(x: Any, shape: Sequence[Any], axes: Sequence[int]) -> Any:
    """The value broadcast to a shape, in which its axis k is axes[k]."""
    return bind(TABLE["broadcast_in_dim"], x, shape=tuple(shape), broadcast_dimensions=tuple(axes))


def with_batch_axis(x: Any, axis: Axis, batched: bool = False) -> Any:
    """The value with the batch axis in front: broadcast along it unless it is batched already."""
    return x if batched else broadcast(x, (axis.size, *x.shape), range(1, 1 + x.ndim))


def is_zero(x: Any) -> bool:
    """True if an operand is known to be zeros: a constant, or a broadcast constant."""
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
    """The array with its axes permuted; the array itself for the identity."""
    if tuple(permutation) == tuple(range(len(permutation))):
        return x
    return apply("transpose", x, permutation=tuple(permutation))


def zeros(kind: ArrayType) -> Any:
    """A traced array of zeros of a type."""
    return broadcast(Const(np.zeros((), kind.dtype)), kind.shape, ())


def zeros_like(x: Any) -> Any:
    """A traced array of zeros of an operand's type; the operand may be Linear."""
    if isinstance(x, Linear):
        return zeros(x.type)
    return zeros(ArrayType(tuple(x.shape), x.dtype))
