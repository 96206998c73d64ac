"""Functions of SciPy that take functions: whether those of a user close over traced values where
all arguments are known, and `odeint` with SciPy's arguments.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from transpile.errors import TracerError, TranspileError
from transpile.functional.flatten_fun import flatten_function
from transpile.scipy.given_functions import doubles, further, of_arrays
from transpile.util.lazy.imports import imported

__all__ = ["SOLVERS", "closes_over_traced", "odeint"]

Arguments = Mapping[str, Any]

_TOLERANCE = 1.49012e-8
# What has its further arguments in a list, too.
_WITH_SEQUENCES = ("least_squares", "solve_ivp")


def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    args: Any = (),
    *,
    rtol: float | None = None,
    atol: float | None = None,
    mxstep: int = 0,
    hmax: float = 0.0,
    tfirst: bool = False,
) -> Any:
    """`scipy.integrate.odeint`: the solution at increasing or decreasing times, (times, size)."""
    start, times = np.atleast_1d(doubles(y0)), doubles(t)
    direction = np.where(times[-1] < times[0], -1.0, 1.0)
    given = of_arrays(func, args)

    def slope(y: Any, time: Any) -> Any:
        point = (direction * time, y) if tfirst else (y, direction * time)
        return direction * given(*point).reshape(start.shape)

    limits = {"rtol": rtol or _TOLERANCE, "atol": atol or _TOLERANCE}
    limits |= {"mxstep": mxstep or np.inf, "hmax": hmax or np.inf}
    return imported("transpile.scipy.integrate").odeint(slope, start, direction * times, **limits)


def closes_over_traced(name: str, given: Arguments) -> bool:
    """Whether the function that a solver of SciPy's is given closes over traced values, by the
    solver's arguments, which are known."""
    key, point = SOLVERS[name]
    try:
        flat, _ = flatten_function(given[key], (*point(given), *_more(name, given)))
    except (TranspileError, TracerError):  # it needs values, so that SciPy itself has to call it
        return False
    return bool(flat.closed.captured)


def _more(name: str, given: Arguments) -> tuple[Any, ...]:
    args = given.get("args", ())
    return tuple(args or ()) if name in _WITH_SEQUENCES else further(args)


def _within(given: Arguments) -> tuple[Any, ...]:
    """A point of the range of an integral, infinite ones among them."""
    a, b = (float(np.clip(given[key], -1e8, 1e8)) for key in "ab")
    return ((a + b) / 2,)


def _inner(given: Arguments) -> tuple[Any, ...]:
    (x,) = _within(given)
    ends = [given[key](x) if callable(given[key]) else given[key] for key in ("gfun", "hfun")]
    return (*_within({"a": ends[0], "b": ends[1]}), x)


def _vector(key: str) -> Callable[[Arguments], tuple[Any, ...]]:
    return lambda given: (np.atleast_1d(np.asarray(given[key], np.float64)),)


def _number(given: Arguments) -> tuple[Any, ...]:
    start = given["x0"] if given["bracket"] is None else given["bracket"][0]
    return (start,)


def _parameters(given: Arguments) -> tuple[Any, ...]:
    guess = given["p0"]
    if guess is None:
        guess = np.ones(len(inspect.signature(given["f"]).parameters) - 1)
    return (given["xdata"], *np.atleast_1d(guess))


def _first_time(given: Arguments) -> tuple[Any, ...]:
    point = (np.atleast_1d(given["y0"]), np.asarray(given["t"])[0])
    return point[::-1] if given["tfirst"] else point


# By function: the argument that is a function, and what it is called with.
SOLVERS: Mapping[str, tuple[str, Callable[[Arguments], tuple[Any, ...]]]] = {
    **dict.fromkeys(
        ("bisect", "brenth", "brentq", "ridder", "toms748"), ("f", lambda given: (given["a"],))
    ),
    "curve_fit": ("f", _parameters),
    "dblquad": ("func", _inner),
    "fsolve": ("func", _vector("x0")),
    "least_squares": ("fun", _vector("x0")),
    "leastsq": ("func", _vector("x0")),
    "minimize": ("fun", _vector("x0")),
    "newton": ("func", lambda given: (given["x0"],)),
    "odeint": ("func", _first_time),
    "quad": ("func", _within),
    "quad_vec": ("f", _within),
    "root": ("fun", _vector("x0")),
    "root_scalar": ("f", _number),
    "solve_ivp": (
        "fun",
        lambda given: (given["t_span"][0], np.atleast_1d(np.asarray(given["y0"]))),
    ),
}
