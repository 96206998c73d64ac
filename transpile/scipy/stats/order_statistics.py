"""`mode`, `rankdata` and `sem`, as in `jax.scipy.stats`.

Modes and ranks come from one sort: in sorted order equal elements are a run, whose first and last
positions are cumulative extrema. NaNs are sorted behind the numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from transpile.ir.indices.row_major import product
from transpile.ir.types import FLOAT64, kind_letter
from transpile.nn.operands import array_dtype, operand
from transpile.numpy.core.promotion import axes_of, convert
from transpile.numpy.core.promotion import error as located
from transpile.scipy.sized_arrays import arange, full, ones, zeros
from transpile.scipy.special.operands import Array, promoted, public

__all__ = ["mode", "rankdata", "sem"]

_POLICIES = ("propagate", "omit", "raise")
_METHODS = ("average", "min", "max", "dense", "ordinal")


class ModeResult(NamedTuple):
    """The modes of arrays, and how often each occurs."""

    mode: Any
    count: Any


def _check_policy(function: str, nan_policy: str) -> None:
    """Refuse what is no policy, and what traced values cannot answer, in JAX's words."""
    if nan_policy not in _POLICIES:
        raise located(
            ValueError,
            f"Illegal nan_policy value {nan_policy!r}; expected one of "
            "{'propagate', 'omit', 'raise'}",
        )
    if nan_policy == "omit":
        raise located(
            NotImplementedError, f"Logic for `nan_policy` of {nan_policy} is not implemented"
        )
    if nan_policy == "raise":
        raise located(
            NotImplementedError,
            f"In order to best JIT compile `{function}`, we cannot know whether `x` contains "
            f"nans. Please check if nans exist in `x` outside of the `{function}` function.",
        )


def _starts(ordered: Any) -> Any:
    """Whether each element of sorted rows is the first of its run; a NaN begins no other run than
    another NaN."""
    before, after = ordered[..., :-1], ordered[..., 1:]
    changes = before != after
    if kind_letter(array_dtype(ordered)) in "fc":
        changes = changes & ~(np.isnan(before) & np.isnan(after))
    return np.concatenate([ones((*ordered.shape[:-1], 1), bool), changes], axis=-1)


def mode(
    a: Array, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> ModeResult:
    """The most common value along an axis, or of the whole array, and how often it occurs, as a
    pair: of several the smallest.

    NaNs count as one value; along an axis of length 0 the mode is NaN and the count 0. Raises
    NotImplementedError for the policies "omit" and "raise", ValueError for others.
    """
    _check_policy("mode", nan_policy)
    x = np.atleast_1d(operand("mode", a))
    rows = np.reshape(x, -1) if axis is None else np.moveaxis(x, axis, -1)
    if rows.shape[-1] == 0:
        value, count = full(rows.shape[:-1], np.nan), zeros(rows.shape[:-1], np.int64)
    else:
        ordered = np.sort(rows, axis=-1)
        index = arange(rows.shape[-1])
        first = np.maximum.accumulate(np.where(_starts(ordered), index, 0), axis=-1)
        lengths = index - first + 1
        count = np.max(lengths, axis=-1)
        at = np.argmax(lengths, axis=-1) + 1 - count  # the first element of the longest run
        value = np.take_along_axis(ordered, at[..., None], axis=-1)[..., 0]
    if keepdims:
        axes = tuple(range(x.ndim)) if axis is None else axis
        value, count = np.expand_dims(value, axes), np.expand_dims(count, axes)
    return ModeResult(value, count)


def rankdata(
    a: Array, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate"
) -> Any:
    """The ranks of elements, from 1, along an axis or in the flattened array, float64.

    method  what equal elements get: the "average" of their ranks, the "min" or "max" of them, the
            number of different values up to theirs ("dense"), or ranks of their own, in the order
            in which they stand ("ordinal")

    Where there is a NaN all ranks are NaN. Raises ValueError for another method,
    NotImplementedError for the policies "omit" and "raise".
    """
    _check_policy("rankdata", nan_policy)
    if method not in _METHODS:
        raise located(ValueError, f"unknown method {method!r}")
    x = operand("rankdata", a)
    rows = np.reshape(x, -1) if axis is None else np.moveaxis(x, axis, -1)
    if rows.shape[-1] == 0:
        return zeros(np.shape(x))
    order = np.argsort(rows, axis=-1, kind="stable")
    ranks = _sorted_ranks(np.take_along_axis(rows, order, axis=-1), method)
    ranks = np.take_along_axis(ranks, np.argsort(order, axis=-1), axis=-1)
    if kind_letter(array_dtype(rows)) in "fc":
        ranks = np.where(np.any(np.isnan(rows), axis=-1, keepdims=True), np.nan, ranks)
    return ranks if axis is None else np.moveaxis(ranks, -1, axis)


def _sorted_ranks(ordered: Any, method: str) -> Any:
    """The ranks of sorted rows."""
    size = ordered.shape[-1]
    index = np.broadcast_to(arange(size), ordered.shape)
    if method == "ordinal":
        return convert(index + 1, FLOAT64)
    starts = _starts(ordered)
    if method == "dense":
        return convert(np.cumsum(starts, axis=-1), FLOAT64)
    first = np.maximum.accumulate(np.where(starts, index, 0), axis=-1) + 1
    if method == "min":
        return convert(first, FLOAT64)
    ends = np.concatenate([starts[..., 1:], ones((*ordered.shape[:-1], 1), bool)], axis=-1)
    backwards = np.where(ends, index, size)[..., ::-1]
    last = np.minimum.accumulate(backwards, axis=-1)[..., ::-1] + 1
    return convert(last, FLOAT64) if method == "max" else 0.5 * (first + last)


@public
def sem(
    a: Array,
    axis: int | tuple[int, ...] | None = 0,
    ddof: int = 1,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    """The standard error of the mean along axes, or of the whole array: the standard deviation
    with `ddof` degrees of freedom less, divided by the root of the number of elements.

    The policy "omit" leaves NaNs out; raises ValueError for another one but "propagate".
    """
    x = np.atleast_1d(promoted("sem", a)[0])
    if nan_policy == "propagate":
        size = product([x.shape[number] for number in axes_of(axis, x.ndim)])
        spread = np.std(x, axis=axis, ddof=ddof, keepdims=keepdims)
        return spread / np.sqrt(size).astype(spread.dtype)
    if nan_policy == "omit":
        count = np.sum(~np.isnan(x), axis=axis, keepdims=keepdims)
        spread = np.nanstd(x, axis=axis, ddof=ddof, keepdims=keepdims)
        return spread / np.sqrt(convert(count, spread.dtype))
    raise located(ValueError, f"{nan_policy} is not supported")
