"""Householder reflections and Givens rotations: what the LAPACK primitives do not do, as loops.

A reflection is I - tau v v^H with v = (0 ... 0, 1, ...); several of them, v in the columns of a
matrix, are the product of I - tau_1 v_1 v_1^H, I - tau_2 v_2 v_2^H, ... All functions are of single
matrices; `over_batch` makes them functions of stacks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.functional.vectorize import vmap
from transpile.ir.dims import Index
from transpile.ir.indices.requirements import extreme
from transpile.ir.indices.row_major import product
from transpile.ir.types import INT64
from transpile.lax.control.fori import fori_loop
from transpile.numpy.core.promotion import fill, reshape_to
from transpile.numpy.linalg.common import adjoint, identity
from transpile.numpy.linalg.solving import triangular
from transpile.primitives.rules import apply


def over_batch(function: Callable[..., Any], *ranks: int) -> Callable[..., Any]:
    """The function of stacks, whose operands without the batch have so many axes."""

    def stacked(*operands: Any) -> Any:
        batch = tuple(operands[0].shape[: operands[0].ndim - ranks[0]])
        if not batch:
            return function(*operands)
        size = product(batch)
        flat = [
            reshape_to(x, (size, *x.shape[x.ndim - rank :]))
            for x, rank in zip(operands, ranks, strict=True)
        ]
        results = vmap(function)(*flat)
        parts = [reshape_to(x, (*batch, *x.shape[1:])) for x in _tuple(results)]
        return tuple(parts) if isinstance(results, tuple | list) else parts[0]

    return stacked


def _tuple(results: Any) -> tuple[Any, ...]:
    return tuple(results) if isinstance(results, tuple | list) else (results,)


def index_vector(n: Index) -> Any:
    """The vector 0 ... n - 1, as a value of the trace."""
    return apply("iota", shape=(n,), dimension=0, dtype=INT64)


# ------------------------------------------------------------------------------------- products


def reflectors(a: Any, count: int) -> Any:
    """The vectors of reflections that stand below the diagonal of a matrix."""
    return np.tril(a[:, :count], -1) + identity(a.shape[0], a.dtype)[:, :count]


def block(v: Any, taus: Any) -> Any:
    """The matrix T with which I - V T V^H is the product of the reflections: T^-1 is the upper
    triangle of V^H V with 1 / tau on its diagonal (C. Puglisi, 1992)."""
    above = np.triu(np.matmul(adjoint(v), v), 1)
    size = v.shape[-1]
    eye = identity(size, v.dtype)
    return triangular(taus[:, None] * above + eye, taus[:, None] * eye, False, True)


def product_of(a: Any, taus: Any) -> Any:
    """As many columns of the product of reflections as the matrix has that they stand in."""
    count = taus.shape[0]
    v = reflectors(a, count)
    top = adjoint(v)[:, : a.shape[1]]
    turned = np.matmul(v, np.matmul(block(v, taus), top))
    return identity(a.shape[0], a.dtype)[:, : a.shape[1]] - turned


def multiplied(a: Any, taus: Any, c: Any, left: bool, transpose: bool) -> Any:
    """A matrix times the product of reflections, on either side, or times its adjoint."""
    v = reflectors(a, taus.shape[0])
    t = block(v, taus)
    t = adjoint(t) if transpose else t
    if left:
        return c - np.matmul(v, np.matmul(t, np.matmul(adjoint(v), c)))
    return c - np.matmul(np.matmul(np.matmul(c, v), t), adjoint(v))


# ------------------------------------------------------------------------------------ reductions


def only(x: Any, where: Any) -> Any:
    """The elements where a test holds, which may be repeated, and zeros elsewhere. A product, as
    gcc 12 miscompiles chains of selections between complex numbers."""
    return x * where.astype(x.dtype)


def reflection(x: Any, first: Any) -> tuple[Any, Any, Any]:
    """(v, tau, beta) of the reflection that maps the elements of x from the index `first` on to
    (beta, 0, ...), as LAPACK's larfg has it."""
    position = index_vector(x.shape[0])
    at_first = np.equal(position, first)
    alpha = np.sum(only(x, at_first))
    rest = only(x, np.greater(position, first))
    below = np.sum(np.real(rest) ** 2 + np.imag(rest) ** 2)
    size = np.sqrt(np.real(alpha) ** 2 + np.imag(alpha) ** 2 + below)
    beta = np.where(np.real(alpha) < 0, size, -size)
    nothing = np.logical_and(below == 0, np.imag(alpha) == 0)
    scale = np.where(nothing, 1, alpha - beta)
    v = rest * (1 / scale).astype(x.dtype) + at_first.astype(x.dtype)
    safe = np.where(beta == 0, 1, beta)
    tau = np.where(nothing, 0, (beta - alpha) / safe).astype(x.dtype)
    return v, tau, np.where(nothing, np.real(alpha), beta)


def hessenberg(a: Any) -> tuple[Any, Any]:
    """The upper Hessenberg form, the vectors of the reflections below it, and their tau."""
    n = a.shape[0]
    if isinstance(n, int) and n < 2:
        return a, np.zeros_like(a[0, :0] if n else a[:, 0])
    position = index_vector(n)

    def step(k: Any, carry: Any) -> Any:
        h, vectors, taus = carry
        v, tau, _ = reflection(column(h, k), k + 1)
        h = h - v[:, None] * (np.conjugate(tau) * np.matmul(np.conjugate(v), h))[None, :]
        h = h - (tau * np.matmul(h, v))[:, None] * np.conjugate(v)[None, :]
        kept = vectors + v[:, None] * np.equal(position, k)[None, :].astype(v.dtype)
        return h, kept, np.where(np.equal(position[: n - 1], k), tau, taus)

    nothing = np.zeros_like(a)
    h, vectors, taus = fori_loop(0, n - 1, step, (a, nothing, nothing[0, : n - 1]))
    return np.triu(h, -1) + np.tril(vectors, -2), taus


def column(x: Any, k: Any) -> Any:
    """The column at an index that is a value."""
    start = np.asarray(0) if not hasattr(k, "owner") else k * 0
    taken = apply("dynamic_slice", x, start, k, sizes=(x.shape[0], 1))
    return reshape_to(taken, (x.shape[0],))


def pivoted_qr(a: Any) -> tuple[Any, Any, Any]:
    """LAPACK's geqp3: R with the vectors of the reflections below it, tau, and the permutation of
    columns: at each position the one with the largest rest comes next."""
    m, n = a.shape
    count = extreme(m, n, -1)
    rows, columns = index_vector(m), index_vector(n)

    def step(k: Any, carry: Any) -> Any:
        r, taus, order = carry
        left = only(r, np.greater_equal(rows, k)[:, None])
        sizes = np.sum(np.real(left) ** 2 + np.imag(left) ** 2, axis=0)
        best = np.argmax(np.where(np.greater_equal(columns, k), sizes, -1), axis=0)
        exchanged = np.where(
            np.equal(columns, k), best, np.where(np.equal(columns, best), k, columns)
        )
        r, order = np.take(r, exchanged, axis=1), np.take(order, exchanged, axis=0)
        v, tau, beta = reflection(column(r, k), k)
        turned = r - v[:, None] * (np.conjugate(tau) * np.matmul(np.conjugate(v), r))[None, :]
        own = only(v, np.greater(rows, k)) + only(column(r, k), np.less(rows, k))
        own = own + np.equal(rows, k) * beta
        r = only(turned, np.greater(columns, k)[None, :]) + only(r, np.less(columns, k)[None, :])
        at_k: Any = np.equal(columns, k)
        r = r + own[:, None] * at_k[None, :].astype(r.dtype)
        taus = np.where(np.equal(index_vector(count), k), tau, taus)
        return r.astype(a.dtype), taus.astype(a.dtype), order

    start = (a, fill(0, (count,), a.dtype), columns)
    return fori_loop(0, count, step, start) if count else start


def updated_factor(r: Any, w: Any) -> Any:
    """The upper triangular factor of R^T R + w w^T, by rotations that annihilate w."""
    n = r.shape[0]
    position = index_vector(n)

    def step(k: Any, carry: Any) -> Any:
        r, w = carry
        row = reshape_to(apply("dynamic_slice", r, k, k * 0, sizes=(1, n)), (n,))
        at = np.equal(position, k)
        a, b = np.sum(np.where(at, row, 0)), np.sum(np.where(at, w, 0))
        size = np.hypot(a, b)
        is_zero = size == 0
        safe = np.where(is_zero, 1, size)
        c, s = np.where(is_zero, 1, a / safe), np.where(is_zero, 0, b / safe)
        turned = np.where(np.greater_equal(position, k), c * row + s * w, row)
        return np.where(at[:, None], turned[None, :], r), c * w - s * row

    return fori_loop(0, n, step, (r, w))[0] if n else r
