"""Distribution functions of `scipy.special` by the incomplete gamma and beta functions (Abramowitz
and Stegun, Handbook of Mathematical Functions, 26.4 to 26.7).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.scipy.special.errors import erfinv, ndtr, ndtri
from transpile.scipy.special.gammas import betainc, gamma, gammainc, gammaincc
from transpile.scipy.special.operands import Array, public, real

__all__ = [
    "bdtr",
    "bdtrc",
    "betaincc",
    "chdtr",
    "chdtrc",
    "erfcinv",
    "fdtr",
    "fdtrc",
    "gdtr",
    "gdtrc",
    "pdtr",
    "pdtrc",
    "rgamma",
    "stdtr",
]


@public
def rgamma(x: Array) -> Any:
    """1 / gamma(x): 0 at 0 and at negative integers."""
    (value,) = real("rgamma", x)
    is_pole = (value <= 0) & np.equal(value, np.floor(value))
    return np.where(is_pole, 0, 1 / gamma(np.where(is_pole, 1, value)))


_MANY = 1e6  # degrees of freedom


_LARGE = 1e4  # a parameter


def _lower_tail(a: Any, b: Any, x: Any, rest: Any) -> Any:
    """I_x(a, b) of x = 1 - rest: where that is no small number by 1 - I_rest(b, a), which is beyond
    the mean. Of large parameters a rounding of the one of x and rest that is nearly 1 costs more
    than this cancels, within three standard deviations."""
    width = np.where(np.maximum(a, b) > _LARGE, 3 * np.sqrt(a * (b / (a + b))), 0)
    is_far = x * (a + b + 2) > a + 1 - np.where(a > b, width, -width)
    value = betainc(np.where(is_far, b, a), np.where(is_far, a, b), np.where(is_far, rest, x))
    return np.where(is_far, 1 - value, value)


@public
def betaincc(a: Array, b: Array, x: Array) -> Any:
    """1 less the regularised incomplete beta function, without cancellation."""
    p, q, value = real("betaincc", a, b, x)
    return _lower_tail(q, p, 1 - value, value)


def _binomial(count: Any, trials: Any, share: Any, is_upper: bool) -> Any:
    """The probability of at most floor(count) successes, or of more, in a whole number of
    trials."""
    whole, trials = np.floor(count), np.trunc(trials)
    successes, failures = np.maximum(whole, 0) + 1, np.maximum(trials - whole, 1)
    if is_upper:
        inside = _lower_tail(successes, failures, share, 1 - share)
    else:
        inside = _lower_tail(failures, successes, 1 - share, share)
    inside = np.where(np.equal(whole, trials), 1 - is_upper, inside)
    inside = np.where(whole < 0, 1 if is_upper else np.nan, inside)
    is_valid = (share >= 0) & (share <= 1) & (whole <= trials)
    return np.where(is_valid, inside, np.nan)


@public
def bdtr(k: Array, n: Array, p: Array) -> Any:
    """The probability of at most floor(k) successes in n trials, each of probability p."""
    count, trials, share = real("bdtr", k, n, p)
    return _binomial(count, trials, share, False)


@public
def bdtrc(k: Array, n: Array, p: Array) -> Any:
    """The probability of more than floor(k) successes in n trials, each of probability p."""
    count, trials, share = real("bdtrc", k, n, p)
    return _binomial(count, trials, share, True)


@public
def pdtr(k: Array, m: Array) -> Any:
    """The probability of at most floor(k) events where the mean number is m (Poisson)."""
    count, mean = real("pdtr", k, m)
    inside = np.where(np.equal(mean, 0), 1, gammaincc(np.floor(count) + 1, mean))
    return np.where((count < 0) | (mean < 0), np.nan, inside)


@public
def pdtrc(k: Array, m: Array) -> Any:
    """The probability of more than floor(k) events where the mean number is m (Poisson)."""
    count, mean = real("pdtrc", k, m)
    inside = gammainc(np.floor(count) + 1, mean)
    return np.where((count < 0) | (mean < 0), np.nan, inside)


@public
def gdtr(a: Array, b: Array, x: Array) -> Any:
    """The distribution function of the gamma distribution of rate a and shape b."""
    rate, shape, value = real("gdtr", a, b, x)
    return np.where(value < 0, np.nan, gammainc(shape, rate * value))


@public
def gdtrc(a: Array, b: Array, x: Array) -> Any:
    """The survival function of the gamma distribution of rate a and shape b."""
    rate, shape, value = real("gdtrc", a, b, x)
    return np.where(value < 0, np.nan, gammaincc(shape, rate * value))


@public
def chdtr(v: Array, x: Array) -> Any:
    """The distribution function of the chi-squared distribution with v degrees of freedom."""
    degrees, value = real("chdtr", v, x)
    return gammainc(degrees / 2, value / 2)


@public
def chdtrc(v: Array, x: Array) -> Any:
    """The survival function of the chi-squared distribution with v degrees of freedom."""
    degrees, value = real("chdtrc", v, x)
    return gammaincc(degrees / 2, value / 2)


def _odds(first: Any, second: Any, value: Any) -> tuple[Any, Any]:
    """The shares of `first * value` and of `second` in their sum; NaN where they are no finite
    degrees of freedom."""
    is_valid = (first > 0) & (second > 0) & (value >= 0) & np.isfinite(first + second)
    odds = np.where(is_valid, first * value / second, np.nan)
    return 1 / (1 + 1 / odds), 1 / (1 + odds)


@public
def fdtr(dfn: Array, dfd: Array, x: Array) -> Any:
    """The distribution function of the F distribution; NaN where its degrees are not positive."""
    first, second, value = real("fdtr", dfn, dfd, x)
    share, rest = _odds(first, second, value)
    return _lower_tail(first / 2, second / 2, share, rest)


@public
def fdtrc(dfn: Array, dfd: Array, x: Array) -> Any:
    """The survival function of the F distribution; NaN where its degrees are not positive."""
    first, second, value = real("fdtrc", dfn, dfd, x)
    share, rest = _odds(first, second, value)
    return _lower_tail(second / 2, first / 2, rest, share)


@public
def stdtr(df: Array, t: Array) -> Any:
    """The distribution function of Student's t distribution.

    For many degrees of freedom that of a normal one, for infinitely many the normal one itself:
    Abramowitz and Stegun, 26.7.8.
    """
    degrees, value = np.broadcast_arrays(*real("stdtr", df, t))
    is_normal = degrees > (_MANY if degrees.itemsize > 4 else 1e4)
    scale = np.reciprocal(np.where(is_normal, degrees, 1))
    narrow = value * (1 - scale / 4) / np.sqrt(1 + np.square(value) * scale / 2)
    narrow = np.where(np.isinf(np.square(value)) | np.equal(scale, 0), value, narrow)
    few = np.where((degrees > 0) & ~is_normal, degrees, 1)
    outside = betainc(few / 2, 0.5, few / (few + np.square(value))) / 2
    spread = np.where(value > 0, 1 - outside, outside)
    result = np.where(is_normal, ndtr(narrow), spread)
    return np.where(degrees > 0, result, np.nan)


@public
def erfcinv(y: Array) -> Any:
    """The inverse of `erfc`, accurate in both tails."""
    (value,) = real("erfcinv", y)
    small = value < 0.5
    tail = -ndtri(np.where(small, value, 1) / 2) / np.sqrt(value.dtype.type(2))
    return np.where(small, tail, erfinv(1 - np.where(small, 1, value)))
