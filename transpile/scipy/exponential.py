"""The exponential of a matrix, by Padé approximants with scaling and squaring.

N. Higham, The Scaling and Squaring Method for the Matrix Exponential Revisited, 2005. Which
matrices are scaled by how much is only known when the program runs, so each squaring is computed
and then selected or not.
"""

from __future__ import annotations

from math import comb, factorial
from typing import Any

import numpy as np

from transpile.ir.indices.requirements import may_be_0
from transpile.ir.types import INT64, real_dtype
from transpile.numpy.core.promotion import fill
from transpile.numpy.linalg.common import identity
from transpile.numpy.linalg.solving import solved, triangular

# By the bytes of a real number: the degree of the approximant, and the largest 1-norm for which its
# backward error is at most the unit roundoff (Higham's theta).
_APPROXIMANTS = {4: (7, 3.925724783138660), 8: (13, 5.371920351148152)}


def exponential(a: Any, upper_triangular: bool, max_squarings: int) -> Any:
    """exp(a) for a stack of square matrices; NaN where more squarings were needed."""
    if 0 in a.shape:
        return a
    degree, limit = _APPROXIMANTS[real_dtype(a.dtype).itemsize]
    empty: dict[str, Any] = {"initial": 0} if may_be_0(a.shape[-1]) else {}
    norm = np.max(np.sum(np.absolute(a), axis=-2), axis=-1, **empty)
    needed = np.ceil(np.log2(norm / limit))
    needed = np.where(needed > 0, needed, 0)
    count = np.where(needed <= max_squarings, needed, max_squarings).astype(INT64)
    scale = np.ldexp(real_dtype(a.dtype).type(1), -count)
    even, odd = _pade(a * scale[..., None, None], degree)
    if upper_triangular:
        result = triangular(even - odd, even + odd, False)
    else:
        result = solved(even - odd, even + odd)
    for k in range(max_squarings):
        squared = np.matmul(result, result)
        result = np.where((count > k)[..., None, None], squared, result)
    lost = np.logical_not(needed <= max_squarings)[..., None, None]
    return np.where(lost, fill(np.nan, tuple(a.shape), a.dtype), result)


def _pade(a: Any, degree: int) -> tuple[Any, Any]:
    """The even and the odd part of the numerator; the denominator is their difference. The
    polynomials in a^2 are split in two, in powers of a^6 where they are long."""
    weights = [factorial(2 * degree - k) * comb(degree, k) for k in range(degree + 1)]
    numbers = [w / weights[-1] for w in weights]
    size, batch = a.shape[-1], tuple(a.shape[:-2])
    powers = [identity(size, a.dtype, batch), np.matmul(a, a)]
    while 2 * (len(powers) - 1) < min(degree - 1, 6):
        powers.append(np.matmul(powers[-1], powers[1]))
    even = _polynomial(numbers[0::2], powers)
    odd = np.matmul(a, _polynomial(numbers[1::2], powers))
    return even, odd


def _polynomial(numbers: list[float], powers: list[Any]) -> Any:
    """The sum of numbers[k] b^k, where powers has the first powers of b, from the identity on."""
    size = len(powers)
    low = _sum(numbers[:size], powers)
    if len(numbers) <= size:
        return low
    rest = _sum(numbers[size:], powers[1:])
    return low + np.matmul(powers[-1], rest)


def _sum(numbers: list[float], powers: list[Any]) -> Any:
    total = powers[0] * numbers[0]
    for number, power in zip(numbers[1:], powers[1:], strict=False):
        total = total + power * number
    return total
