"""Integrals of samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.scipy.special.operands import Array, promoted, public

__all__ = ["trapezoid"]


@public
def trapezoid(y: Array, x: Array | None = None, dx: Array = 1.0, axis: int = -1) -> Any:
    """The integral along an axis by the trapezoidal rule, for samples at x, or dx apart.

    Integers become float64. x is a vector, or has the shape of y.
    """
    if x is None:
        (values,) = promoted("trapezoid", y)
        return np.trapezoid(values, dx=dx, axis=axis)
    values, points = promoted("trapezoid", y, x)
    return np.trapezoid(values, points, axis=axis)
