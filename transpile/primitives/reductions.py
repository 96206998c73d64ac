"""Reductions and scans: folds of a binary primitive along axes, argmax and argmin.

Derivatives of scans go through the odd-even tree by which `jax.lax.associative_scan` takes them, so
that ties share a tangent as in JAX. Along an axis of a runtime size, which has no such tree, they
are a recurrence in order.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.graph import Const, Var
from transpile.ir.indices.row_major import product
from transpile.ir.primitive import TABLE, Linear, Primitive, register
from transpile.ir.source_info import user_source
from transpile.ir.types import INT64, ArrayType, computed_dtype
from transpile.primitives.kinds import reduction, scan
from transpile.primitives.rules import (
    Rule,
    apply,
    batch_first,
    bind_call,
    broadcast,
    reshaped,
    transposed,
    zeros,
)
from transpile.transforms.closed import close
from transpile.util.frozen_records import dataclass

# ----------------------------------------------------------------------------------- reductions


def _kept(ndim: int, axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(a for a in range(ndim) if a not in axes)


def _sum_transpose(ct: Any, x: Linear, *, axes: tuple[int, ...]) -> list[Any]:
    return [broadcast(ct, x.type.shape, _kept(x.type.ndim, axes))]


def _product_jvp(t: Any, _: Any, x: Any, *, axes: tuple[int, ...]) -> Any:
    """Each tangent times the product of all other elements, computed without a division, which
    would fail for zeros: an exclusive scan from the front times one from the back."""
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
    """The tangent of the extreme element; the mean of the tangents of those that are equal to
    it."""
    chosen = np.equal(x, broadcast(out, x.shape, _kept(x.ndim, axes)))
    mask = apply("convert_element_type", chosen, dtype=t.dtype)
    count = apply("reduce_sum", mask, axes=axes)
    return apply("reduce_sum", t * mask, axes=axes) / count


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
    "reduce_max",
    lambda x, *, axes: np.max(x, axis=axes),
    "maximum",
    jvp=_extreme_jvp,
    has_identity=False,
)
reduce_min = reduction(
    "reduce_min",
    lambda x, *, axes: np.min(x, axis=axes),
    "minimum",
    jvp=_extreme_jvp,
    has_identity=False,
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


def _arg_type(x: ArrayType, *, axis: int) -> ArrayType:
    return ArrayType(x.shape[:axis] + x.shape[axis + 1 :], INT64)


def _arg_reduction(name: str, numpy: Any) -> Primitive:
    """The index of the first extreme element, or of the first NaN; a pass expands it."""
    return register(
        Primitive(
            name,
            "composite",
            lambda x, *, axis: numpy(x, axis=axis),
            _arg_type,
            batch=batch_first(name, lambda _, *, axis: {"axis": axis + 1}),
            own_format=True,
            nonnegative="i",
            nonempty=lambda x, *, axis: x.shape[axis : axis + 1],
        )
    )


argmax = _arg_reduction("argmax", np.argmax)
argmin = _arg_reduction("argmin", np.argmin)


def _first_of(x: Any, *, value: int) -> Any:
    return np.argmax(x == bool(value), axis=-1)


# The position of the first True (value 1) or False (0) along the last axis, and 0 where there is
# none: argmax and argmin of long rows of bools, which a pass makes of them.
first_of = register(
    Primitive(
        "first_of",
        "search",
        _first_of,
        lambda x, *, value: ArrayType(x.shape[:-1], INT64),
        dtypes="b",
        batch=batch_first("first_of", lambda _, **params: params),
        nonnegative="i",
    )
)

# ---------------------------------------------------------------------------------------- scans

Pair = tuple[Any, Any]


def _scan_jvp(combine: str) -> Rule:
    """The JVP of a scan, along JAX's tree of combinations: how ties share a tangent depends on the
    order in which elements are combined."""

    def jvp(t: Any, out: Any, x: Any, *, axis: int, reverse: bool) -> Any:
        if reverse:
            t, out, x = (apply("rev", v, dimensions=(axis,)) for v in (t, out, x))
        is_known = isinstance(x.shape[axis], int)
        tangent = _scan_tangent if is_known else _recurrent_tangent
        t = tangent(TABLE[combine], t, out, x, axis)
        return apply("rev", t, dimensions=(axis,)) if reverse else t

    return jvp


def _scan_tangent(combine: Primitive, t: Any, out: Any, x: Any, axis: int) -> Any:
    """The tangent of `out`, the scan of x (Blelloch's odd-even recursion): the scan of combined
    pairs of neighbours gives the odd elements; one more combination each gives the even ones."""
    size = x.shape[axis]
    if size < 2:
        return t
    left, right = _Slice(axis, 0, size - 1, 2), _Slice(axis, 1, size, 2)
    pairs = apply(combine.name, left(x), right(x))
    pair_tangents = _jvp_of(combine, (left(t), right(t)), pairs, (left(x), right(x)))
    odd_out = right(out)  # the scan of the pairs
    odd = _scan_tangent(combine, pair_tangents, odd_out, pairs, axis)
    parts = [_interleaved(_Slice(axis, 0, 1, 1)(t), axis, 0, size)]
    parts.append(_interleaved(odd, axis, 1, size))
    if size > 2:
        before, after = _Slice(axis, 0, (size - 1) // 2, 1), _Slice(axis, 2, size, 2)
        even = _jvp_of(combine, (before(odd), after(t)), after(out), (before(odd_out), after(x)))
        parts.append(_interleaved(even, axis, 2, size))
    return functools.reduce(operator.add, parts)


def _recurrent_tangent(combine: Primitive, t: Any, out: Any, x: Any, axis: int) -> Any:
    """The same along an axis of any size: each tangent is a multiple of the one before it, by the
    derivative of the combination with what came before, and a multiple of its element's."""
    others = (a for a in range(x.ndim) if a != axis)
    order = (axis, *others)
    t, out, x = (transposed(v, order) for v in (t, out, x))
    neutral = scan_start(combine.name, x.dtype)
    still = ((0, 0, 0),) * (x.ndim - 1)
    before = apply("pad", out, neutral, padding=((1, -1, 0), *still))
    one, zero = (broadcast(Const(v((), x.dtype)), x.shape, ()) for v in (np.ones, np.zeros))
    factor = _jvp_of(combine, (one, None), out, (before, x))
    own = _jvp_of(combine, (None, t), out, (before, x))
    is_first = apply("iota", shape=x.shape, dimension=0, dtype=INT64) == 0
    factor, own = np.where(is_first, zero, factor), np.where(is_first, t, own)

    def step(previous: Any, factor: Any, own: Any) -> list[Any]:
        return [factor * previous + own] * 2

    element = ArrayType(x.shape[1:], x.dtype)
    inputs = [Var(element) for _ in range(3)]
    body = close(step, inputs, name=f"{combine.name}_tangent", source=user_source()).graph
    start = zeros(element)
    _, tangents = bind_call(
        TABLE["scan"],
        start,
        factor,
        own,
        graph=body,
        consts=0,
        carry=1,
        length=x.shape[0],
        reverse=False,
    )
    return transposed(tangents, tuple(order.index(a) for a in range(x.ndim)))


def _jvp_of(combine: Primitive, tangents: Pair, out: Any, operands: Pair) -> Any:
    assert combine.jvp is not None
    return combine.jvp(tangents, out, *operands)


@dataclass(frozen=True)
class _Slice:
    """A strided slice along one axis."""

    axis: int
    start: int
    limit: int
    stride: int

    def __call__(self, x: Any) -> Any:
        def at_axis(here: int, elsewhere: Sequence[int]) -> tuple[int, ...]:
            return tuple(here if a == self.axis else e for a, e in enumerate(elsewhere))

        start, limit = at_axis(self.start, (0,) * x.ndim), at_axis(self.limit, x.shape)
        strides = at_axis(self.stride, (1,) * x.ndim)
        return apply("slice", x, start=start, limit=limit, strides=strides)


def _interleaved(x: Any, axis: int, first: int, size: int) -> Any:
    """The elements at every second index from `first` on of an axis of zeros of this size."""
    count = x.shape[axis]
    along_axis = (first, size - first - 2 * count + 1, 1)
    padding = tuple(along_axis if a == axis else (0, 0, 0) for a in range(x.ndim))
    return apply("pad", x, Const(np.zeros((), x.dtype)), padding=padding)


cumsum = scan(
    "cumsum",
    np.cumsum,
    "add",
    jvp=lambda t, _, x, *, axis, reverse: apply("cumsum", t, axis=axis, reverse=reverse),
    transpose=lambda ct, x, *, axis, reverse: [apply("cumsum", ct, axis=axis, reverse=not reverse)],
)
cumprod = scan("cumprod", np.cumprod, "multiply", jvp=_scan_jvp("multiply"))
cummax = scan("cummax", np.maximum.accumulate, "maximum", dtypes="biufc", jvp=_scan_jvp("maximum"))
cummin = scan("cummin", np.minimum.accumulate, "minimum", dtypes="biufc", jvp=_scan_jvp("minimum"))
cumlogsumexp = scan(
    "cumlogsumexp",
    np.logaddexp.accumulate,
    "logaddexp",
    dtypes="f",
    jvp=_scan_jvp("logaddexp"),
)


def identity(combine: str, dtype: np.dtype[Any]) -> Const:
    """The initial value of a reduction by the binary primitive `combine`: the identity of NumPy's
    ufunc if it has one, else the neutral element. A sum starts from 0.0, so that it is never
    -0.0."""
    primitive = TABLE[combine]
    start = primitive.ufunc.identity
    start = primitive.neutral(dtype) if start is None else start
    return Const(np.asarray(start).astype(dtype))


def scan_start(combine: str, dtype: np.dtype[Any]) -> Const:
    """The initial value of a scan: the neutral element, so that the first result is the first
    element to the bit, also a -0.0."""
    start = TABLE[combine].neutral(dtype)
    return identity(combine, dtype) if start is None else Const(start)
