"""Elementwise instructions: most are one function of `transpile.lax`."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile import lax
from transpile.functional.vectorize import vmap
from transpile.hlo_import.context import Call, Rule, Rules
from transpile.hlo_import.orders import total_order
from transpile.ir.types import kind_letter
from transpile.primitives.rules import apply


def _of(function: Any) -> Rule:
    """The rule of an instruction that is a function of operands of one shape."""

    def rule(call: Call, *operands: Any) -> Any:
        if len({np.shape(x) for x in operands}) > 1:
            raise call.fail("the operands have different shapes")
        return function(*operands)

    return rule


_COMPARISONS = {
    "EQ": lax.eq,
    "NE": lax.ne,
    "LT": lax.lt,
    "LE": lax.le,
    "GT": lax.gt,
    "GE": lax.ge,
}


def compare(call: Call, x: Any, y: Any) -> Any:
    """A comparison; TOTALORDER orders the bits of floats, -NaN first and NaN last."""
    compared = _COMPARISONS.get(call.get("direction", str))
    if compared is None or np.shape(x) != np.shape(y):
        raise call.fail("it compares nothing")
    if call.instruction.attributes.get("type") == "TOTALORDER" and kind_letter(x.dtype) == "f":
        x, y = total_order(x), total_order(y)
    return compared(x, y)


def select(call: Call, test: Any, x: Any, y: Any) -> Any:
    """Elements of x where the test is true, else of y; one test may be for all."""
    if np.shape(x) != np.shape(y) or np.shape(test) not in ((), np.shape(x)):
        raise call.fail("the operands have different shapes")
    if np.shape(test) != np.shape(x):
        test = lax.broadcast_in_dim(test, np.shape(x), ())
    return lax.select(test, x, y)


def convert(call: Call, x: Any) -> Any:
    """The elements as another dtype; of a complex number that becomes real the real part."""
    dtype = call.instruction.dtype
    if x.dtype.kind == "c" and dtype.kind != "c":
        x = lax.real(x)
    return lax.convert_element_type(x, dtype)


def bitcast_convert(call: Call, x: Any) -> Any:
    """The same bits as another dtype."""
    return lax.bitcast_convert_type(x, call.instruction.dtype)


def popcnt(_: Call, x: Any) -> Any:
    """The number of bits that are set, of negative numbers in two's complement."""
    return lax.population_count(x)


def complement(_: Call, x: Any) -> Any:
    """All bits the other way."""
    return lax.bitwise_not(x)


def rounded(method: Any) -> Rule:
    """The nearest integer; of two the one that is even, or further from 0."""
    return lambda _, x: lax.round(x, method)


def reduce_precision(call: Call, x: Any) -> Any:
    """Rounded to a format of fewer bits."""
    bits = (call.get("exponent_bits", int), call.get("mantissa_bits", int))
    return lax.reduce_precision(x, *bits)


def mapped(call: Call, *operands: Any) -> Any:
    """A computation of scalars for each element."""
    shapes = {np.shape(x) for x in operands}
    if len(shapes) != 1:
        raise call.fail("the operands have different shapes")
    function: Any = call.function()
    for _ in shapes.pop():
        function = vmap(function)
    (result,) = function(*operands)
    return result


def divide(call: Call, x: Any, y: Any) -> Any:
    """The quotient; of integers without its fraction."""
    return _of(lax.div)(call, x, y)


def clamp(_: Call, low: Any, x: Any, high: Any) -> Any:
    """The elements, but no less than `low` and no more than `high`."""
    return lax.clamp(low, x, high)


def conj(_: Call, x: Any) -> Any:
    """The complex conjugate; real numbers as they are."""
    return lax.conj(x) if x.dtype.kind == "c" else x


def imaginary(_: Call, x: Any) -> Any:
    """The imaginary part; 0 of real numbers."""
    return lax.imag(x) if x.dtype.kind == "c" else 0 * x


def real(_: Call, x: Any) -> Any:
    """The real part; real numbers as they are."""
    return lax.real(x) if x.dtype.kind == "c" else x


def is_infinite(x: Any) -> Any:
    """True of both infinities."""
    return apply("isinf", x) if kind_letter(x.dtype) == "f" else lax.ne(x, x)


def _is_infinity(sign: int) -> Any:
    def test(x: Any) -> Any:
        return lax.eq(x, lax.full_like(x, sign * np.inf))

    return test


_NEAREST: Any = lax.RoundingMethod
FUNCTIONS = {
    "abs": lax.abs,
    "acos": lax.acos,
    "acosh": lax.acosh,
    "add": lax.add,
    "and": lax.bitwise_and,
    "asin": lax.asin,
    "asinh": lax.asinh,
    "atan": lax.atan,
    "atan2": lax.atan2,
    "atanh": lax.atanh,
    "bessel-i1e": lax.bessel_i1e,
    "cbrt": lax.cbrt,
    "ceil": lax.ceil,
    "complex": lax.complex,
    "cosh": lax.cosh,
    "cosine": lax.cos,
    "count-leading-zeros": lax.clz,
    "digamma": lax.digamma,
    "erf": lax.erf,
    "erf-inv": lax.erf_inv,
    "erfc": lax.erfc,
    "exponential": lax.exp,
    "exponential-minus-one": lax.expm1,
    "floor": lax.floor,
    "is-finite": lax.is_finite,
    "is-inf": is_infinite,
    "is-neg-inf": _is_infinity(-1),
    "is-pos-inf": _is_infinity(1),
    "lgamma": lax.lgamma,
    "log": lax.log,
    "log-plus-one": lax.log1p,
    "logistic": lax.logistic,
    "maximum": lax.max,
    "minimum": lax.min,
    "mulhi": lax.mulhi,
    "multiply": lax.mul,
    "negate": lax.neg,
    "next-after": lax.nextafter,
    "or": lax.bitwise_or,
    "polygamma": lax.polygamma,
    "power": lax.pow,
    "remainder": lax.rem,
    "rsqrt": lax.rsqrt,
    "shift-left": lax.shift_left,
    "shift-right-arithmetic": lax.shift_right_arithmetic,
    "shift-right-logical": lax.shift_right_logical,
    "sign": lax.sign,
    "sine": lax.sin,
    "sinh": lax.sinh,
    "sqrt": lax.sqrt,
    "square": lax.square,
    "subtract": lax.sub,
    "tan": lax.tan,
    "tanh": lax.tanh,
    "xor": lax.bitwise_xor,
    "zeta": lax.zeta,
}
RULES: Rules = {
    **{opcode: _of(function) for opcode, function in FUNCTIONS.items()},
    "bitcast-convert": bitcast_convert,
    "clamp": clamp,
    "compare": compare,
    "conj": conj,
    "convert": convert,
    "copy": lambda _, x: x,
    "divide": divide,
    "imag": imaginary,
    "map": mapped,
    "not": complement,
    "popcnt": popcnt,
    "real": real,
    "reduce-precision": reduce_precision,
    "round-nearest-afz": rounded(_NEAREST.AWAY_FROM_ZERO),
    "round-nearest-even": rounded(_NEAREST.TO_NEAREST_EVEN),
    "select": select,
}
