"""Elementwise functions of `lax`: they take operands of one dtype and shape, and promote nothing.

Scalars may stand beside arrays, and axes of size 1 beside others. A Python number takes the dtype
of an array of its kind. Errors are JAX's TypeErrors.
"""

from __future__ import annotations

import builtins
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
    of_dtype,
    public,
    same_dtypes,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.promotion import weaken
from transpile.primitives import bits
from transpile.primitives import elementwise as rows
from transpile.primitives.elementary import rows as elementary
from transpile.trace.trace import bind

Unary = Callable[[Array], Any]
Binary = Callable[[Array, Array], Any]

__all__: list[str] = []


def _published(function: Any, name: str, meaning: str) -> Any:
    """The public form of a function, by its name."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = meaning
    __all__.append(name)
    return public(function)


def _weak_like(result: Any, *operands: Any) -> Any:
    """The result, a Python scalar's where all operands are that."""
    return weaken(result) if all(map(is_weak, operands)) else result


# ------------------------------------------------------------------------------- of one operand


def _unary(name: str, row: Primitive | Unary, accepted: str, meaning: str) -> Unary:
    """A function of one operand, by a row or by a function of the operand."""
    rule = row if not isinstance(row, Primitive) else _by_row(row)

    def function(x: Array) -> Any:
        x = as_value(x, name)
        check_kind(name, x, accepted)
        (value,) = aligned(name, [x], dtype_of(x))
        return _weak_like(rule(value), x)

    return _published(function, name, meaning)  # type: ignore[no-any-return]


def _elementary(name: str, row: Primitive | Unary, accepted: str, meaning: str) -> Any:
    """One that takes JAX's `accuracy`, which changes nothing here."""
    rule = row if not isinstance(row, Primitive) else _by_row(row)

    def function(x: Array, *, accuracy: Any = None) -> Any:
        x = as_value(x, name)
        check_kind(name, x, accepted)
        (value,) = aligned(name, [x], dtype_of(x))
        return _weak_like(rule(value), x)

    return _published(function, name, f"{meaning} `accuracy` changes nothing.")


def _by_row(row: Primitive) -> Callable[..., Any]:
    return lambda *values: bind(row, *values)


def _conjugate(x: Any) -> Any:
    _check_has_complex("conj", x)
    if x.type.dtype.kind == "c":
        return bind(rows.conjugate, x)
    return bind(rows.make_complex, x, np.zeros((), x.type.dtype))


def _check_has_complex(name: str, x: Any) -> None:
    """There are no complex numbers of halves."""
    if is_half(x.type.dtype):
        raise located(
            TypeError,
            f"{name} does not accept dtype {x.type.dtype.name}. Accepted dtypes are subtypes of "
            "float32, complexfloating, float64.",
        )


def _complex(x: Any, y: Any) -> Any:
    _check_has_complex("complex", x)
    return bind(rows.make_complex, x, y)


def _reciprocal(x: Any) -> Any:
    return bind(rows.reciprocal, x)


def _exp2(x: Any) -> Any:
    if x.type.dtype.kind == "c":
        factor = np.asarray(np.log(2.0), x.type.dtype)
        return bind(elementary.exp, bind(rows.multiply, x, factor))
    return bind(elementary.exp2, x)


def _parts(x: Any) -> tuple[Any, Any]:
    return bind(rows.real, x), bind(rows.imag, x)


def _expm1(x: Any) -> Any:
    """Of x + iy: expm1(x) cos y - 2 sin(y / 2)**2 + i exp(x) sin(y)."""
    if x.type.dtype.kind != "c":
        return bind(elementary.expm1, x)
    re, im = _parts(x)
    half = bind(rows.square, bind(elementary.sin, im * 0.5))
    return bind(rows.make_complex, np.expm1(re) * np.cos(im) - 2 * half, np.exp(re) * np.sin(im))


def _log1p(x: Any) -> Any:
    """Of x + iy: log1p(x (2 + x) + y**2) / 2 + i atan2(y, 1 + x)."""
    if x.type.dtype.kind != "c":
        return bind(elementary.log1p, x)
    re, im = _parts(x)
    size = bind(elementary.log1p, re * (2 + re) + im * im) * 0.5
    return bind(rows.make_complex, size, np.arctan2(im, 1 + re))


def _logistic(x: Any) -> Any:
    if x.type.dtype.kind == "c":
        return bind(rows.reciprocal, bind(elementary.exp, bind(rows.negative, x)) + 1)
    return bind(elementary.logistic, x)


def _rsqrt(x: Any) -> Any:
    return bind(rows.reciprocal, bind(elementary.sqrt, x))


def signed(dtype: DType) -> DType:
    """The signed integers that are as wide."""
    return np.dtype(f"i{dtype.itemsize}")


def _population_count(x: Any) -> Any:
    dtype = x.type.dtype
    raw = _as_bits(x, bits.unsigned(dtype))
    return _as_bits(bind(rows.bitwise_count, raw), dtype)


def _as_bits(x: Any, dtype: DType) -> Any:
    """An integer in another dtype; of the same width that keeps the bits."""
    return x if x.type.dtype == dtype else bind(rows.convert, x, dtype=dtype)


NUMBERS, INEXACT = "nfc", "fc"
abs = _unary("abs", rows.absolute, "fcs", "The absolute value; real for complex numbers.")
neg = _unary("neg", rows.negative, NUMBERS, "`-x`.")
sign = _unary("sign", rows.sign, NUMBERS, "-1, 0 or 1; of complex numbers x / |x|.")
floor = _unary("floor", rows.floor, "f", "The largest whole number that is not above x.")
ceil = _unary("ceil", rows.ceil, "f", "The smallest whole number that is not below x.")
is_finite = _unary("is_finite", rows.isfinite, "f", "Where x is neither infinite nor NaN.")
exp = _elementary("exp", elementary.exp, INEXACT, "e to the power x.")
exp2 = _elementary("exp2", _exp2, INEXACT, "2 to the power x.")
expm1 = _elementary("expm1", _expm1, INEXACT, "exp(x) - 1, exact near 0.")
log = _elementary("log", elementary.log, INEXACT, "The natural logarithm.")
log1p = _elementary("log1p", _log1p, INEXACT, "log(1 + x), exact near 0.")
tanh = _elementary("tanh", elementary.tanh, INEXACT, "The hyperbolic tangent.")
logistic = _elementary("logistic", _logistic, INEXACT, "1 / (1 + exp(-x)).")
sin = _elementary("sin", elementary.sin, INEXACT, "The sine.")
cos = _elementary("cos", elementary.cos, INEXACT, "The cosine.")
tan = _elementary("tan", elementary.tan, INEXACT, "The tangent.")
sqrt = _elementary("sqrt", elementary.sqrt, INEXACT, "The square root.")
rsqrt = _elementary("rsqrt", _rsqrt, INEXACT, "1 / sqrt(x).")
cbrt = _elementary("cbrt", elementary.cbrt, "f", "The cube root.")
asin = _unary("asin", elementary.arcsin, INEXACT, "The inverse sine.")
acos = _unary("acos", elementary.arccos, INEXACT, "The inverse cosine.")
atan = _unary("atan", elementary.arctan, INEXACT, "The inverse tangent.")
sinh = _unary("sinh", elementary.sinh, INEXACT, "The hyperbolic sine.")
cosh = _unary("cosh", elementary.cosh, INEXACT, "The hyperbolic cosine.")
asinh = _unary("asinh", elementary.arcsinh, INEXACT, "The inverse hyperbolic sine.")
acosh = _unary("acosh", elementary.arccosh, INEXACT, "The inverse hyperbolic cosine.")
atanh = _unary("atanh", elementary.arctanh, INEXACT, "The inverse hyperbolic tangent.")
square = _unary("square", rows.square, NUMBERS, "`x * x`.")
reciprocal = _unary("reciprocal", _reciprocal, INEXACT, "`1 / x`.")
real = _unary("real", rows.real, "c", "The real part.")
imag = _unary("imag", rows.imag, "c", "The imaginary part.")
conj = _unary("conj", _conjugate, INEXACT, "The conjugate; real numbers become complex.")
bitwise_not = _unary("bitwise_not", rows.invert, "nb", "Every bit the other way.")
population_count = _unary("population_count", _population_count, "n", "How many bits are set.")
clz = _unary("clz", bits.count_leading_zeros, "n", "How many bits stand above the highest one set.")


# ------------------------------------------------------------------------------ of two operands


def _binary(
    name: str, row: Primitive | Binary, accepted: str, meaning: str, tip: str = "", called: str = ""
) -> Binary:
    """A function of two operands of one dtype. `called` is what JAX's errors call it, and `tip` the
    function of `numpy` that they name."""
    rule = row if not isinstance(row, Primitive) else _by_row(row)
    called = called or name

    def function(x: Array, y: Array) -> Any:
        values = [as_value(v, called, k) for k, v in enumerate((x, y))]
        for position, value in enumerate(values):
            check_kind(called, value, accepted, position)
        dtype = same_dtypes(called, values, tip)
        return _weak_like(rule(*aligned(called, values, dtype)), *values)

    return _published(function, name, meaning)  # type: ignore[no-any-return]


def _divide(x: Any, y: Any) -> Any:
    return bind(rows.divide if x.type.dtype.kind not in "iu" else bits.quotient, x, y)


def _remainder(x: Any, y: Any) -> Any:
    """C's remainder; of a division by zero, x."""
    rest = bind(rows.fmod, x, y)
    if x.type.dtype.kind not in "iu":
        return rest
    return bind(rows.select, bind(rows.equal, y, np.zeros((), y.type.dtype)), x, rest)


def _atan2(x: Any, y: Any) -> Any:
    """Of complex numbers -i log((y + i x) / sqrt(x**2 + y**2))."""
    if x.type.dtype.kind != "c":
        return bind(elementary.arctan2, x, y)
    unit = np.asarray(1j, x.type.dtype)
    size = bind(elementary.sqrt, bind(rows.add, bind(rows.square, x), bind(rows.square, y)))
    turned = bind(rows.add, y, bind(rows.multiply, x, unit))
    return bind(rows.multiply, bind(elementary.log, bind(rows.divide, turned, size)), -unit)


def _shift_right_arithmetic(x: Any, y: Any) -> Any:
    dtype = x.type.dtype
    found = bind(rows.right_shift, _as_bits(x, signed(dtype)), _as_bits(y, signed(dtype)))
    return _as_bits(found, dtype)


def _shift_right_logical(x: Any, y: Any) -> Any:
    dtype = x.type.dtype
    raw = bits.unsigned(dtype)
    return _as_bits(bind(rows.right_shift, _as_bits(x, raw), _as_bits(y, raw)), dtype)


def _upper_half(x: Any, y: Any) -> Any:
    """The upper half of the product of two integers, which is twice as wide as they are."""
    dtype = x.type.dtype
    width = 8 * dtype.itemsize
    if width < 64:
        wide = np.dtype("int64" if dtype.kind == "i" else "uint64")
        product = bind(rows.multiply, _as_bits(x, wide), _as_bits(y, wide))
        return _as_bits(bind(rows.right_shift, product, np.asarray(width, wide)), dtype)
    a, b = (_as_bits(v, np.dtype("uint64")) for v in (x, y))
    upper = _upper_half_of_words(a, b)
    if dtype.kind == "i":  # as unsigned numbers, negative ones are 2**64 too large
        zero = np.zeros((), dtype)
        for one, other in ((x, b), (y, a)):
            negative = bind(rows.less, one, zero)
            upper = upper - bind(rows.select, negative, other, np.zeros((), "uint64"))
    return _as_bits(upper, dtype)


def _upper_half_of_words(a: Any, b: Any) -> Any:
    """By the four products of halves of 32 bits."""
    low, shift = np.uint64(2**32 - 1), np.uint64(32)
    a_low, a_high = np.bitwise_and(a, low), np.right_shift(a, shift)
    b_low, b_high = np.bitwise_and(b, low), np.right_shift(b, shift)
    middle = a_high * b_low + np.right_shift(a_low * b_low, shift)
    other = a_low * b_high + np.bitwise_and(middle, low)
    return a_high * b_high + np.right_shift(middle, shift) + np.right_shift(other, shift)


ORDERED, ANY = "nfb", "nfcb"
add = _binary("add", rows.add, NUMBERS, "`x + y`.", "add")
sub = _binary("sub", rows.subtract, NUMBERS, "`x - y`.", "subtract")
div = _binary("div", _divide, NUMBERS, "`x / y`; of integers rounded towards zero.", "divide")
rem = _binary("rem", _remainder, "nf", "The remainder of `div`, of x's sign.", "remainder")
max = _binary("max", rows.maximum, ANY, "The larger one, NaN where one is NaN.", "maximum")
min = _binary("min", rows.minimum, ANY, "The smaller one, NaN where one is NaN.", "minimum")
atan2 = _binary("atan2", _atan2, INEXACT, "The angle of the point (y, x).", "arctan2")
nextafter = _binary(
    "nextafter", rows.nextafter, "f", "The number next to x towards y.", "nextafter"
)
complex = _binary("complex", _complex, "f", "`x + 1j y`.")
bitwise_and = _binary(
    "bitwise_and", rows.bitwise_and, "nb", "The bits that both have.", "bitwise_and", "and"
)
bitwise_or = _binary(
    "bitwise_or", rows.bitwise_or, "nb", "The bits that one of them has.", "bitwise_or", "or"
)
bitwise_xor = _binary(
    "bitwise_xor", rows.bitwise_xor, "nb", "The bits that only one has.", "bitwise_xor", "xor"
)
shift_left = _binary(
    "shift_left", rows.left_shift, "n", "`x << y`; 0 where all bits are shifted out.", "left_shift"
)
shift_right_logical = _binary(
    "shift_right_logical", _shift_right_logical, "n", "x shifted right, and filled with zeros."
)
shift_right_arithmetic = _binary(
    "shift_right_arithmetic",
    _shift_right_arithmetic,
    "n",
    "x shifted right, and filled with its highest bit.",
    "right_shift",
)
mulhi = _binary("mulhi", _upper_half, "n", "The upper half of the product, which is twice as wide.")
eq = _binary("eq", rows.equal, ANY, "`x == y`.", "equal")
ne = _binary("ne", rows.not_equal, ANY, "`x != y`.", "not_equal")
lt = _binary("lt", rows.less, ORDERED, "`x < y`.", "less")
le = _binary("le", rows.less_equal, ORDERED, "`x <= y`.", "less_equal")
gt = _binary("gt", rows.greater, ORDERED, "`x > y`.", "greater")
ge = _binary("ge", rows.greater_equal, ORDERED, "`x >= y`.", "greater_equal")


def _product(x: Array, y: Array, *, out_dtype: Any = None) -> Any:
    values = [as_value(v, "mul", k) for k, v in enumerate((x, y))]
    for position, value in enumerate(values):
        check_kind("mul", value, NUMBERS, position)
    dtype = same_dtypes("mul", values, "multiply")
    if out_dtype is not None:
        values, dtype = [of_dtype(v, dtype) for v in values], np.dtype(out_dtype)
    return _weak_like(bind(rows.multiply, *aligned("mul", values, dtype)), *values)


mul = _published(_product, "mul", "`x * y`, computed in `out_dtype` where that is given.")

# -------------------------------------------------------------------------------------- powers


def integer_power(x: Any, exponent: int) -> Any:
    """A traced value to a whole power, by squaring."""
    base, result = x, None
    left = builtins.abs(exponent)
    while left:
        if left & 1:
            result = base if result is None else bind(rows.multiply, result, base)
        left >>= 1
        if left:
            base = bind(rows.square, base)
    if result is None:
        one = np.ones((), x.type.dtype)
        return aligned_ones(x, one)
    return bind(rows.reciprocal, result) if exponent < 0 else result


def aligned_ones(x: Any, one: Any) -> Any:
    """Ones in the shape of x."""
    return bind(rows.copy, aligned("ones", [np.broadcast_to(one, tuple(x.type.shape))], None)[0])


def _integer_pow(x: Array, y: int) -> Any:
    value = as_value(x, "integer_pow")
    check_kind("integer_pow", value, NUMBERS)
    if type(y) is not int and not isinstance(y, np.integer):
        raise located(TypeError, f"integer_pow takes an int as its exponent, got {y!r}")
    if y < 0 and dtype_of(value).kind in "iu":
        raise located(
            TypeError,
            f"Integers cannot be raised to negative powers, got integer_pow({_described(value)}, "
            f"{y})",
        )
    (base,) = aligned("integer_pow", [value], dtype_of(value))
    return _weak_like(integer_power(base, int(y)), value)


def _described(value: Any) -> str:
    return f"{dtype_of(value).name}[{','.join(map(str, np.shape(value)))}]"


def _pow(x: Array, y: Array) -> Any:
    base, exponent = (as_value(v, "pow", k) for k, v in enumerate((x, y)))
    check_kind("pow", base, INEXACT, 0)
    check_kind("pow", exponent, NUMBERS, 1)
    if type(exponent) is int:
        return _integer_pow(base, exponent)
    if dtype_of(exponent).kind in "iu":
        dtype = dtype_of(base)
    else:
        dtype = _power_dtype(base, exponent)
    return _weak_like(
        bind(elementary.power, *aligned("pow", [base, exponent], dtype)), base, exponent
    )


def _power_dtype(base: Any, exponent: Any) -> DType:
    try:
        return same_dtypes("pow", [base, exponent])
    except TypeError:
        raise located(
            TypeError,
            "the first argument to pow must have an inexact dtype (float or complex), and the "
            "second argument must have an inexact or integer dtype, and two inexact dtypes must "
            f"match, but got {dtype_of(base).name} and {dtype_of(exponent).name} respectively.",
        ) from None


integer_pow = _published(_integer_pow, "integer_pow", "x to a power that is a Python int.")
pow = _published(_pow, "pow", "x to the power y, which is an integer or of x's dtype.")
