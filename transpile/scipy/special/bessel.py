"""Bessel functions: modified ones of orders 0 and 1, and those of the first kind of all integer
orders."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from transpile import lax
from transpile.ir.types import FLOAT64
from transpile.scipy.special.operands import Array, applied, located, promoted, public, real


@public
def i0e(x: Array) -> Any:
    """The scaled modified Bessel function of the first kind of order 0, exp(-|x|) I0(x), which does
    not overflow."""
    return applied("bessel_i0e", *real("i0e", x))


@public
def i0(x: Array) -> Any:
    """The modified Bessel function of the first kind of order 0; infinite from 709.8 on, where
    exp(x) overflows."""
    (value,) = real("i0", x)
    return np.exp(np.absolute(value)) * applied("bessel_i0e", value)


@public
def i1e(x: Array) -> Any:
    """The scaled modified Bessel function of the first kind of order 1, exp(-|x|) I1(x), which does
    not overflow."""
    return applied("bessel_i1e", *real("i1e", x))


@public
def i1(x: Array) -> Any:
    """The modified Bessel function of the first kind of order 1; infinite from 709.8 on, where
    exp(x) overflows."""
    (value,) = real("i1", x)
    return np.exp(np.absolute(value)) * applied("bessel_i1e", value)


@public
def bessel_jn(z: Array, *, v: int, n_iter: int = 50) -> Any:
    """The Bessel functions of the first kind J_0(z) ... J_v(z), along a new first axis.

    z       real numbers; for |z| beyond n_iter no digit is right
    n_iter  the order from which the recurrence goes down

    J. Miller's backward recurrence, normalised by J_0 + 2 (J_2 + J_4 + ...) = 1 (DLMF 3.6(iii)), in
    float64; the power series below 0.1. Raises ValueError for complex z.
    """
    (value,) = promoted("bessel_jn", z)
    if value.dtype.kind == "c":
        raise located(ValueError, "complex input not supported.")
    order, steps = operator.index(v), operator.index(n_iter)
    x = value.astype(FLOAT64)
    small = np.absolute(x) < 0.1
    down = _by_recurrence(np.where(small, 1, x), order, steps)
    series = _by_series(np.where(small, x, 0), order)
    return np.where(small, np.stack(series), down).astype(value.dtype)


def _by_recurrence(x: Any, order: int, steps: int) -> Any:
    """From J_(steps + 1) = 0 down, and divided by what J_0 + 2 (J_2 + J_4 + ...) = 1 says."""

    def body(carry: Any, k: Any) -> Any:
        above, here, total = carry
        below = 2 * (k + 1) * here / x - above
        even = np.equal(np.remainder(k, 2), 0)
        return (here, below, np.where(even, total + 2 * below, total)), below

    zero = np.zeros_like(x)
    counts = np.arange(steps + 1, dtype=np.float64)
    start = (zero, zero + 1e-16, zero)
    (_, last, total), values = lax.scan(body, start, counts, reverse=True)
    return values[: order + 1] / (total - last)


def _by_series(x: Any, order: int) -> list[Any]:
    """Seven terms of the power series (DLMF 10.2.2)."""
    square = np.square(x / 2)
    orders = []
    for n in range(order + 1):
        total: Any = 0.0
        for k in range(6, -1, -1):
            total = (1 - total) if k == 0 else square * (1 - total) / (k * (k + n))
        orders.append((x / 2) ** n / math.factorial(n) * total)
    return orders
