"""JVP rules of special functions that take more than one line.

A rule is (tangent, result, *operands) -> the operand's term of the result's tangent.
"""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np

from transpile.ir.types import finfo
from transpile.primitives.reference.extended_precision import bernoulli_numbers
from transpile.primitives.rules import apply


def constant(value: float, x: Any) -> Any:
    """A constant scalar of the dtype of x."""
    return np.asarray(value, np.float32).astype(x.dtype)[()]


def bessel_i1e(t: Any, out: Any, x: Any) -> Any:
    """d/dx exp(-|x|) I1(x), by I1' = I0 - I1 / x, which is 1/2 at 0."""
    least = float(finfo(x.dtype).eps)
    tiny = np.less_equal(np.absolute(x), least)
    safe = np.where(tiny, x.dtype.type(least), x)
    slope = apply("bessel_i0e", safe) - out * (np.sign(safe) + np.reciprocal(safe))
    return t * np.where(tiny, x.dtype.type(0.5), slope)


def expn(t: Any, out: Any, n: Any, x: Any) -> Any:
    """dE_n/dx = -E_(n-1), with E_(-1) = exp(-x) (1 + 1 / x) / x."""
    zero = np.equal(n, 0)
    below = apply("expn", np.where(zero, n.dtype.type(0), n - 1), x)
    return t * np.where(zero, out * (-1 - 1 / x), -below)


def spence(t: Any, out: Any, x: Any) -> Any:
    """-log(x) / (x - 1), which is -1 at 1."""
    at_one = np.equal(x, 1)
    safe = np.where(at_one, x.dtype.type(2), x)
    return t * np.where(at_one, x.dtype.type(-1), -np.log(safe) / (safe - 1))


def zeta_by_order(s: Any, q: Any) -> Any:
    """d/ds of Hurwitz' zeta function: the derivative of the Euler-Maclaurin formula, term by term
    (DLMF 2.10(i))."""
    count, terms = 12, 12
    total: Any = None
    for k in range(count):
        base = q + k if k else q
        share = np.log(base) * np.power(base, -s)
        total = share if total is None else total + share
    a = q + count
    logarithm = np.log(a)
    tail = np.power(a, -s)
    below = np.reciprocal(s - 1)
    total = total + tail * (a * below * (logarithm + below) + 0.5 * logarithm)
    factor, rate = s / a, np.reciprocal(s)
    for k, number in enumerate(bernoulli_numbers(terms), 1):
        weight = float(number / factorial(2 * k))
        total = total + (weight * tail * factor) * (logarithm - rate)
        for j in (2 * k - 1, 2 * k):
            factor = factor * ((s + j) / a)
            rate = rate + np.reciprocal(s + j)
    return -total


def gamma_density(a: Any, x: Any) -> Any:
    """d/dx igamma(a, x)."""
    return np.exp((a - 1) * np.log(x) - x - apply("lgamma", a))


def beta_density(a: Any, b: Any, x: Any) -> Any:
    """d/dx betainc(a, b, x)."""
    logarithm = apply("lgamma", a) + apply("lgamma", b) - apply("lgamma", a + b)
    return np.exp((b - 1) * np.log1p(-x) + (a - 1) * np.log(x) - logarithm)
