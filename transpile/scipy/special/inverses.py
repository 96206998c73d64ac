"""Inverses of the incomplete gamma and beta functions, and the quantiles that they give.

Newton's iteration on the logarithm of the smaller tail, as a function of log x for gamma and of
log(x / (1 - x)) for beta. There it is concave: with the integrand's factor x^a before it, the
integral's relative slope only falls. Tangents of a concave function lie above it, so that each step
ends on the side where the next ones approach the root without passing it, and no bracket is needed.
What has not converged is NaN: probabilities below 1e-150 of beta with parameters beyond 1e4.
Computed in float64, also for float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transpile import lax
from transpile.functional.custom import custom_jvp
from transpile.ir.types import FLOAT64
from transpile.scipy.special.errors import ndtri
from transpile.scipy.special.operands import Array, applied, public, real

__all__ = [
    "bdtri",
    "beta_odds",
    "betainccinv",
    "betaincinv",
    "chdtri",
    "fdtri",
    "gammainccinv",
    "gammaincinv",
    "gdtrix",
    "pdtri",
    "stdtrit",
    "t_quantile",
]

_MOST_STEPS = 60
_CLOSE = 1e-9  # the step after squares what is left
_LEAST = 1e-305  # a tail below this is no ratio to divide by


def _solved(tail: Callable[[Any], tuple[Any, Any]], wanted: Any, start: Any, steepest: Any) -> Any:
    """The x > 0 whose tail is the wanted one.

    tail      x -> the tail, and its slope as a function of log x
    start     where Newton's iteration starts
    steepest  the slope of the tail's logarithm where that underflows
    """

    def going(state: Any) -> Any:
        k, _, active, _ = state
        return np.any(active) & (k < _MOST_STEPS)

    def step(state: Any) -> Any:
        k, x, active, last = state
        value, slope = tail(x)
        tiny = value < _LEAST
        ratio = np.log(np.maximum(value, _LEAST) / wanted)
        rate = np.where(tiny, steepest, slope / np.where(tiny, 1, value))
        change = np.clip(-ratio / rate, -700, 700)
        moved = np.where(active & np.isfinite(change), x * np.exp(change), x)
        size = np.where((moved > 0) & (moved < np.inf), np.abs(change), 0)
        change = np.where(active, size, last)
        return k + 1, moved, active & (change > _CLOSE), change

    active = np.isfinite(start) & (start > 0)
    first = (np.zeros((), np.int64), start, active, np.zeros_like(start))
    _, x, _, last = lax.while_loop(going, step, first)
    return np.where((last < 1e-4) | (x < 1e-300), x, np.nan)


def _broadcast(function: str, *operands: Array) -> tuple[list[Any], Any]:
    """The operands in float64 and of one shape, and their dtype."""
    values = real(function, *operands)
    arrays = np.broadcast_arrays(*values)
    return [v.astype(FLOAT64)[()] for v in arrays], values[0].dtype


# --------------------------------------------------------------------------------------- gamma


def _gamma_root(a: Any, p: Any, q: Any) -> Any:
    """The x with P(a, x) = p and Q(a, x) = q, of which the smaller one is exact."""
    valid = (a > 0) & (p > 0) & (q > 0)
    shape = np.where(valid, a, 1)
    lower = p <= q
    wanted = np.where(valid, np.where(lower, p, q), 0.5)
    below = np.where(valid, p, 0.5)
    log_gamma = applied("lgamma", shape + 1)
    # P(a, x) <= x^a / gamma(a + 1), and Wilson and Hilferty's (A & S 26.4.17).
    bound = np.exp((np.log(below) + log_gamma) / shape)
    normal = np.where(lower, 1, -1) * ndtri(wanted)
    cubic = shape * (1 - 1 / (9 * shape) + normal / (3 * np.sqrt(shape))) ** 3
    start = np.where(shape > 0.5, np.maximum(cubic, bound), bound)
    # Q(a, x) <= exp(-x) / gamma(a) for a <= 1 <= x.
    above = np.maximum(1, -np.log(wanted) - applied("lgamma", shape))
    start = np.where(~lower & (shape <= 1), above, start)
    # The asymptotic Q(a, x) = x^(a - 1) exp(-x) / gamma(a), far out.
    far = above + (shape - 1) * np.log(above)
    far = above + (shape - 1) * np.log(np.maximum(far, 1))
    start = np.where(~lower & (shape > 1) & (above > 2 * shape), far, start)

    def tail(x: Any) -> tuple[Any, Any]:
        value = np.where(lower, applied("igamma", shape, x), applied("igammac", shape, x))
        slope = shape * np.exp(shape * np.log(x) - x - log_gamma)
        return value, np.where(lower, slope, -slope)

    steepest = np.where(lower, shape, -np.maximum(start, 1))
    root = _solved(tail, wanted, start, steepest)
    ends = np.where(np.equal(p, 0), 0, np.where(np.equal(q, 0), np.inf, np.nan))
    return np.where(valid, root, np.where(a >= 0, ends, np.nan))


def _gamma_slope(a: Any, x: Any) -> Any:
    """dP(a, x) / dx."""
    return np.exp((a - 1) * np.log(x) - x - applied("lgamma", a))


@custom_jvp
def _gammaincinv(a: Any, p: Any) -> Any:
    return _gamma_root(a, p, 1 - p)


@custom_jvp
def _gammainccinv(a: Any, q: Any) -> Any:
    return _gamma_root(a, 1 - q, q)


_gammaincinv.defjvps(
    lambda t, out, a, p: t * -applied("igamma_grad_a", a, out) / _gamma_slope(a, out),
    lambda t, out, a, p: t / _gamma_slope(a, out),
)
_gammainccinv.defjvps(
    lambda t, out, a, q: t * -applied("igamma_grad_a", a, out) / _gamma_slope(a, out),
    lambda t, out, a, q: -t / _gamma_slope(a, out),
)


@public
def gammaincinv(a: Array, y: Array) -> Any:
    """The inverse of `gammainc` in x: the x with P(a, x) = y; NaN outside 0 <= y <= 1."""
    operands, dtype = _broadcast("gammaincinv", a, y)
    return _gammaincinv(*operands).astype(dtype)


@public
def gammainccinv(a: Array, y: Array) -> Any:
    """The inverse of `gammaincc` in x: the x with Q(a, x) = y; NaN outside 0 <= y <= 1."""
    operands, dtype = _broadcast("gammainccinv", a, y)
    return _gammainccinv(*operands).astype(dtype)


# ---------------------------------------------------------------------------------------- beta


def _log_beta(a: Any, b: Any) -> Any:
    return applied("lgamma", a) + applied("lgamma", b) - applied("lgamma", a + b)


def _beta_tail(a: Any, b: Any, odds: Any, wanted: Any) -> Any:
    """I_x(a, b) of x = odds / (1 + odds), about as large as wanted; by I_(1 - x)(b, a) where x
    rounds 1 - x off, unless the difference of that from 1 would cancel more."""
    x, rest = odds / (1 + odds), 1 / (1 + odds)
    upper = (rest < 1e-8) | ((rest < 1e-3) & (wanted > 0.01))
    value = applied(
        "betainc", np.where(upper, b, a), np.where(upper, a, b), np.where(upper, rest, x)
    )
    return np.where(upper, 1 - value, value)


def _beta_start(first: Any, second: Any, wanted: Any, log_beta: Any) -> Any:
    """Odds near those with I_x(first, second) = wanted <= 1/2: by the normal approximation (A & S
    26.5.22); by I_x(a, b) <= (x / (1 - x))^a / (a B(a, b)) where a parameter is small, and as for
    the upper tail of gamma where that is the second one."""
    bound = np.exp((np.log(wanted) + log_beta + np.log(first)) / first)
    is_large = np.minimum(first, second) > 1
    one, other = np.where(is_large, first, 2), np.where(is_large, second, 2)
    normal = -ndtri(wanted)
    harmonic = 2 / (1 / (2 * one - 1) + 1 / (2 * other - 1))
    offset = (np.square(normal) - 3) / 6
    difference = 1 / (2 * other - 1) - 1 / (2 * one - 1)
    width = normal * np.sqrt(np.maximum(harmonic + offset, 0)) / harmonic
    width = width - difference * (offset + 5 / 6 - 2 / (3 * harmonic))
    # (1 - x) first has nearly the gamma distribution of shape second.
    steps = np.maximum(1, -np.log(wanted) - applied("lgamma", second))
    cubic = other * (1 - 1 / (9 * other) + normal / (3 * np.sqrt(other))) ** 3
    bound = np.where((first > 1) & (second <= 1), np.maximum(bound, first / steps), bound)
    close = np.where(one > 10 * other, one / cubic, one / other * np.exp(-2 * width))
    close = np.where(is_large, close, 1e-300)
    return np.maximum(close, bound)


def _beta_root(a: Any, b: Any, p: Any, q: Any) -> Any:
    """x / (1 - x) of the x with I_x(a, b) = p = 1 - q, of which the smaller one is exact."""
    lower = p <= q
    first, second = np.where(lower, a, b), np.where(lower, b, a)
    wanted = np.where(lower, p, q)
    log_beta = _log_beta(first, second)

    def tail(odds: Any) -> tuple[Any, Any]:
        slope = np.exp(first * np.log(odds) - (first + second) * np.log1p(odds) - log_beta)
        return _beta_tail(first, second, odds, wanted), slope

    root = _solved(tail, wanted, _beta_start(first, second, wanted, log_beta), first)
    return np.where(lower, root, 1 / root)


def beta_odds(a: Any, b: Any, p: Any, q: Any) -> Any:
    """x / (1 - x) of the x with I_x(a, b) = p = 1 - q, of which the smaller one is exact.

    Of the odds neither x near 0 nor x near 1 loses digits. Operands are float64 of one shape.
    """
    valid = (a > 0) & (b > 0) & (p > 0) & (q > 0)
    shapes = np.where(valid, a, 1), np.where(valid, b, 1)
    chance, rest = np.where(valid, p, 0.5), np.where(valid, q, 0.5)
    root = lax.custom_root(
        lambda odds: _beta_tail(*shapes, odds, chance) - chance,
        np.ones_like(chance),
        lambda _, start: _beta_root(*shapes, chance, rest),
        lambda slope, y: y / slope(np.ones_like(y)),
    )
    ends = np.where(np.equal(p, 0), 0, np.where(np.equal(q, 0), np.inf, np.nan))
    return np.where(valid, root, np.where((a > 0) & (b > 0), ends, np.nan))


def _share(odds: Any) -> Any:
    return np.where(odds > 1, 1 / (1 + 1 / np.where(odds > 1, odds, 1)), odds / (1 + odds))


@public
def betaincinv(a: Array, b: Array, y: Array) -> Any:
    """The inverse of `betainc` in x: the x with I_x(a, b) = y; NaN outside 0 <= y <= 1."""
    (p, q, chance), dtype = _broadcast("betaincinv", a, b, y)
    return _share(beta_odds(p, q, chance, 1 - chance)).astype(dtype)


@public
def betainccinv(a: Array, b: Array, y: Array) -> Any:
    """The inverse of `betaincc` in x: the x with 1 - I_x(a, b) = y; NaN outside 0 <= y <= 1."""
    (p, q, chance), dtype = _broadcast("betainccinv", a, b, y)
    return _share(beta_odds(p, q, 1 - chance, chance)).astype(dtype)


# ----------------------------------------------------------------------------------- quantiles


@public
def chdtri(v: Array, p: Array) -> Any:
    """The x that a chi-squared variable with v degrees of freedom exceeds with probability p."""
    degrees, chance = real("chdtri", v, p)
    return 2 * gammainccinv(degrees / 2, chance)


@public
def gdtrix(a: Array, b: Array, p: Array) -> Any:
    """The p-quantile of the gamma distribution of rate a and shape b."""
    rate, shape, chance = real("gdtrix", a, b, p)
    return gammaincinv(shape, chance) / rate


@public
def pdtri(k: Array, y: Array) -> Any:
    """The mean for which a Poisson variable is at most floor(k) with probability y."""
    count, chance = real("pdtri", k, y)
    return gammainccinv(np.floor(count) + 1, chance)


@public
def bdtri(k: Array, n: Array, y: Array) -> Any:
    """The probability of a success for which at most floor(k) of n trials succeed with probability
    y."""
    count, trials, chance = real("bdtri", k, n, y)
    below, trials = np.floor(count), np.trunc(trials)
    valid = (below >= 0) & (below < trials)
    return np.where(valid, betainccinv(below + 1, trials - below, chance), np.nan)


@public
def fdtri(dfn: Array, dfd: Array, p: Array) -> Any:
    """The p-quantile of the F distribution; NaN outside 0 <= p <= 1."""
    (first, second, chance), dtype = _broadcast("fdtri", dfn, dfd, p)
    odds = beta_odds(first / 2, second / 2, chance, 1 - chance)
    return np.where(chance >= 0, odds * (second / first), np.nan).astype(dtype)


@public
def stdtrit(df: Array, p: Array) -> Any:
    """The p-quantile of Student's t distribution with df degrees of freedom."""
    (degrees, chance), dtype = _broadcast("stdtrit", df, p)
    return t_quantile(degrees, chance, 1 - chance).astype(dtype)


def t_quantile(degrees: Any, p: Any, q: Any) -> Any:
    """The t that Student's variable is below with probability p = 1 - q (A & S 26.7.1)."""
    less = np.minimum(p, q)
    middle = np.equal(less, 0.5)
    both = np.where(middle, 0.25, 2 * less)
    odds = beta_odds(np.full_like(both, 0.5), degrees / 2, 1 - both, both)
    size = np.sqrt(degrees * odds)
    return np.where(middle, 0, np.where(p < q, -size, size))
