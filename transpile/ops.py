"""Sums and their like over segments: the elements of an array that share a number."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.types import BOOL, finfo, kind_letter
from transpile.nn.operands import numbers_below, operand
from transpile.numpy.core.promotion import Array, as_array, broadcast_to, index_of
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.runtime_sizes import extent_of, larger_of
from transpile.numpy.subscripts.at import at
from transpile.trace.tracer import named

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]


def segment_sum(
    data: Array,
    segment_ids: Array,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | None = None,
) -> Any:
    """The sums of the elements along axis 0 that have the same segment; 0 for an empty one.

    segment_ids         the segment of each element, in any order; those outside of the range 0 ...
                        num_segments - 1 do not count
    num_segments        their number: by default one more than the largest, which then must be known
                        while tracing
    indices_are_sorted  accepted for JAX's sake
    unique_indices      the caller's promise that no segment occurs twice
    bucket_size         sum so many elements at a time, then these sums: more exact for many
    mode                "clip": segments outside of the range mean the nearest one;
                        "promise_in_bounds": there are none; by default, and with "drop" and "fill",
                        they do not count

    Sums have the dtype of the data, in which they accumulate. Raises ValueError for a negative
    number of segments or an unknown mode, and a TracerError for traced segments without a number.
    """
    return _segments("add", data, segment_ids, num_segments, unique_indices, bucket_size, mode)


def segment_prod(
    data: Array,
    segment_ids: Array,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | None = None,
) -> Any:
    """The products of the elements along axis 0 that have the same segment; 1 for an empty one.

    The arguments are those of `segment_sum`.
    """
    return _segments("multiply", data, segment_ids, num_segments, unique_indices, bucket_size, mode)


def segment_max(
    data: Array,
    segment_ids: Array,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | None = None,
) -> Any:
    """The maxima of the elements along axis 0 that have the same segment; -inf or the least number
    for an empty one.

    The arguments are those of `segment_sum`.
    """
    return _segments("max", data, segment_ids, num_segments, unique_indices, bucket_size, mode)


def segment_min(
    data: Array,
    segment_ids: Array,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | None = None,
) -> Any:
    """The minima of the elements along axis 0 that have the same segment; inf or the largest number
    for an empty one.

    The arguments are those of `segment_sum`.
    """
    return _segments("min", data, segment_ids, num_segments, unique_indices, bucket_size, mode)


_REDUCTIONS: dict[str, Any] = {"add": np.sum, "multiply": np.prod, "max": np.max, "min": np.min}


def _start(name: str, dtype: np.dtype[Any]) -> Any:
    """What changes nothing: the value of an empty segment."""
    if name in ("add", "multiply"):
        return int(name == "multiply")
    is_low = name == "max"
    if dtype == BOOL:
        return not is_low
    if kind_letter(dtype) == "f":
        return finfo(dtype).dtype.type(-np.inf if is_low else np.inf)
    limits = np.iinfo(dtype)
    return limits.min if is_low else limits.max


def _segments(
    name: str,
    data: Array,
    segment_ids: Array,
    num_segments: int | None,
    unique: bool,
    bucket_size: int | None,
    mode: str | None,
) -> Any:
    chosen = _mode(mode)
    public_name = {"add": "segment_sum", "multiply": "segment_prod"}.get(name, f"segment_{name}")
    values = as_array(operand(public_name, data))
    segments = as_array(operand(public_name, segment_ids, 1))
    if segments.dtype.kind not in "iu":
        raise located(
            TypeError,
            f"Indexer must have integer or boolean type, got indexer with type {segments.dtype}",
        )
    if values.dtype == BOOL and name in ("add", "multiply"):
        raise located(
            TypeError,
            f"{name if name == 'add' else 'mul'} does not accept dtype bool at position 0. "
            "Accepted dtypes at position 0 are subtypes of integer, floating, complexfloating.",
        )
    if tuple(segments.shape) != tuple(values.shape[: segments.ndim]) or segments.ndim == 0:
        raise located(
            ValueError,
            f"the segments have the shape {tuple(segments.shape)}, which the shape "
            f"{tuple(values.shape)} of the data does not begin with",
        )
    count: Any = int(np.max(segments)) + 1 if num_segments is None else extent_of(num_segments)
    if isinstance(count, int) and count < 0:
        raise located(ValueError, "num_segments must be non-negative.")
    if chosen == "clip":
        last: Any = larger_of(count, 1) - 1
        segments = np.clip(segments, 0, last)
    else:  # a negative index would count from the end
        segments = np.where(segments < 0, count, segments)
    shape = (count, *values.shape[segments.ndim :])
    if bucket_size is None:
        empty = _filled(shape, name, values.dtype)
        change = getattr(at(empty)[segments], name)
        return named(change(values, mode="drop", unique_indices=unique))
    return named(_by_buckets(name, values, segments, shape, bucket_size, unique))


def _mode(mode: Any) -> str:
    """The mode by its name: an enumeration has it as well."""
    text = mode if mode is None or isinstance(mode, str) else mode.name.lower()
    text = "drop" if text in (None, "fill_or_drop", "one_hot") else text
    if text not in ("clip", "drop", "fill", "promise_in_bounds"):
        raise located(ValueError, f'Unknown gather mode "{mode}"')
    return str(text)


def _filled(shape: tuple[Any, ...], name: str, dtype: np.dtype[Any]) -> Any:
    start = np.asarray(_start(name, dtype), dtype)
    return (
        np.full(shape, start)
        if all(isinstance(d, int) for d in shape)
        else broadcast_to(start, shape)
    )


def _by_buckets(
    name: str, values: Any, segments: Any, shape: tuple[Any, ...], bucket_size: int, unique: bool
) -> Any:
    """A row of segments for each bucket, and then the reduction of these rows."""
    size = index_of(bucket_size)
    if size <= 0:
        raise located(ValueError, f"bucket_size must be positive, not {size}")
    flat = segments.reshape(-1)
    values = values.reshape((*flat.shape, *shape[1:]))
    buckets = numbers_below(flat.shape[0]) // size
    rows = larger_of(-(-flat.shape[0] // size), 1)
    empty = _filled((rows, *shape), name, values.dtype)
    change = getattr(at(empty)[buckets, flat], name)
    sums = change(values, mode="drop", unique_indices=unique)
    return _REDUCTIONS[name](sums, axis=0, **_kept_dtype(name, values.dtype))


def _kept_dtype(name: str, dtype: np.dtype[Any]) -> dict[str, Any]:
    """NumPy sums small integers in larger ones."""
    return {"dtype": dtype} if name in ("add", "multiply") else {}
