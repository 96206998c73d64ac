"""Special functions of `lax`: of floats of one dtype, which are not promoted.

Methods and errors measured are in `runtime_c/special/`, a file for each function.
"""

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
from transpile.primitives.special import primitives
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


def _applied(primitive: Primitive, name: str, operands: Sequence[Any], tip: str = "") -> Any:
    """A primitive of operands of one dtype and shape, or the TypeError that they deserve."""
    values = [as_value(v, name, k) for k, v in enumerate(operands)]
    for position, value in enumerate(values):
        check_kind(name, value, "f", position if len(values) > 1 else None)
    dtype = same_dtypes(name, values, tip)
    result = bind(primitive, *aligned(name, values, dtype))
    return weaken(result) if all(map(is_weak, values)) else result


def _of_one(name: str, primitive: Primitive, meaning: str) -> Callable[[Array], Any]:
    def function(x: Array) -> Any:
        return _applied(primitive, name, [x])

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{meaning}\n\n    Raises TypeError for other dtypes than floats.\n    "
    return public(function)


erf = _of_one(
    "erf",
    primitives.erf,
    "The error function, 2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x.",
)
erfc = _of_one(
    "erfc", primitives.erfc, "The complementary error function 1 - erf(x), without cancellation."
)
erf_inv = _of_one(
    "erf_inv", primitives.erf_inv, "The inverse error function: infinite at -1 and 1, NaN beyond."
)
lgamma = _of_one(
    "lgamma", primitives.lgamma, "The logarithm of |gamma(x)|; inf at the poles 0, -1, -2, ..."
)
digamma = _of_one(
    "digamma",
    primitives.digamma,
    "The digamma function, the derivative of `lgamma`; NaN at the poles 0, -1, -2, ...",
)
bessel_i0e = _of_one(
    "bessel_i0e",
    primitives.bessel_i0e,
    "The scaled modified Bessel function of the first kind of order 0, exp(-|x|) I0(x).",
)
bessel_i1e = _of_one(
    "bessel_i1e",
    primitives.bessel_i1e,
    "The scaled modified Bessel function of the first kind of order 1, exp(-|x|) I1(x).",
)


@public
def polygamma(m: Array, x: Array) -> Any:
    """The polygamma function: the m-th derivative of `digamma` at x; NaN where m is not a whole
    number from 0 on.

    By zeta(m + 1, x). Raises TypeError for dtypes that differ.
    """
    return _applied(primitives.polygamma, "polygamma", [m, x])


@public
def zeta(x: Array, q: Array) -> Any:
    """Hurwitz' zeta function, the sum of (k + q)**-x over k = 0, 1, ...: inf at x = 1, NaN below.

    By Euler-Maclaurin summation (DLMF 2.10(i)). Raises TypeError for dtypes that differ.
    """
    return _applied(primitives.zeta, "zeta", [x, q])


@public
def igamma(a: Array, x: Array) -> Any:
    """The regularised lower incomplete gamma function P(a, x); NaN for negative a or x.

    By series, continued fraction, and for large a the expansion of N. Temme (1979). Raises
    TypeError for dtypes that differ.
    """
    return _applied(primitives.igamma, "igamma", [a, x])


@public
def igammac(a: Array, x: Array) -> Any:
    """The regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x), without cancellation;
    methods as those of `igamma`."""
    return _applied(primitives.igammac, "igammac", [a, x])


@public
def igamma_grad_a(a: Array, x: Array) -> Any:
    """The derivative of `igamma` with respect to a."""
    return _applied(primitives.igamma_grad_a, "igamma_grad_a", [a, x])


@public
def random_gamma_grad(a: Array, sample: Array) -> Any:
    """The derivative with respect to a of a sample of the gamma distribution of shape a, at equal
    probability.

    Implicit: -(dP/da) / (dP/dx) at the sample (M. Figurnov, S. Mohamed and A. Mnih, Implicit
    Reparameterization Gradients, 2018).
    """
    return _applied(primitives.random_gamma_grad, "random_gamma_grad", [a, sample])


@public
def betainc(a: Array, b: Array, x: Array) -> Any:
    """The regularised incomplete beta function I_x(a, b), by a continued fraction (DLMF 8.17.22);
    NaN outside a, b > 0 and 0 <= x <= 1.

    Raises TypeError for dtypes that differ.
    """
    return _applied(primitives.betainc, "regularized_incomplete_beta", [a, b, x])
