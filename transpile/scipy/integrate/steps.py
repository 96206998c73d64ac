"""What explicit Runge-Kutta methods have in common: Dormand's and Prince's stages, weighted sums of
slopes, and the first step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = ["RESULT", "STAGES", "TIMES", "combined", "first_step"]

Function = Callable[..., Any]

# J. Dormand and P. Prince, A family of embedded Runge-Kutta formulae, 1980: the times of the stages
# but the first, the weights of the slopes before each, and those of the result of the fifth order.
TIMES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0)
STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
)
RESULT = (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84)


def combined(weights: Sequence[float], slopes: Sequence[Any]) -> Any:
    """The sum of slopes with weights, without those whose weight is 0."""
    terms = [w * k for w, k in zip(weights, slopes, strict=False) if w]
    return sum(terms[1:], terms[0])


def first_step(
    derivative: Function,
    y: Any,
    slope: Any,
    t: Any,
    *,
    norm: Function,
    order: int,
    direction: Any = 1.0,
    longest: Any = np.inf,
) -> Any:
    """The first step, by the sizes of the first two derivatives (E. Hairer, S. Norsett and G.
    Wanner, Solving Ordinary Differential Equations I, section II.4).

    derivative  (y, t) -> the slope
    norm        the size of a vector beside the error that is allowed
    order       of the error of a step
    direction   -1 where time runs backwards
    longest     the step that is tried to estimate the second derivative is no longer
    """
    zeroth, first = norm(y), norm(slope)
    is_small = (zeroth < 1e-5) | (first < 1e-5)
    tried = np.where(is_small, 1e-6, 0.01 * zeroth / np.where(is_small, 1.0, first))
    tried = np.minimum(tried, longest).astype(zeroth.dtype)
    step = tried * direction
    change = derivative(y + step * slope, t + step.astype(t.dtype)) - slope
    second = norm(change) / np.where(tried == 0, 1.0, tried)
    is_flat = (first <= 1e-15) & (second <= 1e-15)
    largest = np.where(is_flat, 1.0, np.maximum(first, second))
    by_largest = (0.01 / largest) ** (1 / order)
    return np.minimum(100.0 * tried, np.where(is_flat, np.maximum(1e-6, tried * 1e-3), by_largest))
