"""`odeint`: initial value problems whose derivative solves the adjoint equations.

`odeint` takes adaptive steps of the fifth order (J. Dormand and P. Prince, A family of embedded
Runge-Kutta formulae, 1980), with the interpolation of the fourth order of L. Shampine (Some
practical Runge-Kutta formulas, 1986) between them, and the first step of E. Hairer, S. Norsett and
G. Wanner (Solving Ordinary Differential Equations I, section II.4). Its derivative solves the
adjoint equations backwards, so that it needs no memory for the steps (R. Chen et al., Neural
Ordinary Differential Equations, 2018).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from transpile import lax, tree
from transpile import numpy as tnp
from transpile.flatten_util import ravel_pytree
from transpile.functional.custom import closure_convert, custom_vjp
from transpile.functional.differentiate import vjp
from transpile.functional.vectorize import vmap
from transpile.scipy.integrate.steps import RESULT, STAGES, TIMES, combined, first_step
from transpile.util.frozen_records import dataclass

__all__ = ["Limits", "odeint", "pulled_back"]

Function = Callable[..., Any]

# The last stage is at the result of the step.
_TIMES, _STAGES = (*TIMES, 1.0), (*STAGES, RESULT)
_RESULT = (*RESULT, 0.0)
# The solution of the fourth order that the error is estimated by: Shampine's.
_FOURTH = (1951 / 21600, 0.0, 22642 / 50085, 451 / 720, -12231 / 42400, 649 / 6300, 1 / 60)
_ERROR = tuple(a - b for a, b in zip(_RESULT, _FOURTH, strict=True))
_MIDDLE = (
    6025192743 / 30085553152 / 2,
    0.0,
    51252292925 / 65400821598 / 2,
    -2691868925 / 45128329728 / 2,
    187940372067 / 1594534317056 / 2,
    -1776094331 / 19743644256 / 2,
    11237099 / 235043384 / 2,
)
_SAFETY, _MOST, _LEAST, _ORDER = 0.9, 10.0, 0.2, 5


def odeint(
    func: Function,
    y0: Any,
    t: Any,
    *args: Any,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = np.inf,
    hmax: float = np.inf,
) -> Any:
    """The solution of dy/dt = func(y, t, *args) at increasing times, the first of which y0 is for.

    y0           a pytree of arrays; the result has it with the times along a new first axis
    t            the times, a vector
    args         what `func` takes beside, pytrees of floats; they have derivatives, as y0 and t
    rtol, atol   how far the error of a step may be from the solution, relative and absolute
    mxstep       the most steps between two times; hmax the longest one

    Reverse mode alone. Raises TypeError for arguments that are no floats.
    """
    for x in tree.leaves((y0, args)):
        if np.result_type(x).kind not in "fc":
            raise TypeError(f"odeint takes arrays of floats, not {np.result_type(x)}")
    times = tnp.asarray(t)
    converted, hoisted = closure_convert(func, y0, times[0], *args)
    flat, unravel = ravel_pytree(y0)

    def of_vectors(y: Any, time: Any, *more: Any) -> Any:
        return ravel_pytree(converted(unravel(y), time, *more))[0]

    settings = Limits(of_vectors, rtol, atol, mxstep, hmax)
    return vmap(unravel)(_solution(settings, flat, times, (*args, *hoisted)))


@dataclass(frozen=True, eq=False)
class Limits:
    """The function of a vector, and how it is integrated."""

    func: Function
    rtol: float
    atol: Any
    mxstep: float = np.inf
    hmax: float = np.inf


@partial(custom_vjp, nondiff_argnums=(0,))
def _solution(s: Limits, y0: Any, times: Any, args: tuple[Any, ...]) -> Any:
    """The vectors at the times."""

    def derivative(y: Any, t: Any) -> Any:
        return s.func(y, t, *args)

    slope = derivative(y0, times[0])
    scale = s.atol + np.abs(y0) * s.rtol

    def norm(x: Any) -> Any:
        return np.sqrt(np.sum(np.abs(x / scale) ** 2))

    first = first_step(derivative, y0, slope, times[0], norm=norm, order=_ORDER)
    first = np.minimum(first, s.hmax)
    polynomial = np.stack([y0] * _ORDER)
    start = (y0, slope, times[0], first.astype(times.dtype), times[0], polynomial)
    _, rest = lax.scan(partial(_to_time, s, derivative), start, times[1:])
    return np.concatenate([y0[None], rest])


def _to_time(s: Limits, derivative: Function, state: Any, target: Any) -> tuple[Any, Any]:
    """Steps until a time is behind, and what the last one says of it."""

    def is_before(counted: Any) -> Any:
        (_, _, t, step, _, _), count = counted
        return (t < target) & (count < s.mxstep) & (step > 0)

    def one_more(counted: Any) -> Any:
        (y, slope, t, step, before, polynomial), count = counted
        new, new_slope, ratio, interpolated = _step(s, derivative, y, slope, t, step)
        is_taken = ratio <= 1.0
        taken = (new, new_slope, t + step, t, interpolated)
        kept = (y, slope, t, before, polynomial)
        y, slope, t, before, polynomial = (
            np.where(is_taken, a, b) for a, b in zip(taken, kept, strict=True)
        )
        step = np.clip(_next_step(step, ratio), 0.0, s.hmax)
        return (y, slope, t, step, before, polynomial), count + 1

    state, _ = lax.while_loop(is_before, one_more, (state, 0))
    _, _, t, _, before, polynomial = state
    width = np.where(t == before, 1.0, t - before)  # no step where the times are equal
    return state, _value(polynomial, (target - before) / width)


def _value(polynomial: Any, x: Any) -> Any:
    """The polynomial whose first coefficient is that of the highest power."""
    return tnp.polyval(polynomial, x.astype(polynomial.real.dtype))


def _step(
    s: Limits, derivative: Function, y: Any, slope: Any, t: Any, step: Any
) -> tuple[Any, Any, Any, Any]:
    """One step: the vector and its derivative behind it, the error relative to what is allowed, and
    the coefficients of the polynomial between."""
    slopes, h = [slope], step.astype(y.real.dtype)
    for time, weights in zip(_TIMES, _STAGES, strict=True):
        slopes.append(derivative(y + h * combined(weights, slopes), t + step * time))
    new = y + h * combined(_RESULT, slopes)
    allowed = s.atol + s.rtol * np.maximum(np.abs(y), np.abs(new))
    relative = np.abs(h * combined(_ERROR, slopes)) / allowed
    middle = y + h * combined(_MIDDLE, slopes)
    before, behind = h * slopes[0], h * slopes[-1]
    coefficients = [
        2 * (behind - before) - 8 * (y + new) + 16 * middle,
        5 * before - 3 * behind + 18 * y + 14 * new - 32 * middle,
        behind - 4 * before - 11 * y - 5 * new + 16 * middle,
        before,
        y,
    ]
    return new, slopes[-1], np.sqrt(np.mean(relative**2)), np.stack(coefficients)


def _next_step(step: Any, ratio: Any) -> Any:
    """The step that would have had the error that is allowed, a little less, and no jump."""
    least = np.where(ratio < 1, 1.0, _LEAST)
    wanted = np.where(ratio == 0, 1.0, ratio) ** (-1 / _ORDER) * _SAFETY
    factor = np.where(ratio == 0, _MOST, np.minimum(_MOST, np.maximum(wanted, least)))
    return (step * factor).astype(step.dtype)


def _forward(s: Limits, y0: Any, times: Any, args: tuple[Any, ...]) -> tuple[Any, Any]:
    solution = _solution(s, y0, times, args)
    return solution, (solution, times, args)


def _backward(s: Limits, residuals: Any, g: Any) -> tuple[Any, Any, Any]:
    solution, times, args = residuals
    return pulled_back(s, solution, times, args, g)


def pulled_back(
    s: Limits, solution: Any, times: Any, args: tuple[Any, ...], g: Any
) -> tuple[Any, Any, tuple[Any, ...]]:
    """The cotangents of the first vector, of the times and of `args`, by the adjoint equations,
    backwards from each time to the one before.

    solution, g  the vectors at the times and their cotangents, (times, size)
    """

    def adjoint(state: Any, time: Any, *args: Any) -> Any:
        slope, pull_back = vjp(s.func, state[0], -time, *args)
        return (-slope, *pull_back(state[1]))

    def to_the_one_before(carry: Any, i: Any) -> tuple[Any, Any]:
        y_bar, first_bar, args_bar = carry
        t_bar = np.sum(s.func(solution[i], times[i], *args) * g[i])
        state = (solution[i], y_bar, first_bar - t_bar, *args_bar)
        ends = np.stack([-times[i], -times[i - 1]])
        limits = {"rtol": s.rtol, "atol": s.atol, "mxstep": s.mxstep, "hmax": s.hmax}
        _, y_bar, first_bar, *args_bar = (
            tree.map(lambda x: x[1], part) for part in odeint(adjoint, state, ends, *args, **limits)
        )
        return (y_bar + g[i - 1], first_bar, tuple(args_bar)), t_bar

    start = (g[-1], np.zeros((), times.dtype), tree.map(tnp.zeros_like, args))
    order = np.arange(len(times) - 1, 0, -1)
    (y_bar, first_bar, args_bar), rest = lax.scan(to_the_one_before, start, order)
    return y_bar, np.concatenate([first_bar[None], rest[::-1]]), args_bar


_solution.defvjp(_forward, _backward)
