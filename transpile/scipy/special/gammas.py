"""The gamma function and what is made of it: beta, binomial, polygamma and zeta functions."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from transpile.functional.custom import custom_jvp
from transpile.ir.types import PYTHON_SCALARS, kind_letter
from transpile.nn.operands import operand
from transpile.primitives.reference.extended_precision import bernoulli_numbers
from transpile.scipy.special.complex_gamma import complex_gamma, complex_loggamma
from transpile.scipy.special.operands import Array, applied, located, promoted, public, real


@public
def gammaln(x: Array) -> Any:
    """The logarithm of |gamma(x)|; inf at the poles 0, -1, -2, ..."""
    return applied("lgamma", *real("gammaln", x))


@public
def loggamma(x: Array) -> Any:
    """The logarithm of the gamma function: for complex numbers the branch that is continuous off
    the negative axis, for real x < 0 NaN.

    Of complex numbers Stirling's series (DLMF 5.11.1) after ten recurrences, with reflection (D.
    Hare, Computing the Principal Branch of Log-Gamma, 1997).
    """
    (z,) = promoted("loggamma", x)
    if z.dtype.kind == "c":
        return complex_loggamma(z)
    return np.where(z >= 0, applied("lgamma", z), np.nan)


@public
def gamma(x: Array) -> Any:
    """The gamma function of real and complex numbers; NaN at negative integers, and for complex
    numbers at 0 too."""
    (z,) = promoted("gamma", x)
    return complex_gamma(z) if z.dtype.kind == "c" else applied("gamma", z)


@public
def gammasgn(x: Array) -> Any:
    """The sign of the gamma function; NaN at negative integers."""
    return _sign(*real("gammasgn", x))


def _sign(x: Any) -> Any:
    below = np.floor(x)
    one = x.dtype.type(1)
    odd = np.logical_and(x < 0, np.not_equal(np.remainder(below, 2), 0))
    odd = np.logical_or(odd, np.logical_and(np.equal(x, 0), np.signbit(x)))
    pole = np.logical_or(np.logical_and(x < 0, np.equal(x, below)), np.isnan(x))
    return np.where(pole, one * np.nan, np.where(odd, -one, one))


def _is_pole(x: Any) -> Any:
    """True where gamma has a pole."""
    return np.less_equal(x, 0) & np.equal(x, np.floor(x)) & np.isfinite(x)


@public
def factorial(n: Array, exact: bool = False) -> Any:
    """The factorial gamma(n + 1), 0 for negative n; raises NotImplementedError for `exact`."""
    if exact:
        text = "factorial with exact=True has integers of any size: write factorial(n), a float"
        raise located(NotImplementedError, text)
    (x,) = real("factorial", n)
    return np.where(x < 0, x.dtype.type(0), applied("gamma", np.where(x < 0, 0, x) + 1))


@public
def comb(N: Array, k: Array, *, repetition: bool = False) -> Any:
    """The number of combinations of N things taken k at a time, with or without repetition, as a
    float; 0 for k > N."""
    count, chosen = np.broadcast_arrays(*real("comb", N, k))
    if repetition:
        nothing = np.logical_and(np.equal(chosen, 0), count >= 0)
        return np.where(nothing, count.dtype.type(1), _comb(count + chosen - 1, chosen))
    return _comb(count, chosen)


def _comb(count: Any, chosen: Any) -> Any:
    possible = (chosen <= count) & (count >= 0) & (chosen >= 0)
    return np.where(possible, _binomial(*(np.where(possible, v, 0) for v in (count, chosen))), 0)


@public
def binom(n: Array, k: Array) -> Any:
    """The binomial coefficient 1 / ((n + 1) B(n - k + 1, k + 1)) of real numbers."""
    return _binomial(*np.broadcast_arrays(*real("binom", n, k)))


_FACTORS = 29  # of a product: with more of them, whole numbers are beyond 2^53


@custom_jvp
def _binomial(n: Any, k: Any) -> Any:
    """A product of quotients where it has few of them, which is exact while it is a whole number
    that the dtype holds; else by the beta function."""
    is_whole = np.equal(n, np.floor(n))
    chosen = np.where(is_whole & (n > 0) & (k > n / 2), n - k, k)
    is_product = np.equal(k, np.floor(k)) & (chosen >= 0) & (chosen <= _FACTORS)
    is_product = is_product & ((np.absolute(n) > 1e-8) | np.equal(n, 0))  # n - k rounds n off
    count = np.where(is_product, chosen, 0)
    product = np.ones_like(n)
    for i in range(1, _FACTORS + 1):
        product = product * np.where(i <= count, (n - count + i) / i, 1)
    # Beyond n by the reflection of gamma(n - k + 1), DLMF 5.5.3.
    is_beyond = k >= n + 1
    last = np.where(is_beyond, k - n, 1 + n - k)
    shape = np.where(is_beyond, 1 + n, 1 + k)
    size = _betaln(last, shape)
    size = np.where(is_beyond, size - math.log(math.pi), -size - np.log(np.absolute(n + 1)))
    general = np.exp(size) * _sign(n + 1) * _sign(1 + k) * _sign(last)
    turn = np.sin((np.remainder(k, 2) - n) * math.pi)
    general = np.where(is_beyond, general * turn, general)
    general = np.where(_is_pole(1 + n - k) | _is_pole(1 + k), np.where(np.isnan(n), n, 0), general)
    value = np.where(is_product, product, general)
    whole = np.where(np.absolute(value) < 2**53, np.round(value), value)
    value = np.where(is_whole & np.equal(k, np.floor(k)), whole, value)
    return np.where(_is_pole(n + 1) | np.isneginf(n), np.nan, value)


_binomial.defjvps(
    lambda t, out, n, k: t * ((applied("digamma", n + 1) - applied("digamma", n - k + 1)) * out),
    lambda t, out, n, k: t * ((applied("digamma", n - k + 1) - applied("digamma", k + 1)) * out),
)


# ------------------------------------------------------------------------------ beta functions


@public
def beta(a: Array, b: Array) -> Any:
    """The beta function gamma(a) gamma(b) / gamma(a + b), from the logarithms of all three.

    At the poles of gamma infinite, but for whole b with a + b < 1, where it has a limit; 0 where
    only gamma(a + b) is infinite.
    """
    x, y = np.broadcast_arrays(*real("beta", a, b))
    first, second, odd = _off_poles(x, y)
    sign = _sign(first) * _sign(second) * _sign(first + second)
    value = np.where(_is_pole(first + second), 0, sign * np.exp(_betaln(first, second)))
    value = np.where(_is_at_pole(first) | _is_at_pole(second), np.inf, value)
    return np.where(odd, -value, value)


@public
def betaln(a: Array, b: Array) -> Any:
    """The logarithm of |beta(a, b)|; from 8 on by a difference of Stirling's series, in which
    nothing large cancels."""
    first, second, _ = _off_poles(*np.broadcast_arrays(*real("betaln", a, b)))
    value = np.where(_is_at_pole(first) | _is_at_pole(second), np.inf, _betaln(first, second))
    return np.where(np.isposinf(first) & np.isposinf(second), np.nan, value)


def _is_at_pole(x: Any) -> Any:
    """True at a pole of gamma, and at -inf, where the poles are."""
    return _is_pole(x) | np.isneginf(x)


def _off_poles(a: Any, b: Any) -> tuple[Any, Any, Any]:
    """Arguments with the same |beta(a, b)|, and whether the sign is another one.

    Of whole a <= 0 and whole b, gamma(a) / gamma(a + b) has the limit (-1)^b gamma(1 - a - b) /
    gamma(1 - a), DLMF 5.5.3, where both are infinite.
    """
    for one, other in ((a, b), (b, a)):
        is_whole = np.equal(other, np.floor(other)) & np.isfinite(other)
        turns = _is_pole(one) & is_whole & (1 - one - other > 0)
        if one is a:
            first, second, odd = np.where(turns, 1 - a - b, a), b, turns
        else:
            turns = turns & ~odd
            second, odd = np.where(turns, 1 - a - b, b), odd | turns
    power = np.where(_is_pole(a), b, a)
    return first, second, odd & np.equal(np.remainder(power, 2), 1)


def _betaln(a: Any, b: Any) -> Any:
    """Where the larger and the sum are from 8 on, by the difference of two of Stirling's formulas,
    in which nothing large cancels."""
    less, more = np.minimum(a, b), np.maximum(a, b)
    small = applied("lgamma", less) + (applied("lgamma", more) - applied("lgamma", less + more))
    is_large = (more >= 8) & (less + more >= 8)
    y = np.where(is_large & np.isfinite(more), more, 8)
    x = np.where(is_large, less, 1)
    growth = (y + (x - 0.5)) * np.log1p(x / y) + x * (np.log(y) - 1)
    large = applied("lgamma", x) - (growth + (_stirling_tail(x + y) - _stirling_tail(y)))
    value = np.where(is_large, large, small)
    value = np.where(np.isposinf(more) & (less < 0), np.inf, value)
    return np.where(np.isposinf(more) & (less > 0), -np.inf, value)


def _stirling_tail(y: Any) -> Any:
    """What Stirling's formula leaves of log gamma(y), for y >= 8 (DLMF 5.11.1)."""
    square = np.reciprocal(np.square(y))
    total: Any = 0.0
    for k, number in reversed(list(enumerate(bernoulli_numbers(9), 1))):
        total = total * square + float(number / (2 * k * (2 * k - 1)))
    return total / y


@public
def betainc(a: Array, b: Array, x: Array) -> Any:
    """The regularised incomplete beta function I_x(a, b), the distribution function of the beta
    distribution; NaN outside 0 <= x <= 1."""
    return applied("betainc", *real("betainc", a, b, x))


@public
def gammainc(a: Array, x: Array) -> Any:
    """The regularised lower incomplete gamma function P(a, x), the distribution function of the
    gamma distribution.

    Series, continued fraction, and for large a the expansion of N. Temme (1979).
    """
    shape, value = real("gammainc", a, x)
    return _but_both_infinite(shape, value, applied("igamma", shape, value))


@public
def gammaincc(a: Array, x: Array) -> Any:
    """The regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x), without
    cancellation."""
    shape, value = real("gammaincc", a, x)
    return _but_both_infinite(shape, value, applied("igammac", shape, value))


def _but_both_infinite(a: Any, x: Any, value: Any) -> Any:
    return np.where(np.isposinf(a) & np.isposinf(x), np.nan, value)


# ----------------------------------------------------------------------- derivatives and zeta


@public
def digamma(x: Array) -> Any:
    """The digamma function, the derivative of `gammaln`; NaN at the poles -1, -2, ..., infinite at
    0."""
    (value,) = real("digamma", x)
    return np.where(np.equal(value, 0), np.copysign(np.inf, -value), applied("digamma", value))


@public
def polygamma(n: Array, x: Array) -> Any:
    """The n-th derivative of `digamma`; raises ValueError unless n has an integer dtype."""
    order = operand("polygamma", n)
    dtype = np.asarray(order).dtype if type(order) in PYTHON_SCALARS else order.dtype
    if kind_letter(dtype) not in "iu":
        text = f"Argument `n` to polygamma must be of integer type. Got dtype {dtype.name}."
        raise located(ValueError, text)
    return applied("polygamma", *real("polygamma", n, x))


@public
def zeta(x: Array, q: Array | None = None) -> Any:
    """Hurwitz' zeta function, the sum of (k + q)^-x over k = 0, 1, ...; raises NotImplementedError
    without q, as JAX does.

    By Euler-Maclaurin summation (DLMF 2.10(i)).
    """
    if q is None:
        raise NotImplementedError(
            "Riemann zeta function not implemented; pass q != None to compute the Hurwitz Zeta "
            "function."
        )
    return applied("zeta", *real("zeta", x, q))


@public
def multigammaln(a: Array, d: Any) -> Any:
    """The logarithm of the d-variate gamma function, for an int d: d (d - 1) / 4 log(pi) plus the
    `gammaln` of a - k / 2, k < d."""
    count = operator.index(d)
    (x,) = real("multigammaln", a)
    total: Any = 0.25 * count * (count - 1) * math.log(math.pi)
    for k in range(count):
        total = total + applied("lgamma", x - 0.5 * k)
    return total


@custom_jvp
def _poch(z: Any, m: Any) -> Any:
    """Between two poles by the reflection, by logarithms where gamma is too large, and by the first
    terms of a series where these would cancel: Tricomi and Erdelyi, The asymptotic expansion of a
    ratio of gamma functions, 1951."""
    end = z + m
    starts, ends = map(_is_pole, (z, end))
    first, second = np.where(starts & ends, 1 - z, end), np.where(starts & ends, 1 - end, z)
    size = np.exp(applied("lgamma", first) - applied("lgamma", second))
    is_large = np.maximum(np.absolute(first), np.absolute(second)) > (30 if z.itemsize < 8 else 140)
    quotient = applied("gamma", first) / applied("gamma", second)
    value = np.where(is_large, _sign(first) * _sign(second) * size, quotient)
    middle = z + (m - 1) / 2
    is_long = (z > (1e2 if z.itemsize < 8 else 1e4)) & (
        np.absolute(m) < 0.01 * np.sqrt(np.absolute(z))
    )
    w = np.where(is_long, middle, 1)
    series = np.power(w, m) * (1 - m * (m - 1) * (m + 1) / (24 * w) / w)
    value = np.where(is_long, series, value)
    value = np.where(starts & ends & np.equal(np.remainder(m, 2), 1), -value, value)
    value = np.where(starts & ~ends, 0, np.where(ends & ~starts, np.inf, value))
    return np.where(np.equal(m, 0), 1, value)


_poch.defjvps(
    lambda t, out, z, m: t * ((applied("digamma", z + m) - applied("digamma", z)) * out),
    lambda t, out, z, m: t * (applied("digamma", z + m) * out),
)


@public
def poch(z: Array, m: Array) -> Any:
    """Pochhammer's symbol, the rising factorial gamma(z + m) / gamma(z); its limit where both are
    infinite."""
    return _poch(*np.broadcast_arrays(*real("jnp.poch", z, m)))


@public
def bernoulli(n: int) -> Any:
    """The Bernoulli numbers B_0 ... B_n as float64, with B_1 = -1/2; raises ValueError for negative
    n.

    Exact fractions up to B_80, asymptotic ratios beyond.
    """
    count = operator.index(n)
    if count < 0:
        raise located(ValueError, "n must be a non-negative integer.")
    result = np.zeros(count + 1)
    result[:3] = np.array([1, -0.5, 1 / 6])[: count + 1]
    exact = min(count // 2, 40)
    result[2 : 2 * exact + 1 : 2] = [float(b) for b in bernoulli_numbers(exact)]
    for m in range(82, count + 1, 2):  # zeta(m) is 1 to all digits
        result[m] = -result[m - 2] * ((m - 1) / math.tau) * (m / math.tau)
    return result
