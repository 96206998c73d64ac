"""The gamma function and its logarithm for complex numbers.

Stirling's series (DLMF 5.11.1) after ten steps of the recurrence, and the reflection on the left
half of the plane, with the branch of D. Hare, Computing the principal branch of log-Gamma, Journal
of Algorithms 25, 1997.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transpile.primitives.reference.extended_precision import bernoulli_numbers

_STEPS = 10


def complex_loggamma(z: Any) -> Any:
    """The logarithm of the gamma function; NaN at the poles."""
    bad = _is_pole(z)
    safe = np.where(bad, 1, z)
    left = np.real(safe) < 0.5
    regular = _on_the_right(np.where(left, 1 - safe, safe))
    inside = np.where(left, safe, 0.25)
    re, im = np.real(inside), np.imag(inside)
    turns = np.copysign(2 * math.pi, im) * np.floor(0.5 * re + 0.25)
    reflected = math.log(math.pi) - _log_sine(inside) + _complex(0 * turns, turns) - regular
    return np.where(bad, complex(math.nan, math.nan), np.where(left, reflected, regular))


def complex_gamma(z: Any) -> Any:
    """The gamma function; NaN at the poles."""
    bad = _is_pole(z)
    value = np.exp(complex_loggamma(np.where(bad, 1, z)))
    return np.where(bad, complex(math.nan, math.nan), value)


def _is_pole(z: Any) -> Any:
    re = np.real(z)
    pole = np.equal(np.imag(z), 0) & np.equal(re, np.floor(re)) & (re <= 0)
    return pole | np.isnan(z)


def _complex(re: Any, im: Any) -> Any:
    return re + 1j * im


def _on_the_right(z: Any) -> Any:
    """For a real part from 1/2 on."""
    logarithms: Any = 0
    for k in range(_STEPS):
        logarithms = logarithms + np.log(z + k)
    y = z + _STEPS
    inverse = 1 / y
    square = inverse * inverse
    total: Any = 0.0
    for k, number in reversed(list(enumerate(bernoulli_numbers(9), 1))):
        total = total * square + float(number / (2 * k * (2 * k - 1)))
    stirling = (y - 0.5) * np.log(y) - y + 0.5 * math.log(2 * math.pi) + total * inverse
    return stirling - logarithms


def _log_sine(z: Any) -> Any:
    """log sin(pi z), without overflow far from the real numbers: with s the sign of the imaginary
    part, sin(pi z) is s i exp(-s i pi z) (1 - exp(2 s i pi z)) / 2."""
    re, im = np.real(z), np.imag(z)
    sign = np.copysign(np.ones_like(im), im)
    reduced = re - 2 * np.rint(re / 2)
    near = np.sin(math.pi * _complex(reduced, np.clip(im, -5, 5)))
    decay = np.exp(-2 * math.pi * np.absolute(im))
    turn = 2 * math.pi * reduced * sign
    rest = 1 - _complex(decay * np.cos(turn), decay * np.sin(turn))
    far = _complex(math.pi * np.absolute(im) - math.log(2), sign * math.pi * (0.5 - reduced))
    far = far + np.log(rest)
    wrapped = np.imag(far) - 2 * math.pi * np.rint(np.imag(far) / (2 * math.pi))
    return np.where(np.absolute(im) < 5, np.log(near), _complex(np.real(far), wrapped))
