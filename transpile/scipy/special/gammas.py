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
    """`scipy.special.gammaln`: the logarithm of |gamma(x)|."""
    return applied("lgamma", *real("gammaln", x))


@public
def loggamma(x: Array) -> Any:
    """`scipy.special.loggamma`: the logarithm of the gamma function, NaN for real x <= 0; for
    complex numbers the branch that is continuous off the negative numbers."""
    (z,) = promoted("loggamma", x)
    if z.dtype.kind == "c":
        return complex_loggamma(z)
    return np.where(z > 0, applied("lgamma", z), np.nan)


@public
def gamma(x: Array) -> Any:
    """`scipy.special.gamma`: the gamma function of real and complex numbers."""
    (z,) = promoted("gamma", x)
    return complex_gamma(z) if z.dtype.kind == "c" else applied("gamma", z)


@public
def gammasgn(x: Array) -> Any:
    """`scipy.special.gammasgn`: the sign of the gamma function; NaN at negative integers."""
    return _sign(*real("gammasgn", x))


def _sign(x: Any) -> Any:
    below = np.floor(x)
    one = x.dtype.type(1)
    odd = np.logical_and(x < 0, np.not_equal(np.remainder(below, 2), 0))
    odd = np.logical_or(odd, np.logical_and(np.equal(x, 0), np.signbit(x)))
    pole = np.logical_or(np.logical_and(x < 0, np.equal(x, below)), np.isnan(x))
    return np.where(pole, one * np.nan, np.where(odd, -one, one))


@public
def factorial(n: Array, exact: bool = False) -> Any:
    """`scipy.special.factorial`: gamma(n + 1), and 0 for negative n."""
    if exact:
        raise NotImplementedError("factorial with exact=True")
    (x,) = real("factorial", n)
    return np.where(x < 0, x.dtype.type(0), applied("gamma", np.where(x < 0, 0, x) + 1))


@public
def comb(N: Array, k: Array, *, repetition: bool = False) -> Any:
    """`scipy.special.comb`: the number of ways to choose k of N, with repetition or without."""
    count, chosen = real("comb", N, k)
    if repetition:
        nothing = np.logical_and(np.equal(chosen, 0), count >= 0)
        return np.where(nothing, count.dtype.type(1), _comb(count + chosen - 1, chosen))
    return _comb(count, chosen)


def _comb(count: Any, chosen: Any) -> Any:
    possible = (chosen <= count) & (count >= 0) & (chosen >= 0)
    n, k = np.where(possible, count, 0), np.where(possible, chosen, 0)
    parts = applied("lgamma", k + 1) + applied("lgamma", n - k + 1)
    return np.where(possible, np.exp(applied("lgamma", n + 1) - parts), n.dtype.type(0))


# ------------------------------------------------------------------------------ beta functions


@public
def beta(a: Array, b: Array) -> Any:
    """`scipy.special.beta`: gamma(a) gamma(b) / gamma(a + b)."""
    x, y = real("beta", a, b)
    return _sign(x) * _sign(y) * _sign(x + y) * np.exp(_betaln(x, y))


@public
def betaln(a: Array, b: Array) -> Any:
    """`scipy.special.betaln`: the logarithm of |beta(a, b)|."""
    return _betaln(*real("betaln", a, b))


def _betaln(a: Any, b: Any) -> Any:
    """Where the larger is from 8 on, by the difference of two of Stirling's formulas, in which
    nothing large cancels."""
    less, more = np.minimum(a, b), np.maximum(a, b)
    small = applied("lgamma", less) + (applied("lgamma", more) - applied("lgamma", less + more))
    is_large = more >= 8
    y = np.where(is_large, more, 8)
    x = np.where(is_large, less, 1)
    growth = (y + (x - 0.5)) * np.log1p(x / y) + x * (np.log(y) - 1)
    large = applied("lgamma", x) - (growth + (_stirling_tail(x + y) - _stirling_tail(y)))
    return np.where(is_large, large, small)


def _stirling_tail(y: Any) -> Any:
    """What Stirling's formula leaves of log gamma(y), for y >= 8 (DLMF 5.11.1)."""
    square = np.reciprocal(np.square(y))
    total: Any = 0.0
    for k, number in reversed(list(enumerate(bernoulli_numbers(9), 1))):
        total = total * square + float(number / (2 * k * (2 * k - 1)))
    return total / y


@public
def betainc(a: Array, b: Array, x: Array) -> Any:
    """`scipy.special.betainc`: the regularized incomplete beta function."""
    return applied("betainc", *real("betainc", a, b, x))


@public
def gammainc(a: Array, x: Array) -> Any:
    """`scipy.special.gammainc`: the regularized lower incomplete gamma function."""
    return applied("igamma", *real("gammainc", a, x))


@public
def gammaincc(a: Array, x: Array) -> Any:
    """`scipy.special.gammaincc`: the regularized upper incomplete gamma function."""
    return applied("igammac", *real("gammaincc", a, x))


# ----------------------------------------------------------------------- derivatives and zeta


@public
def digamma(x: Array) -> Any:
    """`scipy.special.digamma`: the derivative of gammaln."""
    return applied("digamma", *real("digamma", x))


@public
def polygamma(n: Array, x: Array) -> Any:
    """`scipy.special.polygamma`: the n-th derivative of digamma, n being of an integer dtype."""
    order = operand("polygamma", n)
    dtype = np.asarray(order).dtype if type(order) in PYTHON_SCALARS else order.dtype
    if kind_letter(dtype) not in "iu":
        text = f"Argument `n` to polygamma must be of integer type. Got dtype {dtype.name}."
        raise located(ValueError, text)
    return applied("polygamma", *real("polygamma", n, x))


@public
def zeta(x: Array, q: Array | None = None) -> Any:
    """`scipy.special.zeta`: Hurwitz' zeta function of x and q."""
    if q is None:
        raise NotImplementedError(
            "Riemann zeta function not implemented; pass q != None to compute the Hurwitz Zeta "
            "function."
        )
    return applied("zeta", *real("zeta", x, q))


@public
def multigammaln(a: Array, d: Any) -> Any:
    """`scipy.special.multigammaln`: the logarithm of the d-variate gamma function, d an int."""
    count = operator.index(d)
    (x,) = real("multigammaln", a)
    total: Any = 0.25 * count * (count - 1) * math.log(math.pi)
    for k in range(count):
        total = total + applied("lgamma", x - 0.5 * k)
    return total


@custom_jvp
def _poch(z: Any, m: Any) -> Any:
    return np.where(np.equal(m, 0), 1, applied("gamma", z + m) / applied("gamma", z))


_poch.defjvps(
    lambda t, out, z, m: t * ((applied("digamma", z + m) - applied("digamma", z)) * out),
    lambda t, out, z, m: t * (applied("digamma", z + m) * out),
)


@public
def poch(z: Array, m: Array) -> Any:
    """`scipy.special.poch`: Pochhammer's symbol gamma(z + m) / gamma(z)."""
    return _poch(*np.broadcast_arrays(*real("jnp.poch", z, m)))


@public
def bernoulli(n: int) -> Any:
    """`scipy.special.bernoulli`: the Bernoulli numbers from 0 to n, an array of n + 1."""
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
