"""Differences, gradients, integrals and polynomials of sampled values."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.numpy.operands import (
    NOTHING,
    Array,
    as_array,
    as_operand,
    axes_of,
    axis_of,
    broadcast_in_dim,
    convert,
    fill,
    implements,
    is_weak,
    slice_axis,
    unsupported,
)
from transpile.numpy.operands import error as located
from transpile.numpy.reductions import sum
from transpile.numpy.ufuncs import call
from transpile.tracer import Tracer
from transpile.types import BOOL, FLOAT64


@implements(np.diff)
def diff(
    a: Array, n: int = 1, axis: int = -1, prepend: Any = NOTHING, append: Any = NOTHING
) -> Any:
    """`numpy.diff`: the differences of neighbours, n times."""
    x = as_array(a)
    if n == 0:
        return x
    if n < 0:
        raise located(ValueError, f"order must be non-negative but got {n!r}")
    if x.ndim == 0:
        raise located(ValueError, "diff requires input that is at least one dimensional")
    number = axis_of(axis, x.ndim)
    x = _extended(x, number, prepend, append)
    ufunc = np.not_equal if x.dtype == BOOL else np.subtract
    for _ in range(n):
        size = x.shape[number]
        if size == 0:
            return x
        x = call(ufunc, slice_axis(x, number, 1, size), slice_axis(x, number, 0, size - 1))
    return x


def _extended(x: Any, axis: int, before: Any, after: Any) -> Any:
    parts = []
    for part in (before, after):
        if part is NOTHING:
            continue
        array = as_array(part)
        if array.ndim == 0:
            shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
            array = np.broadcast_to(array, shape)
        parts.append((part is before, array))
    if not parts:
        return x
    first = [array for is_first, array in parts if is_first]
    last = [array for is_first, array in parts if not is_first]
    return np.concatenate([*first, x, *last], axis=axis)


def _middle(x: Any, axis: int, start: int, stop: int) -> Any:
    """The elements from start up to size + stop along an axis."""
    return slice_axis(x, axis, start, x.shape[axis] + stop)


@implements(np.gradient)
def gradient(f: Array, *varargs: Any, axis: Any = None, edge_order: Any = 1) -> Any:
    """`numpy.gradient` for steps that are numbers: central differences, one-sided at the ends."""
    x = as_array(f)
    axes = axes_of(axis, x.ndim)
    if len(varargs) not in (0, 1, len(axes)):
        raise located(TypeError, "invalid number of arguments")
    steps = list(varargs) * (len(axes) if len(varargs) == 1 else 1) or [1.0] * len(axes)
    if any(np.ndim(step) for step in steps):
        raise unsupported("numpy.gradient with steps that are arrays is not supported")
    if edge_order not in (1, 2):
        raise located(ValueError, "'edge_order' greater than 2 not supported")
    if x.dtype.kind in "biu":
        x = convert(x, FLOAT64)
    results = [_derivative(x, i, step, edge_order) for i, step in zip(axes, steps, strict=True)]
    return results[0] if len(results) == 1 else tuple(results)


def _derivative(x: Any, axis: int, step: Any, edge_order: int) -> Any:
    if x.shape[axis] < edge_order + 1:
        raise located(
            ValueError,
            "Shape of array too small to calculate a numerical gradient, at "
            "least (edge_order + 1) elements are required.",
        )
    inner = call(
        np.divide,
        call(np.subtract, _middle(x, axis, 2, 0), _middle(x, axis, 0, -2)),
        call(np.multiply, step, 2.0) if isinstance(step, Tracer) else 2.0 * step,
    )
    first, last = (_edge(x, axis, step, edge_order, side) for side in (0, 1))
    return np.concatenate([first, inner, last], axis=axis)


def _edge(x: Any, axis: int, step: Any, edge_order: int, side: int) -> Any:
    """The one-sided derivative at the start (side 0) or the end (side 1)."""
    size = x.shape[axis]
    places = range(3) if side == 0 else range(size - 3, size)
    near = [slice_axis(x, axis, k, k + 1) for k in places if 0 <= k < size]
    if edge_order == 1:
        a, b = near[:2] if side == 0 else near[-2:]
        return call(np.divide, call(np.subtract, b, a), step)
    factors = (-1.5, 2.0, -0.5) if side == 0 else (0.5, -2.0, 1.5)
    terms = [
        call(
            np.multiply,
            call(np.divide, factor, step) if isinstance(step, Tracer) else factor / step,
            part,
        )
        for factor, part in zip(factors, near, strict=True)
    ]
    return call(np.add, call(np.add, terms[0], terms[1]), terms[2])


@implements(np.trapezoid)
def trapezoid(y: Array, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """`numpy.trapezoid`."""
    values = as_array(y)
    number = axis_of(axis, values.ndim)
    if x is None:
        width = as_operand(dx)
    else:
        positions = as_array(x)
        if positions.ndim == 1:
            width = diff(positions) if isinstance(positions, Tracer) else np.diff(positions)
            shape = [1] * values.ndim
            shape[number] = width.shape[0]
            width = broadcast_in_dim(width, tuple(shape), (number,))
        else:
            width = np.diff(positions, axis=axis)
    upper, lower = _middle(values, number, 1, 0), _middle(values, number, 0, -1)
    areas = call(np.divide, call(np.multiply, width, call(np.add, upper, lower)), 2.0)
    return sum(areas, number)


@implements(np.ediff1d)
def ediff1d(ary: Array, to_end: Any = None, to_begin: Any = None) -> Any:
    """`numpy.ediff1d`."""
    differences = diff(np.ravel(ary))
    ends = [None if e is None else np.ravel(e) for e in (to_begin, to_end)]
    parts = [p for p in (ends[0], differences, ends[1]) if p is not None]
    return np.concatenate(parts, dtype=differences.dtype)


@implements(np.polyval)
def polyval(p: Array, x: Array) -> Any:
    """`numpy.polyval`, by Horner's rule."""
    coefficients, value = as_array(p), as_operand(x)
    shape = () if is_weak(value) else value.shape
    result = fill(0, shape, as_array(x).dtype)
    for k in range(coefficients.shape[0]):
        result = call(np.add, call(np.multiply, result, value), coefficients[k])
    return result
