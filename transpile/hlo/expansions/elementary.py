"""Elementary functions in terms of exp, log, sqrt and atan2.

Complex inverse functions are Kahan's (Branch cuts for complex elementary functions, 1987), in
which square roots of 1 - z and 1 + z are taken apart, so that nothing cancels near the branch
points. The sides of cuts follow from signs, since XLA's square root knows no -0.0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transpile.hlo.builder import Rules
from transpile.primitives.rules import apply


def _is_complex(x: Any) -> bool:
    return bool(x.dtype.kind == "c")


def _times_i(z: Any) -> Any:
    return apply("complex", -np.imag(z), np.real(z))


def _over_i(z: Any) -> Any:
    return apply("complex", np.imag(z), -np.real(z))


def _root(x: Any) -> float:
    """Where the square of a number is all that matters beside 1."""
    return 1 / math.sqrt(float(np.finfo(x.dtype).eps))


# ------------------------------------------------------------------------------------- hyperbolic


def sinh(x: Any) -> Any:
    """With expm1 near zero; exp(|x| - log 2) does not overflow before the result does."""
    if _is_complex(x):
        a, b = np.real(x), np.imag(x)
        return apply("complex", np.sinh(a) * np.cos(b), np.cosh(a) * np.sin(b))
    size = np.absolute(x)
    small = np.expm1(np.minimum(size, 2))
    near = (small + small / (small + 1)) / 2
    far = np.exp(size - math.log(2)) - np.exp(-size - math.log(2))
    return np.copysign(np.where(size < 1, near, far), x)


def cosh(x: Any) -> Any:
    """As `sinh`."""
    if _is_complex(x):
        a, b = np.real(x), np.imag(x)
        return apply("complex", np.cosh(a) * np.cos(b), np.sinh(a) * np.sin(b))
    size = np.absolute(x)
    return np.exp(size - math.log(2)) + np.exp(-size - math.log(2))


def arcsinh(x: Any) -> Any:
    """log(|x| + sqrt(x^2 + 1)), with log1p near zero."""
    if _is_complex(x):
        return _over_i(np.arcsin(_times_i(x)))
    size, large = np.absolute(x), _root(x)
    inner = np.minimum(size, large)
    near = np.log1p(inner + inner * inner / (1 + np.sqrt(inner * inner + 1)))
    far = np.log(size) + math.log(2)
    return np.copysign(np.where(size < large, near, far), x)


def arccosh(x: Any) -> Any:
    """log(x + sqrt(x^2 - 1)), with log1p near one."""
    if _is_complex(x):
        low, high = np.sqrt(x - 1), np.sqrt(x + 1)
        real = np.absolute(np.arcsinh(np.real(np.conjugate(low) * high)))
        imag = 2 * np.arctan2(np.imag(low), np.real(high))
        return apply("complex", real, np.copysign(imag, np.imag(x)))
    large = _root(x)
    over = np.minimum(x, large) - 1
    near = np.log1p(over + np.sqrt(over * (over + 2)))
    far = np.where(x < large, near, np.log(x) + math.log(2))
    return np.where(x < 1, np.asarray(np.nan, x.dtype), far)


def arctanh(x: Any) -> Any:
    """log((1 + x) / (1 - x)) / 2, with log1p."""
    if _is_complex(x):
        return _complex_arctanh(np.real(x), np.imag(x))
    size = np.absolute(x)
    return np.copysign(np.log1p(2 * size / (1 - size)) / 2, x)


def _complex_arctanh(x: Any, y: Any) -> Any:
    """The real part is odd in x and the imaginary one even; far out the value is i pi / 2."""
    size, far = np.absolute(x), math.sqrt(float(np.finfo(x.dtype).max)) / 4
    is_far = np.maximum(size, np.absolute(y)) > far
    inner, height = np.where(is_far, 0, size), np.where(is_far, 0, y)
    square = height * height
    real = np.log1p(4 * inner / ((1 - inner) * (1 - inner) + square)) / 4
    imag = np.arctan2(2 * height, (1 - inner) * (1 + inner) - square) / 2
    imag = np.where(is_far, np.copysign(np.asarray(math.pi / 2, x.dtype), y), imag)
    return apply("complex", np.copysign(real, x), imag)


# ---------------------------------------------------------------------------------- trigonometric


def arcsin(x: Any) -> Any:
    """atan2(x, sqrt(1 - x^2))."""
    if _is_complex(x):
        low, high = np.sqrt(1 - x), np.sqrt(1 + x)
        real = np.arctan2(np.real(x), np.absolute(np.real(low * high)))
        imag = np.arcsinh(np.imag(np.conjugate(low) * high))
        return apply("complex", real, np.copysign(imag, np.imag(x)))
    return np.arctan2(x, np.sqrt((1 - x) * (1 + x)))


def arccos(x: Any) -> Any:
    """2 atan2(sqrt(1 - x), sqrt(1 + x))."""
    low, high = np.sqrt(1 - x), np.sqrt(1 + x)
    if _is_complex(x):
        real = 2 * np.arctan2(np.real(low), np.real(high))
        imag = np.arcsinh(np.imag(np.conjugate(high) * low))
        return apply("complex", real, np.copysign(imag, -np.imag(x)))
    return 2 * np.arctan2(low, high)


def arctan(x: Any) -> Any:
    """atan2(x, 1)."""
    if _is_complex(x):
        return _over_i(np.arctanh(_times_i(x)))
    return np.arctan2(x, np.ones_like(x))


# --------------------------------------------------------------------- exponentials and logarithms


def _log_base(base: float) -> Any:
    def log(x: Any) -> Any:
        """A quotient of natural logarithms."""
        return np.log(x) / math.log(base)

    return log


def _log_sum(log1p: Any, exp: Any) -> Any:
    def log_sum(x: Any, y: Any) -> Any:
        """The larger one, and what the smaller one adds; equal infinities have no difference."""
        difference = -np.absolute(x - y)
        total = np.maximum(x, y) + log1p(exp(difference))
        return np.where(x == y, x + log1p(np.ones((), x.dtype)), total)

    return log_sum


def hypot(x: Any, y: Any) -> Any:
    """The larger one times sqrt(1 + quotient^2), so that no square overflows."""
    x, y = np.absolute(x), np.absolute(y)
    large, small = np.maximum(x, y), np.minimum(x, y)
    ratio = small / np.where(large == 0, np.ones((), x.dtype), large)
    size = np.where(large == 0, large, large * np.sqrt(1 + ratio * ratio))
    return np.where(np.isinf(x) | np.isinf(y), np.asarray(np.inf, x.dtype), size)


EXPANSIONS: Rules = {
    "arccos": arccos,
    "arccosh": arccosh,
    "arcsin": arcsin,
    "arcsinh": arcsinh,
    "arctan": arctan,
    "arctanh": arctanh,
    "cosh": cosh,
    "exp2": lambda x: np.power(np.asarray(2, x.dtype), x),
    "hypot": hypot,
    "log10": _log_base(10),
    "log2": _log_base(2),
    "logaddexp": _log_sum(np.log1p, np.exp),
    "logaddexp2": _log_sum(lambda x: np.log1p(x) / math.log(2), np.exp2),
    "sinh": sinh,
}
