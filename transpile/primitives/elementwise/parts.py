"""Primitives of rounding, of the parts of floats, and of the parts of complex numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.primitive import NoRule, Primitive, register
from transpile.ir.types import ArrayType
from transpile.primitives.elementwise import derivatives as d
from transpile.primitives.kinds import (
    common_shape,
    elementwise,
    rounding,
)
from transpile.primitives.rules import apply, batch_elementwise, flat, permute_alike

floor = rounding("floor", np.floor, hlo="floor")
ceil = rounding("ceil", np.ceil, hlo="ceil")
trunc = rounding("trunc", np.trunc)
rint = rounding("rint", np.rint, dtypes="fc", hlo={"f": "round-nearest-even"})
copysign = elementwise(
    "copysign",
    np.copysign,
    "copysign(x, y)",
    e="copysign(x, y)",
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
    hlo="real",
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
    hlo="imag",
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
        hlo="complex",
    )
)
