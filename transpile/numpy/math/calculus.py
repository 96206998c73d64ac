"""Differences, gradients and integrals of sampled values, and unwrapped phases."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Dim
from transpile.ir.indices.requirements import require
from transpile.ir.types import BOOL, FLOAT64
from transpile.numpy.core.creation import arange
from transpile.numpy.core.elementwise import where
from transpile.numpy.core.promotion import (
    NOTHING,
    Array,
    as_array,
    as_operand,
    axes_of,
    axis_of,
    broadcast_in_dim,
    concatenate_along,
    convert,
    implements,
    result_dtype,
    shape_of,
    slice_axis,
    strengthen,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.reductions import sum
from transpile.numpy.core.runtime_sizes import exact, larger_of
from transpile.numpy.core.scans import cumsum
from transpile.numpy.core.ufuncs import call
from transpile.numpy.loops import scanned
from transpile.trace.tracer import Tracer


@implements(np.diff)
def diff(
    a: Array, n: int = 1, axis: int = -1, prepend: Any = NOTHING, append: Any = NOTHING
) -> Any:
    """The n-th differences of neighbours along an axis; of bools whether they differ.

    n may be a runtime size. Unsigned integers wrap around. Raises ValueError for negative n and for
    scalars.
    """
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
    if isinstance(n, Dim):
        return _differences(x, number, n, ufunc)
    for _ in range(n):
        if x.shape[number] == 0:
            return x
        x = call(ufunc, _middle(x, number, 1, 0), _middle(x, number, 0, -1))
    return x


def _differences(x: Any, axis: int, order: Dim, ufunc: np.ufunc) -> Any:
    """The differences of a runtime order: each is computed along the whole axis, the last elements
    of which are not used."""
    size = x.shape[axis]
    end = slice_axis(x, axis, size - 1, size)

    def differed(carry: list[Any], xs: list[Any]) -> list[Any]:
        later, earlier = (
            slice_axis(carry[0], axis, 1, size),
            slice_axis(carry[0], axis, 0, size - 1),
        )
        return [concatenate_along([call(ufunc, later, earlier), end], axis)]

    (result,) = scanned(differed, [x], [arange(order)], order)
    return slice_axis(result, axis, 0, larger_of(size - order, 0))


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
    return x[(*[slice(None)] * axis, slice(start, stop or None))]


@implements(np.gradient)
def gradient(f: Array, *varargs: Any, axis: Any = None, edge_order: Any = 1) -> Any:
    """The derivative along each axis: second-order central differences, one-sided at the ends of
    order `edge_order` (1 or 2).

    Distances are one number, or the coordinates along an axis, which weigh three neighbours by the
    parabola through them. Integers are computed in float64; several axes give a tuple. Raises
    ValueError for axes of fewer than edge_order + 1 elements.
    """
    x = as_array(f)
    axes = axes_of(axis, x.ndim)
    if len(varargs) not in (0, 1, len(axes)):
        raise located(TypeError, "invalid number of arguments")
    given = [as_operand(v) for v in varargs]
    if len(given) == 1 and len(shape_of(given[0])) == 0:
        given = given * len(axes)
    steps = given or [1.0] * len(axes)
    if len(steps) != len(axes):
        raise located(TypeError, "invalid number of arguments")
    if edge_order not in (1, 2):
        raise located(ValueError, "'edge_order' greater than 2 not supported")
    if x.dtype.kind in "iu":  # of bools NumPy takes no differences
        x = convert(x, FLOAT64)
    results = [
        _derivative(x, i, _widths(step, x.shape[i]), edge_order)
        for i, step in zip(axes, steps, strict=True)
    ]
    return results[0] if len(results) == 1 else tuple(results)


def _widths(step: Any, size: Any) -> Any:
    """A step, or for the positions of points the distances of neighbours."""
    ndim = len(shape_of(step))
    if ndim == 0:
        return step
    if ndim > 1:
        raise located(ValueError, "distances must be either scalars or 1d")
    if step.shape[0] != size:
        raise located(
            ValueError, "when 1d, distances must match the length of the corresponding dimension"
        )
    if step.dtype.kind in "iu":
        step = convert(step, FLOAT64)
    widths = diff(step)
    if isinstance(widths, Tracer) or not (widths == widths[0]).all():
        return widths
    return widths[0]  # as NumPy, to the same bits


def _derivative(x: Any, axis: int, step: Any, edge_order: int) -> Any:
    size, text = (
        x.shape[axis],
        (
            "Shape of array too small to calculate a numerical gradient, at "
            "least (edge_order + 1) elements are required."
        ),
    )
    if isinstance(size, int) and size < edge_order + 1:
        raise located(ValueError, text)
    require(edge_order + 1, size, "a numerical gradient", text)
    if len(shape_of(step)):
        inner = _uneven(x, axis, step)
    else:
        twice = call(np.multiply, step, 2.0) if isinstance(step, Tracer) else 2.0 * step
        difference = call(np.subtract, _middle(x, axis, 2, 0), _middle(x, axis, 0, -2))
        inner = call(np.divide, difference, twice)
    first, last = (_edge(x, axis, step, edge_order, side) for side in (0, 1))
    return np.concatenate([convert(part, x.dtype) for part in (first, inner, last)], axis=axis)


def _weighted(weights: Sequence[Any], parts: Sequence[Any]) -> Any:
    terms = [call(np.multiply, w, p) for w, p in zip(weights, parts, strict=True)]
    return functools.reduce(lambda p, q: call(np.add, p, q), terms)


def _uneven(x: Any, axis: int, steps: Any) -> Any:
    """The derivatives between the ends, by the parabolas through three neighbours."""
    count = steps.shape[0]
    shape = [1] * x.ndim
    shape[axis] = count - 1
    before, after = (
        broadcast_in_dim(slice_axis(steps, 0, k, k + count - 1), tuple(shape), (axis,))
        for k in (0, 1)
    )
    both = np.add(before, after)
    weights = (
        np.divide(np.negative(after), np.multiply(before, both)),
        np.divide(np.subtract(after, before), np.multiply(before, after)),
        np.divide(before, np.multiply(after, both)),
    )
    return _weighted(weights, [_middle(x, axis, k, k - 2) for k in range(3)])


def _edge(x: Any, axis: int, step: Any, edge_order: int, side: int) -> Any:
    """The one-sided derivative at the start (side 0) or the end (side 1)."""
    count = edge_order + 1
    first = 0 if side == 0 else x.shape[axis] - count
    near = [slice_axis(x, axis, first + k, first + k + 1) for k in range(count)]
    is_even = len(shape_of(step)) == 0
    if edge_order == 1:
        a, b = near
        return call(np.divide, call(np.subtract, b, a), step if is_even else step[-side])
    if is_even:
        factors = (-1.5, 2.0, -0.5) if side == 0 else (0.5, -2.0, 1.5)
        weights = [np.divide(factor, step) for factor in factors]
    else:
        weights = _edge_weights(step, side)
    return _weighted(weights, near)


def _edge_weights(steps: Any, side: int) -> list[Any]:
    """The weights of three points for the derivative at the first of them, or the last."""
    near, far = (steps[0], steps[1]) if side == 0 else (steps[-1], steps[-2])
    both = np.add(near, far)
    weights = [
        np.divide(np.negative(np.add(near, both)), np.multiply(near, both)),
        np.divide(both, np.multiply(near, far)),
        np.divide(np.negative(near), np.multiply(far, both)),
    ]
    return weights if side == 0 else [np.negative(w) for w in reversed(weights)]


@implements(np.trapezoid)
def trapezoid(y: Array, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral along an axis by the trapezoidal rule, over distances `dx` or coordinates
    `x`."""
    values = as_array(y)
    number = axis_of(exact(axis), values.ndim)
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
    """The differences of neighbours of the flattened array, between `to_begin` and `to_end`, which
    are cast to its dtype."""
    flat = as_array(ary).reshape(-1)
    differences = call(np.subtract, flat[1:], flat[:-1])
    ends = [None if e is None else np.ravel(e) for e in (to_begin, to_end)]
    for name, end in zip(("to_begin", "to_end"), ends, strict=True):
        if end is not None and not np.can_cast(end.dtype, flat.dtype, "same_kind"):
            raise located(
                TypeError,
                f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` "
                "rule.",
            )
    parts = [p for p in (ends[0], differences, ends[1]) if p is not None]
    return np.concatenate(parts, dtype=differences.dtype, casting="unsafe")


@implements(np.unwrap)
def unwrap(p: Array, discont: Any = None, axis: Any = -1, *, period: Any = 2 * np.pi) -> Any:
    """The phases along an axis with multiples of the period added, so that neighbours differ by at
    most half a period.

    A difference smaller than `discont` stays as it is. Raises ValueError for scalars.
    """
    x = as_array(p)
    if x.ndim == 0:
        raise located(ValueError, "diff requires input that is at least one dimensional")
    number = axis_of(exact(axis), x.ndim)
    size = x.shape[number]
    steps = diff(x, axis=number)
    dtype = result_dtype(steps, period)
    jump = period / 2 if discont is None else discont
    if dtype.kind in "iu":
        high, rest = divmod(period, 2)
        is_ambiguous = rest == 0
    else:
        high, is_ambiguous = period / 2, True
    wrapped = call(np.add, call(np.remainder, call(np.subtract, steps, -high), period), -high)
    if is_ambiguous:
        at_the_edge = call(
            np.logical_and, call(np.equal, wrapped, -high), call(np.greater, steps, 0)
        )
        wrapped = where(at_the_edge, convert(as_array(high), wrapped.dtype), wrapped)
    correction = call(np.subtract, wrapped, steps)
    is_small = call(np.less, call(np.absolute, steps), jump)
    correction = where(is_small, np.zeros((), correction.dtype), correction)
    first = convert(x[(*[slice(None)] * number, slice(1))], dtype)
    if isinstance(size, int) and size < 2:
        return strengthen(first)
    later = call(np.add, _middle(x, number, 1, 0), cumsum(correction, number))
    return concatenate_along([first, convert(later, dtype)], number)
