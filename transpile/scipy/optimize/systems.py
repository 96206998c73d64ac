"""Systems of equations: M. Powell's dogleg steps in a trust region, with exact Jacobians (A hybrid
method for nonlinear equations, 1970; J. Nocedal and S. Wright, Numerical Optimization, 1999,
section 11.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from transpile import lax
from transpile import numpy as tnp
from transpile.functional.jacobians import jacfwd
from transpile.functional.vectorize import vmap
from transpile.numpy.core.promotion import unsupported
from transpile.scipy.given_functions import doubles, of_arrays
from transpile.scipy.special.operands import Array, public

__all__ = ["SystemResult", "fsolve", "root", "solved_by_matrix"]

Function = Callable[..., Any]


class SystemResult(NamedTuple):
    """The root that `root` found, and how.

    x        the root, in the shape of the guess
    success  whether it is as exact as was asked for
    fun      the values there
    nfev     how often the function was computed
    """

    x: Any
    success: Any
    fun: Any
    nfev: Any


@public
def root(
    fun: Function,
    x0: Array,
    args: Any = (),
    method: str = "hybr",
    jac: Function | bool | None = None,
    tol: float | None = None,
    *,
    options: Mapping[str, Any] | None = None,
) -> SystemResult:
    """A root of a function of a vector with as many values, near a guess.

    fun      `fun(x, *args)` -> an array or a list of numbers, as many as x
    method   "hybr" or "lm", which are the same here
    jac      the Jacobian, `jac(x, *args)` (n, n); by automatic differentiation without it
    tol      the relative size of the last step, 1.49e-8 by default; the option `xtol`
    options  also `maxfev`, the most evaluations, 100 (n + 1) by default

    The derivative is by the implicit function theorem. Raises UnsupportedError for other methods.
    """
    if method not in ("hybr", "lm"):
        raise unsupported(f"method={method!r} of scipy.optimize.root; hybr and lm can be traced")
    if jac is True:
        raise unsupported("jac=True, a function that gives its Jacobian beside")
    known = {"xtol": 1.49012e-8 if tol is None else tol, "maxfev": 0} | dict(options or {})
    if unknown := known.keys() - {"xtol", "maxfev"}:
        raise unsupported(f"the options {sorted(unknown)} of scipy.optimize.root")
    start = doubles(x0)

    def of_vectors(function: Function, shape: tuple[Any, ...]) -> Function:
        given = of_arrays(function, args)
        return lambda x: given(x.reshape(start.shape)).astype(start.dtype).reshape(shape)

    f = of_vectors(fun, (-1,))

    def solve(f: Function, guess: Any) -> Any:
        square = start.size, start.size
        jacobian = of_vectors(jac, square) if callable(jac) else jacfwd(f)
        return _dogleg(f, jacobian, guess, known["xtol"], known["maxfev"] or 100 * (start.size + 1))

    x, (fx, is_found, nfev) = lax.custom_root(
        f, start.reshape(-1), solve, solved_by_matrix, has_aux=True
    )
    return SystemResult(x.reshape(start.shape), is_found, fx, nfev)


@public
def fsolve(
    func: Function,
    x0: Array,
    args: Any = (),
    fprime: Function | None = None,
    *,
    xtol: float = 1.49012e-8,
    maxfev: int = 0,
) -> Any:
    """A root of a function of a vector with as many values, near a guess, as a vector.

    The arguments are those of `root`. Where none is found the last point is the result.
    """
    options = {"xtol": xtol, "maxfev": maxfev}
    return np.atleast_1d(root(func, x0, args, jac=fprime, options=options).x)


def solved_by_matrix(g: Function, y: Any) -> Any:
    """The solution x of g(x) = y for a linear function g of vectors."""
    return np.linalg.solve(vmap(g)(tnp.eye(y.shape[0], dtype=y.dtype)).T, y)


class _State(NamedTuple):
    x: Any
    value: Any
    jacobian: Any
    radius: Any
    count: Any
    is_found: Any


def _dogleg(
    f: Function, jacobian: Function, guess: Any, xtol: float, most: int
) -> tuple[Any, tuple[Any, Any, Any]]:
    def is_going(state: _State) -> Any:
        return ~state.is_found & (state.count < most)

    def step(state: _State) -> _State:
        p = _step(state)
        new = state.x + p
        value = f(new)
        before, after = _square(state.value), _square(value)
        expected = _square(state.value + state.jacobian @ p)
        ratio = (before - after) / np.where(before == expected, 1.0, before - expected)
        is_better = (after < before) & (ratio > 1e-4)
        length, size = np.sqrt(_square(p)), np.sqrt(_square(new))
        radius = np.where(ratio > 0.75, np.maximum(state.radius, 2 * length), state.radius)
        radius = np.where(is_better & (ratio > 0.25), radius, 0.25 * np.minimum(length, radius))
        is_found = (length <= xtol * size) | (after == 0) | (radius <= xtol * size)
        x, value = np.where(is_better, new, state.x), np.where(is_better, value, state.value)
        return _State(x, value, jacobian(x), radius, state.count + 1, is_found)

    size = np.sqrt(_square(guess))
    value = f(guess)
    radius = 100 * np.where(size == 0, 1.0, size)
    start = _State(*(guess, value, jacobian(guess), radius, np.array(1)), np.all(value == 0))
    end = lax.while_loop(is_going, step, start)
    return end.x, (end.value, end.is_found, end.count)


def _square(x: Any) -> Any:
    return np.sum(np.abs(x) ** 2)


def _step(state: _State) -> Any:
    """Newton's step where it is within the trust region, else the way to it along the steepest
    descent."""
    newton = -np.linalg.solve(state.jacobian, state.value)
    descent = state.jacobian.conj().T @ state.value
    bend = _square(state.jacobian @ descent)
    steepest = -descent * (_square(descent) / np.where(bend == 0, 1.0, bend))
    is_usable = np.all(np.isfinite(newton))
    newton = np.where(is_usable, newton, steepest)
    long, short = np.sqrt(_square(newton)), np.sqrt(_square(steepest))
    clipped = steepest * np.minimum(1.0, state.radius / np.where(short == 0, 1.0, short))
    way = newton - steepest
    a, b = _square(way), 2 * np.sum((steepest.conj() * way).real)
    c = np.minimum(short**2 - state.radius**2, 0.0)
    root = np.sqrt(np.maximum(b**2 - 4 * a * c, 0.0))
    part = np.where(a == 0, 0.0, (root - b) / np.where(a == 0, 1.0, 2 * a))
    between = np.where(short >= state.radius, clipped, steepest + part * way)
    return np.where(long <= state.radius, newton, between)
