"""Special functions of `lax`: of floating-point numbers, as strict as the other functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from transpile.ir.primitive import Primitive
from transpile.lax.arrays.promotion import (
    Array,
    aligned,
    as_value,
    check_kind,
    is_weak,
    public,
    same_dtypes,
)
from transpile.numpy.core.promotion import weaken
from transpile.primitives.special import rows as rows
from transpile.trace.trace import bind

__all__ = [
    "bessel_i0e",
    "bessel_i1e",
    "betainc",
    "digamma",
    "erf",
    "erf_inv",
    "erfc",
    "igamma",
    "igamma_grad_a",
    "igammac",
    "lgamma",
    "polygamma",
    "random_gamma_grad",
    "zeta",
]


def _applied(row: Primitive, name: str, operands: Sequence[Any], tip: str = "") -> Any:
    """A row of operands of one dtype and shape, or the TypeError that they deserve."""
    values = [as_value(v, name, k) for k, v in enumerate(operands)]
    for position, value in enumerate(values):
        check_kind(name, value, "f", position if len(values) > 1 else None)
    dtype = same_dtypes(name, values, tip)
    result = bind(row, *aligned(name, values, dtype))
    return weaken(result) if all(map(is_weak, values)) else result


def _of_one(name: str, row: Primitive, meaning: str) -> Callable[[Array], Any]:
    def function(x: Array) -> Any:
        return _applied(row, name, [x])

    function.__name__ = function.__qualname__ = name
    function.__doc__ = meaning
    return public(function)


erf = _of_one("erf", rows.erf, "The error function.")
erfc = _of_one("erfc", rows.erfc, "1 - erf(x), exact where that is small.")
erf_inv = _of_one("erf_inv", rows.erf_inv, "The inverse of the error function.")
lgamma = _of_one("lgamma", rows.lgamma, "The logarithm of |gamma(x)|.")
digamma = _of_one("digamma", rows.digamma, "The derivative of `lgamma`.")
bessel_i0e = _of_one("bessel_i0e", rows.bessel_i0e, "exp(-|x|) I0(x), by the Bessel function I0.")
bessel_i1e = _of_one("bessel_i1e", rows.bessel_i1e, "exp(-|x|) I1(x), by the Bessel function I1.")


@public
def polygamma(m: Array, x: Array) -> Any:
    """The m-th derivative of `digamma`, where m is a whole number; NaN where it is not."""
    return _applied(rows.polygamma, "polygamma", [m, x])


@public
def zeta(x: Array, q: Array) -> Any:
    """Hurwitz' zeta function: the sum of 1 / (k + q)**x."""
    return _applied(rows.zeta, "zeta", [x, q])


@public
def igamma(a: Array, x: Array) -> Any:
    """The regularized lower incomplete gamma function."""
    return _applied(rows.igamma, "igamma", [a, x])


@public
def igammac(a: Array, x: Array) -> Any:
    """The regularized upper incomplete gamma function."""
    return _applied(rows.igammac, "igammac", [a, x])


@public
def igamma_grad_a(a: Array, x: Array) -> Any:
    """The derivative of `igamma` in a."""
    return _applied(rows.igamma_grad_a, "igamma_grad_a", [a, x])


@public
def random_gamma_grad(a: Array, sample: Array) -> Any:
    """The derivative in a of a sample of the gamma distribution."""
    return _applied(rows.random_gamma_grad, "random_gamma_grad", [a, sample])


@public
def betainc(a: Array, b: Array, x: Array) -> Any:
    """The regularized incomplete beta function."""
    return _applied(rows.betainc, "regularized_incomplete_beta", [a, b, x])
