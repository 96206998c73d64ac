"""Pytrees of arrays as vectors: what iterative solvers compute with, and the operators that they
are given."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from transpile import tree
from transpile.ir.dims import Index
from transpile.ir.types import kind_letter
from transpile.nn.operands import array_dtype, operand
from transpile.numpy.core.promotion import error as located
from transpile.scipy.special.operands import promoted

Operator = Callable[[Any], Any]


def vector(name: str, value: Any) -> Any:
    """A pytree of arrays of floating-point or complex numbers."""
    return tree.map(lambda x: promoted(name, x)[0], value)


def zeros_like(x: Any) -> Any:
    """A vector of zeros."""
    return tree.map(np.zeros_like, x)


def dtype_of(x: Any) -> np.dtype[Any]:
    """The dtype that the leaves have in common."""
    return np.dtype(np.result_type(*(array_dtype(leaf) for leaf in tree.leaves(x))))


def size_of(x: Any) -> Index:
    """The number of elements."""
    return functools.reduce(operator.add, map(np.size, tree.leaves(x)), 0)


def add(x: Any, y: Any) -> Any:
    """x + y."""
    return tree.map(operator.add, x, y)


def subtract(x: Any, y: Any) -> Any:
    """x - y."""
    return tree.map(operator.sub, x, y)


def scaled(number: Any, x: Any) -> Any:
    """A number times x, in the dtypes of x."""
    return tree.map(lambda v: number.astype(v.dtype) * v, x)


def inner(x: Any, y: Any) -> Any:
    """The inner product, linear in y."""
    parts = tree.leaves(tree.map(lambda v, w: np.sum(np.conj(v) * w), x, y))
    return functools.reduce(operator.add, parts)


def square(x: Any) -> Any:
    """The sum of the squared magnitudes."""
    parts = []
    for v in tree.leaves(x):
        if kind_letter(v.dtype) == "c":
            parts += [np.sum(np.square(np.real(v))), np.sum(np.square(np.imag(v)))]
        else:
            parts.append(np.sum(np.square(v)))
    return functools.reduce(operator.add, parts)


def operator_of(given: Any) -> Operator:
    """A linear operator: the function itself, or the product with a square matrix.

    Raises ValueError for other matrices, TypeError for what is neither.
    """
    if callable(given):
        return given  # type: ignore[no-any-return]
    if not hasattr(given, "__matmul__"):
        raise located(TypeError, f"linear operator must be either a function or ndarray: {given}")
    shape = np.shape(given)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise located(
            ValueError, f"linear operator must be a square matrix, but has shape: {shape}"
        )
    matrix = operand("linear operator", given)
    return lambda x: matrix @ x


def identity(x: Any) -> Any:
    """The vector itself: no preconditioner."""
    return x


def check_guess(x0: Any, b: Any) -> None:
    """Raise JAX's ValueError for a first guess that is unlike the right side."""
    ours, theirs = tree.structure(x0), tree.structure(b)
    if ours != theirs:
        raise located(ValueError, f"x0 and b must have matching tree structure: {ours} vs {theirs}")
    shapes = [[np.shape(v) for v in tree.leaves(x)] for x in (x0, b)]
    if shapes[0] != shapes[1]:
        raise located(
            ValueError, f"arrays in x0 and b must have matching shapes: {shapes[0]} vs {shapes[1]}"
        )
