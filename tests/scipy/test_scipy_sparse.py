"""Sparse matrices of SciPy, known while tracing, with traced vectors: SciPy is the oracle."""

import functools

import numpy as np
import pytest
import scipy.sparse.linalg
from scipy import sparse
from scipy_oracle import assert_as_scipy

from transpile import grad, jit, vmap
from transpile.test_util import check_grads

random = np.random.default_rng(0)
A = sparse.random_array((30, 20), density=0.2, format="csr", rng=0)
SYSTEM = (sparse.random_array((30, 30), density=0.1, rng=1) + 5 * sparse.eye_array(30)).tocsc()
FACTORS = scipy.sparse.linalg.splu(SYSTEM)
COMPLEX = scipy.sparse.linalg.splu((SYSTEM + 1j * SYSTEM.T).tocsc())
X, Y, WIDE = random.random(20), random.random(30), random.random((20, 7))


check = functools.partial(assert_as_scipy, rtol=1e-11, atol=1e-13)


def test_products():
    empty = sparse.csr_array((4, 20))

    def products(x, y, wide):
        return [
            A @ x,
            A.dot(x),
            y @ A,
            A.T @ y,
            A @ wide,
            A @ wide[:, :2],
            wide.T @ A.T,
            sparse.coo_array(A) @ x,
            sparse.dia_array(A) @ x,
            sparse.csr_matrix(A) @ x,
            empty @ x,
            A.astype("f4") @ x.astype("f4"),
            A @ x.astype("c8"),
            (A * 10).astype(int) @ (x > 0.5),
            x @ WIDE,
            A @ X * x[0],
        ]

    check(products, X, Y, WIDE)


def test_solutions():
    def solutions(y):
        return [
            FACTORS.solve(y),
            FACTORS.solve(y, "T"),
            FACTORS.solve(np.stack([y, 2 * y], axis=1)),
            COMPLEX.solve(y.astype(complex)),
            COMPLEX.solve(y.astype(complex), "H"),
            scipy.sparse.linalg.spsolve(SYSTEM, y),
            scipy.sparse.linalg.cg(SYSTEM @ SYSTEM.T, y, rtol=1e-13)[0],
        ]

    check(solutions, Y)


def test_derivatives_and_batches():
    check_grads(lambda x: A @ x, (X,), 2)
    check_grads(lambda x: A @ x, (WIDE,), 1)
    check_grads(FACTORS.solve, (Y,), 2, modes=["rev"])
    got = jit(grad(lambda y: (FACTORS.solve(y) ** 2).sum()))(Y)
    np.testing.assert_allclose(got, 2 * FACTORS.solve(FACTORS.solve(Y), "T"))
    rows = np.stack([Y, 3 * Y])
    np.testing.assert_allclose(vmap(FACTORS.solve)(rows), FACTORS.solve(rows.T).T)
    np.testing.assert_allclose(vmap(lambda y: A.T @ y)(rows), rows @ A)


def test_shapes_that_do_not_fit():
    with pytest.raises(
        ValueError, match=r"test_scipy_sparse.py:\d+: matmul: a sparse matrix of shape"
    ):
        jit(lambda y: A @ y)(Y)
