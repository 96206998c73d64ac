"""Elementwise functions of one operand of `lax`, and what those of two share: nothing is promoted.

Scalars may stand beside arrays, and axes of size 1 beside others. A Python number takes the dtype
of an array of its kind. Errors are JAX's TypeErrors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.ir.primitive import Primitive
from transpile.ir.types import is_half
from transpile.lax.arrays.promotion import (
    Array,
    DType,
    aligned,
    as_value,
    check_kind,
    dtype_of,
    is_weak,
    public,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.promotion import weaken
from transpile.primitives import elementwise as primitives
from transpile.primitives.elementary import primitives as elementary
from transpile.primitives.elementwise import bits
from transpile.trace.trace import bind

Unary = Callable[[Array], Any]

__all__: list[str] = []


def published(function: Any, name: str, meaning: str, takes: str, names: list[str]) -> Any:
    """The public form of a function: its name, which goes to the module's names, and its docstring:
    what it computes, and which operands it takes."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{meaning}\n\n    {takes}\n    "
    names.append(name)
    return public(function)


# Which dtypes the letters of an `accepted` column stand for, see `check_kind`.
_WORDS = {
    "n": "integers",
    "s": "signed integers",
    "f": "floats",
    "c": "complex numbers",
    "b": "bools",
}


def kinds_of(accepted: str) -> str:
    """The dtypes that the letters of an `accepted` column stand for, in words."""
    *first, last = [_WORDS[letter] for letter in accepted]
    return f"{', '.join(first)} and {last}" if first else last


def _takes(accepted: str) -> str:
    """The dtype rule of a function of one operand, for its docstring."""
    return f"Takes {kinds_of(accepted)}; raises TypeError for other dtypes."


def weak_like(result: Any, *operands: Any) -> Any:
    """The result, a Python scalar's where all operands are that."""
    return weaken(result) if all(map(is_weak, operands)) else result


# ------------------------------------------------------------------------------- of one operand


def _unary(name: str, primitive: Primitive | Unary, accepted: str, meaning: str) -> Unary:
    """A function of one operand, by a primitive or by a function of the operand."""
    rule = primitive if not isinstance(primitive, Primitive) else by_primitive(primitive)

    def function(x: Array) -> Any:
        x = as_value(x, name)
        check_kind(name, x, accepted)
        (value,) = aligned(name, [x], dtype_of(x))
        return weak_like(rule(value), x)

    return published(function, name, meaning, _takes(accepted), __all__)  # type: ignore[no-any-return]


def _elementary(name: str, primitive: Primitive | Unary, accepted: str, meaning: str) -> Any:
    """One that takes JAX's `accuracy`, which changes nothing here."""
    rule = primitive if not isinstance(primitive, Primitive) else by_primitive(primitive)

    def function(x: Array, *, accuracy: Any = None) -> Any:
        x = as_value(x, name)
        check_kind(name, x, accepted)
        (value,) = aligned(name, [x], dtype_of(x))
        return weak_like(rule(value), x)

    takes = f"{_takes(accepted)} `accuracy` changes nothing."
    return published(function, name, meaning, takes, __all__)


def by_primitive(primitive: Primitive) -> Callable[..., Any]:
    """The function that applies a primitive to values of the trace."""
    return lambda *values: bind(primitive, *values)


def _conjugate(x: Any) -> Any:
    check_has_complex("conj", x)
    if x.type.dtype.kind == "c":
        return bind(primitives.conjugate, x)
    return bind(primitives.make_complex, x, np.zeros((), x.type.dtype))


def check_has_complex(name: str, x: Any) -> None:
    """There are no complex numbers of halves."""
    if is_half(x.type.dtype):
        raise located(
            TypeError,
            f"{name} does not accept dtype {x.type.dtype.name}. Accepted dtypes are subtypes of "
            "float32, complexfloating, float64.",
        )


def _reciprocal(x: Any) -> Any:
    return bind(primitives.reciprocal, x)


def _exp2(x: Any) -> Any:
    if x.type.dtype.kind == "c":
        factor = np.asarray(np.log(2.0), x.type.dtype)
        return bind(elementary.exp, bind(primitives.multiply, x, factor))
    return bind(elementary.exp2, x)


def _parts(x: Any) -> tuple[Any, Any]:
    return bind(primitives.real, x), bind(primitives.imag, x)


def _expm1(x: Any) -> Any:
    """Of x + iy: expm1(x) cos y - 2 sin(y / 2)**2 + i exp(x) sin(y)."""
    if x.type.dtype.kind != "c":
        return bind(elementary.expm1, x)
    re, im = _parts(x)
    half = bind(primitives.square, bind(elementary.sin, im * 0.5))
    return bind(
        primitives.make_complex, np.expm1(re) * np.cos(im) - 2 * half, np.exp(re) * np.sin(im)
    )


def _log1p(x: Any) -> Any:
    """Of x + iy: log1p(x (2 + x) + y**2) / 2 + i atan2(y, 1 + x)."""
    if x.type.dtype.kind != "c":
        return bind(elementary.log1p, x)
    re, im = _parts(x)
    size = bind(elementary.log1p, re * (2 + re) + im * im) * 0.5
    return bind(primitives.make_complex, size, np.arctan2(im, 1 + re))


def _logistic(x: Any) -> Any:
    if x.type.dtype.kind == "c":
        return bind(primitives.reciprocal, bind(elementary.exp, bind(primitives.negative, x)) + 1)
    return bind(elementary.logistic, x)


def _rsqrt(x: Any) -> Any:
    return bind(primitives.reciprocal, bind(elementary.sqrt, x))


def signed(dtype: DType) -> DType:
    """The signed integers that are as wide."""
    return np.dtype(f"i{dtype.itemsize}")


def _population_count(x: Any) -> Any:
    dtype = x.type.dtype
    raw = as_bits(x, bits.unsigned(dtype))
    return as_bits(bind(bits.bitwise_count, raw), dtype)


def as_bits(x: Any, dtype: DType) -> Any:
    """An integer in another dtype; of the same width that keeps the bits."""
    return x if x.type.dtype == dtype else bind(primitives.convert, x, dtype=dtype)


NUMBERS, INEXACT = "nfc", "fc"
abs = _unary(
    "abs",
    primitives.absolute,
    "fcs",
    "The absolute value, real for complex numbers; the least integer is its own, as it has no "
    "other.",
)
neg = _unary("neg", primitives.negative, NUMBERS, "The negative -x; integers wrap around.")
sign = _unary(
    "sign",
    primitives.sign,
    NUMBERS,
    "The sign: -1, 0 or 1, 0.0 keeping its sign and NaN staying NaN; x / |x| of complex numbers.",
)
floor = _unary("floor", primitives.floor, "f", "The largest whole number that is not above x.")
ceil = _unary("ceil", primitives.ceil, "f", "The smallest whole number that is not below x.")
is_finite = _unary(
    "is_finite", primitives.isfinite, "f", "Whether x is neither infinite nor NaN, as bools."
)
exp = _elementary(
    "exp", elementary.exp, INEXACT, "The exponential e**x; inf on overflow, 0 on underflow."
)
exp2 = _elementary("exp2", _exp2, INEXACT, "The power 2**x; exact for whole x.")
expm1 = _elementary("expm1", _expm1, INEXACT, "exp(x) - 1, without cancellation near 0.")
log = _elementary(
    "log",
    elementary.log,
    INEXACT,
    "The natural logarithm: -inf at 0, NaN below; the principal branch of complex numbers.",
)
log1p = _elementary(
    "log1p", _log1p, INEXACT, "log(1 + x), without cancellation near 0; -inf at -1, NaN below."
)
tanh = _elementary("tanh", elementary.tanh, INEXACT, "The hyperbolic tangent, in [-1, 1].")
logistic = _elementary(
    "logistic",
    _logistic,
    INEXACT,
    "The logistic function 1 / (1 + exp(-x)), which does not overflow.",
)
sin = _elementary("sin", elementary.sin, INEXACT, "The sine; NaN of infinities.")
cos = _elementary("cos", elementary.cos, INEXACT, "The cosine; NaN of infinities.")
tan = _elementary("tan", elementary.tan, INEXACT, "The tangent; NaN of infinities.")
sqrt = _elementary(
    "sqrt",
    elementary.sqrt,
    INEXACT,
    "The square root: NaN of negative numbers; the principal branch of complex ones.",
)
rsqrt = _elementary(
    "rsqrt", _rsqrt, INEXACT, "The reciprocal square root 1 / sqrt(x): inf at 0, NaN below."
)
cbrt = _elementary("cbrt", elementary.cbrt, "f", "The real cube root, of negative numbers too.")
asin = _unary(
    "asin",
    elementary.arcsin,
    INEXACT,
    "The inverse sine in [-pi/2, pi/2]; NaN outside [-1, 1]; the principal branch of complex "
    "numbers.",
)
acos = _unary(
    "acos",
    elementary.arccos,
    INEXACT,
    "The inverse cosine in [0, pi]; NaN outside [-1, 1]; the principal branch of complex numbers.",
)
atan = _unary(
    "atan",
    elementary.arctan,
    INEXACT,
    "The inverse tangent in [-pi/2, pi/2]; the principal branch of complex numbers.",
)
sinh = _unary("sinh", elementary.sinh, INEXACT, "The hyperbolic sine; infinite on overflow.")
cosh = _unary("cosh", elementary.cosh, INEXACT, "The hyperbolic cosine; infinite on overflow.")
asinh = _unary("asinh", elementary.arcsinh, INEXACT, "The inverse hyperbolic sine.")
acosh = _unary(
    "acosh",
    elementary.arccosh,
    INEXACT,
    "The inverse hyperbolic cosine; NaN below 1; the principal branch of complex numbers.",
)
atanh = _unary(
    "atanh",
    elementary.arctanh,
    INEXACT,
    "The inverse hyperbolic tangent; infinite at -1 and 1, NaN beyond.",
)
square = _unary("square", primitives.square, NUMBERS, "The square x * x; integers wrap around.")
reciprocal = _unary("reciprocal", _reciprocal, INEXACT, "The reciprocal 1 / x; infinite at 0.")
real = _unary("real", primitives.real, "c", "The real part, a float of half the size.")
imag = _unary("imag", primitives.imag, "c", "The imaginary part, a float of half the size.")
conj = _unary(
    "conj",
    _conjugate,
    INEXACT,
    "The complex conjugate; floats become complex, halves raise TypeError.",
)
bitwise_not = _unary(
    "bitwise_not", bits.invert, "nb", "The complement of every bit; of bools the negation."
)
population_count = _unary(
    "population_count", _population_count, "n", "The number of bits set, in the dtype of x."
)
clz = _unary(
    "clz",
    bits.count_leading_zeros,
    "n",
    "The number of leading zeros, in the dtype of x; its width for 0.",
)
