"""`minimize`, as in `jax.scipy.optimize`: quasi-Newton methods as loops, which also run inside
other traced functions, and in batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from transpile import lax
from transpile import numpy as tnp
from transpile.functional.gradients import value_and_grad
from transpile.numpy.core.promotion import error as located
from transpile.numpy.subscripts.at import at
from transpile.scipy.optimize.line_search import line_search
from transpile.scipy.special.operands import Array, promoted, public

Objective = Callable[[Any], Any]

_LIMITED = "l-bfgs-experimental-do-not-rely-on-this"


class OptimizeResults(NamedTuple):
    """The minimum that `minimize` found, and how.

    x, fun, jac  the last point, the value and the gradient there
    success      whether the gradient is small enough
    status       0; 1 for too many iterations; 3 or 5 for a line search without result; with limited
                 memory 1 to 3 for too many iterations, values or gradients, 4 for a value that
                 hardly changes, 5 for a line search without result
    hess_inv     the approximate inverse of the Hessian; None with limited memory
    nfev, njev   how often the function and its gradient were computed
    nit          the number of iterations
    """

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


@public
def minimize(
    fun: Callable[..., Any],
    x0: Array,
    args: tuple[Any, ...] = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """A local minimum of a function of a vector, from a first guess, by its gradient.

    fun      `fun(x, *args)` -> a real number
    method   "BFGS", or "l-bfgs-experimental-do-not-rely-on-this", with limited memory
    tol      the largest element of the gradient at the minimum, the option `gtol`
    options  for BFGS: `maxiter`, 200 for each element by default, `norm`, the order of the norm of
             the gradient, `gtol`, 1e-5, and `line_search_maxiter`, 10. With limited memory also
             `maxcor`, the number of steps that are remembered, 10, `ftol`, the least decrease of
             the value, `maxfun`, `maxgrad`, and `maxls` for the line search, 20

    J. Nocedal and S. Wright, Numerical Optimization, 1999, algorithms 8.1 and 9.1. Raises TypeError
    for `args` that are no tuple and unknown options, ValueError for another method.
    """
    if not isinstance(args, tuple):
        raise located(
            TypeError, f"args argument to scipy.optimize.minimize must be a tuple, got {args}"
        )
    settings = dict(options or {})
    if tol is not None:
        settings.setdefault("gtol", tol)
    (start,) = promoted("minimize", x0)
    objective = (lambda x: fun(x, *args)) if args else fun
    if method.lower() == "bfgs":
        return _bfgs(objective, start, **settings)
    if method.lower() == _LIMITED:
        return _limited_memory(objective, start, **settings)
    raise located(ValueError, f"Method {method} not recognized")


def _norm(gradient: Any, order: Any) -> Any:
    if order == np.inf:  # as for an empty vector
        return np.max(np.abs(gradient), initial=0)
    return np.linalg.norm(gradient, ord=order)


class _Dense(NamedTuple):
    x: Any
    value: Any
    gradient: Any
    inverse: Any
    value_before: Any
    converged: Any
    failed: Any
    status: Any
    evaluations: Any
    iterations: Any


def _bfgs(
    f: Objective,
    x0: Any,
    maxiter: int | None = None,
    norm: Any = np.inf,
    gtol: float = 1e-5,
    line_search_maxiter: int = 10,
) -> OptimizeResults:
    """With a dense approximation of the inverse Hessian."""
    most = 200 * x0.size if maxiter is None else maxiter

    def going(state: _Dense) -> Any:
        return ~state.converged & ~state.failed & (state.iterations < most)

    def iteration(state: _Dense) -> _Dense:
        direction = -(state.inverse @ state.gradient)
        found = line_search(
            f,
            state.x,
            direction,
            state.value,
            state.gradient,
            state.value_before,
            line_search_maxiter,
        )
        step = found.step.astype(direction.dtype) * direction
        return _Dense(
            state.x + step,
            found.value,
            found.gradient,
            _updated(state.inverse, step, found.gradient - state.gradient),
            state.value,
            _norm(found.gradient, norm) < gtol,
            found.failed,
            found.status,
            state.evaluations + found.evaluations,
            state.iterations + 1,
        )

    last = lax.while_loop(going, iteration, _at_first(f, x0, norm, gtol))
    failure = np.where(last.failed, 2 + last.status, np.where(last.iterations >= most, 1, -1))
    status = np.where(last.converged, 0, failure)
    return _results(last, status, last.inverse)


def _at_first(f: Objective, x0: Any, norm: Any, gtol: float) -> _Dense:
    """The identity in the place of the inverse Hessian; the value before is such that the first
    step to be tried has length 1, or is the whole of a shorter direction."""
    value, gradient = value_and_grad(f)(x0)
    return _Dense(
        x=x0,
        value=value,
        gradient=gradient,
        inverse=tnp.eye(x0.shape[0], dtype=x0.dtype),
        value_before=value + np.linalg.norm(gradient) / 2,
        converged=_norm(gradient, norm) < gtol,
        failed=np.zeros((), bool),
        status=0,
        evaluations=1,
        iterations=0,
    )


def _results(last: Any, status: Any, inverse: Any) -> OptimizeResults:
    return OptimizeResults(
        x=last.x,
        success=last.converged,
        status=status,
        fun=last.value,
        jac=last.gradient,
        hess_inv=inverse,
        nfev=last.evaluations,
        njev=last.evaluations,
        nit=last.iterations,
    )


def _updated(inverse: Any, step: Any, change: Any) -> Any:
    """The inverse Hessian after a step, from the change of the gradient: a correction of rank 2,
    without products of matrices."""
    curvature = np.dot(change, step)
    share = 1 / curvature
    image = inverse @ change
    both = step[:, None] * image[None, :]
    scale = share * (1 + share * np.dot(change, image))
    update = inverse - share * (both + both.T) + scale * step[:, None] * step[None, :]
    return np.where(np.isfinite(share), update, inverse)


class _Sparse(NamedTuple):
    x: Any
    value: Any
    gradient: Any
    steps: Any  # the last ones, in rows, the latest last
    changes: Any
    shares: Any
    scale: Any
    converged: Any
    status: Any
    evaluations: Any
    iterations: Any


def _limited_memory(
    f: Objective,
    x0: Any,
    maxiter: float | None = None,
    norm: Any = np.inf,
    maxcor: int = 10,
    ftol: float = 2.220446049250313e-09,
    gtol: float = 1e-5,
    maxfun: float | None = None,
    maxgrad: float | None = None,
    maxls: int = 20,
) -> OptimizeResults:
    """With the last steps in the place of the inverse Hessian."""
    if maxiter is None and maxfun is None and maxgrad is None:
        maxiter = 200 * x0.size
    limits = [np.inf if n is None else n for n in (maxiter, maxfun, maxgrad)]

    def iteration(state: _Sparse) -> _Sparse:
        direction = -_applied(state)
        found = line_search(f, state.x, direction, state.value, state.gradient, None, maxls)
        step = found.step.astype(direction.dtype) * direction
        change = found.gradient - state.gradient
        curvature = np.dot(change, step)
        converged = _norm(found.gradient, norm) < gtol
        evaluations = state.evaluations + found.evaluations
        counts = state.iterations + 1, evaluations, evaluations
        status = np.where(state.value - found.value < ftol, 4, 0)
        for code in (3, 2, 1):
            status = np.where(counts[code - 1] >= limits[code - 1], code, status)
        status = np.where(converged, 0, np.where(found.failed, 5, status))
        return _Sparse(
            state.x + step,
            found.value,
            found.gradient,
            _pushed(state.steps, step),
            _pushed(state.changes, change),
            _pushed(state.shares, 1 / curvature),
            curvature / np.dot(change, change),
            converged,
            status,
            evaluations,
            state.iterations + 1,
        )

    value, gradient = value_and_grad(f)(x0)
    rows, one = np.zeros((maxcor, x0.shape[0]), x0.dtype), np.ones((), x0.dtype)
    converged = _norm(gradient, norm) < gtol
    first = _Sparse(x0, value, gradient, rows, rows, 0 * rows[:, 0], one, converged, 0, 1, 0)
    last = lax.while_loop(lambda s: ~s.converged & (s.status == 0), iteration, first)
    return _results(last, last.status, None)


def _pushed(rows: Any, latest: Any) -> Any:
    """The rows without the first, and the latest behind them."""
    return at(np.roll(rows, -1, axis=0))[-1].set(latest)


def _applied(state: _Sparse) -> Any:
    """The approximate inverse Hessian times the gradient, by two passes over the last steps; rows
    that are still zeros change nothing."""
    count = state.shares.shape[0]

    def backwards(i: Any, carry: Any) -> Any:
        q, weights = carry
        k = count - 1 - i
        weight = state.shares[k] * np.dot(state.steps[k], q)
        return q - weight * state.changes[k], at(weights)[k].set(weight)

    def forwards(k: Any, q: Any) -> Any:
        other = state.shares[k] * np.dot(state.changes[k], q)
        return q + (weights[k] - other) * state.steps[k]

    first = state.gradient, np.zeros_like(state.shares)
    q, weights = lax.fori_loop(0, count, backwards, first)
    return lax.fori_loop(0, count, forwards, state.scale * q)
