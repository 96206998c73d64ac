"""Samples of the gamma distribution by rejection (G. Marsaglia and W. Tsang, ACM Transactions on
Mathematical Software 26, 2000), with the random bits of runtime_c/random/random_gamma.h.

All elements go through each loop together; those that are accepted keep their sample.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transpile.hlo.builder import Rules
from transpile.hlo.expansions.loops import while_loop
from transpile.ir.types import FLOAT32
from transpile.primitives.reference.threefry import UINT32, UINT64
from transpile.primitives.rules import apply


def random_gamma(alpha: Any, key: Any) -> Any:
    """A sample for each parameter and key."""
    one = np.ones((), alpha.dtype)
    is_large, uniform, d, volume = _parts(alpha, key)
    boost = np.power(one - uniform, one / alpha)
    return d * volume * np.where(is_large, one, boost)


def random_loggamma(alpha: Any, key: Any) -> Any:
    """The logarithm of a sample, finite where the sample would underflow."""
    one = np.ones((), alpha.dtype)
    is_large, uniform, d, volume = _parts(alpha, key)
    logarithm = np.log1p(-uniform)
    boost = np.where(is_large | (logarithm == 0), one - one, logarithm * (one / alpha))
    return np.log(d) + np.log(volume) + boost


def _parts(alpha: Any, key: Any) -> tuple[Any, Any, Any, Any]:
    """Whether no further factor is needed, the number that it is made of, and the two factors of a
    sample of the parameter, or of the parameter and 1."""
    one = np.ones((), alpha.dtype)
    is_large = alpha >= 1
    d = np.where(is_large, alpha, alpha + one) - one / 3
    volume = _volumes(d, _next(key, 0))
    return is_large, _unit_float(_next(key, 1), alpha.dtype), d, volume


def _next(key: Any, counter: int) -> Any:
    return apply("threefry_2x32", key, np.uint64(counter))


def _volumes(d: Any, key: Any) -> Any:
    """A sample over d for each element: Marsaglia and Tsang's v^3."""

    def step(going: Any, volume: Any, d: Any, c: Any, key: Any) -> list[Any]:
        x = _normal_above(going, c, _next(key, 1))
        v = x * c + 1
        u = _unit_float(_next(key, 2), d.dtype)
        square, drawn = x * x, v * v * v
        is_refused = u >= 1 - np.asarray(0.0331, d.dtype) * (square * square)
        bound = square / 2 + d * (1 - drawn + np.log(drawn))
        is_refused = is_refused & (np.log(u) >= bound)
        volume = np.where(going, drawn, volume)
        return [going & is_refused, volume, d, c, _next(key, 0)]

    c = np.ones((), d.dtype) / 3 / np.sqrt(d)
    start = [np.ones(d.shape, bool), np.zeros_like(d), d, c, key]
    return while_loop(lambda going, *_: np.any(going), step, start)[1]


def _normal_above(going: Any, c: Any, key: Any) -> Any:
    """Normal samples x, drawn until 1 + c x is positive, of the elements that go on."""

    def step(going: Any, x: Any, c: Any, key: Any) -> list[Any]:
        x = np.where(going, _normal_float(_next(key, 1), c.dtype), x)
        return [going & (x * c + 1 <= 0), x, c, _next(key, 0)]

    start = [going, np.zeros_like(c), c, key]
    return while_loop(lambda going, *_: np.any(going), step, start)[1]


def _unit_float(key: Any, dtype: Any) -> Any:
    """A number in [0, 1): random bits of a fraction behind those of 1, minus 1."""
    words = _next(key, 0)
    if dtype == FLOAT32:
        low = (words ^ (words >> np.uint64(32))).astype(UINT32)
        bits = (low >> np.uint32(9)) | np.uint32(0x3F80_0000)
    else:
        bits = (words >> np.uint64(12)) | UINT64.type(0x3FF << 52)
    return apply("float_from_bits", bits, dtype=dtype) - 1


def _normal_float(key: Any, dtype: Any) -> Any:
    low = np.nextafter(dtype.type(-1), dtype.type(0))
    uniform = _unit_float(key, dtype) * (dtype.type(1) - low) + low
    return dtype.type(math.sqrt(2)) * apply("erf_inv", uniform)


EXPANSIONS: Rules = {"random_gamma": random_gamma, "random_loggamma": random_loggamma}
