"""Entropies, logistic functions and others whose logarithms need care at zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile import nn
from transpile.functional.custom import custom_jvp
from transpile.nn import logsumexp
from transpile.scipy.special.operands import Array, promoted, public, real

__all__ = ["logsumexp"]


@custom_jvp
def _logit(x: Any) -> Any:
    return np.log(x / (1 - x))


_logit.defjvps(lambda t, out, x: t / (x * (1 - x)))


@public
def logit(x: Array) -> Any:
    """The logit log(x / (1 - x)), infinite at 0 and 1, NaN outside; the inverse of `expit`."""
    return _logit(*promoted("logit", x))


@custom_jvp
def _expit(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


_expit.defjvps(lambda t, out, x: t * (out * (1 - out)))


@public
def expit(x: Array) -> Any:
    """The logistic function 1 / (1 + exp(-x))."""
    return _expit(*promoted("expit", x))


def _unless_zero(x: Any, y: Any, product: Any) -> Any:
    """The product, but 0 where x is 0 and y a number."""
    return np.where(np.not_equal(x, 0) | np.isnan(y), product, 0)


@custom_jvp
def _xlogy(x: Any, y: Any) -> Any:
    return _unless_zero(x, y, x * np.log(y))


_xlogy.defjvps(lambda t, out, x, y: t * np.log(y), lambda t, out, x, y: t * x / y)


@public
def xlogy(x: Array, y: Array) -> Any:
    """The product x log(y), 0 where x is 0, unless y is NaN."""
    return _xlogy(*np.broadcast_arrays(*promoted("xlogy", x, y)))


@custom_jvp
def _xlog1py(x: Any, y: Any) -> Any:
    return _unless_zero(x, y, x * np.log1p(y))


_xlog1py.defjvps(lambda t, out, x, y: t * np.log1p(y), lambda t, out, x, y: t * x / (1 + y))


@public
def xlog1py(x: Array, y: Array) -> Any:
    """The product x log(1 + y), 0 where x is 0, unless y is NaN."""
    return _xlog1py(*np.broadcast_arrays(*promoted("xlog1py", x, y)))


@custom_jvp
def _xlogx(x: Any) -> Any:
    return _unless_zero(x, x, x * np.log(x))


_xlogx.defjvps(lambda t, out, x: t * (np.log(x) + 1))


@public
def entr(x: Array) -> Any:
    """The entropy function -x log(x): 0 at 0, -inf for negative x."""
    (value,) = real("entr", x)
    return np.where(value < 0, -np.inf, -_xlogx(value))


@public
def rel_entr(p: Array, q: Array) -> Any:
    """The relative entropy p log(p / q): 0 where p is 0 and q at least 0, inf elsewhere outside p,
    q > 0."""
    return _rel_entr(*real("rel_entr", p, q))


def _rel_entr(p: Any, q: Any) -> Any:
    return _entropy(p, q, lambda x, y: x * _log_of_ratio(x, y), np.zeros_like)


def _entropy(p: Any, q: Any, inside: Any, without: Any) -> Any:
    """What is inside p, q > 0, and where p is 0; elsewhere infinite, and NaN of NaN."""
    x, y = np.broadcast_arrays(p, q)
    are_positive, is_zero = (x > 0) & (y > 0), np.equal(x, 0) & (y >= 0)
    value = inside(np.where(are_positive, x, 1), np.where(are_positive, y, 1))
    outside = np.where(np.isnan(x) | np.isnan(y), x + y, x.dtype.type(np.inf))
    return np.where(
        are_positive, value, np.where(is_zero, without(np.where(is_zero, y, 0)), outside)
    )


def _log_of_ratio(x: Any, y: Any) -> Any:
    """log(x / y) of positive numbers, whose quotient may be near 1 or out of range."""
    ratio = x / y
    is_normal = (ratio > np.finfo(x.dtype).tiny) & (ratio < np.inf)
    is_near = (ratio > 0.5) & (ratio < 2)
    near = np.log1p(np.where(is_near, (x - y) / y, 0))
    far = np.where(is_normal, np.log(np.where(is_normal, ratio, 1)), np.log(x) - np.log(y))
    return np.where(is_near, near, far)


@public
def kl_div(p: Array, q: Array) -> Any:
    """The Kullback-Leibler divergence p log(p / q) - p + q, q where p is 0, and inf elsewhere
    outside p, q > 0."""
    x, y = real("kl_div", p, q)
    return _entropy(x, y, lambda x, y: x * _log_of_ratio(x, y) - x + y, lambda y: y)


@public
def boxcox(x: Array, lmbda: Array) -> Any:
    """The Box-Cox transform (x^lmbda - 1) / lmbda, log(x) for lmbda = 0; NaN for negative x.

    By expm1, without cancellation for small lmbda. G. Box and D. Cox, An Analysis of
    Transformations, 1964.
    """
    value, power = promoted("boxcox", x, lmbda)
    return _boxcox(np.log(value), power)


@public
def boxcox1p(x: Array, lmbda: Array) -> Any:
    """The Box-Cox transform of 1 + x, without cancellation for small x; see `boxcox`."""
    value, power = promoted("boxcox1p", x, lmbda)
    return _boxcox(np.log1p(value), power)


def _boxcox(logarithm: Any, power: Any) -> Any:
    zero = np.equal(power, 0)
    safe = np.where(zero, 1, power)
    return np.where(zero, logarithm, np.expm1(safe * logarithm) / safe)


def softmax(x: Array, /, *, axis: Any = None) -> Any:
    """exp(x) divided by its sum along axes, by default all; see `nn.softmax`."""
    return nn.softmax(x, axis=axis)


def log_softmax(x: Array, /, *, axis: Any = None) -> Any:
    """The logarithm of `softmax`, along all axes by default; see `nn.log_softmax`."""
    return nn.log_softmax(x, axis=axis)
