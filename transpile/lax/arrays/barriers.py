"""Functions of `lax` that hand values on: what they say is for compilers, not for numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transpile import tree
from transpile.functional.custom import stop_gradient
from transpile.lax.arrays.promotion import Array, array, public
from transpile.numpy.core.promotion import strengthen
from transpile.primitives import elementwise
from transpile.trace.trace import bind

__all__ = [
    "after_all",
    "composite",
    "create_token",
    "dce_sink",
    "optimization_barrier",
    "stage",
    "stop_gradient",
    "with_sharding_constraint",
]


@public
def optimization_barrier(operand: Any, /) -> Any:
    """The arrays of a pytree as they are, none of which a pass finds to be another value."""
    return tree.map(
        lambda x: bind(elementwise.optimization_barrier, array(x, "optimization_barrier")), operand
    )


@public
def stage(x: Array, /) -> Any:
    """The value as one of the trace under way."""
    return strengthen(array(x, "stage"))


def dce_sink(val: Any, *, prevent_mlir_dce: bool = False) -> None:
    """A use of a value that changes nothing: here results alone are computed."""


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """The arrays of a pytree as they are: there is one device."""
    return x


class Token:
    """What an order of effects is made of in JAX; here they keep the order of the program."""

    def __repr__(self) -> str:
        return "Token()"


def create_token(_: Any = None) -> Token:
    """A token."""
    return Token()


def after_all(*operands: Token) -> Token:
    """A token that comes after others."""
    return Token()


def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """A function under a name; its keyword arguments are static. The function itself."""

    def call(*args: Any, **attributes: Any) -> Any:
        return decomposition(*args, **attributes)

    call.__name__ = call.__qualname__ = name
    return call
