"""Elementwise rows: every NumPy ufunc that has a C counterpart, casts and selection.

The C column is the whole of the lowering. Integer arithmetic that may overflow goes through helpers
(`add(x, y)`), which wrap as NumPy does and are never undefined in C. Derivatives that need more
than a line stand in `derivatives.py`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transpile.ir.primitive import TABLE, Linear, NoRule, Primitive, register
from transpile.ir.types import BOOL, ArrayType
from transpile.primitives import derivatives as d
from transpile.primitives.kinds import common_shape, elementwise, transcendental
from transpile.primitives.rules import ByOperand, apply, batch_elementwise, flat
from transpile.trace.trace import bind

# ---------------------------------------------------------------------------------- arithmetic
add = elementwise(
    "add",
    np.add,
    "x + y",
    i="add(x, y)",
    b="x | y",
    jvp=(lambda t, out, x, y: t, lambda t, out, x, y: t),
    transpose=lambda ct, x, y: [ct, ct],
)
subtract = elementwise(
    "subtract",
    np.subtract,
    "x - y",
    i="subtract(x, y)",
    dtypes="iufc",
    jvp=(lambda t, out, x, y: t, lambda t, out, x, y: -t),
    transpose=lambda ct, x, y: [ct, -ct if isinstance(y, Linear) else None],
)
multiply = elementwise(
    "multiply",
    np.multiply,
    "x * y",
    i="multiply(x, y)",
    b="x & y",
    z="multiply(x, y)",
    jvp=(lambda t, out, x, y: t * y, lambda t, out, x, y: x * t),
    transpose=lambda ct, x, y: [ct * y, None] if isinstance(x, Linear) else [None, x * ct],
)
divide = elementwise(
    "divide",
    np.divide,
    "x / y",
    z="divide(x, y)",
    dtypes="fc",
    jvp=(lambda t, out, x, y: t / y, lambda t, out, x, y: t * -(out / y)),
    transpose=lambda ct, x, y: [ct / y, None],
)
floor_divide = elementwise(
    "floor_divide", np.floor_divide, "floor_divide(x, y)", dtypes="iuf", jvp=(flat, flat)
)
remainder = elementwise(
    "remainder",
    np.remainder,
    "remainder(x, y)",
    dtypes="iuf",
    jvp=(lambda t, out, x, y: t, lambda t, out, x, y: t * -np.floor_divide(x, y)),
)
fmod = elementwise(
    "fmod",
    np.fmod,
    "fmod(x, y)",
    dtypes="iuf",
    jvp=(lambda t, out, x, y: t, lambda t, out, x, y: t * -np.trunc(np.divide(x, y))),
)
negative = elementwise(
    "negative",
    np.negative,
    "-x",
    i="negative(x)",
    u="negative(x)",
    dtypes="iufc",
    jvp=lambda t, out, x: -t,
    transpose=lambda ct, x: [-ct],
)
absolute = elementwise(
    "absolute", np.absolute, "absolute(x)", b="x", u="x", result="real", jvp=d.absolute
)
sign = elementwise("sign", np.sign, "sign(x)", dtypes="iufc", jvp=d.sign)
square = elementwise(
    "square",
    np.square,
    "x * x",
    i="multiply(x, x)",
    z="multiply(x, x)",
    dtypes="iufc",
    jvp=lambda t, out, x: t * (2 * x),
)
reciprocal = elementwise(
    "reciprocal",
    np.reciprocal,
    "1 / x",
    i="reciprocal(x)",
    u="reciprocal(x)",
    z="reciprocal(x)",
    dtypes="iufc",
    jvp=lambda t, out, x: t * -np.square(out),
)
maximum = elementwise(
    "maximum",
    np.maximum,
    "maximum(x, y)",
    b="x | y",
    jvp=(d.chosen_where(np.greater), d.chosen_where(np.less)),
)
minimum = elementwise(
    "minimum",
    np.minimum,
    "minimum(x, y)",
    b="x & y",
    jvp=(d.chosen_where(np.less), d.chosen_where(np.greater)),
)
fmax = elementwise(
    "fmax",
    np.fmax,
    "fmax(x, y)",
    i="maximum(x, y)",
    u="maximum(x, y)",
    b="x | y",
    jvp=d.chosen_unless_nan(np.greater),
)
fmin = elementwise(
    "fmin",
    np.fmin,
    "fmin(x, y)",
    i="minimum(x, y)",
    u="minimum(x, y)",
    b="x & y",
    jvp=d.chosen_unless_nan(np.less),
)
gcd = elementwise("gcd", np.gcd, "gcd(x, y)", dtypes="iu")
lcm = elementwise("lcm", np.lcm, "lcm(x, y)", dtypes="iu")

# -------------------------------------------------------------------------- rounding and parts
floor = elementwise("floor", np.floor, "floor(x)", dtypes="f", jvp=flat)
ceil = elementwise("ceil", np.ceil, "ceil(x)", dtypes="f", jvp=flat)
trunc = elementwise("trunc", np.trunc, "trunc(x)", dtypes="f", jvp=flat)
rint = elementwise("rint", np.rint, "rint(x)", dtypes="fc", jvp=flat)
copysign = elementwise(
    "copysign", np.copysign, "copysign(x, y)", dtypes="f", jvp=(d.copysign, flat)
)
nextafter = elementwise(
    "nextafter",
    np.nextafter,
    "nextafter(x, y)",
    dtypes="f",
    jvp=NoRule("numpy.nextafter steps from one floating-point number to the next: no derivative"),
)
spacing = elementwise("spacing", np.spacing, "spacing(x)", dtypes="f", jvp=flat)
heaviside = elementwise(
    "heaviside",
    np.heaviside,
    "heaviside(x, y)",
    dtypes="f",
    jvp=(flat, lambda t, out, x, y: np.where(np.equal(x, 0), t, 0)),
)
ldexp = elementwise(
    "ldexp",
    np.ldexp,
    "ldexp_scaled(x, y)",
    dtypes="fi",
    result="first",
    jvp=(lambda t, out, x, y: apply("ldexp", t, y), flat),
    transpose=lambda ct, x, y: [apply("ldexp", ct, y), None],
)
mantissa = elementwise(
    "mantissa",
    lambda x: np.frexp(x)[0],
    "frexp_mantissa(x)",
    dtypes="f",
    jvp=lambda t, out, x: apply("ldexp", t, -apply("exponent", x)),
)
exponent = elementwise(
    "exponent",
    lambda x: np.frexp(x)[1],
    "frexp_exponent(x)",
    dtypes="f",
    result=lambda x: ArrayType(x.shape, np.dtype("int32")),
)
conjugate = elementwise(
    "conjugate",
    np.conjugate,
    "x",
    z="conjugate(x)",
    dtypes="iufc",
    jvp=lambda t, out, x: np.conjugate(t),
    transpose=lambda ct, x: [np.conjugate(ct)],
)
real = elementwise(
    "real",
    np.real,
    "real(x)",
    dtypes="c",
    result="real",
    jvp=lambda t, out, x: np.real(t),
    transpose=lambda ct, x: [apply("complex", ct, d.zero(ct))],
)
imag = elementwise(
    "imag",
    np.imag,
    "imag(x)",
    dtypes="c",
    result="real",
    jvp=lambda t, out, x: np.imag(t),
    transpose=lambda ct, x: [apply("complex", d.zero(ct), -ct)],
)


def _complex_type(x: ArrayType, y: ArrayType) -> ArrayType:
    return ArrayType(common_shape((x, y)), np.dtype(f"c{2 * x.dtype.itemsize}"))


def _complex(x: Any, y: Any) -> Any:
    result = np.empty(np.broadcast_shapes(x.shape, y.shape), f"c{2 * x.dtype.itemsize}")
    result.real, result.imag = x, y
    return result


make_complex = register(
    Primitive(
        "complex",
        "elementwise",
        _complex,
        _complex_type,
        c={"": "make_complex(x, y)"},
        dtypes="f",
        jvp=d.complex_,
        transpose=d.complex_transpose,
        batch=batch_elementwise("complex"),
    )
)

# ------------------------------------------------------------------------ elementary functions
sqrt = elementwise(
    "sqrt",
    np.sqrt,
    "sqrt(x)",
    dtypes="fc",
    transcendental=True,
    domain=(0, 1e6),
    jvp=lambda t, out, x: t * (0.5 / out),
)
cbrt = transcendental(
    "cbrt",
    np.cbrt,
    dtypes="f",
    # Not t / (3 out**2): at 0 its own derivative would be inf * 0.
    jvp=lambda t, out, x: t * (np.square(np.reciprocal(out)) / 3),
)
exp = transcendental("exp", np.exp, domain=(-20, 20), jvp=lambda t, out, x: t * out)
exp2 = transcendental(
    "exp2", np.exp2, domain=(-20, 20), jvp=lambda t, out, x: t * (out * math.log(2))
)
expm1 = transcendental("expm1", np.expm1, domain=(-20, 20), jvp=lambda t, out, x: t * (out + 1))
log = transcendental("log", np.log, domain=(1e-6, 1e6), jvp=lambda t, out, x: t / x)
log2 = transcendental(
    "log2", np.log2, domain=(1e-6, 1e6), jvp=lambda t, out, x: t / (x * math.log(2))
)
log10 = transcendental(
    "log10", np.log10, domain=(1e-6, 1e6), jvp=lambda t, out, x: t / (x * math.log(10))
)
log1p = transcendental("log1p", np.log1p, domain=(-0.99, 1e6), jvp=lambda t, out, x: t / (x + 1))
logistic = elementwise(
    "logistic",
    lambda x: np.reciprocal(1 + np.exp(-x)),
    "1 / (1 + exp(-x))",
    dtypes="f",
    transcendental=True,
    domain=(-20, 20),
    jvp=lambda t, out, x: t * (out * (1 - out)),
)
sin = transcendental("sin", np.sin, domain=(-20, 20), jvp=lambda t, out, x: t * np.cos(x))
cos = transcendental("cos", np.cos, domain=(-20, 20), jvp=lambda t, out, x: t * -np.sin(x))
tan = transcendental(
    "tan", np.tan, domain=(-1.5, 1.5), jvp=lambda t, out, x: t * (1 + np.square(out))
)
arcsin = transcendental("arcsin", np.arcsin, domain=(-1, 1), jvp=lambda t, out, x: t / d.circle(x))
arccos = transcendental("arccos", np.arccos, domain=(-1, 1), jvp=lambda t, out, x: -t / d.circle(x))
arctan = transcendental("arctan", np.arctan, jvp=lambda t, out, x: t / (1 + np.square(x)))
sinh = transcendental("sinh", np.sinh, domain=(-20, 20), jvp=lambda t, out, x: t * np.cosh(x))
cosh = transcendental("cosh", np.cosh, domain=(-20, 20), jvp=lambda t, out, x: t * np.sinh(x))
tanh = transcendental("tanh", np.tanh, jvp=lambda t, out, x: t * ((1 - out) * (1 + out)))
arcsinh = transcendental("arcsinh", np.arcsinh, jvp=lambda t, out, x: t / np.sqrt(np.square(x) + 1))
arccosh = transcendental(
    "arccosh", np.arccosh, domain=(1, 1e6), jvp=lambda t, out, x: t / d.hyperbola(x)
)
arctanh = transcendental(
    "arctanh", np.arctanh, domain=(-0.99, 0.99), jvp=lambda t, out, x: t / ((1 - x) * (1 + x))
)
power = elementwise(
    "power",
    np.power,
    "power(x, y)",
    dtypes="iufc",
    transcendental=True,
    domain=(0.01, 20),
    jvp=(d.power_base, d.power_exponent),
)
arctan2 = transcendental(
    "arctan2",
    np.arctan2,
    dtypes="f",
    arity=2,
    jvp=(
        lambda t, out, x, y: t * (y / (np.square(x) + np.square(y))),
        lambda t, out, x, y: t * -(x / (np.square(x) + np.square(y))),
    ),
)
hypot = transcendental(
    "hypot",
    np.hypot,
    dtypes="f",
    arity=2,
    jvp=(lambda t, out, x, y: d.hypot(t, out, x), lambda t, out, x, y: d.hypot(t, out, y)),
)
logaddexp = transcendental(
    "logaddexp",
    np.logaddexp,
    dtypes="f",
    arity=2,
    domain=(-20, 20),
    jvp=(
        lambda t, out, x, y: t * np.exp(d.not_infinite(x) - d.not_infinite(out)),
        lambda t, out, x, y: t * np.exp(d.not_infinite(y) - d.not_infinite(out)),
    ),
)
logaddexp2 = transcendental(
    "logaddexp2",
    np.logaddexp2,
    dtypes="f",
    arity=2,
    domain=(-20, 20),
    jvp=(
        lambda t, out, x, y: t * np.exp2(d.not_infinite(x) - d.not_infinite(out)),
        lambda t, out, x, y: t * np.exp2(d.not_infinite(y) - d.not_infinite(out)),
    ),
)

# --------------------------------------------------------------------- comparisons, predicates
equal = elementwise("equal", np.equal, "x == y", result="bool")
not_equal = elementwise("not_equal", np.not_equal, "x != y", result="bool")
less = elementwise("less", np.less, "x < y", z="less(x, y)", result="bool")
less_equal = elementwise("less_equal", np.less_equal, "x <= y", z="less_equal(x, y)", result="bool")
greater = elementwise("greater", np.greater, "x > y", z="less(y, x)", result="bool")
greater_equal = elementwise(
    "greater_equal", np.greater_equal, "x >= y", z="less_equal(y, x)", result="bool"
)
isnan = elementwise("isnan", np.isnan, "isnan(x)", dtypes="fc", result="bool")
isinf = elementwise("isinf", np.isinf, "isinf(x)", dtypes="fc", result="bool")
isfinite = elementwise("isfinite", np.isfinite, "isfinite(x)", dtypes="fc", result="bool")
signbit = elementwise("signbit", np.signbit, "signbit(x)", dtypes="f", result="bool")

# ------------------------------------------------------------------------------- logic and bits
logical_and = elementwise(
    "logical_and", np.logical_and, "x != 0 and y != 0", b="x & y", result="bool"
)
logical_or = elementwise("logical_or", np.logical_or, "x != 0 or y != 0", b="x | y", result="bool")
logical_xor = elementwise(
    "logical_xor", np.logical_xor, "(x != 0) != (y != 0)", b="x != y", result="bool"
)
logical_not = elementwise("logical_not", np.logical_not, "x == 0", b="not x", result="bool")
bitwise_and = elementwise("bitwise_and", np.bitwise_and, "x & y", dtypes="biu")
bitwise_or = elementwise("bitwise_or", np.bitwise_or, "x | y", dtypes="biu")
bitwise_xor = elementwise("bitwise_xor", np.bitwise_xor, "x ^ y", dtypes="biu")
invert = elementwise("invert", np.invert, "invert(x)", b="not x", dtypes="biu")
left_shift = elementwise("left_shift", np.left_shift, "left_shift(x, y)", dtypes="iu")
right_shift = elementwise("right_shift", np.right_shift, "right_shift(x, y)", dtypes="iu")
bitwise_count = elementwise(
    "bitwise_count",
    np.bitwise_count,
    "bitwise_count(x)",
    dtypes="iu",
    result=lambda x: ArrayType(x.shape, np.dtype("uint8")),
)


# -------------------------------------------------------------------------- selection and casts
def _select_type(test: ArrayType, x: ArrayType, y: ArrayType) -> ArrayType:
    if test.dtype != BOOL:
        raise TypeError(f"select chooses by a bool, not by {test.dtype.name}")
    if x.dtype != y.dtype:
        raise TypeError(f"the operands have different dtypes: {x}, {y}")
    return ArrayType(common_shape((test, x, y)), x.dtype)


select = register(
    Primitive(
        "select",
        "elementwise",
        np.where,
        _select_type,
        c={"": "y if x else z"},
        jvp=d.select,
        transpose=d.select_transpose,
        batch=batch_elementwise("select"),
    )
)


def _convert_type(x: ArrayType, *, dtype: np.dtype[Any]) -> ArrayType:
    return ArrayType(x.shape, dtype)


def _convert(x: Any, *, dtype: np.dtype[Any]) -> Any:
    return np.asarray(x).astype(dtype)


convert = elementwise(
    "convert_element_type",
    _convert,
    "convert(x)",
    result=_convert_type,
    cost=1,
    jvp=lambda t, out, x, *, dtype: d.convert(t, dtype),
    transpose=lambda ct, x, *, dtype: [d.convert(ct, x.type.dtype)],
)

# ----------------------------------------------------------------------------------- identities


def _name_type(x: ArrayType, *, name: str = "") -> ArrayType:
    return x.strong


def _name(x: Any, *, name: str = "") -> Any:
    return np.copy(x)


copy = elementwise(
    "copy", np.copy, "x", cost=0, jvp=lambda t, out, x: t, transpose=lambda ct, x: [ct]
)
# What a policy of `checkpoint` knows a value by.
name = register(
    Primitive(
        "name",
        "elementwise",
        _name,
        _name_type,
        c={"": "x"},
        cost=0,
        jvp=ByOperand((lambda t, out, x, name="": t,)),
        transpose=lambda ct, x, name="": [ct],
        batch=lambda axis, batched, x, name="": (bind(TABLE["name"], x, name=name), True),
    )
)
stop_gradient = elementwise("stop_gradient", np.copy, "x", cost=0, jvp=flat)
# The value again, but for the passes another one: what is computed from it in order to save memory
# is not found to be there already.
optimization_barrier = elementwise(
    "optimization_barrier",
    np.copy,
    "x",
    cost=0,
    jvp=lambda t, out, x: apply("optimization_barrier", t),
    transpose=lambda ct, x: [apply("optimization_barrier", ct)],
)
