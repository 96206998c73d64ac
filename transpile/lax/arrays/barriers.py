"""Functions of `lax` that return values unchanged, and address compilers and devices."""

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
    """The arrays of a pytree unchanged, as values that no pass merges with others, folds or
    simplifies."""
    return tree.map(
        lambda x: bind(elementwise.optimization_barrier, array(x, "optimization_barrier")), operand
    )


@public
def stage(x: Array, /) -> Any:
    """The value as one of the trace under way, so that what is computed of it becomes part of the
    program."""
    return strengthen(array(x, "stage"))


def dce_sink(val: Any, *, prevent_mlir_dce: bool = False) -> None:
    """Nothing: in JAX a use that keeps a value alive. A program computes its results, and what is
    used by callbacks."""


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """The arrays of a pytree unchanged: there is one device."""
    return x


class Token:
    """A token, by which JAX orders side effects; here these keep the order of the program."""

    def __repr__(self) -> str:
        return "Token()"


def create_token(_: Any = None) -> Token:
    """A token; the argument changes nothing."""
    return Token()


def after_all(*operands: Token) -> Token:
    """A token that depends on others."""
    return Token()


def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """A function that calls `decomposition` and has a name; keyword arguments are static. Here the
    call is inlined."""

    def call(*args: Any, **attributes: Any) -> Any:
        return decomposition(*args, **attributes)

    call.__name__ = call.__qualname__ = name
    return call
