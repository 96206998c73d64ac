"""Continuous distributions by the normal distribution, the incomplete gamma and beta functions and
their inverses, and by angles.

Densities, moments and entropies: N. Johnson, S. Kotz, N. Balakrishnan, Continuous Univariate
Distributions, 1994 and 1995.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transpile.ir.types import FLOAT64
from transpile.scipy.calls.families.row import Function, Row, central, vanishing
from transpile.scipy.special.elementary import xlog1py, xlogy
from transpile.scipy.special.errors import erf, erfc, erfinv, log_ndtr, ndtr, ndtri
from transpile.scipy.special.gammas import (
    betainc,
    betaln,
    digamma,
    gammainc,
    gammaincc,
    gammaln,
    poch,
    polygamma,
)
from transpile.scipy.special.inverses import beta_odds, gammainccinv, gammaincinv, stdtrit
from transpile.scipy.special.tails import erfcinv, stdtr

__all__ = ["QUANTILES"]

_GAMMA = 0.57721566490153286061  # Euler's constant
_HALF_LOG_TAU = 0.5 * math.log(math.tau)
_ROOT2 = math.sqrt(2)
_PI = math.pi
_REALS = (-np.inf, np.inf)


def _above(limit: float, shape: Any, value: Any) -> Any:
    """A moment that is infinite up to a limit of the shape."""
    return np.where(shape > limit, value, np.inf)


# -------------------------------------------------------------------------------------- normal

NORM = Row(
    support=_REALS,
    logpdf=lambda y: -np.square(y) / 2 - _HALF_LOG_TAU,
    cdf=ndtr,
    sf=lambda y: ndtr(-y),
    ppf=ndtri,
    isf=lambda q: -ndtri(q),
    mean=0.0,
    var=1.0,
    skewness=0.0,
    kurtosis=0.0,
    entropy=_HALF_LOG_TAU + 0.5,
)

HALFNORM = Row(
    logpdf=lambda y: math.log(2) - _HALF_LOG_TAU - np.square(y) / 2,
    cdf=lambda y: erf(y / _ROOT2),
    sf=lambda y: erfc(y / _ROOT2),
    ppf=lambda q: _ROOT2 * erfinv(q),
    isf=lambda q: -ndtri(q / 2),
    mean=math.sqrt(2 / _PI),
    var=1 - 2 / _PI,
    skewness=_ROOT2 * (4 - _PI) / (_PI - 2) ** 1.5,
    kurtosis=8 * (_PI - 3) / (_PI - 2) ** 2,
    entropy=0.5 * math.log(_PI / 2) + 0.5,
)


LOGNORM = Row(
    shapes=("s",),
    logpdf=vanishing(lambda y, s: -np.square(np.log(y) / s) / 2 - np.log(s * y) - _HALF_LOG_TAU),
    cdf=lambda y, s: ndtr(np.log(y) / s),
    sf=lambda y, s: ndtr(-np.log(y) / s),
    ppf=lambda q, s: np.exp(s * ndtri(q)),
    isf=lambda q, s: np.exp(-s * ndtri(q)),
    mean=lambda s: np.exp(np.square(s) / 2),
    var=lambda s: np.expm1(np.square(s)) * np.exp(np.square(s)),
    skewness=lambda s: np.sqrt(np.expm1(np.square(s))) * (2 + np.exp(np.square(s))),
    kurtosis=lambda s: np.expm1(4 * s * s) + 2 * np.expm1(3 * s * s) + 3 * np.expm1(2 * s * s),
    entropy=lambda s: 0.5 + _HALF_LOG_TAU + np.log(s),
)

JOHNSONSU = Row(
    shapes=("a", "b"),
    support=_REALS,
    valid=lambda a, b: (b > 0) & np.isfinite(a),
    logpdf=lambda y, a, b: (
        np.log(b)
        - np.log1p(np.square(y)) / 2
        - np.square(a + b * np.arcsinh(y)) / 2
        - _HALF_LOG_TAU
    ),
    cdf=lambda y, a, b: ndtr(a + b * np.arcsinh(y)),
    sf=lambda y, a, b: ndtr(-a - b * np.arcsinh(y)),
    ppf=lambda q, a, b: np.sinh((ndtri(q) - a) / b),
    isf=lambda q, a, b: np.sinh((-ndtri(q) - a) / b),
)


def _invgauss_log_cdf(y: Any, mu: Any, sign: int) -> Any:
    """log P(Y <= y) of the inverse Gaussian distribution for sign 1, log P(Y > y) for -1: a sum, or
    a difference, of two terms of the normal distribution (M. Shuster, 1968)."""
    root = np.sqrt(y)
    one = log_ndtr(sign * (y / mu - 1) / root)
    other = 2 / mu + log_ndtr(-(y / mu + 1) / root)
    return one + np.log1p(sign * np.exp(other - one))


INVGAUSS = Row(
    shapes=("mu",),
    logpdf=vanishing(
        lambda y, mu: -_HALF_LOG_TAU - 1.5 * np.log(y) - np.square(y / mu - 1) / (2 * y)
    ),
    cdf=lambda y, mu: np.exp(_invgauss_log_cdf(y, mu, 1)),
    sf=lambda y, mu: np.exp(_invgauss_log_cdf(y, mu, -1)),
    mean=lambda mu: mu,
    var=lambda mu: mu**3,
    skewness=lambda mu: 3 * np.sqrt(mu),
    kurtosis=lambda mu: 15 * mu,
)

LEVY = Row(
    logpdf=vanishing(lambda y: -_HALF_LOG_TAU - 1.5 * np.log(y) - 1 / (2 * y)),
    cdf=lambda y: erfc(np.sqrt(0.5 / y)),
    sf=lambda y: erf(np.sqrt(0.5 / y)),
    ppf=lambda q: 1 / np.square(ndtri(q / 2)),
    isf=lambda q: 0.5 / np.square(erfinv(q)),
    mean=np.inf,
    var=np.inf,
    entropy=(1 + 3 * _GAMMA + math.log(16 * _PI)) / 2,
)

MOYAL = Row(
    support=_REALS,
    logpdf=lambda y: -(y + np.exp(-y)) / 2 - _HALF_LOG_TAU,
    cdf=lambda y: erfc(np.exp(-y / 2) / _ROOT2),
    sf=lambda y: erf(np.exp(-y / 2) / _ROOT2),
    ppf=lambda q: -2 * np.log(_ROOT2 * erfcinv(q)),
    isf=lambda q: -2 * np.log(_ROOT2 * erfinv(q)),
    mean=_GAMMA + math.log(2),
    var=_PI**2 / 2,
    kurtosis=4.0,
)

# --------------------------------------------------------------------------------------- gamma

GAMMA = Row(
    shapes=("a",),
    logpdf=lambda y, a: xlogy(a - 1, y) - y - gammaln(a),
    cdf=lambda y, a: gammainc(a, y),
    sf=lambda y, a: gammaincc(a, y),
    ppf=lambda q, a: gammaincinv(a, q),
    isf=lambda q, a: gammainccinv(a, q),
    mean=lambda a: a,
    var=lambda a: a,
    skewness=lambda a: 2 / np.sqrt(a),
    kurtosis=lambda a: 6 / a,
    entropy=lambda a: a + gammaln(a) + (1 - a) * digamma(a),
)

CHI2 = Row(
    shapes=("df",),
    logpdf=lambda y, df: xlogy(df / 2 - 1, y) - y / 2 - gammaln(df / 2) - df * (math.log(2) / 2),
    cdf=lambda y, df: gammainc(df / 2, y / 2),
    sf=lambda y, df: gammaincc(df / 2, y / 2),
    ppf=lambda q, df: 2 * gammaincinv(df / 2, q),
    isf=lambda q, df: 2 * gammainccinv(df / 2, q),
    mean=lambda df: df,
    var=lambda df: 2 * df,
    skewness=lambda df: 2 * np.sqrt(2 / df),
    kurtosis=lambda df: 12 / df,
    entropy=lambda df: df / 2 + math.log(2) + gammaln(df / 2) + (1 - df / 2) * digamma(df / 2),
)

CHI = Row(
    shapes=("df",),
    logpdf=lambda y, df: (
        math.log(2) * (1 - df / 2) - gammaln(df / 2) + xlogy(df - 1, y) - np.square(y) / 2
    ),
    cdf=lambda y, df: gammainc(df / 2, np.square(y) / 2),
    sf=lambda y, df: gammaincc(df / 2, np.square(y) / 2),
    ppf=lambda q, df: np.sqrt(2 * gammaincinv(df / 2, q)),
    isf=lambda q, df: np.sqrt(2 * gammainccinv(df / 2, q)),
    mean=lambda df: _ROOT2 * poch(df / 2, 0.5),
    var=lambda df: df - 2 * np.square(poch(df / 2, 0.5)),
)

MAXWELL = Row(
    logpdf=lambda y: math.log(2) - _HALF_LOG_TAU + 2 * np.log(y) - np.square(y) / 2,
    cdf=lambda y: gammainc(1.5, np.square(y) / 2),
    sf=lambda y: gammaincc(1.5, np.square(y) / 2),
    ppf=lambda q: np.sqrt(2 * gammaincinv(1.5, q)),
    isf=lambda q: np.sqrt(2 * gammainccinv(1.5, q)),
    mean=2 * math.sqrt(2 / _PI),
    var=3 - 8 / _PI,
    skewness=_ROOT2 * (32 - 10 * _PI) / (3 * _PI - 8) ** 1.5,
    kurtosis=(-12 * _PI**2 + 160 * _PI - 384) / (3 * _PI - 8) ** 2,
    entropy=_GAMMA + _HALF_LOG_TAU - 0.5,
)

NAKAGAMI = Row(
    shapes=("nu",),
    logpdf=lambda y, nu: (
        math.log(2) + xlogy(nu, nu) - gammaln(nu) + xlogy(2 * nu - 1, y) - nu * np.square(y)
    ),
    cdf=lambda y, nu: gammainc(nu, nu * np.square(y)),
    sf=lambda y, nu: gammaincc(nu, nu * np.square(y)),
    ppf=lambda q, nu: np.sqrt(gammaincinv(nu, q) / nu),
    isf=lambda q, nu: np.sqrt(gammainccinv(nu, q) / nu),
    mean=lambda nu: poch(nu, 0.5) / np.sqrt(nu),
    var=lambda nu: 1 - np.square(poch(nu, 0.5)) / nu,
)

INVGAMMA = Row(
    shapes=("a",),
    logpdf=vanishing(lambda y, a: -(a + 1) * np.log(y) - gammaln(a) - 1 / y),
    cdf=lambda y, a: gammaincc(a, 1 / y),
    sf=lambda y, a: gammainc(a, 1 / y),
    ppf=lambda q, a: 1 / gammainccinv(a, q),
    isf=lambda q, a: 1 / gammaincinv(a, q),
    mean=lambda a: _above(1, a, 1 / (a - 1)),
    var=lambda a: _above(2, a, 1 / (np.square(a - 1) * (a - 2))),
    entropy=lambda a: a - (a + 1) * digamma(a) + gammaln(a),
)

LOGGAMMA = Row(
    shapes=("c",),
    support=_REALS,
    logpdf=lambda y, c: c * y - np.exp(y) - gammaln(c),
    cdf=lambda y, c: gammainc(c, np.exp(y)),
    sf=lambda y, c: gammaincc(c, np.exp(y)),
    ppf=lambda q, c: np.log(gammaincinv(c, q)),
    isf=lambda q, c: np.log(gammainccinv(c, q)),
    mean=lambda c: digamma(c),
    var=lambda c: polygamma(1, c),
    skewness=lambda c: polygamma(2, c) / polygamma(1, c) ** 1.5,
    kurtosis=lambda c: polygamma(3, c) / np.square(polygamma(1, c)),
)


def _head_or_tail(head: Function, tail: Function) -> Function:
    """The first function where the power c is positive, else the second."""
    return lambda y, a, c: np.where(c > 0, head(y, a, c), tail(y, a, c))


def _of_gengamma(y: Any, a: Any, c: Any) -> Any:
    return gammainc(a, y**c)


def _tail_of_gengamma(y: Any, a: Any, c: Any) -> Any:
    return gammaincc(a, y**c)


def _gengamma_logpdf(y: Any, a: Any, c: Any) -> Any:
    vanishes = np.equal(y, 0) & (c < 0)  # by the exponential, whatever the power is
    x = np.where(vanishes, 1, y)
    density = np.log(np.abs(c)) + xlogy(c * a - 1, x) - x**c - gammaln(a)
    return np.where(vanishes, -np.inf, density)


def _gengamma_quantile(q: Any, a: Any, c: Any) -> Any:
    return gammaincinv(a, q) ** (1 / c)


def _gengamma_tail_quantile(q: Any, a: Any, c: Any) -> Any:
    return gammainccinv(a, q) ** (1 / c)


# A negative power c turns the order of the values round.
GENGAMMA = Row(
    shapes=("a", "c"),
    valid=lambda a, c: (a > 0) & (c != 0),
    logpdf=_gengamma_logpdf,
    cdf=_head_or_tail(_of_gengamma, _tail_of_gengamma),
    sf=_head_or_tail(_tail_of_gengamma, _of_gengamma),
    ppf=_head_or_tail(_gengamma_quantile, _gengamma_tail_quantile),
    isf=_head_or_tail(_gengamma_tail_quantile, _gengamma_quantile),
    **central(lambda k, a, c: poch(a, k / c)),
)


def _gennorm_quantile(q: Any, beta: Any) -> Any:
    """Of the lower half: -gammainccinv(1 / beta, 2 q)^(1 / beta)."""
    less = np.minimum(q, 1 - q)
    size = gammainccinv(1 / beta, 2 * less) ** (1 / beta)
    return np.where(q < 0.5, -size, size)


GENNORM = Row(
    shapes=("beta",),
    support=_REALS,
    logpdf=lambda y, beta: np.log(beta / 2) - gammaln(1 / beta) - np.abs(y) ** beta,
    cdf=lambda y, beta: _of_two_halves(y, gammaincc(1 / beta, np.abs(y) ** beta) / 2),
    sf=lambda y, beta: _of_two_halves(-y, gammaincc(1 / beta, np.abs(y) ** beta) / 2),
    ppf=_gennorm_quantile,
    isf=lambda q, beta: -_gennorm_quantile(q, beta),
    mean=0.0,
    var=lambda beta: np.exp(gammaln(3 / beta) - gammaln(1 / beta)),
    skewness=0.0,
    entropy=lambda beta: 1 / beta - np.log(beta / 2) + gammaln(1 / beta),
)


def _of_two_halves(y: Any, tail: Any) -> Any:
    """A distribution function that is the tail below 0, and symmetric."""
    return np.where(y < 0, tail, 1 - tail)


# ---------------------------------------------------------------------------------------- beta


def _odds(a: Any, b: Any, p: Any, q: Any) -> Any:
    """`beta_odds` of operands of any shapes and dtypes."""
    arrays = np.broadcast_arrays(a, b, p, q)
    return beta_odds(*(v.astype(FLOAT64)[()] for v in arrays)).astype(p.dtype)


def _of_odds(a: Any, b: Any, odds: Any) -> Any:
    """I_x(a, b) of x = odds / (1 + odds); of the rest to 1 where that is small."""
    x, rest = odds / (1 + odds), 1 / (1 + odds)
    upper = rest < 1e-3
    first, second = np.where(upper, b, a), np.where(upper, a, b)
    value = betainc(first, second, np.where(upper, rest, x))
    return np.where(upper, 1 - value, value)


BETA = Row(
    shapes=("a", "b"),
    support=(0.0, 1.0),
    logpdf=lambda y, a, b: xlogy(a - 1, y) + xlog1py(b - 1, -y) - betaln(a, b),
    cdf=lambda y, a, b: betainc(a, b, y),
    sf=lambda y, a, b: betainc(b, a, 1 - y),
    ppf=lambda q, a, b: 1 / (1 + 1 / _odds(a, b, q, 1 - q)),
    isf=lambda q, a, b: 1 / (1 + 1 / _odds(a, b, 1 - q, q)),
    mean=lambda a, b: a / (a + b),
    var=lambda a, b: a * b / (np.square(a + b) * (a + b + 1)),
    skewness=lambda a, b: 2 * (b - a) * np.sqrt(a + b + 1) / ((a + b + 2) * np.sqrt(a * b)),
    entropy=lambda a, b: (
        betaln(a, b) - (a - 1) * digamma(a) - (b - 1) * digamma(b) + (a + b - 2) * digamma(a + b)
    ),
)

BETAPRIME = Row(
    shapes=("a", "b"),
    logpdf=lambda y, a, b: xlogy(a - 1, y) - (a + b) * np.log1p(y) - betaln(a, b),
    cdf=lambda y, a, b: _of_odds(a, b, y),
    sf=lambda y, a, b: _of_odds(b, a, 1 / y),
    ppf=lambda q, a, b: _odds(a, b, q, 1 - q),
    isf=lambda q, a, b: _odds(a, b, 1 - q, q),
    mean=lambda a, b: _above(1, b, a / (b - 1)),
    var=lambda a, b: _above(2, b, a * (a + b - 1) / ((b - 2) * np.square(b - 1))),
)

F = Row(
    shapes=("dfn", "dfd"),
    logpdf=lambda y, m, n: (
        xlogy(m / 2, m / n)
        + xlogy(m / 2 - 1, y)
        - (m + n) / 2 * np.log1p(m / n * y)
        - betaln(m / 2, n / 2)
    ),
    cdf=lambda y, m, n: _of_odds(m / 2, n / 2, m / n * y),
    sf=lambda y, m, n: _of_odds(n / 2, m / 2, n / m / y),
    ppf=lambda q, m, n: _odds(m / 2, n / 2, q, 1 - q) * (n / m),
    isf=lambda q, m, n: _odds(m / 2, n / 2, 1 - q, q) * (n / m),
    mean=lambda m, n: _above(2, n, n / (n - 2) + 0 * m),
    var=lambda m, n: _above(4, n, 2 * n * n * (m + n - 2) / (m * np.square(n - 2) * (n - 4))),
)

T = Row(
    shapes=("df",),
    support=_REALS,
    valid=lambda df: df > 0,
    logpdf=lambda y, df: (
        -np.log(df) / 2 - betaln(df / 2, 0.5) - (df + 1) / 2 * np.log1p(np.square(y) / df)
    ),
    cdf=lambda y, df: stdtr(df, y),
    sf=lambda y, df: stdtr(df, -y),
    ppf=lambda q, df: stdtrit(df, q),
    isf=lambda q, df: -stdtrit(df, q),
    mean=lambda df: _above(1, df, 0 * df),
    var=lambda df: np.where(df > 2, df / (df - 2), np.where(df > 1, np.inf, np.nan)),
    skewness=lambda df: np.where(df > 3, 0, np.nan),
    kurtosis=lambda df: np.where(df > 4, 6 / (df - 4), np.where(df > 2, np.inf, np.nan)),
    entropy=lambda df: (
        (df + 1) / 2 * (digamma((df + 1) / 2) - digamma(df / 2))
        + np.log(df) / 2
        + betaln(df / 2, 0.5)
    ),
)

QUANTILES = {
    "beta": BETA,
    "betaprime": BETAPRIME,
    "chi": CHI,
    "chi2": CHI2,
    "erlang": GAMMA,
    "f": F,
    "gamma": GAMMA,
    "gengamma": GENGAMMA,
    "gennorm": GENNORM,
    "halfnorm": HALFNORM,
    "invgamma": INVGAMMA,
    "invgauss": INVGAUSS,
    "johnsonsu": JOHNSONSU,
    "levy": LEVY,
    "loggamma": LOGGAMMA,
    "lognorm": LOGNORM,
    "maxwell": MAXWELL,
    "moyal": MOYAL,
    "nakagami": NAKAGAMI,
    "norm": NORM,
    "t": T,
}
