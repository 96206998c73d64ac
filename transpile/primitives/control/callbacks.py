"""`debug_callback`: an effect that calls a Python function with values at run time.

It has no results. As an effect it is never eliminated, merged with another one, or moved out of a
loop or branch. Its JVP calls with the primal values only; under vmap it is called for each example,
in a scan.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from types import CodeType
from typing import Any

import numpy as np

from transpile.errors import UnsupportedError
from transpile.ir.graph import Equation, Graph, Var
from transpile.ir.primitive import Axis, Primitive, register
from transpile.ir.source_info import user_source
from transpile.ir.types import ArrayType, type_of
from transpile.primitives.control.calls import bind_call
from transpile.primitives.control.graphs import chosen, others
from transpile.primitives.control.primitives import scan
from transpile.trace.trace import the_trace

# What a program prints by itself: text, and the numbers of operands.
Message = tuple[str | int, ...]


class Callback:
    """The function that an effect calls with the values of its operands.

    Callbacks with equal keys are equal. `message` is what a program without Python prints; None is
    nothing. `codes` are the code objects of the user's functions that a call enters.
    """

    __slots__ = ("__name__", "codes", "function", "key", "message")

    def __init__(
        self,
        name: str,
        function: Callable[..., object],
        key: Hashable,
        message: Message | None = None,
        codes: Iterable[CodeType] = (),
    ) -> None:
        self.__name__ = name
        self.function = function
        self.key = key
        self.message = message
        self.codes = frozenset(codes)

    def __reduce__(self) -> tuple[Any, ...]:
        # Code is for the guards of this process.
        return Callback, (self.__name__, self.function, self.key, self.message)

    def __call__(self, *values: Any) -> None:
        """Call the function with copies of the values; arrays without axes become scalars."""
        self.function(*[np.array(x)[()] for x in values])

    def __repr__(self) -> str:
        return f"{self.__name__}{self.message or ''}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Callback) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


class Same:
    """A key that compares a value by identity."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def _call(*values: Any, callback: Callback) -> list[Any]:
    callback(*values)
    return []


def _no_types(*_: ArrayType, callback: Callback) -> tuple[ArrayType, ...]:
    return ()


def _batch(
    axis: Axis, batched: Sequence[bool], *operands: Any, callback: Callback
) -> tuple[list[Any], list[bool]]:
    """A scan over the examples."""
    if not isinstance(axis.size, int):
        raise UnsupportedError(
            f"{user_source()}: a callback for each of {axis.size} examples is not supported: their "
            "number must be known while tracing"
        )
    kinds = [type_of(x).strong for x in operands]
    inner = [
        Var(kind.with_shape(kind.shape[1:]) if is_batched else kind)
        for kind, is_batched in zip(kinds, batched, strict=True)
    ]
    source = the_trace().origin or user_source()
    equation = Equation(debug_callback, tuple(inner), {"callback": callback}, (), source)
    inputs = (*others(inner, batched), *chosen(inner, batched))
    body = Graph(inputs, (equation,), (), callback.__name__, source=source)
    consts, xs = others(operands, batched), chosen(operands, batched)
    bind_call(
        scan,
        *consts,
        *xs,
        graph=body,
        consts=len(consts),
        carry=0,
        length=axis.size,
        reverse=False,
    )
    return [], []


def _no_cotangents(_: Any, *operands: Any, callback: Callback) -> list[None]:
    return [None] * len(operands)


debug_callback = register(
    Primitive(
        "debug_callback",
        "effect",
        _call,
        _no_types,
        jvp=lambda tangents, results, *operands, callback: [],
        transpose=_no_cotangents,
        batch=_batch,
    )
)
