"""The axis along which a statistic is computed: the last one of the rows that a sample is made."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.nn.operands import operand
from transpile.numpy.core.promotion import axis_of, unsupported
from transpile.scipy.special.operands import Array, promoted

__all__ = ["kept", "rows_of"]


def rows_of(function: str, a: Array, axis: int | None, nan_policy: str = "propagate") -> Any:
    """The sample in floating point, with the axis as its last; all elements for None.

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
    return np.moveaxis(x, axis_of(axis, np.ndim(x)), -1)


def kept(result: Any, a: Array, axis: int | None, keepdims: bool) -> Any:
    """The result, with the axis of the sample as one of length 1 where it is kept."""
    if not keepdims:
        return result
    return np.reshape(result, [1] * np.ndim(a)) if axis is None else np.expand_dims(result, axis)
