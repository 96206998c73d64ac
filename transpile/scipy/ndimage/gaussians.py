"""Gaussian filters and their derivatives: correlations with known weights along each axis."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from transpile.numpy.core.promotion import Array
from transpile.numpy.core.promotion import error as located
from transpile.scipy.ndimage.correlations import correlate1d, sum_of_derivatives
from transpile.scipy.ndimage.edges import (
    as_stored,
    axes_of,
    for_each,
    image,
    known,
    output_dtype,
)
from transpile.scipy.special.operands import public

__all__ = [
    "gaussian_filter",
    "gaussian_filter1d",
    "gaussian_gradient_magnitude",
    "gaussian_laplace",
]

# Along axes with smaller deviations nothing is filtered.
_LEAST = 1e-15


@public
def gaussian_filter1d(
    input: Array,
    sigma: float,
    axis: int = -1,
    order: int = 0,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | None = None,
) -> Any:
    """The convolution with a Gaussian of standard deviation `sigma` along an axis, or with its
    derivative of an order.

    The window reaches `radius` elements to each side, `truncate * sigma` rounded by default. The
    deviation has to be known while a function is traced. Other arguments are those of
    `correlate1d`. Raises ValueError for orders and radii below 0.
    """
    sigma = float(known("sigma", sigma))
    reach = int(truncate * sigma + 0.5) if radius is None else operator.index(radius)
    if reach < 0:
        raise located(ValueError, "Radius must be a nonnegative integer.")
    if order < 0:
        raise located(ValueError, "order must be non-negative")
    return correlate1d(input, _weights(sigma, order, reach)[::-1], axis, output, mode, cval, 0)


def _weights(sigma: float, order: int, reach: int) -> Any:
    """A Gaussian of sum 1, times the polynomial q that its derivative has as a factor: of each
    order follows that of the next, q' - x q / sigma**2."""
    variance = sigma * sigma
    x = np.arange(-reach, reach + 1)
    values = np.exp(-0.5 / variance * x**2)
    values = values / values.sum()
    factor = np.polynomial.Polynomial([1.0])
    for _ in range(order):
        factor = factor.deriv() - factor * np.polynomial.Polynomial([0.0, 1 / variance])
    return values * factor(x) if order else values


@public
def gaussian_filter(
    input: Array,
    sigma: Any,
    order: Any = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
    axes: Any = None,
) -> Any:
    """The convolution with a Gaussian of an array: `gaussian_filter1d` along each axis, with a
    deviation, an order, a mode and a radius for all or one for each. Between the axes the dtype is
    that of the result."""
    x = image(input)
    along = axes_of(axes, np.ndim(x))
    dtype, count = output_dtype(output, x), len(along)
    rows = zip(
        along,
        for_each(known("sigma", sigma), count),
        for_each(order, count),
        for_each(mode, count),
        for_each(radius, count),
        strict=True,
    )
    result = x
    for axis, deviation, k, name, reach in rows:
        if deviation > _LEAST:
            result = gaussian_filter1d(
                result, deviation, axis, k, dtype, name, cval, truncate, radius=reach
            )
    return as_stored(result, dtype)


@public
def gaussian_laplace(
    input: Array,
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    **kwargs: Any,
) -> Any:
    """The Laplacian of a Gaussian: the sum over the axes of `gaussian_filter` with the order 2
    along that axis. Arguments are those of `gaussian_filter`."""
    x = image(input)
    deviations = _for_all_axes(sigma, axes, np.ndim(x))
    return sum_of_derivatives(
        x,
        lambda y, axis, dtype, name: gaussian_filter(
            y, deviations, _order(2, axis, np.ndim(x)), dtype, name, cval, **kwargs
        ),
        output,
        mode,
        axes,
    )


@public
def gaussian_gradient_magnitude(
    input: Array,
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    **kwargs: Any,
) -> Any:
    """The length of the gradient of a Gaussian: the root of the sum over the axes of the squares of
    `gaussian_filter` with the order 1 along that axis. Arguments are those of `gaussian_filter`."""
    x = image(input)

    def squared(y: Any, axis: int, dtype: Any, name: str) -> Any:
        order = _order(1, axis, np.ndim(x))
        part = gaussian_filter(y, sigma, order, dtype, name, cval, **kwargs)
        return part * part

    total = sum_of_derivatives(x, squared, output, mode, axes)
    return as_stored(np.sqrt(total), total.dtype) if axes_of(axes, np.ndim(x)) else total


def _order(order: int, axis: int, ndim: int) -> list[int]:
    return [order if a == axis else 0 for a in range(ndim)]


def _for_all_axes(sigma: Any, axes: Any, ndim: int) -> list[Any]:
    """A deviation for each axis of the array, 0 along those that are not filtered."""
    along = axes_of(axes, ndim)
    given = dict(zip(along, for_each(known("sigma", sigma), len(along)), strict=True))
    return [given.get(axis, 0.0) for axis in range(ndim)]
