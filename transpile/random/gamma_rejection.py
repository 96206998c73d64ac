"""Gamma samples with keys of any generator: a loop for each sample, one after the other.

The method is that of the primitive `random_gamma`, which draws its bits from Threefry (G. Marsaglia
and W. W. Tsang, A simple method for generating gamma variables, 2000), with the keys in the order
in which JAX derives them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.functional.custom import custom_jvp
from transpile.ir.types import computed_dtype
from transpile.lax.control.fori import map as map_examples
from transpile.lax.control.loops import while_loop
from transpile.numpy.core.promotion import convert
from transpile.primitives.random import of_gamma, of_loggamma
from transpile.random.bits import split, unit_floats
from transpile.random.evaluation import part
from transpile.random.inverses import waiting
from transpile.random.key_arrays import KeyArray
from transpile.random.normals import standard


def samples(a: Any, keys: KeyArray, is_log: bool) -> Any:
    """A sample, or its logarithm, for each parameter of a vector and its key."""
    wide = computed_dtype(a.dtype)
    drawn = (_logarithms if is_log else _samples)(convert(a, wide), keys)
    return convert(drawn, a.dtype)


@custom_jvp
def _samples(a: Any, keys: KeyArray) -> Any:
    return map_examples(part(lambda pair: _one(pair[0], pair[1], is_log=False)), (a, keys))


@custom_jvp
def _logarithms(a: Any, keys: KeyArray) -> Any:
    return map_examples(part(lambda pair: _one(pair[0], pair[1], is_log=True)), (a, keys))


@_samples.defjvp
def _jvp(primals: Any, tangents: Any) -> Any:
    """Implicitly, as the sample of the same quantile."""
    out = _samples(*primals)
    return out, of_gamma(tangents[0], out, *primals)


@_logarithms.defjvp
def _log_jvp(primals: Any, tangents: Any) -> Any:
    out = _logarithms(*primals)
    return out, of_loggamma(tangents[0], out, *primals)


def _one(a: Any, key: KeyArray, is_log: bool) -> Any:
    """A sample for a parameter; below 1 it is that for the parameter plus 1 times a power of a
    uniform number."""
    dtype = a.dtype
    number = dtype.type
    is_large = a >= number(1)
    d = np.where(is_large, a, a + number(1)) - number(1 / 3)
    c = number(1 / 3) / np.sqrt(d)

    def is_refused(state: Any) -> Any:
        _, x, v, u = state
        squeezed = u >= number(1) - number(0.0331) * (x * x)
        return squeezed & (np.log(u) >= x * number(0.5) + d * (number(1) - v + np.log(v)))

    def normal(state: Any) -> Any:
        key, own = split(state[0])
        x = standard(own, (), dtype)
        return key, x, number(1) + x * c

    def propose(state: Any) -> Any:
        key, of_x, of_u = split(state[0], 3)
        start = (of_x, number(0), number(-1))
        _, x, v = while_loop(part(lambda s: s[2] <= number(0)), part(normal), start)
        return key, x * x, v * v * v, unit_floats(of_u, (), dtype)

    key, of_power = split(key)
    start = (key, number(0), number(1), number(2))
    volume = while_loop(part(is_refused), part(propose), start)[2]
    if is_log:
        logarithm = -waiting(of_power, (), dtype)
        is_one = is_large | (logarithm == number(0))
        factor = np.where(is_one, number(0), logarithm * (number(1) / a))
        return np.log(d) + np.log(volume) + factor
    power = (number(1) - unit_floats(of_power, (), dtype)) ** (number(1) / a)
    return d * volume * np.where(is_large, number(1), power)
