"""Integrals of functions by adaptive quadrature.

A rule of 21 nodes (R. Piessens et al., QUADPACK, 1983) on halves of the interval with the largest
error. The variable is exchanged first, so that square roots and logarithms at the ends become
smooth and infinite ranges finite (L. Shampine, Vectorized adaptive quadrature in MATLAB, Journal of
Computational and Applied Mathematics 211, 2008).

The derivative is the integral of the integrand's derivative on the intervals that were found, in
both modes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from transpile import lax
from transpile import numpy as tnp
from transpile.functional.custom import closure_convert, custom_jvp
from transpile.functional.differentiate import jvp
from transpile.functional.vectorize import vmap
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.promotion import has_tracer
from transpile.numpy.subscripts.at import at
from transpile.scipy.given_functions import of_arrays
from transpile.scipy.special.operands import Array, public
from transpile.trace.bytecode.call_resolution import resolved
from transpile.util.frozen_records import dataclass

__all__ = ["dblquad", "quad", "quad_vec"]

Function = Callable[..., Any]

# The nodes of Kronrod's rule that are not negative, and the weights there; every second node, from
# the second on, is one of Gauss's rule of ten.
_NODES = (
    *(0.0, 0.14887433898163122, 0.2943928627014602, 0.4333953941292472, 0.5627571346686047),
    *(0.6794095682990244, 0.7808177265864169, 0.8650633666889845, 0.9301574913557082),
    *(0.9739065285171717, 0.9956571630258081),
)
_KRONROD = (
    *(0.1494455540029169, 0.14773910490133849, 0.14277593857706009, 0.13470921731147334),
    *(0.12349197626206584, 0.10938715880229764, 0.0931254545836976, 0.07503967481091996),
    *(0.054755896574351995, 0.032558162307964725, 0.011694638867371874),
)
_GAUSS = (
    *(0.0, 0.29552422471475287, 0.0, 0.26926671930999635, 0.0, 0.21908636251598204),
    *(0.0, 0.1494513491505806, 0.0, 0.06667134430868814, 0.0),
)


def _both_sides(half: Sequence[float]) -> Any:
    return np.array([*half[:0:-1], *half])


NODES = np.array([*(-x for x in _NODES[:0:-1]), *_NODES])
KRONROD, GAUSS = _both_sides(_KRONROD), _both_sides(_GAUSS)


@public
def quad(
    func: Function,
    a: Array,
    b: Array,
    args: Any = (),
    *,
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
    limit: int = 50,
    points: Sequence[float] | None = None,
) -> tuple[Any, Any]:
    """The integral of a function of a number over [a, b], and an estimate of its error.

    func            `func(x, *args)` -> a real or complex number
    a, b            the ends; infinite ones have to be known while the function is traced
    epsabs, epsrel  the error that is allowed: the larger of an absolute and a relative one
    limit           the most intervals
    points          numbers inside of a finite range where the integrand is not smooth

    With more intervals than `limit` the error is as it is estimated. Has derivatives with respect
    to the ends, to `args` and to what `func` closes over.
    """
    result: tuple[Any, Any] = quad_vec(
        of_arrays(func, args), a, b, epsabs, epsrel, limit=limit, points=points
    )
    return result


@public
def dblquad(
    func: Function,
    a: Array,
    b: Array,
    gfun: Any,
    hfun: Any,
    args: Any = (),
    *,
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
) -> tuple[Any, Any]:
    """The integral of `func(y, x, *args)` for x in [a, b] and y between two functions of x, or two
    numbers; and an estimate of the error of the outer integral."""

    def inner(x: Any) -> Any:
        low, high = (resolved(end)(x) if callable(end) else end for end in (gfun, hfun))
        return quad(func, low, high, (x, *args), epsabs=epsabs, epsrel=epsrel)[0]

    return quad(inner, a, b, epsabs=epsabs, epsrel=epsrel)


@public
def quad_vec(
    f: Function,
    a: Array,
    b: Array,
    epsabs: float = 1e-200,
    epsrel: float = 1e-8,
    *,
    limit: int = 10000,
    points: Sequence[float] | None = None,
) -> tuple[Any, Any]:
    """The integral of a function whose values are arrays over [a, b], and an estimate of the
    largest error of an element.

    The arguments are those of `quad`. `limit` is at most 1000 here.
    """
    if points is not None and len(points):
        ends = [a, *sorted(points), b]
        parts = [quad_vec(f, *pair, epsabs, epsrel, limit=limit) for pair in pairwise(ends)]
        return sum(p[0] for p in parts), sum(p[1] for p in parts)
    integrand, first, last = _on_finite_range(of_arrays(f), a, b)
    converted, captured = closure_convert(integrand, np.zeros(()))
    settings = _Settings(converted, first, last, epsabs, epsrel, min(limit, 1000))
    value, error, _ = _integral(settings, tuple(captured))
    return value, error


def _on_finite_range(f: Function, a: Any, b: Any) -> tuple[Function, float, float]:
    """The integrand as a function of t, and the range of t."""
    ends = [_known_infinity(a), _known_infinity(b)]
    if ends[0] == ends[1] != 0:
        return lambda t: f(t) * 0.0, 0.0, 1.0
    if ends[0] > 0 or ends[1] < 0:
        reverse, first, last = _on_finite_range(f, b, a)
        return lambda t: -reverse(t), first, last
    if all(ends):
        return _weighted(f, _whole_line), -1.0, 1.0
    if ends[1]:
        return _weighted(f, lambda t: _half_line(a, t)), 0.0, 1.0
    if ends[0]:
        return _weighted(lambda x: f(-x), lambda t: _half_line(-b, t)), 0.0, 1.0
    return _weighted(f, lambda t: _smooth_ends(a, b, t)), -1.0, 1.0


def _known_infinity(end: Any) -> int:
    """1 or -1 for an infinite end, 0 for a finite one and for a traced one."""
    if has_tracer(end):
        return 0
    if np.isnan(end):
        raise located(ValueError, "an end of the range of quad is NaN")
    return int(np.sign(end)) if np.isinf(end) else 0


def _weighted(f: Function, exchange: Function) -> Function:
    """f(x(t)) dx/dt; nothing where t is so close to an end that x is the end itself."""

    def integrand(t: Any) -> Any:
        x, slope, is_inside = exchange(t)
        value = f(x)
        return np.where(is_inside, value * slope, np.zeros_like(value) * 0.0)

    return integrand


def _smooth_ends(a: Any, b: Any, t: Any) -> tuple[Any, Any, Any]:
    quarter = (b - a) / 4
    near_a = a + quarter * (1 + t) ** 2 * (2 - t)
    near_b = b - quarter * (1 - t) ** 2 * (2 + t)
    x = np.where(t < 0, near_a, near_b)
    return x, 3 * quarter * (1 - t) * (1 + t), (x != a) & (x != b)


def _half_line(a: Any, t: Any) -> tuple[Any, Any, Any]:
    rest = np.where(t < 1, 1 - t, 1.0)
    ratio = t / rest
    x = a + ratio**2
    return x, 2 * ratio / rest**2, (x != a) & (t < 1)


def _whole_line(t: Any) -> tuple[Any, Any, Any]:
    is_inside = np.abs(t) < 1
    rest = np.where(is_inside, (1 - t) * (1 + t), 1.0)
    return t / rest, (1 + t**2) / rest**2, is_inside


@dataclass(frozen=True, eq=False)
class _Settings:
    """The integrand as a function of (t, *captured), its range, and what is allowed."""

    integrand: Function
    first: float
    last: float
    epsabs: float
    epsrel: float
    limit: int


@partial(custom_jvp, nondiff_argnums=(0,))
def _integral(s: _Settings, captured: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    """The integral, its error, and the intervals (limit, 2), of which those that were not needed
    are empty."""

    def rule(intervals: Any) -> tuple[Any, Any]:
        return _by_rule(lambda t: s.integrand(t, *captured), intervals)

    def is_going(state: Any) -> Any:
        _, values, errors, count = state
        allowed = np.maximum(s.epsabs, s.epsrel * np.max(np.abs(np.sum(values, axis=0))))
        return (np.sum(errors) > allowed) & (count < s.limit)

    def halved(state: Any) -> Any:
        intervals, values, errors, count = state
        worst = np.argmax(errors)
        left, right = intervals[worst, 0], intervals[worst, 1]
        middle = left + (right - left) / 2
        halves = np.stack([np.stack([left, middle]), np.stack([middle, right])])
        new_values, new_errors = rule(halves)
        places = np.stack([worst, count])
        return (
            at(intervals)[places].set(halves),
            at(values)[places].set(new_values),
            at(errors)[places].set(new_errors),
            count + 1,
        )

    whole = np.array([[s.first, s.last]])
    value, error = rule(whole)
    intervals = np.concatenate([whole, tnp.full((s.limit - 1, 2), s.first)])
    values = np.concatenate([value, tnp.zeros((s.limit - 1, *value.shape[1:]), value.dtype)])
    errors = np.concatenate([error, tnp.zeros(s.limit - 1, error.dtype)])
    intervals, values, errors, _ = lax.while_loop(
        is_going, halved, (intervals, values, errors, np.array(1))
    )
    return np.sum(values, axis=0), np.sum(errors), intervals


def _by_rule(f: Function, intervals: Any) -> tuple[Any, Any]:
    """The integrals over intervals (n, 2) of values of any shape, (n, *shape), and their largest
    errors as QUADPACK estimates them, (n,)."""
    half = (intervals[:, 1] - intervals[:, 0]) / 2
    t = intervals[:, :1] + half[:, None] * (1 + NODES)
    at_nodes = vmap(vmap(f))(t)
    kronrod, gauss = _summed(KRONROD, at_nodes), _summed(GAUSS, at_nodes)
    width = half.reshape(-1, *[1] * (kronrod.ndim - 1))
    spread = width * _summed(KRONROD, np.abs(at_nodes - kronrod[:, None] / 2))
    difference = width * np.abs(kronrod - gauss)
    is_spread = (spread != 0) & (difference != 0)
    ratio = 200 * difference / np.where(is_spread, spread, 1.0)
    error = np.where(is_spread, spread * np.minimum(1.0, ratio**1.5), difference)
    return kronrod * width, np.max(error.reshape(len(intervals), -1), axis=1)


def _summed(weights: Any, values: Any) -> Any:
    """The weighted sum over the nodes, the second axis."""
    return np.einsum("k,nk...->n...", weights, values)


@_integral.defjvp
def _integral_jvp(s: _Settings, primals: Any, tangents: Any) -> tuple[Any, Any]:
    (captured,), (moved,) = primals, tangents
    value, error, intervals = _integral(s, captured)

    def over(total: Any, interval: Any) -> tuple[Any, None]:
        half = (interval[1] - interval[0]) / 2
        # Empty intervals take the nodes of the whole range, where the integrand has been computed.
        width = np.where(half > 0, half, (s.last - s.first) / 2)
        t = interval[0] + width * (1 + NODES)

        def at_node(node: Any) -> Any:
            return jvp(lambda *c: s.integrand(node, *c), captured, moved)[1]

        return total + half * np.einsum("k,k...->...", KRONROD, vmap(at_node)(t)), None

    change, _ = lax.scan(over, np.zeros_like(value), lax.stop_gradient(intervals))
    return (value, error, intervals), (change, np.zeros_like(error), np.zeros_like(intervals))
