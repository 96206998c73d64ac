"""Sort and argsort along an axis, argsort by one or several keys.

Both are stable and use NumPy's order: NaN last, -0.0 equal to 0.0, complex numbers lexicographic.
Sorting by another array is a gather with that array's argsort.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.primitive import Axis, Primitive, register
from transpile.ir.types import INT64, ArrayType, is_bfloat16
from transpile.primitives.indexing import PROMISED
from transpile.primitives.rules import apply, batch_first, with_batch_axis


def along_axis(x: Any, indices: Any, axis: int) -> Any:
    """Gather along an axis, as `np.take_along_axis`, with indices that are in range."""
    shape = tuple(indices.shape)
    subscripts = [
        indices if a == axis else apply("iota", shape=shape, dimension=a, dtype=INT64)
        for a in range(len(shape))
    ]
    return apply("gather", x, *subscripts, axes=tuple(range(len(shape))), mode=PROMISED)


def _sort_key(x: Any) -> Any:
    """An array that NumPy sorts with NaN last: it does not so for bfloat16."""
    return x.astype(np.float32) if is_bfloat16(x.dtype) else x


def _sort_jvp(tangents: Sequence[Any], _: Any, x: Any, *, axis: int) -> Any:
    return along_axis(tangents[0], apply("argsort", x, axis=axis), axis)


sort = register(
    Primitive(
        "sort",
        "sort",
        lambda x, *, axis: np.sort(_sort_key(x), axis, kind="stable").astype(x.dtype),
        lambda x, *, axis: x.strong,
        exact=True,
        jvp=_sort_jvp,
        batch=batch_first("sort", lambda _, *, axis: {"axis": axis + 1}),
    )
)


def _statistics(x: Any, *, axis: int, ranks: tuple[int, ...]) -> Any:
    return np.take(np.sort(_sort_key(x), axis, kind="stable"), ranks, axis).astype(x.dtype)


def _statistics_type(x: ArrayType, *, axis: int, ranks: tuple[int, ...]) -> ArrayType:
    return x.strong.with_shape((*x.shape[:axis], len(ranks), *x.shape[axis + 1 :]))


def _statistics_jvp(
    tangents: Sequence[Any], out: Any, x: Any, *, axis: int, ranks: tuple[int, ...]
) -> Any:
    tangent = _sort_jvp(tangents, out, x, axis=axis)
    return tangent[(*[slice(None)] * axis, np.array(ranks))]


# The elements of sort(x) at a few ranks, in ascending order. Which one of equal elements it is, is
# not said: a zero may have either sign.
order_statistics = register(
    Primitive(
        "order_statistics",
        "sort",
        _statistics,
        _statistics_type,
        exact=True,
        jvp=_statistics_jvp,
        batch=batch_first(
            "order_statistics", lambda _, *, axis, ranks: {"axis": axis + 1, "ranks": ranks}
        ),
    )
)


def _partition_jvp(
    tangents: Sequence[Any], x: Any, *, axis: int, ranks: tuple[int, ...]
) -> tuple[Any, Any]:
    result = apply("sort", x, axis=axis)
    return result, _sort_jvp(tangents, result, x, axis=axis)


# The elements along an axis with those at a few ranks, which ascend, where sorting puts them, no
# greater ones before and no smaller ones behind them. Which order of the others it is, is not said:
# a sorted array is one. So the differentiated program sorts, and its tangents are in that order.
partition = register(
    Primitive(
        "partition",
        "sort",
        lambda x, *, axis, ranks: np.sort(_sort_key(x), axis, kind="stable").astype(x.dtype),
        lambda x, *, axis, ranks: x.strong,
        exact=True,
        jvp=_partition_jvp,
        jvp_gives_result=True,
        batch=batch_first(
            "partition", lambda _, *, axis, ranks: {"axis": axis + 1, "ranks": ranks}
        ),
    )
)


def _argsort_type(*keys: ArrayType, axis: int) -> ArrayType:
    if any(key.shape != keys[0].shape for key in keys):
        raise TypeError(f"argsort takes keys of one shape, not {', '.join(map(str, keys))}")
    return ArrayType(keys[0].shape, INT64)


def _argsort_batch(
    batch_axis: Axis, batched: Sequence[bool], *keys: Any, axis: int
) -> tuple[Any, bool]:
    keys = tuple(with_batch_axis(key, batch_axis, b) for key, b in zip(keys, batched, strict=True))
    return apply("argsort", *keys, axis=axis + 1), True


# The first of several keys is the most significant one.
argsort = register(
    Primitive(
        "argsort",
        "sort",
        lambda *keys, axis: np.lexsort([*map(_sort_key, reversed(keys))], axis),
        _argsort_type,
        batch=_argsort_batch,
        nonnegative="i",
    )
)

# The positions of such a partition.
argpartition = register(
    Primitive(
        "argpartition",
        "sort",
        lambda x, *, axis, ranks: np.argsort(_sort_key(x), axis, kind="stable"),
        lambda x, *, axis, ranks: ArrayType(x.shape, INT64),
        batch=batch_first(
            "argpartition", lambda _, *, axis, ranks: {"axis": axis + 1, "ranks": ranks}
        ),
        nonnegative="i",
    )
)

# What puts the elements at all ranks in their places, and so at some.
ALL_RANKS = {partition: sort, argpartition: argsort}
