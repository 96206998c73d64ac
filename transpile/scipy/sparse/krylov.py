"""Iterations in Krylov spaces, as loops: of conjugate gradients, BiCGSTAB and GMRES.

Each takes an operator, a right side, a first guess, and a preconditioner, which are functions of
vectors (`vectors.py`), and gives the last iterate.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from transpile import lax, tree
from transpile.ir.dims import Index
from transpile.numpy.subscripts.at import at
from transpile.scipy.sized_arrays import arange, eye, zeros
from transpile.scipy.sparse.vectors import (
    Operator,
    add,
    dtype_of,
    identity,
    inner,
    scaled,
    square,
    subtract,
)


def conjugate_gradients(A: Operator, b: Any, x0: Any, bound: Any, most: Index, M: Operator) -> Any:
    """Until the squared residual is at most `bound`."""
    dtype = dtype_of(b)

    def going(state: Any) -> Any:
        _, r, gamma, _, k = state
        size = np.real(gamma) if M is identity else square(r)
        return (size > bound) & (k < most)

    def iteration(state: Any) -> Any:
        x, r, gamma, p, k = state
        image = A(p)
        alpha = gamma / np.real(inner(p, image)).astype(dtype)
        x, r = add(x, scaled(alpha, p)), subtract(r, scaled(alpha, image))
        z = M(r)
        after = np.real(inner(r, z)).astype(dtype)
        return x, r, after, add(z, scaled(after / gamma, p)), k + 1

    r = subtract(b, A(x0))
    z = M(r)
    first = x0, r, np.real(inner(r, z)).astype(dtype), z, 0
    return lax.while_loop(going, iteration, first)[0]


def stabilised(A: Operator, b: Any, x0: Any, bound: Any, most: Index, M: Operator) -> Any:
    """Until the squared residual is at most `bound`, or a divisor of the iteration is 0."""
    one = np.ones((), dtype_of(b))

    def going(state: Any) -> Any:
        r, k = state[1], state[-1]
        return (square(r) > bound) & (k < most) & (k >= 0)

    def iteration(state: Any) -> Any:
        x, r, alpha, omega, rho, p, q, k = state
        rho_after = inner(shadow, r)
        beta = rho_after / rho * alpha / omega
        p = add(r, scaled(beta, subtract(p, scaled(omega, q))))
        moved = M(p)
        q = A(moved)
        alpha = rho_after / inner(shadow, q)
        s = subtract(r, scaled(alpha, q))
        is_last = square(s) <= bound  # then the second half would divide by 0
        half = add(x, scaled(alpha, moved))
        direction = M(s)
        t = A(direction)
        omega = inner(t, s) / inner(t, t)
        x = _chosen(is_last, half, add(half, scaled(omega, direction)))
        r = _chosen(is_last, s, subtract(s, scaled(omega, t)))
        broken = (rho_after == 0) | (alpha == 0) | ((omega == 0) & ~is_last)
        return x, r, alpha, omega, rho_after, p, q, np.where(broken, -1, k + 1)

    shadow = subtract(b, A(x0))
    first = x0, shadow, one, one, one, shadow, shadow, 0
    return lax.while_loop(going, iteration, first)[0]


def _chosen(condition: Any, x: Any, y: Any) -> Any:
    return tree.map(lambda v, w: np.where(condition, v, w), x, y)


# ------------------------------------------------------------------------------------------- GMRES


def restarted(
    A: Operator, b: Any, x0: Any, bound: Any, within: Any, most: Index, space: Index, M: Operator
) -> Any:
    """Krylov spaces one after another, until the norm of the preconditioned residual is at most
    `bound`; within a space until it is at most `within`. NaN where that norm is NaN."""

    def residual(x: Any) -> Any:
        r = M(subtract(b, A(x)))
        return r, np.sqrt(square(r))

    def going(state: Any) -> Any:
        _, _, size, k = state
        return (size > bound) & (k < most)

    def iteration(state: Any) -> Any:
        x, r, size, k = state
        x = add(x, _minimal(A, r, size, within, space, M))
        return x, *residual(x), k + 1

    x, _, size, _ = lax.while_loop(going, iteration, (x0, *residual(x0), 0))
    return tree.map(lambda v: np.where(np.isnan(size), np.nan, v).astype(v.dtype), x)


def _minimal(A: Operator, r: Any, size: Any, within: Any, space: Index, M: Operator) -> Any:
    """The vector of a Krylov space that minimises the residual.

    Arnoldi's basis vectors are rows; the matrix H of the operator in this basis is made triangular
    by Givens rotations, its columns being rows here. What was not reached stays a row of the
    identity, with 0 on the right side.
    """
    dtype = dtype_of(r)
    basis = tree.map(lambda v: zeros((space + 1, *v.shape), v.dtype), r)
    basis = _with_row(basis, 0, scaled(1 / np.where(size > 0, size, 1), r))
    columns = eye(space, space + 1, dtype=dtype)
    right = at(zeros(space + 1, dtype))[0].set(size.astype(dtype))
    rotations = zeros((space, 2), dtype)

    def going(state: Any) -> Any:
        k, error = state[:2]
        return (k < space) & (error > within)

    def iteration(state: Any) -> Any:
        k, _, basis, columns, right, rotations = state
        h, after = _orthogonalised(basis, M(A(_row(basis, k))), k)
        h = lax.fori_loop(0, k, lambda i, h: _rotated(h, i, rotations[i]), h)
        length = np.sqrt(np.square(np.abs(h[k])) + np.square(np.abs(h[k + 1])))
        pair = np.stack([h[k], h[k + 1]]) / np.where(length > 0, length, 1).astype(dtype)
        columns = at(columns)[k].set(_rotated(h, k, pair))
        right = _rotated(right, k, pair)
        rotations = at(rotations)[k].set(pair)
        return (
            k + 1,
            np.abs(right[k + 1]),
            _with_row(basis, k + 1, after),
            columns,
            right,
            rotations,
        )

    state = lax.while_loop(going, iteration, (0, size, basis, columns, right, rotations))
    reached, _, basis, columns, right, _ = state
    right = np.where(arange(space) < reached, right[:-1], 0)
    weights = _substituted(columns[:, :-1], right)
    return _combined(weights, tree.map(lambda rows: rows[:-1], basis))


def _substituted(columns: Any, right: Any) -> Any:
    """The solution of triangular equations, from the last unknown on; needs no LAPACK."""
    last = columns.shape[0] - 1

    def unknown(i: Any, state: Any) -> Any:
        right, weights = state
        k = last - i
        weight = right[k] / columns[k, k]
        return right - weight * columns[k], at(weights)[k].set(weight)

    return lax.fori_loop(0, last + 1, unknown, (right, np.zeros_like(right)))[1]


def _combined(weights: Any, basis: Any) -> Any:
    """The sum of basis vectors times weights."""
    return tree.map(lambda rows: np.tensordot(weights.astype(rows.dtype), rows, 1), basis)


def _row(basis: Any, k: Any) -> Any:
    return tree.map(lambda rows: rows[k], basis)


def _with_row(basis: Any, k: Any, values: Any) -> Any:
    return tree.map(lambda rows, v: at(rows)[k].set(v), basis, values)


def _orthogonalised(basis: Any, v: Any, k: Any) -> tuple[Any, Any]:
    """The coefficients of a vector in the basis, behind them its length beside it, and the next
    basis vector; zeros where nothing but rounding is left."""
    eps = np.finfo(dtype_of(v)).eps
    before = np.sqrt(square(v))
    coefficients: Any = 0
    for _ in range(2):
        parts = tree.map(lambda rows, w: np.tensordot(np.conj(rows), w, w.ndim), basis, v)
        h = functools.reduce(operator.add, tree.leaves(parts))
        v = subtract(v, _combined(h, basis))
        coefficients = coefficients + h
    length = np.sqrt(square(v))
    length = np.where(length > eps * before, length, 0)
    unit = scaled(np.where(length > 0, 1 / length, 0), v)
    return at(coefficients)[k + 1].set(length.astype(coefficients.dtype)), unit


def _rotated(x: Any, k: Any, rotation: Any) -> Any:
    """A vector whose elements k and k + 1 are rotated, so that for (c, s) = x[k:k + 2] / |...| the
    second becomes 0."""
    c, s = rotation[0], rotation[1]
    first = np.conj(c) * x[k] + np.conj(s) * x[k + 1]
    second = c * x[k + 1] - s * x[k]
    return at(at(x)[k].set(first))[k + 1].set(second)
