"""Reductions and scans along axes."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import product
from transpile.ir.graph import Const
from transpile.ir.primitive import TABLE, Linear, Primitive, register
from transpile.ir.source_info import user_source
from transpile.ir.types import INT64, ArrayType, computed_dtype
from transpile.primitives.kinds import reduction, scan
from transpile.primitives.rules import Rule, apply, batch_first, reshaped, spread, transposed
from transpile.util.frozen_records import dataclass

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
    lambda x, *, axes: np.sum(x, axis=axes, dtype=computed_dtype(x.dtype)).astype(x.dtype),
    "add",
    dtypes="iufc",
    jvp=lambda t, _, x, *, axes: apply("reduce_sum", t, axes=axes),
    transpose=_sum_transpose,
)
reduce_prod = reduction(
    "reduce_prod",
    lambda x, *, axes: np.prod(x, axis=axes, dtype=computed_dtype(x.dtype)).astype(x.dtype),
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
reduce_bitwise_and = reduction(
    "reduce_bitwise_and",
    lambda x, *, axes: np.bitwise_and.reduce(x, axis=axes),
    "bitwise_and",
    dtypes="iu",
)
reduce_bitwise_or = reduction(
    "reduce_bitwise_or",
    lambda x, *, axes: np.bitwise_or.reduce(x, axis=axes),
    "bitwise_or",
    dtypes="iu",
)
reduce_xor = reduction(
    "reduce_xor",
    lambda x, *, axes: np.bitwise_xor.reduce(x, axis=axes),
    "bitwise_xor",
    dtypes="biu",
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
            nonnegative="i",
        )
    )


argmax = _position("argmax", np.argmax)
argmin = _position("argmin", np.argmin)

# ---------------------------------------------------------------------------------------- scans

Pair = tuple[Any, Any]


def _scan_jvp(combine: str) -> Rule:
    """The derivative of a scan, through the tree of steps by which JAX takes it: the shares of
    equal elements depend on the order in which they meet."""

    def jvp(t: Any, out: Any, x: Any, *, axis: int, reverse: bool) -> Any:
        if not isinstance(x.shape[axis], int):
            raise NotImplementedError(
                f"{user_source()}: the derivative of a running {combine} needs to know the size "
                f"of its axis while tracing, and that is {x.shape[axis]}"
            )
        if reverse:
            t, out, x = (apply("rev", v, dimensions=(axis,)) for v in (t, out, x))
        t = _scan_tangent(TABLE[combine], t, out, x, axis)
        return apply("rev", t, dimensions=(axis,)) if reverse else t

    return jvp


def _scan_tangent(row: Primitive, t: Any, out: Any, x: Any, axis: int) -> Any:
    """The tangent of `out`, the scan of x: the scan of neighbours combined gives each second
    element, and a further step each other one."""
    size = x.shape[axis]
    if size < 2:
        return t
    left, right = _Every(axis, 0, size - 1, 2), _Every(axis, 1, size, 2)
    pairs = apply(row.name, left(x), right(x))
    moved = _combined(row, (left(t), right(t)), pairs, (left(x), right(x)))
    ends = right(out)  # at the ends of the pairs, where the scan is the scan of the pairs
    odd = _scan_tangent(row, moved, ends, pairs, axis)
    parts = [_placed(_Every(axis, 0, 1, 1)(t), axis, 0, size), _placed(odd, axis, 1, size)]
    if size > 2:
        before, after = _Every(axis, 0, (size - 1) // 2, 1), _Every(axis, 2, size, 2)
        even = _combined(row, (before(odd), after(t)), after(out), (before(ends), after(x)))
        parts.append(_placed(even, axis, 2, size))
    return functools.reduce(operator.add, parts)


def _combined(row: Primitive, tangents: Pair, out: Any, operands: Pair) -> Any:
    assert row.jvp is not None
    return row.jvp(tangents, out, *operands)


@dataclass(frozen=True)
class _Every:
    """Every `step`-th element along an axis."""

    axis: int
    start: int
    limit: int
    step: int

    def __call__(self, x: Any) -> Any:
        def only(here: int, elsewhere: Sequence[int]) -> tuple[int, ...]:
            return tuple(here if a == self.axis else e for a, e in enumerate(elsewhere))

        start, limit = only(self.start, (0,) * x.ndim), only(self.limit, x.shape)
        return apply("slice", x, start=start, limit=limit, strides=only(self.step, (1,) * x.ndim))


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
cumlogsumexp = scan(
    "cumlogsumexp",
    np.logaddexp.accumulate,
    "logaddexp",
    dtypes="f",
    jvp=_scan_jvp("logaddexp"),
)


def identity(combine: str, dtype: np.dtype[Any]) -> Const:
    """The value that a reduction by the binary primitive `combine` starts from: NumPy's identity,
    where it has one. A sum starts from 0.0, which changes -0.0."""
    row = TABLE[combine]
    start = row.neutral(dtype) if row.ufunc.identity is None else row.ufunc.identity
    return Const(np.asarray(start).astype(dtype))


def scan_start(combine: str, dtype: np.dtype[Any]) -> Const:
    """The value that a scan starts from: what it does not change is the first element, and a sum
    that starts at 0.0 would make 0.0 of -0.0."""
    start = TABLE[combine].neutral(dtype)
    return identity(combine, dtype) if start is None else Const(start)
