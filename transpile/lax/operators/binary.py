"""Elementwise functions of two operands of `lax`, and powers; nothing is promoted."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.ir.primitive import Primitive
from transpile.lax.arrays.promotion import (
    Array,
    DType,
    aligned,
    as_value,
    check_kind,
    dtype_of,
    of_dtype,
    same_dtypes,
)
from transpile.lax.operators.unary import (
    INEXACT,
    NUMBERS,
    as_bits,
    by_primitive,
    check_has_complex,
    kinds_of,
    published,
    signed,
    weak_like,
)
from transpile.numpy.core.promotion import error as located
from transpile.primitives import elementwise as primitives
from transpile.primitives.elementary import primitives as elementary
from transpile.primitives.elementary.whole_powers import whole_power
from transpile.primitives.elementwise import bits
from transpile.trace.trace import bind
from transpile.trace.tracer import Tracer

Binary = Callable[[Array, Array], Any]

__all__: list[str] = []


def _takes_two(accepted: str) -> str:
    """The dtype and shape rule of a function of two operands, for its docstring."""
    kinds = kinds_of(accepted).replace(" and ", " or ")
    return (
        f"Both are {kinds} of one dtype and one shape;\n"
        "    scalars and axes of size 1 broadcast. Raises TypeError otherwise: nothing is promoted."
    )


def _binary(
    name: str,
    primitive: Primitive | Binary,
    accepted: str,
    meaning: str,
    tip: str = "",
    called: str = "",
) -> Binary:
    """A function of two operands of one dtype. `called` is what JAX's errors call it, and `tip` the
    function of `numpy` that they name."""
    rule = primitive if not isinstance(primitive, Primitive) else by_primitive(primitive)
    called = called or name

    def function(x: Array, y: Array) -> Any:
        values = [as_value(v, called, k) for k, v in enumerate((x, y))]
        for position, value in enumerate(values):
            check_kind(called, value, accepted, position)
        dtype = same_dtypes(called, values, tip)
        return weak_like(rule(*aligned(called, values, dtype)), *values)

    return published(function, name, meaning, _takes_two(accepted), __all__)  # type: ignore[no-any-return]


def _complex(x: Any, y: Any) -> Any:
    check_has_complex("complex", x)
    return bind(primitives.make_complex, x, y)


def _divide(x: Any, y: Any) -> Any:
    return bind(primitives.divide if x.type.dtype.kind not in "iu" else bits.quotient, x, y)


def _remainder(x: Any, y: Any) -> Any:
    """C's remainder; of a division by zero, x."""
    rest = bind(primitives.fmod, x, y)
    if x.type.dtype.kind not in "iu":
        return rest
    return bind(primitives.select, bind(primitives.equal, y, np.zeros((), y.type.dtype)), x, rest)


def _atan2(x: Any, y: Any) -> Any:
    """Of complex numbers -i log((y + i x) / sqrt(x**2 + y**2))."""
    if x.type.dtype.kind != "c":
        return bind(elementary.arctan2, x, y)
    unit = np.asarray(1j, x.type.dtype)
    size = bind(
        elementary.sqrt,
        bind(primitives.add, bind(primitives.square, x), bind(primitives.square, y)),
    )
    turned = bind(primitives.add, y, bind(primitives.multiply, x, unit))
    return bind(
        primitives.multiply, bind(elementary.log, bind(primitives.divide, turned, size)), -unit
    )


def _shift_right_arithmetic(x: Any, y: Any) -> Any:
    dtype = x.type.dtype
    shifted = bind(bits.right_shift, as_bits(x, signed(dtype)), as_bits(y, signed(dtype)))
    return as_bits(shifted, dtype)


def _shift_right_logical(x: Any, y: Any) -> Any:
    dtype = x.type.dtype
    raw = bits.unsigned(dtype)
    return as_bits(bind(bits.right_shift, as_bits(x, raw), as_bits(y, raw)), dtype)


def _upper_half(x: Any, y: Any) -> Any:
    """The upper half of the product of two integers, which is twice as wide as they are."""
    dtype = x.type.dtype
    width = 8 * dtype.itemsize
    if width < 64:
        wide = np.dtype("int64" if dtype.kind == "i" else "uint64")
        product = bind(primitives.multiply, as_bits(x, wide), as_bits(y, wide))
        return as_bits(bind(bits.right_shift, product, np.asarray(width, wide)), dtype)
    a, b = (as_bits(v, np.dtype("uint64")) for v in (x, y))
    upper = _upper_half_of_words(a, b)
    if dtype.kind == "i":  # as unsigned numbers, negative ones are 2**64 too large
        zero = np.zeros((), dtype)
        for one, other in ((x, b), (y, a)):
            negative = bind(primitives.less, one, zero)
            upper = upper - bind(primitives.select, negative, other, np.zeros((), "uint64"))
    return as_bits(upper, dtype)


def _upper_half_of_words(a: Any, b: Any) -> Any:
    """By the four products of halves of 32 bits."""
    low, shift = np.uint64(2**32 - 1), np.uint64(32)
    a_low, a_high = np.bitwise_and(a, low), np.right_shift(a, shift)
    b_low, b_high = np.bitwise_and(b, low), np.right_shift(b, shift)
    middle = a_high * b_low + np.right_shift(a_low * b_low, shift)
    other = a_low * b_high + np.bitwise_and(middle, low)
    return a_high * b_high + np.right_shift(middle, shift) + np.right_shift(other, shift)


ORDERED, ANY = "nfb", "nfcb"
add = _binary("add", primitives.add, NUMBERS, "The sum x + y; integers wrap around.", "add")
sub = _binary(
    "sub", primitives.subtract, NUMBERS, "The difference x - y; integers wrap around.", "subtract"
)
div = _binary(
    "div",
    _divide,
    NUMBERS,
    "The quotient x / y; of integers rounded towards zero, -1 for a division by zero.",
    "divide",
)
rem = _binary(
    "rem",
    _remainder,
    "nf",
    "The remainder of `div`, with the sign of x, as C's; x for a division of integers by zero.",
    "remainder",
)
max = _binary(
    "max",
    primitives.maximum,
    ANY,
    "The larger operand, NaN where one is NaN; complex numbers by real, then imaginary part.",
    "maximum",
)
min = _binary(
    "min",
    primitives.minimum,
    ANY,
    "The smaller operand, NaN where one is NaN; complex numbers by real, then imaginary part.",
    "minimum",
)
atan2 = _binary(
    "atan2",
    _atan2,
    INEXACT,
    "The angle of the point (y, x) in [-pi, pi], by the signs of both, zeros included.",
    "arctan2",
)
nextafter = _binary(
    "nextafter",
    primitives.nextafter,
    "f",
    "The next representable number after x in the direction of y.",
    "nextafter",
)
complex = _binary("complex", _complex, "f", "The complex number x + i y; halves raise TypeError.")
bitwise_and = _binary(
    "bitwise_and",
    bits.bitwise_and,
    "nb",
    "The bitwise conjunction; of bools the logical one.",
    "bitwise_and",
    "and",
)
bitwise_or = _binary(
    "bitwise_or",
    bits.bitwise_or,
    "nb",
    "The bitwise disjunction; of bools the logical one.",
    "bitwise_or",
    "or",
)
bitwise_xor = _binary(
    "bitwise_xor",
    bits.bitwise_xor,
    "nb",
    "The bitwise exclusive disjunction; of bools the logical one.",
    "bitwise_xor",
    "xor",
)
shift_left = _binary(
    "shift_left",
    bits.left_shift,
    "n",
    "x shifted left by y bits; 0 where all bits are shifted out.",
    "left_shift",
)
shift_right_logical = _binary(
    "shift_right_logical",
    _shift_right_logical,
    "n",
    "x shifted right by y bits, filled with zeros.",
)
shift_right_arithmetic = _binary(
    "shift_right_arithmetic",
    _shift_right_arithmetic,
    "n",
    "x shifted right by y bits, filled with its highest bit.",
    "right_shift",
)
mulhi = _binary(
    "mulhi",
    _upper_half,
    "n",
    "The upper half of the product of two integers, which is twice as wide as they are.",
)
eq = _binary("eq", primitives.equal, ANY, "Whether x == y, as bools; NaN equals nothing.", "equal")
ne = _binary(
    "ne",
    primitives.not_equal,
    ANY,
    "Whether x != y, as bools; NaN differs from everything.",
    "not_equal",
)
lt = _binary("lt", primitives.less, ORDERED, "Whether x < y, as bools; False beside NaN.", "less")
le = _binary(
    "le",
    primitives.less_equal,
    ORDERED,
    "Whether x <= y, as bools; False beside NaN.",
    "less_equal",
)
gt = _binary(
    "gt", primitives.greater, ORDERED, "Whether x > y, as bools; False beside NaN.", "greater"
)
ge = _binary(
    "ge",
    primitives.greater_equal,
    ORDERED,
    "Whether x >= y, as bools; False beside NaN.",
    "greater_equal",
)


def _product(x: Array, y: Array, *, out_dtype: Any = None) -> Any:
    values = [as_value(v, "mul", k) for k, v in enumerate((x, y))]
    for position, value in enumerate(values):
        check_kind("mul", value, NUMBERS, position)
    dtype = same_dtypes("mul", values, "multiply")
    if out_dtype is not None:
        values, dtype = [of_dtype(v, dtype) for v in values], np.dtype(out_dtype)
    return weak_like(bind(primitives.multiply, *aligned("mul", values, dtype)), *values)


mul = published(
    _product,
    "mul",
    "The product x * y, computed in `out_dtype` where that is given; integers wrap around.",
    _takes_two(NUMBERS),
    __all__,
)

# -------------------------------------------------------------------------------------- powers


def integer_power(x: Any, exponent: int) -> Any:
    """A traced value to a whole power, by squaring."""
    base, result = x, None
    left = builtins.abs(exponent)
    while left:
        if left & 1:
            result = base if result is None else bind(primitives.multiply, result, base)
        left >>= 1
        if left:
            base = bind(primitives.square, base)
    if result is None:
        one = np.ones((), x.type.dtype)
        return aligned_ones(x, one)
    return bind(primitives.reciprocal, result) if exponent < 0 else result


def aligned_ones(x: Any, one: Any) -> Any:
    """Ones in the shape of x."""
    return bind(
        primitives.copy, aligned("ones", [np.broadcast_to(one, tuple(x.type.shape))], None)[0]
    )


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
    return weak_like(integer_power(base, int(y)), value)


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
        is_whole = isinstance(base, Tracer) and isinstance(exponent, Tracer)
    else:
        dtype, is_whole = _power_dtype(base, exponent), False
    values = aligned("pow", [base, exponent], dtype)
    powers = whole_power(*values) if is_whole else bind(elementary.power, *values)
    return weak_like(powers, base, exponent)


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


integer_pow = published(
    _integer_pow,
    "integer_pow",
    "x to a power that is a Python int, by repeated squaring; the reciprocal for a negative one.",
    "Raises TypeError for another exponent, and for integers to a negative power.",
    __all__,
)
pow = published(
    _pow,
    "pow",
    "x to the power y, which is an integer or of x's dtype: NaN for negative x and fractional y.",
    "A Python int means `integer_pow`. Raises TypeError for integers x, and for other dtypes of y.",
    __all__,
)
