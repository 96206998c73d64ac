"""Reductions and scans along axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.graph import Const
from transpile.primitive import Linear, Primitive, register
from transpile.primitives.kinds import reduction, scan
from transpile.primitives.rules import apply, batch_first, spread
from transpile.types import INT64, ArrayType


def _sum_transpose(ct: Any, x: Linear, *, axes: tuple[int, ...]) -> list[Any]:
    kept = [a for a in range(x.type.ndim) if a not in axes]
    return [spread(ct, x.type.shape, kept)]


reduce_sum = reduction(
    "reduce_sum",
    lambda x, *, axes: np.sum(x, axis=axes, dtype=x.dtype),
    "add",
    dtypes="iufc",
    jvp=lambda t, _, x, *, axes: apply("reduce_sum", t, axes=axes),
    transpose=_sum_transpose,
)
reduce_prod = reduction(
    "reduce_prod",
    lambda x, *, axes: np.prod(x, axis=axes, dtype=x.dtype),
    "multiply",
    dtypes="iufc",
)
reduce_max = reduction("reduce_max", lambda x, *, axes: np.max(x, axis=axes), "maximum")
reduce_min = reduction("reduce_min", lambda x, *, axes: np.min(x, axis=axes), "minimum")
reduce_and = reduction(
    "reduce_and", lambda x, *, axes: np.all(x, axis=axes), "logical_and", dtypes="b"
)
reduce_or = reduction(
    "reduce_or", lambda x, *, axes: np.any(x, axis=axes), "logical_or", dtypes="b"
)


def _position_type(x: ArrayType, *, axis: int) -> ArrayType:
    return ArrayType(x.shape[:axis] + x.shape[axis + 1 :], INT64)


def _position(name: str, numpy: Any) -> Primitive:
    """The first position of an extreme value, or of a NaN; a pass decomposes it."""
    return register(
        Primitive(
            name,
            "composite",
            lambda x, *, axis: numpy(x, axis=axis),
            _position_type,
            batch=batch_first(name, lambda _, *, axis: {"axis": axis + 1}),
        )
    )


argmax = _position("argmax", np.argmax)
argmin = _position("argmin", np.argmin)

cumsum = scan("cumsum", np.cumsum, "add")
cumprod = scan("cumprod", np.cumprod, "multiply")
cummax = scan("cummax", np.maximum.accumulate, "maximum", dtypes="biuf")
cummin = scan("cummin", np.minimum.accumulate, "minimum", dtypes="biuf")


def identity(combine: str, dtype: np.dtype[Any]) -> Const:
    """The value that a reduction by the binary primitive `combine` starts from."""
    if combine in ("maximum", "minimum"):
        lowest = combine == "maximum"
        if dtype.kind == "b":
            return Const(np.bool_(not lowest))
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            return Const(np.array(info.min if lowest else info.max, dtype))
        return Const(np.array(-np.inf if lowest else np.inf, dtype))
    value = {"add": 0, "multiply": 1, "logical_and": True, "logical_or": False}[combine]
    return Const(np.array(value, dtype))
