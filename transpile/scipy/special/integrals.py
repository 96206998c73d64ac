"""The exponential, sine and cosine integrals, and the dilogarithm."""

from __future__ import annotations

from typing import Any

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
    """`scipy.special.expi`: the exponential integral Ei."""
    return applied("expi", *real("expi", x))


@public
def expn(n: Array, x: Array) -> Any:
    """`scipy.special.expn`: the generalized exponential integral E_n(x)."""
    return applied("expn", *real("expn", n, x))


@public
def exp1(x: Array) -> Any:
    """`scipy.special.exp1`: the exponential integral E_1."""
    (value,) = real("exp1", x)
    return applied("expn", value.dtype.type(1), value)


@public
def sici(x: Array) -> tuple[Any, Any]:
    """`scipy.special.sici`: the sine and the cosine integral."""
    (value,) = promoted("sici", x)
    if value.dtype.kind == "c":
        text = f"Argument `x` to sici must be real-valued. Got dtype {value.dtype.name}."
        raise located(ValueError, text)
    return applied("sine_integral", value), applied("cosine_integral", value)


@public
def fresnel(x: Array) -> tuple[Any, Any]:
    """`scipy.special.fresnel`: Fresnel's integrals S and C."""
    (value,) = real("fresnel", x)
    return applied("fresnel_sine", value), applied("fresnel_cosine", value)


@public
def spence(x: Array) -> Any:
    """`scipy.special.spence`: the dilogarithm of 1 - x, of a float32 or float64."""
    return applied("spence", single_or_double("spence", x))
