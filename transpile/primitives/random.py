"""Primitives of `transpile.random`: the counter-based generator Threefry-2x32, and gamma samples by
rejection.

A key is a uint64, so that arrays of keys are arrays of numbers. The two 32-bit words of the
literature are its halves, the first word the upper half.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from transpile.ir.primitive import Primitive
from transpile.ir.types import ArrayType, finfo
from transpile.primitives.kinds import elementwise, first_type, same_type
from transpile.primitives.reference.random_gamma import random_gamma as _gamma
from transpile.primitives.reference.random_gamma import random_loggamma as _loggamma
from transpile.primitives.reference.threefry import UINT32, UINT64, folded, threefry
from transpile.primitives.rules import Rule, apply, flat


def _threefry_type(key: ArrayType, counter: ArrayType) -> ArrayType:
    for operand in (key, counter):
        if operand.dtype != UINT64:
            raise TypeError(f"threefry_2x32 takes uint64 operands, got {key} and {counter}")
    return same_type(key, counter)


def _folded_type(key: ArrayType, counter: ArrayType) -> ArrayType:
    return replace(_threefry_type(key, counter), dtype=UINT32)


threefry_2x32 = elementwise(
    "threefry_2x32",
    threefry,
    "threefry_2x32(x, y)",
    dtypes="u",
    result=_threefry_type,
    cost=115,
    jvp=(flat, flat),
    fills_registers=True,
)
threefry_2x32_folded = elementwise(
    "threefry_2x32_folded",
    folded,
    "threefry_2x32_folded(x, y)",
    dtypes="u",
    result=_folded_type,
    cost=115,
    jvp=(flat, flat),
    fills_registers=True,
)


# ---------------------------------------------------------------------------------------- gamma


def _gamma_type(alpha: ArrayType, key: ArrayType) -> ArrayType:
    if key.dtype != UINT64:
        raise TypeError(f"random_gamma takes keys of dtype uint64, not {key}")
    return first_type(alpha, key)


def of_gamma(t: Any, out: Any, alpha: Any, key: Any) -> Any:
    """The derivative of the sample of the same quantile."""
    return t * apply("random_gamma_grad", alpha, out)


def of_loggamma(t: Any, out: Any, alpha: Any, key: Any) -> Any:
    """The derivative of the sample divided by the sample, which underflow may not make zero."""
    sample = np.exp(out)
    tiny = sample.dtype.type(finfo(sample.dtype).tiny)
    sample = np.where(np.equal(sample, 0), tiny, sample)
    return t * (apply("random_gamma_grad", alpha, sample) / sample)


def _sample(name: str, meaning: Any, derivative: Rule) -> Primitive:
    """Register an elementwise sampler of a parameter and a key, whose rejection loop runs for each
    element."""
    return elementwise(
        name,
        meaning,
        f"{name}(x, y)",
        dtypes="f",
        result=_gamma_type,
        transcendental=True,
        cost=1000,
        domain=(0.05, 20),
        jvp=(derivative, flat),
    )


random_gamma = _sample(
    "random_gamma",
    _gamma,
    of_gamma,
)
random_loggamma = _sample("random_loggamma", _loggamma, of_loggamma)
