"""Callbacks: the row that hands values to a Python function when the program runs.

It has no results, and is there for what the function does: no transformation drops it, merges it
with another one, or takes it out of a loop or branch. Derivatives leave it with the values alone,
and a batch calls once for each example.
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
from transpile.primitives.control.primitives import scan
from transpile.trace.trace import the_trace

# What a program prints by itself: text, and the numbers of operands.
Message = tuple[str | int, ...]


class Callback:
    """What an effect calls, with the values of its operands.

    Two are the same if their keys are equal. `message` is what a program prints where there is no
    Python to call; None: nothing. `codes` are those of the user's functions that a call enters.
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

    def __call__(self, *values: Any) -> None:
        """Call the function with copies of the values, scalars for arrays without axes."""
        self.function(*[np.array(x)[()] for x in values])

    def __repr__(self) -> str:
        return f"{self.__name__}{self.message or ''}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Callback) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


class Same:
    """A key of a value that is compared by identity."""

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
    """A loop over the examples."""
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
    fixed, moving = _parted(inner, batched)
    equation = Equation(debug_callback, tuple(inner), {"callback": callback}, (), source)
    body = Graph((*fixed, *moving), (equation,), (), callback.__name__, source=source)
    consts, xs = _parted(operands, batched)
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


def _parted(values: Sequence[Any], flags: Sequence[bool]) -> tuple[list[Any], list[Any]]:
    """The values that are not marked, and those that are."""
    pairs = list(zip(values, flags, strict=True))
    return [x for x, flag in pairs if not flag], [x for x, flag in pairs if flag]


def _nothing(_: Any, *operands: Any, callback: Callback) -> list[None]:
    return [None] * len(operands)


debug_callback = register(
    Primitive(
        "debug_callback",
        "effect",
        _call,
        _no_types,
        jvp=lambda tangents, results, *operands, callback: [],
        transpose=_nothing,
        batch=_batch,
    )
)
