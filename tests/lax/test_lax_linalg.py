"""`lax.linalg` by what decompositions are: factors of the right shape, whose product is the
matrix. Outside traces, compiled, under vmap and with derivatives."""

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile import lax
from transpile.test_util import check_grads

DTYPES = ["f4", "f8", "c8", "c16"]
SHAPES = [(5, 3), (3, 5), (2, 4, 4)]
linalg = lax.linalg


def drawn(shape, dtype="f8", seed=0):
    random = np.random.default_rng(seed)
    x = random.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * random.normal(size=shape)
    return x.astype(dtype)


def adjoint(x):
    return np.conjugate(np.swapaxes(x, -2, -1))


def near(found, expected, dtype, scale=1.0):
    limit = 400 * np.finfo(dtype).eps * scale
    np.testing.assert_allclose(found, expected, rtol=limit, atol=limit)


def both_ways(function, *arguments):
    """The results outside a trace, which those of the compiled function are near."""
    outside = function(*arguments)
    compiled = transpile.jit(function)(*arguments)
    for x, y in zip(transpile.tree.leaves(outside), transpile.tree.leaves(compiled), strict=True):
        assert (np.asarray(x).dtype, np.shape(x)) == (y.dtype, y.shape)
        if np.asarray(x).dtype.kind in "fc":
            near(y, x, y.dtype, 10)
        else:
            np.testing.assert_array_equal(y, x)
    return compiled


@pytest.mark.parametrize("dtype", DTYPES)
@one_in(2)
def test_cholesky_reads_both_triangles_or_one(dtype, shared_cache):
    a = drawn((2, 4, 4), dtype)
    a = a @ adjoint(a) + np.eye(4, dtype=dtype)
    tilted = a + np.triu(drawn((4, 4), dtype, 1), 1)
    low = both_ways(linalg.cholesky, tilted)
    near(low @ adjoint(low), (tilted + adjoint(tilted)) / 2, dtype, 10)
    low = both_ways(lambda x: linalg.cholesky(x, symmetrize_input=False), tilted)
    near(low @ adjoint(low), a, dtype, 10)
    assert not np.triu(low, 1).any()


def test_an_updated_factor_is_that_of_the_updated_matrix(shared_cache):
    r, w = np.triu(drawn((3, 5, 5))), drawn((3, 5), seed=1)
    found = both_ways(linalg.cholesky_update, r, w)
    near(adjoint(found) @ found, adjoint(r) @ r + w[:, :, None] * w[:, None, :], "f8")
    assert abs(np.tril(found, -1)).max() < 1e-14
    check_grads(linalg.cholesky_update, (r[0] + 3 * np.eye(5), w[0]), 1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@one_in(8)
def test_qr_with_and_without_pivots(shape, dtype, shared_cache):
    a = drawn(shape, dtype)
    wholes = (True, False)
    found = both_ways(
        lambda a: [
            (linalg.qr(a, full_matrices=f), linalg.qr(a, full_matrices=f, pivoting=True))
            for f in wholes
        ],
        a,
    )
    for full, (plain, pivoted) in zip(wholes, found, strict=True):
        near(plain[0] @ plain[1], a, dtype)
        q, r, p = pivoted
        near(q @ r, np.take_along_axis(a, p[..., None, :].astype(int), -1), dtype)
        width = q.shape[-1]
        near(adjoint(q) @ q, np.broadcast_to(np.eye(width), (*shape[:-2], width, width)), dtype)
        size = abs(np.diagonal(r, axis1=-2, axis2=-1))
        assert p.dtype == np.int32
        assert (np.diff(size, axis=-1) <= 1e-4 * size[..., :-1]).all()
        assert not np.tril(r, -1).any()
        assert width == (shape[-2] if full else min(shape[-2:]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 6])
@one_in(5)
def test_hessenberg_form(n, dtype, shared_cache):
    a = drawn((2, n, n), dtype)
    packed, taus = both_ways(linalg.hessenberg, a)
    assert taus.shape == (2, n - 1)
    h = np.triu(packed, -1)
    q = np.broadcast_to(np.eye(n, dtype=dtype), a.shape).copy()
    if n > 1:
        q[:, 1:, 1:] = linalg.householder_product(packed[:, 1:, :-1], taus)
    near(adjoint(q) @ q, np.broadcast_to(np.eye(n), a.shape), dtype)
    near(q @ h @ adjoint(q), a, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [True, False])
@one_in(3)
def test_tridiagonal_form(lower, dtype, shared_cache):
    n = 5
    a = drawn((2, n, n), dtype)
    a = a + adjoint(a)
    given = a + (np.triu if lower else np.tril)(drawn((n, n), dtype, 3), 1 if lower else -1)
    packed, d, e, taus = both_ways(lambda a: linalg.tridiagonal(a, lower=lower), given)
    assert d.dtype == e.dtype == np.dtype(dtype).type(0).real.dtype
    t = np.zeros_like(a)
    for k in range(n):
        t[:, k, k] = d[:, k]
        if k + 1 < n:
            t[:, k + 1, k] = t[:, k, k + 1] = e[:, k]
    near(np.linalg.eigvalsh(t), np.linalg.eigvalsh(a), dtype, 4)
    if lower:
        q = np.broadcast_to(np.eye(n, dtype=dtype), a.shape).copy()
        q[:, 1:, 1:] = linalg.householder_product(packed[:, 1:, :-1], taus)
        near(q @ t @ adjoint(q), a, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@one_in(3)
def test_products_of_reflections(dtype, shared_cache):
    a, taus = drawn((2, 5, 3), dtype), drawn((2, 3), dtype, 1)
    whole = np.broadcast_to(np.eye(5, dtype=dtype), (2, 5, 5))
    for k in range(3):
        v = a[:, :, k].copy()
        v[:, :k], v[:, k] = 0, 1
        step = np.eye(5) - taus[:, k, None, None] * v[:, :, None] * v[:, None, :].conj()
        whole = whole @ step
    near(both_ways(linalg.householder_product, a, taus), whole[:, :, :3], dtype, 60)
    c, d = drawn((2, 5, 4), dtype, 2), drawn((2, 4, 5), dtype, 3)
    found = both_ways(
        lambda a, taus, c, d: [
            (
                linalg.ormqr(a, taus, c, transpose=t),
                linalg.ormqr(a, taus, d, left=False, transpose=t),
            )
            for t in (True, False)
        ],
        *(a, taus, c, d),
    )
    for q, (first, second) in zip((adjoint(whole), whole), found, strict=True):
        near(first, q @ c, dtype, 60)
        near(second, d @ q, dtype, 60)
    check_grads(linalg.householder_product, (a[0].real, taus[0].real), 1, atol=1e-2, rtol=1e-2)


@pytest.mark.parametrize("dtype", DTYPES)
@one_in(3)
def test_lu_eig_eigh_svd(dtype, shared_cache):
    a = drawn((2, 4, 4), dtype)
    factors, pivots, order = both_ways(linalg.lu, a)
    low = np.tril(factors, -1) + np.eye(4)
    near(low @ np.triu(factors), np.take_along_axis(a, order[..., None].astype(int), 1), dtype)
    assert pivots.dtype == order.dtype == np.int32
    np.testing.assert_array_equal(linalg.lu_pivots_to_permutation(pivots, 4), order)

    w, left, right = transpile.jit(linalg.eig)(a)
    near(a @ right, right * w[:, None, :], dtype, 20)
    near(adjoint(left) @ a, w[:, :, None] * adjoint(left), dtype, 60)
    near(np.linalg.norm(left, axis=1), np.ones((2, 4)), dtype)
    (values,) = linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)
    near(values, w, dtype, 20)

    vectors, values = transpile.jit(linalg.eigh)(a)
    symmetric = (a + adjoint(a)) / 2
    near(vectors * values[:, None, :] @ adjoint(vectors), symmetric, dtype)

    u, s, vh = transpile.jit(linalg.svd)(a)
    near(u * s[:, None, :] @ vh, a, dtype)
    near(linalg.svd(a, compute_uv=False), s, dtype)

    u, h, _, is_finite = linalg.qdwh(a[0])
    near(u @ h, a[0], dtype)
    near(h, adjoint(h), dtype)
    assert is_finite


@pytest.mark.parametrize("dtype", DTYPES)
@one_in(2)
def test_schur_form(dtype, shared_cache):
    a = drawn((2, 6, 6), dtype)
    for t, z in (linalg.schur(a), transpile.jit(linalg.schur)(a)):
        near(z @ t @ adjoint(z), a, dtype)
        assert not np.tril(t, -2).any()
        assert np.dtype(dtype).kind == "f" or not np.tril(t, -1).any()
    (alone,) = linalg.schur(a, compute_schur_vectors=False)
    np.testing.assert_array_equal(alone, linalg.schur(a)[0])
    with pytest.raises(NotImplementedError, match="no derivative"):
        transpile.grad(lambda a: linalg.schur(a)[0].real.sum())(drawn((3, 3)))
    with pytest.raises(NotImplementedError, match="sort_eig_vals"):
        linalg.schur(a, sort_eig_vals=True)
    found = linalg.schur(np.full((2, 2), np.nan))
    assert np.isnan(found[0]).any()


@pytest.mark.parametrize("left_side", [True, False])
@pytest.mark.parametrize("transpose_a", [True, False])
@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_triangular_systems(left_side, transpose_a, dtype, shared_cache):
    a = drawn((2, 3, 3), dtype) + 3 * np.eye(3)
    b = drawn((2, 3, 4) if left_side else (2, 4, 3), dtype, 1)
    for lower in (True, False):
        for conjugate_a in (True, False):
            for unit in (True, False):
                options = {
                    "left_side": left_side,
                    "lower": lower,
                    "transpose_a": transpose_a,
                    "conjugate_a": conjugate_a,
                    "unit_diagonal": unit,
                }
                part = np.tril(a) if lower else np.triu(a)
                if unit:
                    part = part - part * np.eye(3) + np.eye(3)
                part = np.conjugate(part) if conjugate_a else part
                part = np.swapaxes(part, 1, 2) if transpose_a else part
                x = linalg.triangular_solve(a, b, **options)
                near(part @ x if left_side else x @ part, b, dtype, 10)


@pytest.mark.parametrize("dtype", DTYPES)
@one_in(2)
def test_tridiagonal_systems_with_rows_exchanged(dtype, shared_cache):
    n = 7
    dl, d, du = drawn((3, 2, n), dtype)
    d[0, 0], d[1, 3] = 0, 1e-12
    b = drawn((2, n, 3), dtype, 1)
    x = both_ways(linalg.tridiagonal_solve, dl, d, du, b)
    whole = np.zeros((2, n, n), dtype)
    for k in range(n):
        whole[:, k, k] = d[:, k]
        if k + 1 < n:
            whole[:, k, k + 1], whole[:, k + 1, k] = du[:, k], dl[:, k + 1]
    near(whole @ x, b, dtype, 60)
    for k in range(2):
        one = linalg.tridiagonal_solve(dl[k], d[k], du[k], b[k])
        near(one, x[k], dtype, 10)


def test_derivatives():
    dl, d, du = drawn((3, 4))
    check_grads(linalg.tridiagonal_solve, (dl, d + 4, du, drawn((4, 2))), 1)
    check_grads(lambda a: linalg.qr(a, pivoting=True)[1], (drawn((3, 3)),), 1)
    check_grads(lambda a: linalg.triangular_solve(a, drawn((2, 3))), (drawn((3, 3)),), 1)


def test_symmetric_products():
    a, c = drawn((4, 2)), drawn((4, 4))
    c = c + c.T
    near(linalg.symmetric_product(a, c, alpha=2.0, beta=0.5), 2 * a @ a.T + c / 2, "f8")


def test_errors():
    x = drawn((3, 4))
    for wrong, words in (
        (lambda: linalg.cholesky(x), "must be a square matrix. Got shape"),
        (lambda: linalg.triangular_solve(x, x), "must be a square matrix. Got shape"),
        (lambda: linalg.triangular_solve(x[:, :3], np.ones((2, 2))), "Incompatible shapes"),
        (lambda: linalg.eigh(x[:, :3], subset_by_index=(0, 2)), "subset_by_index not supported"),
        (lambda: linalg.qr(np.arange(3)), "does not accept dtype int64"),
        (lambda: linalg.qr(np.ones(3)), "must have rank at least 2"),
        (lambda: linalg.ormqr(x.T, np.ones(3), np.ones((3, 3))), "Incompatible shapes"),
        (lambda: linalg.householder_product(x, np.ones(3)), "at least as many rows as columns"),
        (lambda: linalg.lu_pivots_to_permutation(np.array([1, 2]), 1), "has to exceed"),
    ):
        with pytest.raises((TypeError, ValueError, NotImplementedError), match=words):
            wrong()


def test_singular_tridiagonal_systems_may_be_perturbed():
    z = np.zeros(3, np.float32)
    found = linalg.tridiagonal_solve(z, z, z, np.ones((3, 1), np.float32), perturb_singular=True)
    assert np.isfinite(found).all() and (found > 1e6).all()
    d, off = np.array([1.0, 1.0, 3.0]), np.array([0.0, 1.0, 0.0])  # the first two rows are equal
    b = np.array([[1.0], [2.0], [3.0]])
    found = linalg.tridiagonal_solve(off, d, np.array([1.0, 0, 0]), b, perturb_singular=True)
    assert np.isfinite(found).all() and abs(found[0, 0]) > 1e14
    regular = [linalg.tridiagonal_solve(off, d + 4, off, b, perturb_singular=p) for p in (0, 1)]
    np.testing.assert_array_equal(*regular)
