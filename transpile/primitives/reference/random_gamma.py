"""Samples of the gamma distribution by rejection (G. Marsaglia and W. Tsang, 2000), with the random
bits of random/random_gamma.h. The samples that are rejected are drawn again, all at once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transpile.primitives.reference.errors import erf_inv
from transpile.primitives.reference.threefry import threefry


def random_gamma(alpha: Any, key: Any) -> Any:
    """A sample for each parameter and key."""
    return _sampled(alpha, key, is_log=False)


def random_loggamma(alpha: Any, key: Any) -> Any:
    """The logarithm of a sample for each parameter and key."""
    return _sampled(alpha, key, is_log=True)


def _sampled(alpha: Any, key: Any, is_log: bool) -> Any:
    alpha, key = np.broadcast_arrays(alpha, key)
    if alpha.dtype.itemsize < 4:  # halves, which are computed in single precision
        return _sampled(alpha.astype(np.float32), key, is_log).astype(alpha.dtype)
    one = alpha.dtype.type(1)
    with np.errstate(all="ignore"):
        is_large = alpha >= 1
        shifted = np.where(is_large, alpha, alpha + one)
        d = shifted - one / 3
        volume = _volumes(d.ravel(), threefry(key, 0).ravel()).reshape(d.shape)
        uniform = _unit_float(threefry(key, 1), alpha.dtype)
        if not is_log:
            boost = np.power(one - uniform, one / alpha)
            return d * volume * np.where(is_large, one, boost)
        logarithm = np.log1p(-uniform)
        is_one = is_large | (logarithm == 0)
        boost = np.where(is_one, one * 0, logarithm * (one / alpha))
        return np.log(d) + np.log(volume) + boost


def _volumes(d: Any, key: Any) -> Any:
    one = d.dtype.type(1)
    c = one / 3 / np.sqrt(d)
    volumes = np.empty_like(d)
    left = np.arange(d.size)
    while left.size:
        x, v = _positive(c[left], threefry(key, 1))
        u = _unit_float(threefry(key, 2), d.dtype)
        square, volume = x * x, v * v * v
        is_refused = u >= one - d.dtype.type(0.0331) * (square * square)
        bound = square / 2 + d[left] * (one - volume + np.log(volume))
        is_refused &= np.log(u) >= bound
        volumes[left[~is_refused]] = volume[~is_refused]
        left, key = left[is_refused], threefry(key[is_refused], 0)
    return volumes


def _positive(c: Any, key: Any) -> tuple[Any, Any]:
    """Normal samples x, drawn until 1 + c x is positive; x and 1 + c x."""
    one = c.dtype.type(1)
    x = _normal_float(threefry(key, 1), c.dtype)
    v = one + x * c
    while (left := np.flatnonzero(v <= 0)).size:
        key[left] = threefry(key[left], 0)
        x[left] = _normal_float(threefry(key[left], 1), c.dtype)
        v[left] = one + x[left] * c[left]
    return x, v


def _unit_float(key: Any, dtype: Any) -> Any:
    words = threefry(key, 0)
    if dtype.itemsize == 4:
        low = (words ^ words >> np.uint64(32)).astype(np.uint32)
        return (low >> np.uint32(9) | np.uint32(0x3F800000)).view(np.float32) - np.float32(1)
    return (words >> np.uint64(12) | np.uint64(0x3FF << 52)).view(np.float64) - 1.0


def _normal_float(key: Any, dtype: Any) -> Any:
    low = np.nextafter(dtype.type(-1), dtype.type(0))
    uniform = _unit_float(key, dtype) * (dtype.type(1) - low) + low
    return dtype.type(math.sqrt(2)) * erf_inv(uniform)
