"""Folds of ufuncs that have no reduction of their own.

Those that are associative combine halves, which takes log2(n) equations; others combine one
element after the other. Of a runtime size both are loops.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.indices.requirements import require
from transpile.ir.indices.row_major import product
from transpile.ir.primitive import BY_UFUNC, Primitive
from transpile.ir.types import BOOL
from transpile.numpy.core.promotion import (
    DType,
    as_array,
    broadcast_to,
    common_shape,
    convert,
    fill,
    fit,
    reshape_to,
    slice_axis,
    transpose_to,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.reductions import (
    is_given,
    reduce_axes,
)
from transpile.numpy.core.ufuncs import call
from transpile.numpy.loops import scanned
from transpile.numpy.masks import mask_of, masked
from transpile.primitives import elementwise
from transpile.primitives.kinds import reduction_by
from transpile.trace.trace import bind
from transpile.trace.tracer import Tracer

# Associative and commutative: the order in which elements are combined does not matter.
REORDERABLE = {
    np.logical_xor,
    np.bitwise_and,
    np.bitwise_or,
    np.bitwise_xor,
    np.gcd,
    np.hypot,
    np.logaddexp,
    np.logaddexp2,
    np.fmax,
    np.fmin,
    np.add,
    np.multiply,
    np.maximum,
    np.minimum,
    np.logical_and,
    np.logical_or,
}


def combined(ufunc: Any, x: Any, y: Any, dtype: DType) -> Any:
    """One iteration of a fold: the result again has the fold's dtype."""
    return convert(call(ufunc, x, y), dtype)


def require_elements(ufunc: Any, size: Any) -> None:
    """Refuse a fold of no elements that starts from none, in NumPy's words."""
    text = f"zero-size array to reduction operation {ufunc.__name__} which has no identity"
    if size == 0:
        raise located(ValueError, text)
    require(1, size, f"numpy.{ufunc.__name__}.reduce of {size} elements", text)


def folded(ufunc: Any, x: Any, axes: tuple[int, ...], initial: Any, where: Any) -> Any:
    """The reduction of a ufunc that has no primitive of its own."""
    if len(axes) > 1 and ufunc not in REORDERABLE:
        raise located(
            ValueError,
            f"reduction operation '{ufunc.__name__}' is not reorderable, so at most one axis may "
            "be specified",
        )
    mask = mask_of(where)
    start = start_of(ufunc, x.dtype, initial, has_mask=mask is not None)
    size = product(x.shape[a] for a in axes)
    if start is None:
        require_elements(ufunc, size)
    if mask is not None and ufunc in REORDERABLE:
        neutral = start if ufunc.identity is None else _identity(ufunc, x.dtype)
        x, mask = masked(x, mask, neutral), None
    primitive = _bitwise(ufunc, x.dtype)
    if primitive is not None:
        result = reduce_axes(primitive, x, axes)
        return combined(ufunc, start, result, x.dtype) if is_given(initial) else result
    if mask is not None:
        mask = as_last(broadcast_to(mask, x.shape), axes)
    x = as_last(x, axes)
    if not isinstance(size, int):
        return in_loop(ufunc, x, _spread(start, x), mask)
    if ufunc in REORDERABLE and x.shape[-1] != 0 and not is_given(initial):
        result = by_halves(ufunc, x)
        single = x.shape[-1] == 1 and start is not None  # gcd(0, -3) is 3
        return combined(ufunc, start, result, x.dtype) if single else result
    return in_turn(ufunc, x, _spread(start, x), mask)


def _bitwise(ufunc: Any, dtype: DType) -> Primitive | None:
    """The primitive that reduces by a ufunc of bits, or by the logical one that it is on bools."""
    is_bitwise = ufunc in (np.bitwise_and, np.bitwise_or, np.bitwise_xor)
    return reduction_by(BY_UFUNC[ufunc], dtype) if is_bitwise else None


def _spread(start: Any, x: Any) -> Any:
    """The value that a fold of x along its last axis starts from, for each of its results."""
    if start is None:
        return None
    shape = x.shape[:-1]
    return broadcast_to(start, shape) if isinstance(start, Tracer) else fill(start, shape, x.dtype)


def start_of(ufunc: Any, dtype: DType, initial: Any, has_mask: bool) -> Any:
    """The value that a fold starts from: the given one, or the ufunc's identity; or None."""
    if is_given(initial):
        value = convert(as_array(initial), dtype)
        return value if isinstance(value, Tracer) else value[()]
    if ufunc.identity is None:
        if has_mask:
            raise located(
                ValueError,
                f"reduction operation '{ufunc.__name__}' does not have an identity, so to use a "
                "where mask one has to specify 'initial'",
            )
        return None
    return _identity(ufunc, dtype)


def _identity(ufunc: Any, dtype: DType) -> Any:
    return np.asarray(ufunc.identity).astype(dtype)[()]


def as_last(x: Any, axes: tuple[int, ...]) -> Any:
    """The array with these axes moved last and merged."""
    kept = [a for a in range(x.ndim) if a not in axes]
    x = transpose_to(x, [*kept, *axes])
    return reshape_to(x, (*x.shape[: len(kept)], product(x.shape[len(kept) :])))


def element(x: Any, k: int) -> Any:
    """The k-th element along the last axis."""
    return reshape_to(slice_axis(x, x.ndim - 1, k, k + 1), x.shape[:-1])


def in_loop(ufunc: Any, x: Any, start: Any, mask: Any) -> Any:
    """A fold along the last axis, of a runtime size: a loop over it. It begins with the first
    element where there is no other start."""
    first = 0
    if start is None:
        start, first = element(x, 0), 1
    arrays = [x] if mask is None else [x, mask]
    rest = (slice_axis(v, v.ndim - 1, first, x.shape[-1]) for v in arrays)
    rows = [transpose_to(v, [v.ndim - 1, *range(v.ndim - 1)]) for v in rest]

    def fold(carry: list[Any], elements: list[Any]) -> list[Any]:
        result = combined(ufunc, carry[0], elements[0], x.dtype)
        return [result if mask is None else chosen(elements[1], result, carry[0])]

    return scanned(fold, [start], rows, x.shape[-1] - first)[0]


def in_turn(ufunc: Any, x: Any, start: Any, mask: Any) -> Any:
    """A sequential fold along the last axis."""
    size = x.shape[-1]
    if mask is None and start is not None and ufunc in REORDERABLE:
        return combined(ufunc, start, by_halves(ufunc, x), x.dtype) if size else start
    result = element(x, 0) if start is None else start
    for k in range(1 if start is None else 0, size):
        step = combined(ufunc, result, element(x, k), x.dtype)
        result = step if mask is None else chosen(element(mask, k), step, result)
    return result


def chosen(test: Any, x: Any, y: Any) -> Any:
    """The elements of x where a test holds, else of y, in a fold's dtype."""
    shape = common_shape(test, x, y)
    pair = (fit(v, shape, x.dtype) for v in (x, y))
    return bind(elementwise.select, fit(test, shape, BOOL), *pair)


def by_halves(ufunc: Any, x: Any) -> Any:
    """Halves combined again and again; odd elements out are combined at the end."""
    size = x.shape[-1]
    rest = []
    while size > 1:
        half = size // 2
        if size % 2:
            rest.append(element(x, size - 1))
        first, second = (slice_axis(x, x.ndim - 1, k * half, (k + 1) * half) for k in (0, 1))
        x, size = combined(ufunc, first, second, x.dtype), half
    result = element(x, 0)
    for value in rest:
        result = combined(ufunc, result, value, x.dtype)
    return result
