"""The exponential, sine and cosine integrals, and the dilogarithm."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.scipy.special.operands import (
    Array,
    applied,
    located,
    promoted,
    public,
    real,
    single_or_double,
)


@public
def expi(x: Array) -> Any:
    """The exponential integral Ei(x), the principal value for x > 0; -inf at 0."""
    return applied("expi", *real("expi", x))


@public
def expn(n: Array, x: Array) -> Any:
    """The generalised exponential integral E_n(x), n >= 0, of whole n, to which others are cut
    off; inf at 0 for n <= 1, NaN for negative x."""
    order, value = real("expn", n, x)
    return applied("expn", np.trunc(order), value)


@public
def exp1(x: Array) -> Any:
    """The exponential integral E_1(x); inf at 0, NaN for negative x."""
    (value,) = real("exp1", x)
    return applied("expn", value.dtype.type(1), value)


@public
def sici(x: Array) -> tuple[Any, Any]:
    """The sine integral Si(x) and the cosine integral Ci(x), as a tuple; raises ValueError for
    complex x."""
    (value,) = promoted("sici", x)
    if value.dtype.kind == "c":
        text = f"Argument `x` to sici must be real-valued. Got dtype {value.dtype.name}."
        raise located(ValueError, text)
    return applied("sine_integral", value), applied("cosine_integral", value)


@public
def fresnel(x: Array) -> tuple[Any, Any]:
    """The Fresnel integrals S(x) and C(x), of sin and cos of pi t^2 / 2, as a tuple."""
    (value,) = real("fresnel", x)
    return applied("fresnel_sine", value), applied("fresnel_cosine", value)


@public
def spence(x: Array) -> Any:
    """The dilogarithm of 1 - x, SciPy's Spence function; NaN for negative x.

    Raises TypeError for other dtypes than float32 and float64.
    """
    return applied("spence", single_or_double("spence", x))
