"""Primitives that return their operand: casts, copies, labels, and barriers to transformations."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.indices import intervals
from transpile.ir.primitive import TABLE, Primitive, register
from transpile.ir.types import ArrayType
from transpile.primitives.elementwise import derivatives as d
from transpile.primitives.kinds import (
    elementwise,
    unchanged,
)
from transpile.primitives.rules import ByOperand, apply, flat, permute_alike
from transpile.trace.trace import bind


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
    interval=intervals.same,
)


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
    interval=intervals.same,
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
    hlo="opt-barrier",
)
