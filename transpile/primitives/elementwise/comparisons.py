"""Primitives of comparisons, predicates of floats, logic, and the selection by a truth value."""

from __future__ import annotations

import numpy as np

from transpile.ir.indices import intervals
from transpile.ir.primitive import Primitive, register
from transpile.ir.types import BOOL, ArrayType
from transpile.primitives.elementwise import derivatives as d
from transpile.primitives.kinds import (
    combining,
    common_shape,
    comparison,
    elementwise,
    number,
)
from transpile.primitives.rules import batch_elementwise, permute_alike

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

logical_and = combining(
    "logical_and",
    np.logical_and,
    "(x != 0) & (y != 0)",
    b="x & y",
    result="bool",
    neutral=number(b=1),
    absorbing=number(b=0),
    idempotent=True,
    bitwise="bitwise_and",
    hlo={"b": "and"},
    interval=intervals.logical_and,
)
logical_or = combining(
    "logical_or",
    np.logical_or,
    "(x != 0) | (y != 0)",
    b="x | y",
    result="bool",
    neutral=number(b=0),
    absorbing=number(b=1),
    idempotent=True,
    bitwise="bitwise_or",
    hlo={"b": "or"},
    interval=intervals.logical_or,
)
logical_xor = combining(
    "logical_xor",
    np.logical_xor,
    "(x != 0) != (y != 0)",
    b="x != y",
    result="bool",
    neutral=number(b=0),
    bitwise="bitwise_xor",
    hlo={"b": "xor"},
)
logical_not = elementwise(
    "logical_not",
    np.logical_not,
    "x == 0",
    b="not x",
    result="bool",
    involution=True,
    hlo={"b": "not"},
    interval=intervals.logical_not,
)


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
        c={"": "y if x else z", "c": "choose(x, y, z)"},
        own_format=True,
        jvp=d.select,
        transpose=d.select_transpose,
        batch=batch_elementwise("select"),
        permute=permute_alike,
        speculatable=True,
        magnitude=lambda _, x, y: max(x, y),
    )
)
