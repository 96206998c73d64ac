"""Elementary functions: roots, exponentials, logarithms, powers, trigonometric and hyperbolic
functions.

JVP rules of more than a line are in `derivatives.py`.
"""

from __future__ import annotations

import math
import operator

import numpy as np

from transpile.primitives.elementary import derivatives as d
from transpile.primitives.kinds import elementwise, transcendental

# Up to this magnitude a shorter argument reduction of sin, cos and tan gives the same bits.
LARGEST_ANGLE = 2.0**40  # of complex numbers the angle is a part

sqrt = elementwise(
    "sqrt",
    np.sqrt,
    "sqrt(x)",
    dtypes="fc",
    transcendental=True,
    domain=(0, 1e6),
    jvp=lambda t, out, x: t * (0.5 / out),
    c_library={"f": "sqrt", "c": "csqrt"},
    hlo="sqrt",
)
cbrt = transcendental(
    "cbrt",
    np.cbrt,
    dtypes="f",
    # Not t / (3 out**2): at 0 its own derivative would be inf * 0.
    jvp=lambda t, out, x: t * (np.square(np.reciprocal(out)) / 3),
    hlo="cbrt",
)
exp = transcendental(
    "exp",
    np.exp,
    domain=(-20, 20),
    jvp=lambda t, out, x: t * out,
    nonnegative="f",
    hlo="exponential",
    near=LARGEST_ANGLE,
    near_of={"c": "imag"},
)
exp2 = transcendental(
    "exp2",
    np.exp2,
    domain=(-20, 20),
    jvp=lambda t, out, x: t * (out * math.log(2)),
    nonnegative="f",
    c_library={"f": "exp2"},
    near=LARGEST_ANGLE,
    near_of={"c": "imag"},
)
expm1 = transcendental(
    "expm1",
    np.expm1,
    domain=(-20, 20),
    jvp=lambda t, out, x: t * (out + 1),
    c_library={"f": "expm1"},
    hlo="exponential-minus-one",
    near=LARGEST_ANGLE,
    near_of={"c": "imag"},
)
log = transcendental("log", np.log, domain=(1e-6, 1e6), jvp=lambda t, out, x: t / x, hlo="log")
log2 = transcendental(
    "log2",
    np.log2,
    domain=(1e-6, 1e6),
    jvp=lambda t, out, x: t / (x * math.log(2)),
    c_library={"f": "log2"},
)
log10 = transcendental(
    "log10",
    np.log10,
    domain=(1e-6, 1e6),
    jvp=lambda t, out, x: t / (x * math.log(10)),
    c_library={"f": "log10"},
)
log1p = transcendental(
    "log1p",
    np.log1p,
    domain=(-0.99, 1e6),
    jvp=lambda t, out, x: t / (x + 1),
    c_library={"f": "log1p"},
    hlo="log-plus-one",
)
logistic = elementwise(
    "logistic",
    lambda x: np.reciprocal(1 + np.exp(-x)),
    "1 / (1 + exp(-x))",
    dtypes="f",
    transcendental=True,
    domain=(-20, 20),
    jvp=lambda t, out, x: t * (out * (1 - out)),
    hlo="logistic",
)
sin = transcendental(
    "sin",
    np.sin,
    domain=(-20, 20),
    jvp=lambda t, out, x: t * np.cos(x),
    magnitude=1,
    near=LARGEST_ANGLE,
    near_of={"f": "", "c": "real"},
    hlo="sine",
)
cos = transcendental(
    "cos",
    np.cos,
    domain=(-20, 20),
    jvp=lambda t, out, x: t * -np.sin(x),
    magnitude=1,
    near=LARGEST_ANGLE,
    near_of={"f": "", "c": "real"},
    hlo="cosine",
)
tan = transcendental(
    "tan",
    np.tan,
    domain=(-1.5, 1.5),
    jvp=lambda t, out, x: t * (1 + np.square(out)),
    near=LARGEST_ANGLE,
    near_of={"f": "", "c": "real"},
    hlo="tan",
)
arcsin = transcendental("arcsin", np.arcsin, domain=(-1, 1), jvp=lambda t, out, x: t / d.circle(x))
arccos = transcendental("arccos", np.arccos, domain=(-1, 1), jvp=lambda t, out, x: -t / d.circle(x))
arctan = transcendental(
    "arctan",
    np.arctan,
    jvp=lambda t, out, x: t / (1 + np.square(x)),
    magnitude=2,
)
sinh = transcendental(
    "sinh",
    np.sinh,
    domain=(-20, 20),
    jvp=lambda t, out, x: t * np.cosh(x),
    near=LARGEST_ANGLE,
    near_of={"c": "imag"},
)
cosh = transcendental(
    "cosh",
    np.cosh,
    domain=(-20, 20),
    jvp=lambda t, out, x: t * np.sinh(x),
    nonnegative="f",
    near=LARGEST_ANGLE,
    near_of={"c": "imag"},
)
tanh = transcendental(
    "tanh",
    np.tanh,
    jvp=lambda t, out, x: t * ((1 - out) * (1 + out)),
    magnitude=1,
    hlo="tanh",
    near=LARGEST_ANGLE,
    near_of={"c": "imag"},
)
arcsinh = transcendental(
    "arcsinh", np.arcsinh, jvp=lambda t, out, x: t / np.sqrt(np.square(x) + 1), weight=25
)
arccosh = transcendental(
    "arccosh", np.arccosh, domain=(1, 1e6), jvp=lambda t, out, x: t / d.hyperbola(x), weight=25
)
arctanh = transcendental(
    "arctanh",
    np.arctanh,
    domain=(-0.99, 0.99),
    jvp=lambda t, out, x: t / ((1 - x) * (1 + x)),
    weight=20,
)
power = elementwise(
    "power",
    np.power,
    "power(x, y)",
    dtypes="iufc",
    transcendental=True,
    domain=(0.01, 20),
    jvp=(d.power_base, d.power_exponent),
    weight=40,
    scalar_from=8,
    c_library={"f": "pow"},
    hlo={"fc": "power"},
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
    weight=20,
    magnitude=4,
    hlo="atan2",
)
hypot = transcendental(
    "hypot",
    np.hypot,
    dtypes="f",
    arity=2,
    jvp=(lambda t, out, x, y: d.hypot(t, out, x), lambda t, out, x, y: d.hypot(t, out, y)),
    magnitude=operator.add,
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
    weight=40,
    of_equals=lambda dtype: dtype.type(np.log(2)) if dtype.itemsize >= 4 else None,
    c_library={},
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
    weight=40,
    of_equals=lambda dtype: dtype.type(1) if dtype.itemsize >= 4 else None,
    c_library={},
)
