"""A line search for a step that fulfils the strong Wolfe conditions, as one loop.

Each iteration tries one step: larger and larger ones until an interval is known to contain one that
will do, then, in that interval, the minimum of a cubic or a parabola through what is known of the
ends, or the middle (J. Nocedal and S. Wright, Numerical Optimization, 1999, algorithms 3.2 and
3.3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from transpile import lax
from transpile.functional.gradients import value_and_grad

SUFFICIENT_DECREASE, CURVATURE = 1e-4, 0.9
# How far from the ends of its interval, as a share of it, a minimum of a cubic or a parabola lies.
_FROM_CUBIC, _FROM_PARABOLA = 0.2, 0.1
_MOST_IN_INTERVAL = 30


class _Point(NamedTuple):
    """A step, with the value of the function there and its slope along the line."""

    step: Any
    value: Any
    slope: Any


class Found(NamedTuple):
    """A step, what was found there, and what the search cost.

    status  0; 1 where an interval became empty; 3 after too many steps
    """

    step: Any
    value: Any
    gradient: Any
    evaluations: Any
    failed: Any
    status: Any


class _State(NamedTuple):
    is_inside: Any  # there is an interval
    done: Any
    failed: Any
    tried: Any
    inside: Any  # steps tried in the interval
    before: _Point
    low: _Point
    high: _Point
    recent: _Point
    best: _Point
    gradient: Any  # at the best point


def line_search(
    f: Callable[[Any], Any],
    x: Any,
    direction: Any,
    value: Any,
    gradient: Any,
    value_before: Any = None,
    most: int = 10,
) -> Found:
    """A step from x along a direction.

    value, gradient  of f at x
    value_before     the value one step earlier, from which the first step to try is guessed
    most             steps to try before there is an interval
    """
    slope = np.real(np.dot(gradient, direction))
    start = _Point(np.zeros_like(slope), value, slope)
    guess: Any = np.ones_like(slope)
    if value_before is not None:
        decrease = 1.01 * 2 * (value - value_before) / slope
        guess = np.where(decrease > 1, 1, decrease)

    def iteration(state: _State) -> _State:
        larger = np.where(state.tried == 0, guess, 2 * state.before.step)
        step = np.where(state.is_inside, _between(state), larger)
        found, gradient = value_and_grad(f)(x + step.astype(x.dtype) * direction)
        along = np.real(np.dot(gradient, direction)).astype(slope.dtype)
        point = _Point(step, found.astype(value.dtype), along)
        return _advanced(state, point, gradient.astype(state.gradient.dtype), start)

    def going(state: _State) -> Any:
        return ~state.done & ~state.failed & (state.is_inside | (state.tried < most))

    false = np.zeros((), bool)
    first = _State(false, false, false, 0, 0, start, start, start, start, start, gradient)
    last = lax.while_loop(going, iteration, first)
    failed = last.failed | ~last.done
    status = np.where(last.failed, 1, np.where(last.done, 0, 3))
    evaluations = last.tried + last.inside
    return Found(last.best.step, last.best.value, last.gradient, evaluations, failed, status)


def _advanced(state: _State, point: _Point, gradient: Any, start: _Point) -> _State:
    """The state after a point was tried."""
    inside, outside = state.is_inside, ~state.is_inside
    is_high = point.value > start.value + SUFFICIENT_DECREASE * point.step * start.slope
    is_high |= np.isnan(point.value)
    rises = is_high | (point.value >= state.before.value) & (state.tried > 0)
    is_above = np.where(inside, is_high | (point.value >= state.low.value), rises)
    is_flat = np.abs(point.slope) <= -CURVATURE * start.slope
    done = is_flat & ~is_above
    # The interval begins where a step is too long, or the function rises again.
    closes_above, closes_rising = (
        outside & is_above,
        outside & ~is_above & ~done & (point.slope >= 0),
    )
    width = state.high.step - state.low.step
    shrinks_above = inside & is_above
    shrinks_below = inside & ~is_above & ~done
    reverses = shrinks_below & (point.slope * width >= 0)
    low = _either(
        closes_above, state.before, _either(closes_rising | shrinks_below, point, state.low)
    )
    high = _either(
        closes_above | shrinks_above, point, _either(closes_rising, state.before, state.high)
    )
    high = _either(reverses, state.low, high)
    recent = _either(
        shrinks_above | reverses, state.high, _either(shrinks_below, state.low, state.recent)
    )
    is_inside = inside | closes_above | closes_rising
    count = state.inside + np.where(inside, 1, 0)
    narrow = 1e-5 if point.step.dtype.itemsize < 8 else 1e-10
    fails = (
        inside & ~done & ((np.abs(high.step - low.step) <= narrow) | (count >= _MOST_IN_INTERVAL))
    )
    is_best = done | (point.value < state.best.value) & ~state.done
    return _State(
        is_inside,
        done,
        fails,
        state.tried + np.where(inside, 0, 1),
        count,
        point,
        low,
        high,
        recent,
        _either(is_best, point, state.best),
        np.where(is_best, gradient, state.gradient),
    )


def _either(condition: Any, x: _Point, y: _Point) -> _Point:
    return _Point(*(np.where(condition, v, w) for v, w in zip(x, y, strict=True)))


def _between(state: _State) -> Any:
    """The step to try in the interval."""
    low, high = state.low, state.high
    width = high.step - low.step
    first, last = np.minimum(low.step, high.step), np.maximum(low.step, high.step)
    margin = np.abs(width)
    cubic = _least_of_cubic(low, high, state.recent)
    parabola = low.step - low.slope * width**2 / (2 * (high.value - low.value - low.slope * width))
    takes_cubic = (state.inside > 0) & _is_within(cubic, first, last, _FROM_CUBIC * margin)
    takes_parabola = _is_within(parabola, first, last, _FROM_PARABOLA * margin)
    middle = (low.step + high.step) / 2
    return np.where(takes_cubic, cubic, np.where(takes_parabola, parabola, middle))


def _is_within(step: Any, first: Any, last: Any, margin: Any) -> Any:
    return (step > first + margin) & (step < last - margin)


def _least_of_cubic(low: _Point, high: _Point, recent: _Point) -> Any:
    """The minimum of the cubic through three points, with the slope of the first; NaN where there
    is none."""
    u, v = high.step - low.step, recent.step - low.step
    of_u = (high.value - low.value - low.slope * u) / (u * u)
    of_v = (recent.value - low.value - low.slope * v) / (v * v)
    third = (of_u - of_v) / (u - v)
    second = of_u - third * u
    return low.step + (-second + np.sqrt(second**2 - 3 * third * low.slope)) / (3 * third)
