"""`solve_ivp`: initial value problems with the explicit Runge-Kutta pairs of SciPy, step by step as
SciPy takes them.

The steps and their control are those of E. Hairer, S. Norsett and G. Wanner, Solving Ordinary
Differential Equations I, section II.4. The pairs: J. Dormand and P. Prince, A family of embedded
Runge-Kutta formulae, 1980, with the interpolation of L. Shampine, Some practical Runge-Kutta
formulas, 1986; P. Bogacki and L. Shampine, A 3(2) pair of Runge-Kutta formulas, 1989.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from transpile import lax
from transpile import numpy as tnp
from transpile.functional.custom import closure_convert, custom_vjp
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.promotion import unsupported
from transpile.numpy.subscripts.at import at
from transpile.scipy.given_functions import doubles, of_arrays
from transpile.scipy.integrate.adjoints import Limits, pulled_back
from transpile.scipy.integrate.steps import RESULT, STAGES, TIMES, combined, first_step
from transpile.scipy.special.operands import Array, public
from transpile.util.frozen_records import dataclass

__all__ = ["OdeResult", "solve_ivp"]

Function = Callable[..., Any]


class OdeResult(NamedTuple):
    """The solution that `solve_ivp` found.

    t        the times, `t_eval`
    y        (size of y0, number of times)
    nfev     how often `fun` was computed
    status   0; -1 where a step became smaller than the spacing of times, and the rest of y is NaN
    success  whether the end was reached
    """

    t: Any
    y: Any
    nfev: Any
    status: Any
    success: Any


@dataclass(frozen=True, eq=False)
class Pair:
    """An embedded Runge-Kutta pair.

    order   of the solution that the error is estimated by
    times   of the stages but the first
    stages  the weights of the slopes before each of these
    result  the weights of the result, which is where the last slope is taken
    error   the weights of the error, the last slope among them
    dense   the coefficients of the interpolation: (slopes, powers of the step's part)
    """

    order: int
    times: Sequence[float]
    stages: Sequence[Sequence[float]]
    result: Sequence[float]
    error: Sequence[float]
    dense: Any


_BOGACKI_SHAMPINE = Pair(
    order=2,
    times=(1 / 2, 3 / 4),
    stages=((1 / 2,), (0.0, 3 / 4)),
    result=(2 / 9, 1 / 3, 4 / 9),
    error=(5 / 72, -1 / 12, -1 / 9, 1 / 8),
    dense=np.array([[1, -4 / 3, 5 / 9], [0, 1, -2 / 3], [0, 4 / 3, -8 / 9], [0, -1, 1]]),
)
_DORMAND_PRINCE = Pair(
    order=4,
    times=TIMES,
    stages=STAGES,
    result=RESULT,
    error=(-71 / 57600, 0.0, 71 / 16695, -71 / 1920, 17253 / 339200, -22 / 525, 1 / 40),
    dense=np.array(
        [
            [
                *(1, -8048581381 / 2820520608, 8663915743 / 2820520608),
                -12715105075 / 11282082432,
            ],
            [0, 0, 0, 0],
            [
                *(0, 131558114200 / 32700410799, -68118460800 / 10900136933),
                87487479700 / 32700410799,
            ],
            [
                *(0, -1754552775 / 470086768, 14199869525 / 1410260304),
                -10690763975 / 1880347072,
            ],
            [
                *(0, 127303824393 / 49829197408, -318862633887 / 49829197408),
                701980252875 / 199316789632,
            ],
            [0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844],
            [0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423],
        ]
    ),
)
_PAIRS = {"RK23": _BOGACKI_SHAMPINE, "RK45": _DORMAND_PRINCE}
_SAFETY, _LEAST, _MOST = 0.9, 0.2, 10.0


@public
def solve_ivp(
    fun: Function,
    t_span: Sequence[Any],
    y0: Array,
    method: str = "RK45",
    t_eval: Array | None = None,
    *,
    args: Sequence[Any] | None = None,
    rtol: float = 1e-3,
    atol: Any = 1e-6,
    first_step: float | None = None,
    max_step: float = np.inf,
    vectorized: bool = False,
) -> OdeResult:
    """The solution of dy/dt = fun(t, y, *args) at the times `t_eval`, from y0 at t_span[0].

    fun         (t, y, *args) -> an array or a list of numbers, as many as y
    t_span      the first and the last time; the last may be before the first
    y0          a vector of real or complex numbers, which become float64 or complex128
    method      "RK45", or "RK23"
    t_eval      the times, in the order of `t_span` and within it
    rtol, atol  how far the error of a step may be from the solution, relative and absolute
    vectorized  changes nothing

    The steps are SciPy's. The derivative, in reverse mode alone, solves the adjoint equations
    backwards. Raises UnsupportedError without `t_eval`, since how many steps there are depends on
    the values, and for the implicit methods.
    """
    if t_eval is None:
        raise unsupported(
            "solve_ivp without t_eval=, whose result has as many times as there are steps; give "
            "the times, t_eval=np.linspace(t0, t1, 100), or t_eval=[t1] for the end alone"
        )
    pair = _PAIRS.get(method) if isinstance(method, str) else None
    if pair is None:
        raise unsupported(f"method={method!r} of solve_ivp; RK45 and RK23 can be traced")
    first, last = map(doubles, t_span)
    times = doubles(t_eval)
    start = doubles(y0)
    if start.ndim != 1 or times.ndim != 1:
        raise located(ValueError, "`y0` and `t_eval` must be 1-dimensional.")
    given = of_arrays(fun, tuple(args or ()))

    def slope(t: Any, y: Any) -> Any:
        return given(t, y).astype(start.dtype).reshape(start.shape)

    converted, captured = closure_convert(slope, first, start)
    tolerances = max(rtol, 100 * np.finfo(np.float64).eps), atol
    settings = _Settings(converted, pair, *tolerances, first_step, max_step)
    y, nfev, status = _solution(settings, start, first, last, times, tuple(captured))
    return OdeResult(times, y.T, nfev, status, status == 0)


@dataclass(frozen=True, eq=False)
class _Settings:
    """The function of (t, y, *captured), and how it is integrated."""

    fun: Function
    pair: Pair
    rtol: float
    atol: Any
    first_step: float | None
    max_step: float


class _State(NamedTuple):
    t: Any
    y: Any
    slope: Any
    step: Any  # the length of the next one
    was_rejected: Any
    index: Any  # of the next time
    solution: Any  # (times, y)
    nfev: Any
    is_too_small: Any


@partial(custom_vjp, nondiff_argnums=(0,))
def _solution(
    s: _Settings, y0: Any, first: Any, last: Any, times: Any, captured: tuple[Any, ...]
) -> tuple[Any, Any, Any]:
    """The solution at the times (times, y), the number of evaluations, and the status."""

    def fun(t: Any, y: Any) -> Any:
        return s.fun(t, y, *captured)

    direction = np.where(last < first, -1.0, 1.0)

    def is_before_end(state: _State) -> Any:
        return (direction * (last - state.t) > 0) & ~state.is_too_small

    slope = fun(first, y0)
    if s.first_step is None:
        length = _chosen_step(s, fun, y0, slope, first, last, direction)
    else:
        length = np.asarray(s.first_step, np.float64) + 0.0 * first
    found = tnp.full((times.shape[0], y0.shape[0]), np.nan, y0.dtype)
    false = np.array(False)
    count = np.array(1 if s.first_step is not None else 2)
    start = _State(first, y0, slope, length, false, np.array(0), found, count, false)
    at_start = _filled(start, times, lambda t: direction * (t - first) <= 0, lambda t: y0)
    end = lax.while_loop(
        is_before_end, lambda state: _attempt(s, fun, state, last, times, direction), at_start
    )
    return end.solution, end.nfev, np.where(end.is_too_small, -1, 0)


def _attempt(
    s: _Settings, fun: Function, state: _State, last: Any, times: Any, direction: Any
) -> _State:
    """One step, taken or not."""
    t, y, pair = state.t, state.y, s.pair
    least = 10 * np.abs(np.nextafter(t, direction * np.inf) - t)
    kept = np.clip(state.step, least, s.max_step)
    length = np.where(state.was_rejected, state.step, kept)
    is_too_small = length < least
    wanted = t + length * direction
    new_t = np.where(direction * (wanted - last) > 0, last, wanted)
    h = new_t - t
    length = np.abs(h)
    slopes = [state.slope]
    for time, weights in zip(pair.times, pair.stages, strict=True):
        slopes.append(fun(t + time * h, y + combined(weights, slopes) * h))
    new = y + h * combined(pair.result, slopes)
    slopes.append(fun(t + h, new))
    scale = s.atol + np.maximum(np.abs(y), np.abs(new)) * s.rtol
    norm = _rms(combined(pair.error, slopes) * h / scale)
    is_taken = (norm < 1) & ~is_too_small
    power = _SAFETY * np.where(norm == 0, 1.0, norm) ** (-1 / (pair.order + 1))
    grown = np.where(norm == 0, _MOST, np.minimum(_MOST, power))
    grown = np.where(state.was_rejected, np.minimum(1.0, grown), grown)
    length = length * np.where(is_taken, grown, np.maximum(_LEAST, power))
    reached = _State(
        t=np.where(is_taken, new_t, t),
        y=np.where(is_taken, new, y),
        slope=np.where(is_taken, slopes[-1], state.slope),
        step=np.where(np.isnan(length), 0.0, length),
        was_rejected=~is_taken,
        index=state.index,
        solution=state.solution,
        nfev=state.nfev + len(slopes) - 1,
        is_too_small=is_too_small,
    )
    dense = [combined(column, slopes) for column in pair.dense.T.tolist()]

    def between(time: Any) -> Any:
        x = (time - t) / h
        value = dense[-1] * x
        for coefficient in dense[-2::-1]:
            value = (value + coefficient) * x
        return h * value + y

    return _filled(
        reached, times, lambda time: is_taken & (direction * (time - new_t) <= 0), between
    )


def _filled(state: _State, times: Any, is_due: Function, value: Function) -> _State:
    """The state after the solution at the times that are due has been written."""
    count = times.shape[0]

    def is_next_due(part: Any) -> Any:
        index, _ = part
        return (index < count) & is_due(times[np.minimum(index, count - 1)])

    def written(part: Any) -> Any:
        index, solution = part
        return index + 1, at(solution)[index].set(value(times[index]))

    if count == 0:
        return state
    index, solution = lax.while_loop(is_next_due, written, (state.index, state.solution))
    return state._replace(index=index, solution=solution)


def _rms(x: Any) -> Any:
    return np.sqrt(np.mean(np.abs(x) ** 2)) if x.size else np.array(0.0)


def _chosen_step(
    s: _Settings, fun: Function, y: Any, slope: Any, first: Any, last: Any, direction: Any
) -> Any:
    whole, scale = np.abs(last - first), s.atol + np.abs(y) * s.rtol
    step = first_step(
        *(lambda y, t: fun(t, y), y, slope, first),
        norm=lambda x: _rms(x / scale),
        order=s.pair.order + 1,
        direction=direction,
        longest=whole,
    )
    return np.minimum(step, np.minimum(whole, s.max_step))


def _forward(
    s: _Settings, y0: Any, first: Any, last: Any, times: Any, captured: tuple[Any, ...]
) -> tuple[Any, Any]:
    result = _solution(s, y0, first, last, times, captured)
    return result, (result[0], y0, first, last, times, captured)


def _backward(s: _Settings, residuals: Any, g: Any) -> tuple[Any, ...]:
    """The adjoint equations, with time in the direction of the steps."""
    solution, y0, first, last, times, captured = residuals
    direction = np.where(last < first, -1.0, 1.0)

    def fun(y: Any, time: Any, sign: Any, *captured: Any) -> Any:
        return sign * s.fun(sign * time, y, *captured)

    path = np.concatenate([y0[None], solution])
    ways = direction * np.concatenate([first[None], times])
    bars = np.concatenate([np.zeros_like(y0)[None], g[0]])
    tight = Limits(fun, min(s.rtol, 1.4e-8), np.minimum(s.atol, 1.4e-8))
    y_bar, times_bar, (_, *rest) = pulled_back(tight, path, ways, (direction, *captured), bars)
    times_bar = direction * times_bar
    return y_bar, times_bar[0], np.zeros_like(last), times_bar[1:], tuple(rest)


_solution.defvjp(_forward, _backward)
