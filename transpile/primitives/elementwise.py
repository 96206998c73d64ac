"""Elementwise primitives: arithmetic, rounding, comparisons, logic, selection, casts, identities.

The C column is their whole lowering. Integer arithmetic that may overflow calls helpers
(`add(x, y)`), which wrap as NumPy does and have no undefined behaviour. JVP rules of more than a
line are in `derivatives.py`.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from transpile.ir.primitive import TABLE, Linear, NoRule, Primitive, register
from transpile.ir.types import BOOL, ArrayType
from transpile.primitives import derivatives as d
from transpile.primitives.kinds import (
    combining,
    common_shape,
    comparison,
    elementwise,
    highest,
    lowest,
    number,
    rounding,
    scaled,
    unchanged,
)
from transpile.primitives.rules import ByOperand, apply, batch_elementwise, flat, permute_alike
from transpile.trace.trace import bind

# ---------------------------------------------------------------------------------- arithmetic
add = combining(
    "add",
    np.add,
    "x + y",
    i="add(x, y)",
    b="x | y",
    jvp=(lambda t, out, x, y: t, lambda t, out, x, y: t),
    transpose=lambda ct, x, y: [ct, ct],
    neutral=number(biu=0, f=-0.0, c=complex(-0.0, -0.0)),
    absorbing=number(b=1),
    on_indices=operator.add,
    magnitude=operator.add,
    of_bools="logical_or",
)
subtract = elementwise(
    "subtract",
    np.subtract,
    "x - y",
    i="subtract(x, y)",
    dtypes="iufc",
    jvp=(lambda t, out, x, y: t, lambda t, out, x, y: -t),
    transpose=lambda ct, x, y: [ct, -ct if isinstance(y, Linear) else None],
    neutral=number(iufc=0),
    on_indices=operator.sub,
    magnitude=operator.add,
)
multiply = combining(
    "multiply",
    np.multiply,
    "x * y",
    i="multiply(x, y)",
    b="x & y",
    z="multiply(x, y)",
    jvp=(lambda t, out, x, y: t * y, lambda t, out, x, y: x * t),
    transpose=lambda ct, x, y: [ct * y, None] if isinstance(x, Linear) else [None, x * ct],
    neutral=number(biuf=1),
    absorbing=number(biu=0),
    on_indices=scaled,
    magnitude=operator.mul,
    of_bools="logical_and",
)
divide = elementwise(
    "divide",
    np.divide,
    "x / y",
    z="divide(x, y)",
    dtypes="fc",
    jvp=(lambda t, out, x, y: t / y, lambda t, out, x, y: t * -(out / y)),
    transpose=lambda ct, x, y: [ct / y, None],
    neutral=number(f=1),
    weight=4,
)
floor_divide = elementwise(
    "floor_divide",
    np.floor_divide,
    "floor_divide(x, y)",
    dtypes="iuf",
    jvp=(flat, flat),
    weight=8,
)
remainder = elementwise(
    "remainder",
    np.remainder,
    "remainder(x, y)",
    dtypes="iuf",
    jvp=(lambda t, out, x, y: t, lambda t, out, x, y: t * -np.floor_divide(x, y)),
    weight=8,
)
fmod = elementwise(
    "fmod",
    np.fmod,
    "fmod(x, y)",
    dtypes="iuf",
    jvp=(lambda t, out, x, y: t, lambda t, out, x, y: t * -np.trunc(np.divide(x, y))),
    weight=8,
    c_library={"f": "fmod"},
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
    exact=True,
    involution=True,
    on_indices=operator.neg,
    magnitude=abs,
)
absolute = elementwise(
    "absolute",
    np.absolute,
    "absolute(x)",
    b="x",
    u="x",
    result="real",
    jvp=d.absolute,
    exact=True,
    speculatable=True,
    magnitude=abs,
    nonnegative="f",
    c_library={"f": "fabs", "c": "cabs"},
)
sign = elementwise(
    "sign",
    np.sign,
    "sign(x)",
    dtypes="iufc",
    jvp=d.sign,
    exact=True,
    magnitude=1,
)
square = elementwise(
    "square",
    np.square,
    "x * x",
    i="multiply(x, x)",
    z="multiply(x, x)",
    dtypes="iufc",
    jvp=lambda t, out, x: t * (2 * x),
    nonnegative="f",
    magnitude=lambda x: x * x,
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
    weight=4,
)
maximum = combining(
    "maximum",
    np.maximum,
    "maximum(x, y)",
    b="x | y",
    jvp=(d.chosen_where(np.greater), d.chosen_where(np.less)),
    exact=True,
    neutral=lowest,
    chooses=1,
    speculatable=True,
    magnitude=max,
)
minimum = combining(
    "minimum",
    np.minimum,
    "minimum(x, y)",
    b="x & y",
    jvp=(d.chosen_where(np.less), d.chosen_where(np.greater)),
    exact=True,
    neutral=highest,
    chooses=-1,
    speculatable=True,
    magnitude=max,
)
fmax = combining(
    "fmax",
    np.fmax,
    "fmax(x, y)",
    i="maximum(x, y)",
    u="maximum(x, y)",
    b="x | y",
    jvp=d.chosen_unless_nan(np.greater),
    exact=True,
    magnitude=max,
    c_library={"f": "fmax"},
)
fmin = combining(
    "fmin",
    np.fmin,
    "fmin(x, y)",
    i="minimum(x, y)",
    u="minimum(x, y)",
    b="x & y",
    jvp=d.chosen_unless_nan(np.less),
    exact=True,
    magnitude=max,
    c_library={"f": "fmin"},
)
gcd = combining("gcd", np.gcd, "gcd(x, y)", dtypes="iu")
lcm = elementwise("lcm", np.lcm, "lcm(x, y)", dtypes="iu", commutative=True)

# -------------------------------------------------------------------------- rounding and parts
floor = rounding("floor", np.floor)
ceil = rounding("ceil", np.ceil)
trunc = rounding("trunc", np.trunc)
rint = rounding("rint", np.rint, dtypes="fc")
copysign = elementwise(
    "copysign",
    np.copysign,
    "copysign(x, y)",
    dtypes="f",
    jvp=(d.copysign, flat),
    exact=True,
    c_library={"f": "copysign"},
)
nextafter = elementwise(
    "nextafter",
    np.nextafter,
    "nextafter(x, y)",
    dtypes="f",
    jvp=NoRule("numpy.nextafter steps from one floating-point number to the next: no derivative"),
    own_format=True,
    c_library={"f": "nextafter"},
)
spacing = elementwise(
    "spacing",
    np.spacing,
    "spacing(x)",
    dtypes="f",
    jvp=flat,
    own_format=True,
)
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
    c_library={"f": "ldexp"},
)
mantissa = elementwise(
    "mantissa",
    lambda x: np.frexp(x)[0],
    "frexp_mantissa(x)",
    dtypes="f",
    jvp=lambda t, out, x: apply("ldexp", t, -apply("exponent", x)),
    exact=True,
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
    own_format=True,
    involution=True,
    c_library={"c": "conj"},
)
real = elementwise(
    "real",
    np.real,
    "real(x)",
    dtypes="c",
    result="real",
    jvp=lambda t, out, x: np.real(t),
    transpose=lambda ct, x: [apply("complex", ct, d.zero(ct))],
    c_library={"c": "creal"},
)
imag = elementwise(
    "imag",
    np.imag,
    "imag(x)",
    dtypes="c",
    result="real",
    jvp=lambda t, out, x: np.imag(t),
    transpose=lambda ct, x: [apply("complex", d.zero(ct), -ct)],
    c_library={"c": "cimag"},
)
COMPLEX_PARTS = (real, imag)


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
        permute=permute_alike,
    )
)

# --------------------------------------------------------------------- comparisons, predicates
equal = comparison("equal", np.equal, "x == y", signs=(0,), commutative=True)
not_equal = comparison("not_equal", np.not_equal, "x != y", signs=(-1, 1), commutative=True)
less = comparison("less", np.less, "x < y", z="less(x, y)", signs=(-1,))
less_equal = comparison("less_equal", np.less_equal, "x <= y", z="less_equal(x, y)", signs=(-1, 0))
greater = comparison("greater", np.greater, "x > y", z="less(y, x)", signs=(1,))
greater_equal = comparison(
    "greater_equal", np.greater_equal, "x >= y", z="less_equal(y, x)", signs=(0, 1)
)
isnan = elementwise("isnan", np.isnan, "isnan(x)", dtypes="fc", result="bool")
isinf = elementwise("isinf", np.isinf, "isinf(x)", dtypes="fc", result="bool")
isfinite = elementwise("isfinite", np.isfinite, "isfinite(x)", dtypes="fc", result="bool")
signbit = elementwise("signbit", np.signbit, "signbit(x)", dtypes="f", result="bool")

# ---------------------------------------------------------------------------------------- logic
logical_and = combining(
    "logical_and",
    np.logical_and,
    "x != 0 and y != 0",
    b="x & y",
    result="bool",
    neutral=number(b=1),
    absorbing=number(b=0),
    bitwise="bitwise_and",
)
logical_or = combining(
    "logical_or",
    np.logical_or,
    "x != 0 or y != 0",
    b="x | y",
    result="bool",
    neutral=number(b=0),
    absorbing=number(b=1),
    bitwise="bitwise_or",
)
logical_xor = combining(
    "logical_xor",
    np.logical_xor,
    "(x != 0) != (y != 0)",
    b="x != y",
    result="bool",
    neutral=number(b=0),
    bitwise="bitwise_xor",
)
logical_not = elementwise(
    "logical_not",
    np.logical_not,
    "x == 0",
    b="not x",
    result="bool",
    involution=True,
)


# -------------------------------------------------------------------------- selection and casts
def _select_type(test: ArrayType, x: ArrayType, y: ArrayType) -> ArrayType:
    if test.dtype != BOOL:
        raise TypeError(f"the predicate of select is a bool, not {test.dtype.name}")
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
        own_format=True,
        jvp=d.select,
        transpose=d.select_transpose,
        batch=batch_elementwise("select"),
        permute=permute_alike,
        speculatable=True,
        magnitude=lambda _, x, y: max(x, y),
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
    on_indices=unchanged,
)

# ----------------------------------------------------------------------------------- identities


def _name_type(x: ArrayType, *, name: str = "") -> ArrayType:
    return x.strong


copy = elementwise(
    "copy",
    np.copy,
    "x",
    cost=0,
    jvp=lambda t, out, x: t,
    transpose=lambda ct, x: [ct],
    own_format=True,
    on_indices=unchanged,
    identity=True,
)
# A label, by which policies of `checkpoint` select values.
name = register(
    Primitive(
        "name",
        "elementwise",
        lambda x, name="": np.copy(x),
        _name_type,
        c={"": "x"},
        cost=0,
        own_format=True,
        jvp=ByOperand((lambda t, out, x, name="": t,)),
        transpose=lambda ct, x, name="": [ct],
        batch=lambda axis, batched, x, name="": (bind(TABLE["name"], x, name=name), True),
        permute=permute_alike,
        weight=0,
        identity=True,
    )
)
stop_gradient = elementwise(
    "stop_gradient",
    np.copy,
    "x",
    cost=0,
    jvp=flat,
    own_format=True,
    identity=True,
)
# An identity that common-subexpression elimination does not see through: a rematerialised value is
# not merged with the value that it recomputes.
optimization_barrier = elementwise(
    "optimization_barrier",
    np.copy,
    "x",
    cost=0,
    jvp=lambda t, out, x: apply("optimization_barrier", t),
    transpose=lambda ct, x: [apply("optimization_barrier", ct)],
    own_format=True,
)
