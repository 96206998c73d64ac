"""Reductions and scans along axes."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.dims import product
from transpile.graph import Const
from transpile.primitive import TABLE, Linear, Primitive, register
from transpile.primitives.kinds import reduction, scan
from transpile.primitives.rules import Rule, apply, batch_first, reshaped, spread, transposed
from transpile.source import user_source
from transpile.types import INT64, ArrayType

# ----------------------------------------------------------------------------------- reductions


def _kept(ndim: int, axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(a for a in range(ndim) if a not in axes)


def _sum_transpose(ct: Any, x: Linear, *, axes: tuple[int, ...]) -> list[Any]:
    return [spread(ct, x.type.shape, _kept(x.type.ndim, axes))]


def _product_jvp(t: Any, _: Any, x: Any, *, axes: tuple[int, ...]) -> Any:
    """Each tangent times the product of all other elements, which takes no division by zeros: it
    is the product of those before the element and of those after it."""
    kept = _kept(x.ndim, axes)
    shape = (*(x.shape[a] for a in kept), product(tuple(x.shape[a] for a in axes)))
    x, t = (reshaped(transposed(v, (*kept, *axes)), shape) for v in (x, t))
    one, last = Const(np.ones((), x.dtype)), len(kept)
    still = ((0, 0, 0),) * last
    before = apply("pad", x, one, padding=(*still, (1, -1, 0)))
    after = apply("pad", x, one, padding=(*still, (-1, 1, 0)))
    before = apply("cumprod", before, axis=last, reverse=False)
    after = apply("cumprod", after, axis=last, reverse=True)
    return apply("reduce_sum", t * (before * after), axes=(last,))


def _extreme_jvp(t: Any, out: Any, x: Any, *, axes: tuple[int, ...]) -> Any:
    """The tangent of the element that was chosen, or the mean of those that are equal to it."""
    chosen = np.equal(x, spread(out, x.shape, _kept(x.ndim, axes)))
    share = apply("convert_element_type", chosen, dtype=t.dtype)
    count = apply("reduce_sum", share, axes=axes)
    return apply("reduce_sum", t * share, axes=axes) / count


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
    jvp=_product_jvp,
)
reduce_max = reduction(
    "reduce_max", lambda x, *, axes: np.max(x, axis=axes), "maximum", jvp=_extreme_jvp
)
reduce_min = reduction(
    "reduce_min", lambda x, *, axes: np.min(x, axis=axes), "minimum", jvp=_extreme_jvp
)
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

# ---------------------------------------------------------------------------------------- scans


def _scan_jvp(combine: str) -> Rule:
    """The derivative of a scan, through the tree of steps by which JAX takes it: the shares of
    equal elements depend on the order in which they meet."""

    def jvp(t: Any, _: Any, x: Any, *, axis: int, reverse: bool) -> Any:
        if not isinstance(x.shape[axis], int):
            raise NotImplementedError(
                f"{user_source()}: the derivative of a running {combine} needs to know the size "
                f"of its axis while tracing, and that is {x.shape[axis]}"
            )
        if reverse:
            x, t = (apply("rev", v, dimensions=(axis,)) for v in (x, t))
        t = _scan_pairs(TABLE[combine], (x, t), axis)[1]
        return apply("rev", t, dimensions=(axis,)) if reverse else t

    return jvp


Pair = tuple[Any, Any]  # a value and its tangent


def _scan_pairs(row: Primitive, pair: Pair, axis: int) -> Pair:
    """The scan of neighbours combined gives each second element; a further step each other one."""
    size = pair[0].shape[axis]
    if size < 2:
        return pair
    neighbours = _combine(row, _every(pair, axis, 0, size - 1, 2), _every(pair, axis, 1, size, 2))
    odd = _scan_pairs(row, neighbours, axis)
    places = [(_every(pair, axis, 0, 1, 1), 0), (odd, 1)]
    if size > 2:
        even = _every(pair, axis, 2, size, 2)
        places.append((_combine(row, _every(odd, axis, 0, (size - 1) // 2, 1), even), 2))
    value, tangent = (
        functools.reduce(operator.add, (_placed(v[k], axis, first, size) for v, first in places))
        for k in (0, 1)
    )
    return value, tangent


def _combine(row: Primitive, left: Pair, right: Pair) -> Pair:
    assert row.jvp is not None
    out = apply(row.name, left[0], right[0])
    return out, row.jvp((left[1], right[1]), out, left[0], right[0])


def _every(pair: Pair, axis: int, start: int, limit: int, step: int) -> Pair:
    """Every `step`-th element along an axis of both."""
    shape = pair[0].shape
    params = {
        "start": tuple(start if a == axis else 0 for a in range(len(shape))),
        "limit": tuple(limit if a == axis else d for a, d in enumerate(shape)),
        "strides": tuple(step if a == axis else 1 for a in range(len(shape))),
    }
    return apply("slice", pair[0], **params), apply("slice", pair[1], **params)


def _placed(x: Any, axis: int, first: int, size: int) -> Any:
    """The elements at every second place from `first` on (or at that one), among zeros."""
    count = x.shape[axis]
    place = (first, size - first - 2 * count + 1, 1)
    padding = tuple(place if a == axis else (0, 0, 0) for a in range(x.ndim))
    return apply("pad", x, Const(np.zeros((), x.dtype)), padding=padding)


cumsum = scan(
    "cumsum",
    np.cumsum,
    "add",
    jvp=lambda t, _, x, *, axis, reverse: apply("cumsum", t, axis=axis, reverse=reverse),
    transpose=lambda ct, x, *, axis, reverse: [apply("cumsum", ct, axis=axis, reverse=not reverse)],
)
cumprod = scan("cumprod", np.cumprod, "multiply", jvp=_scan_jvp("multiply"))
cummax = scan("cummax", np.maximum.accumulate, "maximum", dtypes="biuf", jvp=_scan_jvp("maximum"))
cummin = scan("cummin", np.minimum.accumulate, "minimum", dtypes="biuf", jvp=_scan_jvp("minimum"))


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
