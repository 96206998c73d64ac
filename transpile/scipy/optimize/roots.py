"""Roots of functions of one number.

In a bracket: T. Chandrupatla, A new hybrid quadratic/bisection algorithm for finding the zero of a
nonlinear function without using derivatives, Advances in Engineering Software 28, 1997. From a
guess: Newton's, Halley's and the secant method. The derivative is by the implicit function theorem.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from transpile import lax
from transpile import numpy as tnp
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.promotion import unsupported
from transpile.scipy.given_functions import doubles, of_arrays
from transpile.scipy.special.operands import Array, public

__all__ = [
    "RootResults",
    "bisect",
    "brenth",
    "brentq",
    "newton",
    "ridder",
    "root_scalar",
    "toms748",
]

Function = Callable[..., Any]

_EPS = float(np.finfo(np.float64).eps)
_XTOL, _RTOL = 2e-12, 4 * _EPS


class RootResults(NamedTuple):
    """The root that a solver found, and how.

    root            the root
    iterations      the number of iterations
    function_calls  how often the function was computed
    converged       whether the root is as exact as was asked for
    """

    root: Any
    iterations: Any
    function_calls: Any
    converged: Any


def _bracketed(name: str) -> Function:
    """A function with SciPy's signature of the solvers that take a bracket."""

    def solver(
        f: Function,
        a: Array,
        b: Array,
        args: Any = (),
        xtol: float = _XTOL,
        rtol: float = _RTOL,
        maxiter: int = 100,
        full_output: bool = False,
        disp: bool = True,
    ) -> Any:
        result = _in_bracket(_with(f, args), a, b, xtol, rtol, maxiter)
        return _returned(result, full_output, disp)

    solver.__name__ = solver.__qualname__ = name
    solver.__doc__ = f"""A root of a function of a number in [a, b], where its sign changes.

    f            `f(x, *args)` -> a number
    a, b         the ends
    xtol, rtol   how far the result may be from the root, absolute and relative
    maxiter      the most iterations
    full_output  whether a pair is returned, the root and `RootResults`
    disp         whether the root is NaN where none was found: where f has one sign at both ends, or
                 after `maxiter` iterations

    SciPy's `{name}` by Chandrupatla's method. The derivative is by the implicit function theorem.
    """
    return public(solver)


bisect = _bracketed("bisect")
brenth = _bracketed("brenth")
brentq = _bracketed("brentq")
ridder = _bracketed("ridder")
toms748 = _bracketed("toms748")


def _with(f: Function, args: Any) -> Function:
    """The function of a number alone, whose results are numbers."""
    given = of_arrays(f, args)

    def of_number(x: Any) -> Any:
        value = given(x)
        return value.reshape(np.shape(x)) if value.size == np.size(x) else value

    return of_number


def _returned(result: RootResults, full_output: bool, disp: bool) -> Any:
    """What SciPy's functions return: the root, perhaps with `RootResults`."""
    root = np.where(result.converged, result.root, np.nan) if disp else result.root
    return (root, result._replace(root=root)) if full_output else root


def _implicit(f: Function, guess: Any, solve: Function) -> tuple[Any, Any]:
    """The root that `solve` finds, and what it says beside; elementwise."""
    found: tuple[Any, Any] = lax.custom_root(
        f, guess, solve, lambda g, y: y / g(np.ones_like(y)), has_aux=True
    )
    return found


def _in_bracket(f: Function, a: Any, b: Any, xtol: float, rtol: float, maxiter: int) -> RootResults:
    first, last = doubles(a), doubles(b)

    def solve(f: Function, guess: Any) -> tuple[Any, Any]:
        x, count, is_found = _chandrupatla(f, guess, last, xtol, rtol, maxiter)
        return x, (count, is_found)

    root, (count, is_found) = _implicit(f, first, solve)
    return RootResults(root, count, count + 2, is_found)


def _chandrupatla(
    f: Function, a: Any, b: Any, xtol: float, rtol: float, maxiter: int
) -> tuple[Any, Any, Any]:
    """The end of the bracket whose value is the smaller one, the number of iterations, and whether
    the bracket has become small enough."""

    def tolerance(a: Any, b: Any, fa: Any, fb: Any) -> Any:
        best = np.where(np.abs(fa) < np.abs(fb), a, b)
        return xtol / 2 + rtol / 2 * np.abs(best)

    def is_done(a: Any, b: Any, fa: Any, fb: Any) -> Any:
        return (np.abs(b - a) <= 2 * tolerance(a, b, fa, fb)) | (fa == 0) | (fb == 0)

    def is_going(state: Any) -> Any:
        a, b, fa, fb, _, count = state
        return ~is_done(a, b, fa, fb) & (count < maxiter) & (np.sign(fa) * np.sign(fb) < 0)

    def narrowed(state: Any) -> Any:
        a, b, fa, fb, part, count = state
        x = a + part * (b - a)
        fx = f(x)
        is_same = np.sign(fx) == np.sign(fa)
        c, fc = np.where(is_same, a, b), np.where(is_same, fa, fb)
        b, fb = np.where(is_same, b, a), np.where(is_same, fb, fa)
        a, fa = x, fx
        least = tolerance(a, b, fa, fb) / np.abs(np.where(b == a, 1.0, b - a))
        least = np.minimum(0.5, least)
        part = np.clip(_interpolated(a, b, c, fa, fb, fc), least, 1 - least)
        return a, b, fa, fb, part, count + 1

    half = np.full_like(a, 0.5)
    start = (a, b, f(a), f(b), half, tnp.zeros(np.shape(a), np.int64))
    a, b, fa, fb, _, count = lax.while_loop(is_going, narrowed, start)
    is_found = is_done(a, b, fa, fb) & (np.sign(fa) * np.sign(fb) <= 0)
    return np.where(np.abs(fa) < np.abs(fb), a, b), count, is_found


def _interpolated(a: Any, b: Any, c: Any, fa: Any, fb: Any, fc: Any) -> Any:
    """The part of [a, b] where the inverse parabola through three points is 0, or a half where it
    may leave the bracket."""
    near = (a - b) / np.where(c == b, 1.0, c - b)
    ratio = (fa - fb) / np.where(fc == fb, 1.0, fc - fb)
    is_safe = (ratio**2 < near) & ((1 - ratio) ** 2 < 1 - near) & (c != b) & (fc != fb)
    is_safe &= (fc != fa) & (fb != fa)
    ab, ac, bc = (np.where(is_safe, difference, 1.0) for difference in (fb - fa, fc - fa, fc - fb))
    width = np.where(is_safe, b - a, 1.0)
    return np.where(is_safe, fa / ab * fc / -bc + (c - a) / width * fa / ac * fb / bc, 0.5)


@public
def newton(
    func: Function,
    x0: Array,
    fprime: Function | None = None,
    args: Any = (),
    tol: float = 1.48e-8,
    maxiter: int = 50,
    fprime2: Function | None = None,
    x1: Array | None = None,
    rtol: float = 0.0,
    full_output: bool = False,
    disp: bool = True,
) -> Any:
    """A root of a function near a guess, by Newton's method, by Halley's with `fprime2`, and by the
    secant method without `fprime`. An array of guesses has a root for each element.

    func, fprime, fprime2  `func(x, *args)` -> the value; its first and its second derivative
    x0, x1                 the guess, and a second one for the secant method
    tol, rtol              the last change of the root, absolute and relative
    maxiter                the most iterations
    full_output            whether a pair is returned, the root and `RootResults`
    disp                   whether roots that were not found are NaN

    The derivative is by the implicit function theorem.
    """
    result = _near(
        _with(func, args),
        x0,
        x1,
        _with_or_none(fprime, args),
        _with_or_none(fprime2, args),
        tol,
        rtol,
        maxiter,
    )
    return _returned(result, full_output, disp)


def _with_or_none(f: Any, args: Any) -> Function | None:
    return None if f is None else _with(f, args)


def _near(
    f: Function,
    x0: Any,
    x1: Any,
    fprime: Function | None,
    fprime2: Function | None,
    tol: float,
    rtol: float,
    maxiter: int,
) -> RootResults:
    start = doubles(x0)
    if x1 is None:
        second = start * (1 + 1e-4) + np.where(start.real >= 0, 1e-4, -1e-4)
    else:
        second = doubles(x1).astype(start.dtype)

    def solve(f: Function, guess: Any) -> tuple[Any, Any]:
        if fprime is None:
            root, count, is_found = _secant(f, guess, second, tol, rtol, maxiter)
        else:
            root, count, is_found = _by_slope(f, fprime, fprime2, guess, tol, rtol, maxiter)
        return root, (count, is_found)

    root, (count, is_found) = _implicit(f, start, solve)
    calls = 1 + (fprime is not None) + (fprime2 is not None)
    return RootResults(root, count, count * calls + (fprime is None), is_found)


def _iterated(change: Function, start: Any, tol: float, rtol: float, maxiter: int) -> Any:
    """Steps of a method until each element's root hardly changes. `change` takes a state whose
    first part is the root, and says the next state and where the method stands still."""

    def is_going(counted: Any) -> Any:
        _, is_found, _, count = counted
        return np.any(~is_found) & (count < maxiter)

    def one_more(counted: Any) -> Any:
        state, is_found, counts, count = counted
        new, is_still = change(state)
        is_close = np.abs(new[0] - state[0]) <= tol + rtol * np.abs(state[0])
        kept = tuple(np.where(is_found, a, b) for a, b in zip(state, new, strict=True))
        return kept, is_found | is_close | is_still, counts + ~is_found, count + 1

    shape = np.shape(start[0])
    counted = (start, tnp.zeros(shape, np.bool_), tnp.zeros(shape, np.int64), np.array(0))
    state, is_found, counts, _ = lax.while_loop(is_going, one_more, counted)
    return state[0], counts, is_found & np.isfinite(state[0])


def _secant(f: Function, x0: Any, x1: Any, tol: float, rtol: float, maxiter: int) -> Any:
    def change(state: Any) -> Any:
        x, before, fx, f_before = state
        is_flat = fx == f_before
        slope = np.where(is_flat, 1.0, fx - f_before)
        new = np.where(is_flat, (x + before) / 2, x - fx * (x - before) / slope)
        return (new, x, f(new), fx), is_flat

    f0, f1 = f(x0), f(x1)
    is_first_better = np.abs(f0) < np.abs(f1)
    x, before = np.where(is_first_better, x0, x1), np.where(is_first_better, x1, x0)
    values = np.where(is_first_better, f0, f1), np.where(is_first_better, f1, f0)
    return _iterated(change, (x, before, *values), tol, rtol, maxiter)


def _by_slope(
    f: Function,
    fprime: Function,
    fprime2: Function | None,
    x0: Any,
    tol: float,
    rtol: float,
    maxiter: int,
) -> Any:
    def change(state: Any) -> Any:
        (x,) = state
        value, slope = f(x), fprime(x)
        is_root = value == 0
        step = np.where(is_root, 0.0, value) / np.where(is_root, 1.0, slope)
        if fprime2 is not None:
            bend = step * fprime2(x) / (2 * np.where(is_root, 1.0, slope))
            step = np.where(np.abs(bend) < 1, step / np.where(np.abs(bend) < 1, 1 - bend, 1), step)
        return (x - step,), is_root

    return _iterated(change, (x0,), tol, rtol, maxiter)


@public
def root_scalar(
    f: Function,
    args: Any = (),
    method: str | None = None,
    bracket: Sequence[Any] | None = None,
    fprime: Function | bool | None = None,
    fprime2: Function | None = None,
    x0: Array | None = None,
    x1: Array | None = None,
    xtol: float | None = None,
    rtol: float | None = None,
    maxiter: int | None = None,
) -> RootResults:
    """A root of a function of a number, in a bracket or near a guess.

    method   one of SciPy's; without it the bracket is used if there is one, else the guess
    bracket  a pair, where the sign of f changes

    The other arguments are those of `brentq` and `newton`. Raises ValueError without a bracket and
    without a guess, and for other methods.
    """
    known = ("bisect", "brentq", "brenth", "ridder", "toms748")
    chosen = (method or ("brentq" if bracket is not None else "newton")).lower()
    function = _with(f, args)
    if chosen in known and bracket is not None:
        tolerances = _XTOL if xtol is None else xtol, _RTOL if rtol is None else rtol
        first, last = bracket
        return _in_bracket(function, first, last, *tolerances, maxiter or 100)
    if chosen not in ("newton", "secant", "halley"):
        raise located(ValueError, f"root_scalar needs a bracket for the method {chosen}")
    if x0 is None:
        raise located(ValueError, "root_scalar needs a bracket, or a guess x0")
    if isinstance(fprime, bool) and fprime:
        raise unsupported("fprime=True, a function that gives its derivative beside")
    slope, bend = (_with_or_none(p or None, args) for p in (fprime, fprime2))
    if chosen == "secant":
        slope = bend = None
    return _near(function, x0, x1, slope, bend, xtol or 1.48e-8, rtol or 0.0, maxiter or 50)
