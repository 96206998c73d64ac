"""Primitives of arithmetic: sums, products, quotients, signs, extrema, divisors.

The C column is their whole lowering. Integer arithmetic that may overflow calls helpers
(`add(x, y)`), which wrap as NumPy does and have no undefined behaviour. JVP rules of more than a
line are in `derivatives.py`.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from transpile.ir.indices import intervals
from transpile.ir.primitive import Linear
from transpile.primitives.elementwise import derivatives as d
from transpile.primitives.kinds import (
    combining,
    elementwise,
    highest,
    lowest,
    number,
    scaled,
)
from transpile.primitives.rules import flat

# Up to which quotients of floats have exact rests by a division and a multiply-add.
_LARGEST_QUOTIENT = 2.0**28

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
    atomic="atomicAdd",
    hlo={"b": "or", "": "add"},
    interval=intervals.add,
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
    hlo="subtract",
    interval=intervals.subtract,
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
    leaves_range="fc",
    on_indices=scaled,
    magnitude=operator.mul,
    of_bools="logical_and",
    atomic="atomic_multiply",
    hlo={"b": "and", "": "multiply"},
    interval=intervals.multiply,
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
    divisor=1,
    hlo="divide",
)
floor_divide = elementwise(
    "floor_divide",
    np.floor_divide,
    "floor_divide(x, y)",
    dtypes="iuf",
    jvp=(flat, flat),
    weight=8,
    divisor=1,
    interval=intervals.floor_divide,
    near=_LARGEST_QUOTIENT,
    near_of={"f": "divide"},
    scalar_from=64,
)
remainder = elementwise(
    "remainder",
    np.remainder,
    "remainder(x, y)",
    dtypes="iuf",
    jvp=(lambda t, out, x, y: t, lambda t, out, x, y: t * -np.floor_divide(x, y)),
    weight=8,
    divisor=1,
    interval=intervals.remainder,
    near=_LARGEST_QUOTIENT,
    near_of={"f": "divide"},
    scalar_from=64,
)
fmod = elementwise(
    "fmod",
    np.fmod,
    "fmod(x, y)",
    dtypes="iuf",
    jvp=(lambda t, out, x, y: t, lambda t, out, x, y: t * -np.trunc(np.divide(x, y))),
    weight=8,
    divisor=1,
    c_library={"f": "fmod"},
    hlo={"f": "remainder"},
    near=_LARGEST_QUOTIENT,
    near_of={"f": "divide"},
    scalar_from=64,
)
negative = elementwise(
    "negative",
    np.negative,
    "-x",
    i="negative(x)",
    u="negative(x)",
    e="negative(x)",
    dtypes="iufc",
    jvp=lambda t, out, x: -t,
    transpose=lambda ct, x: [-ct],
    exact=True,
    involution=True,
    on_indices=operator.neg,
    magnitude=abs,
    hlo="negate",
    interval=intervals.negative,
)
absolute = elementwise(
    "absolute",
    np.absolute,
    "absolute(x)",
    b="x",
    u="x",
    e="absolute(x)",
    result="real",
    jvp=d.absolute,
    exact=True,
    speculatable=True,
    magnitude=abs,
    nonnegative="f",
    c_library={"f": "fabs", "c": "cabs"},
    hlo={"ifc": "abs"},
    interval=intervals.absolute,
)
sign = elementwise(
    "sign",
    np.sign,
    "sign(x)",
    dtypes="iufc",
    jvp=d.sign,
    exact=True,
    magnitude=1,
    hlo={"if": "sign"},
    interval=intervals.sign,
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
    interval=intervals.square,
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
    divisor=0,
)
maximum = combining(
    "maximum",
    np.maximum,
    "maximum(x, y)",
    b="x | y",
    jvp=(d.chosen_where(np.greater), d.chosen_where(np.less)),
    exact=True,
    neutral=lowest,
    absorbing=number(b=1),
    chooses=1,
    idempotent=True,
    atomic="atomicMax",
    speculatable=True,
    magnitude=max,
    hlo={"b": "or", "iuf": "maximum"},
    interval=intervals.maximum,
)
minimum = combining(
    "minimum",
    np.minimum,
    "minimum(x, y)",
    b="x & y",
    jvp=(d.chosen_where(np.less), d.chosen_where(np.greater)),
    exact=True,
    neutral=highest,
    absorbing=number(b=0),
    chooses=-1,
    idempotent=True,
    atomic="atomicMin",
    speculatable=True,
    magnitude=max,
    hlo={"b": "and", "iuf": "minimum"},
    interval=intervals.minimum,
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
    interval=intervals.maximum,
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
    interval=intervals.minimum,
)
gcd = combining("gcd", np.gcd, "gcd(x, y)", dtypes="iu", weight=80, scalar_from=8)
lcm = elementwise(
    "lcm", np.lcm, "lcm(x, y)", dtypes="iu", commutative=True, weight=100, scalar_from=8
)


def _multiply_modulo(x: Any, y: Any, z: Any) -> Any:
    wide = (np.asarray(v).astype(object) for v in (x, y, np.where(z == 0, 1, z)))
    one, other, modulus = wide
    return np.where(z == 0, 0, np.asarray(one * other % modulus, z.dtype))


# As Python multiplies integers modulo a third, without a product that wraps around.
multiply_modulo = elementwise(
    "multiply_modulo",
    _multiply_modulo,
    "multiply_modulo(x, y, z)",
    dtypes="i",
    weight=8,
    speculatable=False,
)
