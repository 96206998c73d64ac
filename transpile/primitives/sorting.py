"""Rows that bring elements into order: sort, and argsort by one or several keys.

Both are stable. NaN comes last, -0.0 and 0.0 are equal, and complex numbers go by their real part,
then by the imaginary one: NumPy's order. What is to be sorted by another array is a gather at that
one's argsort.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.primitive import Axis, Primitive, register
from transpile.ir.types import INT64, ArrayType, is_bfloat16
from transpile.primitives.indexing import PROMISED
from transpile.primitives.rules import apply, batch_first, in_front


def along_axis(x: Any, indices: Any, axis: int) -> Any:
    """The elements of x at indices along an axis, which are in range; both have one shape but for
    that axis."""
    shape = tuple(indices.shape)
    places = [
        indices if a == axis else apply("iota", shape=shape, dimension=a, dtype=INT64)
        for a in range(len(shape))
    ]
    return apply("gather", x, *places, axes=tuple(range(len(shape))), mode=PROMISED)


def _ordered(x: Any) -> Any:
    """An array that NumPy sorts in our order: of bfloat16, NaN would come first there."""
    return x.astype(np.float32) if is_bfloat16(x.dtype) else x


def _sort_jvp(tangents: Sequence[Any], _: Any, x: Any, *, axis: int) -> Any:
    return along_axis(tangents[0], apply("argsort", x, axis=axis), axis)


sort = register(
    Primitive(
        "sort",
        "sort",
        lambda x, *, axis: np.sort(_ordered(x), axis, kind="stable").astype(x.dtype),
        lambda x, *, axis: x.strong,
        exact=True,
        jvp=_sort_jvp,
        batch=batch_first("sort", lambda _, *, axis: {"axis": axis + 1}),
    )
)


def _argsort_type(*keys: ArrayType, axis: int) -> ArrayType:
    if any(key.shape != keys[0].shape for key in keys):
        raise TypeError(f"argsort takes keys of one shape, not {', '.join(map(str, keys))}")
    return ArrayType(keys[0].shape, INT64)


def _argsort_batch(
    axis_in_front: Axis, batched: Sequence[bool], *keys: Any, axis: int
) -> tuple[Any, bool]:
    keys = tuple(in_front(key, axis_in_front, b) for key, b in zip(keys, batched, strict=True))
    return apply("argsort", *keys, axis=axis + 1), True


# The first key is the most significant one, where there are several.
argsort = register(
    Primitive(
        "argsort",
        "sort",
        lambda *keys, axis: np.lexsort([*map(_ordered, reversed(keys))], axis),
        _argsort_type,
        batch=_argsort_batch,
        nonnegative="i",
    )
)
