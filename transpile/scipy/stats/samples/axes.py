"""The axes along which a statistic is computed: the last one of the rows that a sample is made."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.nn.operands import operand
from transpile.numpy.core.promotion import axes_of, unsupported
from transpile.scipy.special.operands import Array, promoted

__all__ = ["Axis", "kept", "rows_of"]

Axis = int | tuple[int, ...] | None


def rows_of(function: str, a: Array, axis: Axis, nan_policy: str = "propagate") -> Any:
    """The sample in floating point, with the axis as its last; the elements of several axes as one;
    all elements for None.

    Traced NaNs reach the result, which is the policy "propagate"; UnsupportedError for others.
    """
    if nan_policy != "propagate":
        raise unsupported(
            f"nan_policy={nan_policy!r} of scipy.stats.{function}: whether values are NaN is not "
            "known while tracing"
        )
    x = promoted(function, operand(function, a))[0]
    if axis is None:
        return np.reshape(x, -1)
    axes = axes_of(axis, np.ndim(x), "`axis` must contain only distinct elements")
    x = np.moveaxis(x, axes, range(-len(axes), 0))
    return x if len(axes) == 1 else np.reshape(x, (*x.shape[: np.ndim(x) - len(axes)], -1))


def kept(result: Any, a: Array, axis: Axis, keepdims: bool) -> Any:
    """The result, with the axes of the sample as some of length 1 where they are kept."""
    if not keepdims:
        return result
    return np.reshape(result, [1] * np.ndim(a)) if axis is None else np.expand_dims(result, axis)
