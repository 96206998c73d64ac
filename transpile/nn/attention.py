"""Attention by dot products, in the forms of `jax.nn.dot_product_attention`.

Letters of shapes: B examples, T queries, S keys and values, N heads of queries, K heads of keys
and values, G = N / K heads of queries for each of these, H features of a head.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transpile.functional.custom import stop_gradient
from transpile.ir.types import BOOL, FLOAT32, INT64, computed_dtype
from transpile.nn.normalization import logsumexp, softmax
from transpile.nn.operands import numbers_below, public
from transpile.numpy.core.promotion import Array, as_array
from transpile.numpy.core.promotion import error as located


@public
def dot_product_attention(
    query: Array,
    key: Array,
    value: Array,
    bias: Array | None = None,
    mask: Array | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: Array | None = None,
    key_value_seq_lengths: Array | None = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Any:
    """Scaled dot-product attention softmax(scale query key^T + bias) value, for each head.

    query                  BTNH or TNH; key and value: BSKH or SKH, where K divides N
    bias                   4 axes that broadcast to BNTS, or fewer, the missing ones in front
    mask                   likewise, bools: True where a key takes part
    scale                  1 / sqrt(H) by default
    is_causal              a query attends to keys up to its own position
    query_seq_lengths      (B,) integers: queries from there on give 0
    key_value_seq_lengths  (B,) integers: keys from there on are masked
    local_window_size      (left, right) or one number for both: how far keys may be before and
                           after a query
    implementation         None or "xla": there is one
    return_residual        return (result, logsumexp of the logits, BTN), without derivative of that

    A query all of whose keys are masked gives the mean of the values. The softmax is computed in
    float32, or in float64 for operands of that dtype. A. Vaswani et al., Attention Is All You Need,
    2017; with K < N grouped queries, J. Ainslie et al., arXiv:2305.13245, 2023. Raises ValueError
    for operands whose shapes or dtypes do not fit.
    """
    if implementation not in (None, "xla"):
        raise located(ValueError, f"Unsupported implementation option: {implementation}")
    shape = np.shape(query)
    q, k, v = (_with_four_axes(as_array(x)) for x in (query, key, value))
    b, m = (None if x is None else _with_four_axes(as_array(x)) for x in (bias, mask))
    queries, keys = (
        None if n is None else _lengths(as_array(n))
        for n in (query_seq_lengths, key_value_seq_lengths)
    )
    _check_operands(q, k, v, b, m, queries, keys)
    B, T, N, H = q.shape
    S, K = k.shape[1:3]
    logits = np.einsum("btkgh,bskh->bkgts", q.reshape(B, T, K, N // K, H), k)
    dtype = np.promote_types(computed_dtype(q.dtype), FLOAT32)
    logits = logits.astype(dtype) * (1.0 / math.sqrt(H) if scale is None else scale)
    if b is not None:
        logits = (logits + _grouped(b, K, N)).astype(dtype)
    window = (local_window_size,) * 2 if isinstance(local_window_size, int) else local_window_size
    allowed = [] if m is None else [_grouped(m, K, N)]
    allowed += _position_masks(T, S, is_causal, window, queries, keys)
    if allowed:
        everywhere = allowed[0]
        for part in allowed[1:]:
            everywhere = np.logical_and(everywhere, part)
        # As low as float32 has room for, and finite: a row of nothing else gives no NaN.
        logits = np.where(everywhere, logits, -0.7 * float(np.finfo(np.float32).max))
    weights = softmax(logits, axis=-1).astype(k.dtype)
    result = np.einsum("bkgts,bskh->btkgh", weights, v).reshape(B, T, N, H)
    if queries is not None:
        result = result * _below(T, queries)[:, :, None, None].astype(result.dtype)
    result = result.reshape(shape)
    if not return_residual:
        return result
    residual = np.moveaxis(logsumexp(logits, axis=-1).astype(k.dtype), 3, 1)
    return result, stop_gradient(residual.reshape(shape[:-1]))


def _lengths(x: Any) -> Any:
    """Lengths as int64, whatever integers they are."""
    return x.astype(INT64) if x.dtype.kind in "iu" else x


def _with_four_axes(x: Any) -> Any:
    return x.reshape((1,) * (4 - x.ndim) + tuple(x.shape)) if x.ndim < 4 else x


def _check_operands(q: Any, k: Any, v: Any, b: Any, m: Any, queries: Any, keys: Any) -> None:
    """JAX's ValueError for operands that do not fit the keys."""
    if k.ndim != 4:
        raise located(ValueError, f"key ndim should be 4, but got {k.ndim}")
    B, S, K, H = k.shape
    for name, x, shape, dtype in (
        ("value", v, [B, S, K, H], k.dtype),
        ("query", q, [B, -1, -1, H], k.dtype),
        ("mask", m, [-1] * 4, BOOL),
        ("bias", b, [-1] * 4, None),
        ("query_seq_lengths", queries, [B], INT64),
        ("key_value_seq_lengths", keys, [B], INT64),
    ):
        if x is None:
            continue
        if x.ndim != len(shape):
            raise located(ValueError, f"{name} ndim should be {len(shape)}, but got {x.ndim}")
        if dtype is not None and x.dtype != dtype:
            raise located(ValueError, f"{name} dtype should be {dtype}, but got {x.dtype}")
        if any(s not in (-1, n) for s, n in zip(shape, x.shape, strict=True)):
            raise located(ValueError, f"{name} shape should be {shape}: but got {tuple(x.shape)}")
    if q.shape[2] % K != 0:
        raise located(
            ValueError,
            "The number of query heads must be a multiple of key/value heads, but got "
            f"{q.shape[2]} vs {K}",
        )
    for name, x in (("bias", b), ("mask", m)):
        if x is not None and x.shape[1] not in (1, q.shape[2]):
            raise located(
                ValueError,
                f"{name} has {x.shape[1]} heads, where there are {q.shape[2]} of queries",
            )


def _grouped(x: Any, heads: int, full: int) -> Any:
    """BNTS as BKGTS; an axis of size 1 for all heads stays two of that size."""
    B, N, T, S = x.shape
    return x.reshape(B, 1, 1, T, S) if N == 1 else x.reshape(B, heads, full // heads, T, S)


def _position_masks(
    T: int, S: int, is_causal: bool, window: tuple[int, int] | None, queries: Any, keys: Any
) -> list[Any]:
    """Masks that broadcast to BKGTS: which keys a query attends to by its position."""
    row, column = numbers_below(T)[:, None], numbers_below(S)[None, :]
    masks: list[Any] = []
    if is_causal:
        masks.append(row >= column)
    if window is not None:
        left, right = window
        masks.append((row <= column + left) & (row >= column - right))
    if queries is not None:
        masks.append(_below(T, queries)[:, None, None, :, None])
    if keys is not None:
        masks.append(_below(S, keys)[:, None, None, None, :])
    return masks


def _below(size: int, lengths: Any) -> Any:
    """(B, size): True at the positions before each length."""
    return np.less(numbers_below(size)[None, :], lengths[:, None])
