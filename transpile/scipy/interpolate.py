"""`scipy.interpolate` for traced functions: the class of `jax.scipy.interpolate`."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from transpile import tree_util
from transpile.ir.types import INT64
from transpile.nn.operands import array_dtype, inexact, operand
from transpile.numpy.core.promotion import convert, has_tracer
from transpile.numpy.core.promotion import error as located
from transpile.numpy.subscripts.at import at
from transpile.scipy.special.operands import Array, promoted, public

__all__ = ["RegularGridInterpolator"]

_METHODS = ("linear", "nearest")


class RegularGridInterpolator:
    """Interpolation of values on a grid of rectangles.

    points      the coordinates along each axis of the grid, ascending, or, unless they are traced,
                descending, as SciPy has it
    values      (m1, ..., mn, ...): further axes are interpolated together
    method      "linear" or "nearest"
    fill_value  what lies outside of the grid; None to extrapolate

    A pytree of these arrays. Raises ValueError for shapes that do not fit and known points that are
    not in order, NotImplementedError for `bounds_error`, as values are not known while tracing.
    """

    def __init__(
        self,
        points: Any,
        values: Array,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: Any = np.nan,
    ) -> None:
        _check_method(method)
        if bounds_error:
            raise located(NotImplementedError, "`bounds_error` takes no effect under JIT")
        self.method, self.bounds_error = method, bounds_error
        self.values = inexact("RegularGridInterpolator", values)
        if len(points) > np.ndim(self.values):
            raise located(
                ValueError,
                f"there are {len(points)} point arrays, but values has {np.ndim(self.values)} "
                "dimensions",
            )
        if fill_value is not None:
            fill_value = operand("RegularGridInterpolator", fill_value)
            if not np.can_cast(
                array_dtype(fill_value), array_dtype(self.values), casting="same_kind"
            ):
                raise located(
                    ValueError,
                    "fill_value must be either 'None' or of a type compatible with values",
                )
        self.fill_value = fill_value
        grid = [operand("RegularGridInterpolator", p) for p in points]
        self.grid = tuple(self._in_order(p, axis) for axis, p in enumerate(grid))

    def _in_order(self, points: Any, axis: int) -> Any:
        """The points of an axis, ascending; the values are flipped with them."""
        size = np.shape(self.values)[axis]
        if np.shape(points) != (size,):
            raise located(
                ValueError,
                f"There are {np.size(points)} points and {size} values on dimension {axis}",
            )
        if has_tracer(points) or np.all(np.diff(points) > 0):
            return points
        if not np.all(np.diff(points) < 0):
            raise located(
                ValueError,
                f"The points in dimension {axis} must be strictly ascending or descending",
            )
        self.values = np.flip(self.values, axis)
        return np.flip(points)

    def __call__(self, xi: Any, method: str | None = None) -> Any:
        """The interpolated values at points: an array whose last axis has the coordinates, or a
        tuple of arrays of them, which broadcast. NaN for a point with a NaN."""
        method = self.method if method is None else method
        _check_method(method)
        return _interpolated(self, xi, method)

    def tree_flatten(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The arrays of the grid, for pytrees."""
        return (self.grid, self.values, self.fill_value), (self.method, self.bounds_error)

    @classmethod
    def tree_unflatten(
        cls, aux_data: tuple[Any, ...], children: tuple[Any, ...]
    ) -> RegularGridInterpolator:
        """The interpolator of the arrays of `tree_flatten`."""
        new = cls.__new__(cls)
        new.grid, new.values, new.fill_value = children
        new.method, new.bounds_error = aux_data
        return new


tree_util.register_pytree_node_class(RegularGridInterpolator)


def _check_method(method: str) -> None:
    if method not in _METHODS:
        raise located(ValueError, f"method {method!r} is not defined")


@public
def _interpolated(grid: RegularGridInterpolator, xi: Any, method: str) -> Any:
    ndim = len(grid.grid)
    points = _coordinates(xi, ndim)
    if points.shape[-1] != ndim:
        raise located(
            ValueError,
            f"the requested sample points xi have dimension {points.shape[-1]}, but this "
            f"RegularGridInterpolator has dimension {ndim}",
        )
    shape = points.shape[:-1]
    columns = [np.reshape(points[..., k], -1) for k in range(ndim)]
    cells = [_cell(p, x) for p, x in zip(grid.grid, columns, strict=True)]
    result = _METHOD[method](grid.values, cells)
    wide = (slice(None), *[None] * (np.ndim(grid.values) - ndim))
    if grid.fill_value is not None:
        outside = _any([(x < p[0]) | (x > p[-1]) for p, x in zip(grid.grid, columns, strict=True)])
        result = np.where(outside[wide], grid.fill_value, result)
    result = np.where(_any([np.isnan(x) for x in columns])[wide], np.nan, result)
    return np.reshape(result, (*shape, *np.shape(grid.values)[ndim:]))


def _any(masks: list[Any]) -> Any:
    result = masks[0]
    for mask in masks[1:]:
        result = result | mask
    return result


def _coordinates(xi: Any, ndim: int) -> Any:
    """Points whose coordinates are the last axis."""
    if isinstance(xi, tuple) and len(xi) == 1:
        (xi,) = xi
    if isinstance(xi, tuple | list):
        parts = np.broadcast_arrays(*promoted("RegularGridInterpolator", *map(_array, xi)))
        if isinstance(xi, tuple):
            return np.stack(parts, axis=-1)
        xi = np.stack(parts, axis=0)
    (points,) = promoted("RegularGridInterpolator", xi)
    if np.ndim(points) < 2:
        return np.reshape(points, (-1, 1) if ndim == 1 else (-1, ndim))
    return points


def _array(value: Any) -> Any:
    return value if has_tracer(value) and not isinstance(value, list) else np.asarray(value)


def _cell(grid: Any, x: Any) -> tuple[Any, Any]:
    """The cell of the grid that each coordinate is in, or is next to, and where in it, from 0 to
    1."""
    last = max(np.shape(grid)[0] - 2, 0)
    index = np.clip(convert(np.searchsorted(grid, x), INT64) - 1, 0, last)
    low, high = _element(grid, (index,)), _element(grid, (index + 1,))
    return index, (x - low) / (high - low)


def _element(values: Any, index: tuple[Any, ...]) -> Any:
    """The values at indices along the first axes. One subscript of their flattened axes: C
    compilers vectorise reads with one, and not with several."""
    flat = index[0]
    for position, size in zip(index[1:], np.shape(values)[1:], strict=False):
        flat = flat * size + position
    rows = np.reshape(values, (-1, *np.shape(values)[len(index) :]))
    return at(rows)[flat].get(mode="promise_in_bounds")


def _linear(values: Any, cells: list[tuple[Any, Any]]) -> Any:
    wide = (slice(None), *[None] * (np.ndim(values) - len(cells)))
    result: Any = 0.0
    for corner in itertools.product((0, 1), repeat=len(cells)):
        weight: Any = 1.0
        for (_, share), is_upper in zip(cells, corner, strict=True):
            weight = weight * (share if is_upper else 1 - share)
        index = tuple(i + step for (i, _), step in zip(cells, corner, strict=True))
        result = result + _element(values, index) * weight[wide]
    return result


def _nearest(values: Any, cells: list[tuple[Any, Any]]) -> Any:
    return _element(values, tuple(np.where(share <= 0.5, i, i + 1) for i, share in cells))


_METHOD = {"linear": _linear, "nearest": _nearest}
