"""Least squares of functions: the method of Levenberg and Marquardt with exact Jacobians.

J. More, The Levenberg-Marquardt algorithm: implementation and theory, 1978; the damping is that of
H. Nielsen, Damping parameter in Marquardt's method, 1999. Parameters at a bound that they would
leave are fixed in a step.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from transpile import lax
from transpile import numpy as tnp
from transpile.functional.gradients import grad
from transpile.functional.jacobians import jacfwd
from transpile.numpy.core.promotion import as_array, has_tracer, unsupported
from transpile.numpy.core.promotion import error as located
from transpile.scipy.given_functions import doubles, further, of_arrays
from transpile.scipy.linalg import solve_triangular
from transpile.scipy.optimize.systems import solved_by_matrix
from transpile.scipy.special.operands import Array, public

__all__ = ["LeastSquaresResult", "curve_fit", "least_squares", "leastsq"]

Function = Callable[..., Any]


class LeastSquaresResult(NamedTuple):
    """The minimum that `least_squares` found, and how.

    x           the parameters
    cost        half the sum of the squares of the residuals
    fun, jac    the residuals and their Jacobian there
    grad        the gradient of the cost
    optimality  its largest element, of those that are not fixed at a bound
    success     whether one of the tolerances was reached
    nfev        how often the residuals were computed
    """

    x: Any
    cost: Any
    fun: Any
    jac: Any
    grad: Any
    optimality: Any
    success: Any
    nfev: Any


@public
def least_squares(
    fun: Function,
    x0: Array,
    jac: Any = "2-point",
    bounds: Any = (-np.inf, np.inf),
    *,
    ftol: float | None = 1e-8,
    xtol: float | None = 1e-8,
    gtol: float | None = 1e-8,
    max_nfev: int | None = None,
    args: Sequence[Any] = (),
    method: str = "trf",
) -> LeastSquaresResult:
    """The parameters for which the sum of the squares of residuals is least, near a guess.

    fun               `fun(x, *args)` -> the residuals, an array
    jac               `jac(x, *args)`, the Jacobian; for the names of SciPy's approximations by
                      automatic differentiation
    bounds            the least and the largest parameters
    ftol, xtol, gtol  the relative changes of the cost and of the parameters, and the gradient, at
                      which it ends
    method            changes nothing

    The derivative is by the implicit function theorem.
    """
    start = np.atleast_1d(doubles(x0))
    lower, upper = (_bound(b, start) for b in bounds)

    given = of_arrays(fun, tuple(args))

    def residuals(x: Any) -> Any:
        return given(x).reshape(-1)

    jacobian = _of_matrices(jac, tuple(args)) if callable(jac) else jacfwd(residuals)
    limits = tuple(t or 0.0 for t in (ftol, xtol, gtol))
    most = max_nfev or 100 * (start.size + 1)

    def stationary(x: Any) -> Any:
        """Zero at the minimum, with the derivative of the gradient."""
        slope = grad(lambda x: 0.5 * np.sum(residuals(x) ** 2))(x)
        at_bound = (x <= lower) | (x >= upper)
        return np.where(at_bound, x - lax.stop_gradient(x), slope)

    def solve(_: Function, guess: Any) -> tuple[Any, Any]:
        end = _marquardt(residuals, jacobian, guess, (lower, upper), limits, most)
        return end.x, (end.is_done, end.count)

    x, (success, count) = lax.custom_root(stationary, start, solve, solved_by_matrix, has_aux=True)
    value, matrix = residuals(x), jacobian(x)
    slope = matrix.T @ value
    free = np.where(_is_fixed(x, slope, lower, upper), 0.0, slope)
    cost = 0.5 * np.sum(value**2)
    largest = np.max(np.abs(free), initial=0.0)
    return LeastSquaresResult(x, cost, value, matrix, slope, largest, success, count)


def _of_matrices(jac: Function, args: tuple[Any, ...]) -> Function:
    given = of_arrays(jac, args)
    return lambda x: np.atleast_2d(given(x))


def _bound(bound: Any, start: Any) -> Any:
    return tnp.broadcast_to(as_array(bound), start.shape).astype(start.dtype)


@public
def leastsq(
    func: Function,
    x0: Array,
    args: Any = (),
    *,
    ftol: float = 1.49012e-8,
    xtol: float = 1.49012e-8,
    gtol: float = 0.0,
    maxfev: int = 0,
) -> tuple[Any, Any]:
    """The parameters for which the sum of the squares of residuals is least, near a guess, and 1
    where a tolerance was reached, 5 else.

    The arguments are those of `least_squares`.
    """
    limits: dict[str, Any] = {"ftol": ftol, "xtol": xtol, "gtol": gtol, "max_nfev": maxfev or None}
    found = least_squares(func, x0, args=further(args), **limits)
    return found.x, np.where(found.success, 1, 5)


class _State(NamedTuple):
    x: Any
    value: Any
    jacobian: Any
    scale: Any
    damping: Any
    growth: Any
    count: Any
    is_done: Any


def _is_fixed(x: Any, slope: Any, lower: Any, upper: Any) -> Any:
    return ((x <= lower) & (slope > 0)) | ((x >= upper) & (slope < 0))


def _marquardt(
    residuals: Function,
    jacobian: Function,
    guess: Any,
    bounds: tuple[Any, Any],
    limits: tuple[float, ...],
    most: int,
) -> _State:
    lower, upper = bounds
    ftol, xtol, gtol = limits

    def is_going(state: _State) -> Any:
        return ~state.is_done & (state.count < most)

    def step(state: _State) -> _State:
        slope = state.jacobian.T @ state.value
        is_fixed = _is_fixed(state.x, slope, lower, upper)
        matrix = np.where(is_fixed, 0.0, state.jacobian)
        p = _damped(matrix, state.value, np.sqrt(state.damping) * state.scale)
        new = np.clip(state.x + np.where(is_fixed, 0.0, p), lower, upper)
        p = new - state.x
        value = residuals(new)
        before, after = np.sum(state.value**2), np.sum(value**2)
        expected = before - np.sum((state.value + state.jacobian @ p) ** 2)
        gain = (before - after) / np.where(expected == 0, 1.0, expected)
        is_better = (after <= before) & np.isfinite(after)
        eased = np.maximum(1 / 3, 1 - (2 * gain - 1) ** 3)
        damping = state.damping * np.where(is_better, eased, state.growth)
        x, value = np.where(is_better, new, state.x), np.where(is_better, value, state.value)
        small_change = (np.abs(before - after) <= ftol * before) & (expected <= ftol * before)
        small_step = np.sum(p**2) <= (xtol * (xtol + np.sqrt(np.sum(x**2)))) ** 2
        flat = np.max(np.abs(np.where(is_fixed, 0.0, slope)), initial=0.0) <= gtol
        matrix = jacobian(x)
        return _State(
            *(x, value, matrix, _larger(state.scale, matrix), damping),
            np.where(is_better, 2.0, 2 * state.growth),
            state.count + 1,
            (small_change & is_better) | small_step | flat,
        )

    guess = np.clip(guess, lower, upper)
    matrix = jacobian(guess)
    scale = _larger(np.zeros_like(guess), matrix)
    scale = np.where(scale == 0, 1.0, scale)
    begin = np.full((), 1e-3, guess.dtype)
    start = _State(
        *(guess, residuals(guess), matrix, scale, begin, 2 * np.ones_like(begin)),
        *(np.array(1), np.array(False)),
    )
    end: _State = lax.while_loop(is_going, step, start)
    return end


def _larger(scale: Any, jacobian: Any) -> Any:
    return np.maximum(scale, np.sqrt(np.sum(jacobian**2, axis=0)))


def _damped(jacobian: Any, value: Any, weights: Any) -> Any:
    """The least squares of the linear model, with the parameters' weighted squares beside."""
    rows = np.concatenate([np.linalg.qr(jacobian, mode="r"), np.diag(weights)])
    r = np.linalg.qr(rows, mode="r")
    # J'J + W'W = R'R, and the right side is -J'f.
    half = solve_triangular(r, -(jacobian.T @ value), trans="T")
    return solve_triangular(r, half)


@public
def curve_fit(
    f: Function,
    xdata: Any,
    ydata: Array,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    bounds: Any = (-np.inf, np.inf),
    method: str | None = None,
    jac: Any = None,
    *,
    ftol: float = 1e-10,
    xtol: float = 1e-10,
    gtol: float = 1e-10,
    maxfev: int | None = None,
    max_nfev: int | None = None,
) -> tuple[Any, Any]:
    """The parameters of a function that fit data best by least squares, and their covariance.

    f               `f(xdata, *parameters)` -> an array like `ydata`
    p0              the guess; without it 1 for each of the parameters that f has, or what lies
                    within the bounds
    sigma           the deviations of the data, or their covariance matrix
    absolute_sigma  whether these are absolute, or only relative to one another
    bounds          the least and the largest parameters

    The derivative is by the implicit function theorem. Raises ValueError for a function of `*args`
    without a guess.
    """
    start = _guess(f, bounds) if p0 is None else np.atleast_1d(as_array(p0))
    x = as_array(xdata) if isinstance(xdata, list | tuple) else xdata
    y = as_array(ydata)
    weigh = _weights(sigma)

    def of_parameters(function: Function) -> Function:
        given = of_arrays(function)
        return lambda p: given(x, *(p[k] for k in range(start.size)))

    model = of_parameters(f)
    slopes = (lambda p: weigh(of_parameters(jac)(p))) if callable(jac) else "2-point"
    found = least_squares(
        lambda p: weigh(model(p) - y),
        *(start, slopes, bounds),
        ftol=ftol,
        xtol=xtol,
        gtol=gtol,
        max_nfev=maxfev or max_nfev,
    )
    return found.x, _covariance(found, y.size, absolute_sigma)


def _guess(f: Function, bounds: Any) -> Any:
    parameters = list(inspect.signature(f).parameters.values())[1:]
    if any(p.kind is p.VAR_POSITIONAL for p in parameters) or not parameters:
        raise located(ValueError, "Unable to determine number of fit parameters.")
    if has_tracer(bounds):
        raise unsupported("traced bounds= of curve_fit without a guess p0=")
    shape = len(parameters)
    lower, upper = (np.broadcast_to(np.asarray(b, np.float64), shape) for b in bounds)
    guess = np.ones(shape)
    below, above = np.isfinite(lower), np.isfinite(upper)
    guess[below & above] = 0.5 * (lower + upper)[below & above]
    guess[below & ~above] = lower[below & ~above] + 1
    guess[~below & above] = upper[~below & above] - 1
    return guess


def _weights(sigma: Any) -> Function:
    """What makes residuals of differences: (m, ...) -> (m, ...)."""
    if sigma is None:
        return lambda values: values
    deviations = as_array(sigma)
    if deviations.ndim < 2:
        return lambda values: (values.T / deviations).T
    factor = np.linalg.cholesky(deviations)
    return lambda values: np.linalg.solve(factor, values)


def _covariance(found: LeastSquaresResult, count: int, is_absolute: bool) -> Any:
    inverse = np.linalg.inv(found.jac.T @ found.jac)
    if is_absolute:
        return inverse
    free = count - found.x.size
    if free <= 0:
        return np.full_like(inverse, np.inf)
    return inverse * (2 * found.cost / free)
