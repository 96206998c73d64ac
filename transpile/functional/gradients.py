"""Gradients: grad and value_and_grad, with JAX's names, arguments and errors."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.functional.differentiate import linear_map, linearized_graph
from transpile.functional.flatten_fun import (
    Flat,
    argument_names,
    as_value,
    flatten_function,
    jitted_like,
    value_type,
)
from transpile.ir.source_info import user_source
from transpile.ir.types import ArrayType, kind_letter
from transpile.pytree.extended_dtypes import flatten_arrays
from transpile.trace.bytecode.call_resolution import resolved
from transpile.trace.call_signature import function_name
from transpile.trace.tracebacks import api_boundary
from transpile.util.frozen_records import dataclass


def grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[..., Any]:
    """A function that returns the gradient of `fun`, a function with a scalar result, by
    reverse-mode differentiation.

    argnums      the positional argument, or the tuple of them, to differentiate with respect to:
                 pytrees of floats or complex numbers
    has_aux      `fun` returns (scalar, auxiliary result), and the gradient is paired with that one
    holomorphic  arguments and result are complex, and `fun` is promised to be holomorphic
    allow_int    arguments may be integers; their gradients have the dtype float0

    The gradient has the structure, shapes and dtypes of the arguments, as a tuple for a tuple of
    `argnums`. Of complex arguments it is, as JAX's, the conjugate of the direction of steepest
    ascent. Linearised and transposed (A. Radul et al., You Only Linearize Once, 2023). Raises
    TypeError for a result that is no real scalar and for arguments of other dtypes.
    """
    gradient_of = _Gradient(fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)

    @functools.wraps(fun)
    @api_boundary
    def gradient(*args: Any, **kwargs: Any) -> Any:
        _, aux, gradients = gradient_of(args, kwargs, wants_value=False)
        return (gradients, aux) if has_aux else gradients

    return named_like(fun, gradient, "grad")


def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[..., Any]:
    """A function that returns (value, gradient) of `fun`, which is evaluated once; arguments and
    errors are those of `grad`.

    With `has_aux` the value is the pair (value, auxiliary result).
    """
    gradient_of = _Gradient(fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)

    @functools.wraps(fun)
    @api_boundary
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        value, aux, gradient = gradient_of(args, kwargs, wants_value=True)
        return ((value, aux) if has_aux else value), gradient

    return named_like(fun, value_and_gradient, "value_and_grad")


def named_like(
    fun: Callable[..., Any], transformed: Callable[..., Any], prefix: str
) -> Callable[..., Any]:
    """The transformed function under a name of its own; jitted if the given one is."""
    transformed.__name__ = transformed.__qualname__ = f"{prefix}_{function_name(fun)}"
    return jitted_like(fun, transformed)


@dataclass(frozen=True)
class _Gradient:
    """What `grad` and `value_and_grad` were told."""

    fun: Callable[..., Any]
    argnums: int | Sequence[int]
    has_aux: bool
    holomorphic: bool
    allow_int: bool
    reduce_axes: Sequence[Any]

    def __post_init__(self) -> None:
        if self.reduce_axes:
            raise NotImplementedError("reduce_axes argument to grad is deprecated")
        if not callable(self.fun):
            raise TypeError(f"Expected a callable value, got {self.fun}")
        argument_numbers(self.argnums)

    def __call__(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], wants_value: bool
    ) -> tuple[Any, Any, Any]:
        """The value (None where it is not wanted), the auxiliary result, and the gradient."""
        partial, chosen, positions = chosen_arguments(self.fun, self.argnums, args, kwargs)
        names = argument_names(self.fun, chosen, positions)
        for leaf, name in zip(flatten_arrays(chosen)[0], names, strict=True):
            check_input("grad", as_value(leaf, repr(name)), self.holomorphic, self.allow_int)
        flat, leaves = flatten_function(
            partial, chosen, has_aux=self.has_aux, argnums=positions, role="backward"
        )
        kind = _scalar_type(flat, self.holomorphic)
        linearized = linearized_graph(flat, leaves)
        if not wants_value:
            linearized = linearized.without_results(1)
        results, pullback = linear_map(flat, linearized, leaves, True)
        value = results.pop(0) if wants_value else None
        cotangents = pullback(np.ones((), kind.dtype))
        is_single = argument_numbers(self.argnums)[1]
        return value, flat.aux(results), cotangents[0] if is_single else cotangents


def argument_numbers(argnums: int | Sequence[int]) -> tuple[tuple[int, ...], bool]:
    """The argument numbers as a tuple, and whether it was a single one."""
    try:
        return (operator.index(argnums),), True  # type: ignore[arg-type]
    except TypeError:
        return tuple(operator.index(n) for n in argnums), False  # type: ignore[union-attr]


def chosen_arguments(
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[Callable[..., Any], tuple[Any, ...], tuple[int, ...]]:
    """The function of the chosen positional arguments alone, these, and their positions."""
    count = len(args)
    numbers, _ = argument_numbers(argnums)
    if max(numbers, default=-1) >= count or min(numbers, default=0) < -count:
        raise TypeError(
            f"{user_source()}: differentiating with respect to {argnums=} requires at least "
            f"{max(numbers) + 1} positional arguments to be passed by the caller, but got only "
            f"{count} positional arguments."
        )
    positions = tuple(n % count for n in numbers)

    @functools.wraps(fun)
    def partial(*chosen: Any) -> Any:
        full = list(args)
        for position, value in zip(positions, chosen, strict=True):
            full[position] = value
        return resolved(fun)(*full, **kwargs)

    return partial, tuple(args[n] for n in positions), positions


def check_input(name: str, leaf: Any, holomorphic: bool, allow_int: bool) -> None:
    """Raise a TypeError for an argument that reverse mode cannot differentiate by."""
    dtype = value_type(leaf).dtype
    if holomorphic and dtype.kind != "c":
        raise TypeError(
            f"{user_source()}: {name} with holomorphic=True requires inputs with complex dtype, "
            f"but got {dtype.name}."
        )
    if dtype.kind in "biu" and not allow_int:
        raise TypeError(
            f"{user_source()}: {name} requires real- or complex-valued inputs (input dtype that is "
            f"a sub-dtype of np.inexact), but got {dtype.name}. If you want to use Boolean- or "
            f"integer-valued inputs, use vjp or set allow_int to True."
        )


def _scalar_type(flat: Flat, holomorphic: bool) -> ArrayType:
    """The type of the one result that a gradient can be taken of."""
    result = flat.out_tree.unflatten(flat.out_types)
    if not isinstance(result, ArrayType):
        raise TypeError(
            f"{user_source()}: Gradient only defined for scalar-output functions. Output was "
            f"{result}."
        )
    if result.shape != ():
        raise TypeError(
            f"{user_source()}: Gradient only defined for scalar-output functions. Output had "
            f"shape: {result.shape}."
        )
    check_output("grad", result.dtype, holomorphic)
    return result


def check_output(name: str, dtype: np.dtype[Any], holomorphic: bool) -> None:
    """Raise a TypeError for a result that reverse mode cannot start from."""
    if holomorphic:
        if dtype.kind != "c":
            raise TypeError(
                f"{user_source()}: {name} with holomorphic=True requires outputs with complex "
                f"dtype, but got {dtype.name}."
            )
    elif kind_letter(dtype) != "f":
        use = (
            "For holomorphic differentiation, pass holomorphic=True. For differentiation of "
            "non-holomorphic functions involving complex outputs, use vjp directly."
            if dtype.kind == "c"
            else "For differentiation of functions with integer outputs, use vjp directly."
        )
        raise TypeError(
            f"{user_source()}: {name} requires real-valued outputs (output dtype that is a "
            f"sub-dtype of np.floating), but got {dtype.name}. {use}"
        )
