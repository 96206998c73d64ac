"""Samples of counts: Poisson, binomial and multinomial distributions.

All elements are drawn together, again and again, until one of each has been accepted: the loop is
JAX's, and so are the samples.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transpile.ir.dims import Shape
from transpile.ir.types import FLOAT32, INT64
from transpile.lax.control.loops import scan, while_loop
from transpile.numpy.core.promotion import as_array, broadcast_to, convert, fill
from transpile.numpy.core.promotion import error as located
from transpile.numpy.subscripts.take import take
from transpile.primitives.rules import apply
from transpile.random.arguments import canonical_shape, inexact, own_dtype, parameter, sample_shape
from transpile.random.bits import DType, split, split_keys, unit_floats
from transpile.random.evaluation import part, sampled
from transpile.random.key_arrays import KeyArray
from transpile.random.keys import key_bits

# ----------------------------------------------------------------------------------------- Poisson


def poisson(
    key: Any, lam: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Samples of the Poisson distribution with rates `lam`, as integers, int64 by default.

    By exponential gaps below a rate of 10 (D. Knuth, The Art of Computer Programming, volume 2,
    3.4.1), by transformed rejection beyond (W. Hörmann, algorithm PTRS, 1993). Rates are rounded to
    float32. Raises ValueError for other dtypes than integers and rates that do not broadcast to
    `shape`.
    """
    data, _ = key_bits("poisson", key)
    chosen = own_dtype("poisson", dtype, int, "iu")
    sizes = sample_shape("poisson", shape, lam)
    return sampled(_poisson, data, parameter(lam, FLOAT32), shape=sizes, dtype=chosen)


def _poisson(key: Any, rate: Any, shape: Shape, dtype: DType) -> Any:
    """Small rates and large ones have methods of their own; each gets a harmless rate where the
    other is used."""
    rate = broadcast_to(rate, shape)
    is_small = np.logical_or(np.isnan(rate), np.less(rate, 10))
    small = _exponential_gaps(key, np.where(is_small, rate, np.float32(0)), shape, dtype)
    is_used = np.any(np.logical_not(is_small))
    large = _poisson_rejection(
        key, np.where(is_small, np.float32(1e5), rate), is_used, shape, dtype
    )
    counts = np.where(is_small, small, large)
    return np.where(np.equal(rate, 0), dtype.type(0), counts)


def _exponential_gaps(key: Any, rate: Any, shape: Shape, dtype: DType) -> Any:
    """Count exponential gaps until their sum is more than the rate (Knuth, "The art of computer
    programming", volume 2, 3.4.1)."""

    def body(state: Any) -> Any:
        key, count, total = state
        key, own = split(key)
        more = np.where(total > -rate, count + dtype.type(1), count)
        return key, more, total + np.log(unit_floats(own, shape, FLOAT32))

    start = (_traced(key), _all(0, shape, dtype), _all(0, shape, FLOAT32))
    state = while_loop(part(lambda s: np.any(s[2] > -rate)), part(body), start)
    return state[1] - dtype.type(1)


def _poisson_rejection(key: Any, rate: Any, is_used: Any, shape: Shape, dtype: DType) -> Any:
    """Hörmann, "The transformed rejection method for generating Poisson random variables" (1993):
    algorithm PTRS."""
    log = np.log(rate)
    b = 0.931 + 2.53 * np.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse = 1.1239 + 1.1328 / (b - 3.4)
    limit = 0.9277 - 3.6224 / (b - 2)

    def propose(u: Any, v: Any) -> tuple[Any, Any]:
        distance = 0.5 - np.abs(u)
        k = np.floor((2 * a / distance + b) * u + rate + 0.43)
        s = np.log(v * inverse / (a / (distance * distance) + b))
        t = -rate + k * log - apply("lgamma", k + 1)
        is_sure = np.logical_and(distance >= 0.07, v <= limit)
        is_out = np.logical_or(k < 0, np.logical_and(distance < 0.013, v > distance))
        return k, np.logical_or(is_sure, np.logical_and(np.logical_not(is_out), s <= t))

    return convert(_accepted(key, propose, is_used, shape, FLOAT32), dtype)


def _accepted(key: Any, propose: Any, is_used: Any, shape: Shape, dtype: DType) -> Any:
    """What was proposed last that was accepted, when something has been for every element.

    propose  (uniform from [-1/2, 1/2), uniform from [0, 1)) -> (proposal, whether it is accepted)
    is_used  whether any of it is needed
    """

    def body(state: Any) -> Any:
        key, accepted, is_done = state
        key, first, second = split(key, 3)
        u = unit_floats(first, shape, dtype) - 0.5
        proposal, is_accepted = propose(u, unit_floats(second, shape, dtype))
        return key, np.where(is_accepted, proposal, accepted), is_done | convert(is_accepted, flags)

    # Of the size of the samples, so that both fill vectors alike.
    flags = np.dtype(f"i{dtype.itemsize}")
    start = (_traced(key), _all(-1, shape, dtype), _all(0, shape, flags))

    def goes_on(state: Any) -> Any:
        return np.logical_and(is_used, np.any(np.equal(state[2], 0)))

    return while_loop(part(goes_on), part(body), start)[1]


def _traced(key: Any) -> Any:
    return key if isinstance(key, KeyArray) else as_array(key)


def _all(value: Any, shape: Shape, dtype: DType) -> Any:
    return fill(value, shape, dtype)


# ---------------------------------------------------------------------------------------- binomial


def binomial(key: Any, n: Any, p: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Samples of the binomial distribution: the successes in n trials of probability p, as floats.

    By geometric gaps where fewer than 10 successes are expected (L. Devroye, Non-Uniform Random
    Variate Generation, 1986), by transformed rejection otherwise (W. Hörmann, algorithm BTRS,
    1993). NaN where n is negative or p is no probability.
    """
    data, _ = key_bits("binomial", key)
    chosen = own_dtype("binomial", dtype, float)
    sizes = sample_shape("binomial", shape, n, p)
    (chance,) = inexact(p)
    count = parameter(n, chance.dtype)
    return sampled(_binomial, data, count, chance, shape=sizes, dtype=chosen)


def _binomial(key: Any, n: Any, p: Any, shape: Shape, dtype: DType) -> Any:
    """The rarer outcome is counted, by one of two methods. Each gets a harmless case where the
    other is used."""
    n, p = (broadcast_to(as_array(x), shape) for x in (n, p))
    own = p.dtype.type
    is_rarer = np.less(p, 0.5)
    q = np.where(is_rarer, p, 1 - p)
    is_no_count = np.logical_or(np.isnan(n), np.less(n, 0))
    is_no_chance = np.logical_or(np.isnan(q), np.less(q, 0))
    is_infinite = np.isinf(n)
    chance = np.where(is_no_chance, own(0.01), q)
    is_short = np.logical_or(is_no_count, np.less_equal(n * chance, 10))
    n = np.floor(n)
    short = _geometric_gaps(key, np.where(is_short, n, own(0)), chance, shape, dtype)
    counts, chances = np.where(is_short, own(1e4), n), np.where(is_short, own(0.5), chance)
    is_used = np.any(np.logical_not(is_short))
    long = _transformed_rejection(key, counts, chances, is_used, shape, dtype)
    successes = np.where(is_short, short, long)
    is_invalid = np.logical_or(is_no_count, is_no_chance)
    successes = np.where(is_invalid, dtype.type(np.nan), successes)
    is_endless = np.logical_and(is_infinite, np.logical_not(is_invalid))
    successes = np.where(is_endless, dtype.type(np.inf), successes)
    stays = is_rarer | is_no_count | np.isnan(q) | is_infinite
    return np.where(stays, successes, convert(n, dtype) - successes)


def _geometric_gaps(key: Any, n: Any, p: Any, shape: Shape, dtype: DType) -> Any:
    """Count successes by the trials between them, until the trials are used up (Devroye,
    "Non-uniform random variate generation", 1986, X.4)."""
    log = np.log1p(-p)

    def body(state: Any) -> Any:
        key, count, trials = state
        own, key = split(key)
        count = np.where(trials <= n, count + 1, count)
        return key, count, trials + np.ceil(np.log(unit_floats(own, shape, p.dtype)) / log)

    start = (_traced(key), _all(0, shape, p.dtype), _all(0, shape, p.dtype))
    state = while_loop(part(lambda s: np.any(s[2] <= n)), part(body), start)
    return convert(state[1] - 1, dtype)


def _transformed_rejection(
    key: Any, n: Any, p: Any, is_used: Any, shape: Shape, dtype: DType
) -> Any:
    """Hörmann, "The generation of binomial random variates" (1993): algorithm BTRS."""
    deviation = np.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    center = n * p + 0.5
    limit = 0.92 - 4.2 / b
    r = p / (1 - p)
    alpha = (2.83 + 5.1 / b) * deviation
    m = np.floor((n + 1) * p)

    def propose(u: Any, v: Any) -> tuple[Any, Any]:
        distance = 0.5 - np.abs(u)
        is_sure = np.logical_and(distance >= 0.07, v <= limit)
        k = np.floor((2 * a / distance + b) * u + center)
        is_out = np.logical_or(k < 0, k > n)
        height = np.log(v * alpha / (a / (distance * distance) + b))
        bound = (
            (m + 0.5) * np.log((m + 1) / (r * (n - m + 1)))
            + (n + 1) * np.log((n - m + 1) / (n - k + 1))
            + (k + 0.5) * np.log(r * (n - k + 1) / (k + 1))
            + _stirling_rest(m)
            + _stirling_rest(n - m)
            - _stirling_rest(k)
            - _stirling_rest(n - k)
        )
        is_below = np.logical_and(np.logical_not(is_out), height <= bound)
        return k, np.logical_or(is_sure, is_below)

    return convert(_accepted(key, propose, is_used, shape, p.dtype), dtype)


# What Stirling's formula for log(k!) leaves, for k = 0 to 9.
_RESTS = [
    math.lgamma(k + 1) - ((k + 0.5) * math.log(k + 1) - (k + 1) + math.log(2 * math.pi) / 2)
    for k in range(10)
]


def _stirling_rest(k: Any) -> Any:
    """log(k!) minus Stirling's formula: from a table, or by the next three terms of the series."""
    own = k.dtype.type
    index = convert(np.clip(np.where(np.isnan(k), own(0), k), own(0), own(9)), INT64)
    square = np.square(k + 1)
    series = (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)
    return np.where(k <= 9, take(np.asarray(_RESTS, k.dtype), index), series)


# ------------------------------------------------------------------------------------- multinomial


def multinomial(
    key: Any,
    n: Any,
    p: Any,
    *,
    shape: Any = None,
    dtype: Any = None,
    unroll: int | bool = 1,
) -> Any:
    """Samples of the multinomial distribution: the numbers of occurrences, in n trials, of outcomes
    with probabilities p along the last axis.

    One binomial sample of the remaining trials after the other. `unroll` changes nothing. Raises
    TypeError for lists, ValueError for shapes that do not broadcast.
    """
    data, _ = key_bits("multinomial", key)
    for position, x in enumerate((n, p)):
        if isinstance(x, list | tuple):
            raise located(
                TypeError,
                f"multinomial requires ndarray or scalar arguments, got {type(x)} at position "
                f"{position}.",
            )
    count, chances = inexact(n, p)
    sizes = tuple(chances.shape) if shape is None else canonical_shape(shape)
    sample_shape("multinomial", sizes, chances)
    sample_shape("multinomial", sizes[:-1], count)
    chosen = own_dtype("multinomial", dtype, float, "biufc")
    return sampled(_multinomial, data, count, chances, shape=sizes, dtype=chosen)


def _multinomial(key: Any, n: Any, p: Any, shape: Shape, dtype: DType) -> Any:
    """One outcome after the other: a binomial sample of the trials that are left."""
    p = np.moveaxis(broadcast_to(p, shape), -1, 0)
    rest = np.flip(np.cumsum(np.flip(p, 0), 0), 0)
    ratios = np.clip(p / np.where(np.equal(rest, 0), p.dtype.type(1), rest), 0, 1)

    def step(left: Any, outcome: Any) -> tuple[Any, Any]:
        ratio, own = outcome
        count = _binomial(own, left, ratio, shape[:-1], left.dtype)
        return left - count, count

    start = broadcast_to(n, shape[:-1])
    _, counts = scan(part(step), start, (ratios, split_keys(key, (shape[-1],))))
    return convert(np.moveaxis(counts, 0, -1), dtype)
