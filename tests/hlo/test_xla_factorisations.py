"""Factorisations in XLA, for each dtype, of matrices and batches of them."""

import numpy as np
import pytest

from transpile import xla_computation
from transpile.ir.primitive import TABLE
from transpile.primitives.rules import apply

pytest.importorskip("jaxlib")
import xla

DTYPES = ["float32", "float64", "complex64", "complex128"]
SHAPES = [(4, 4), (2, 5, 5), (2, 3, 1, 1)]
WIDE_AND_TALL = [*SHAPES, (5, 3), (3, 5), (2, 4, 3), (2, 3, 4)]
EACH = pytest.mark.parametrize("dtype", DTYPES)
SQUARE = pytest.mark.parametrize("shape", SHAPES, ids=str)
ANY = pytest.mark.parametrize("shape", WIDE_AND_TALL, ids=str)


def matrices(shape, dtype, seed=0):
    random = np.random.default_rng([seed, *shape])
    x = random.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * random.normal(size=shape)
    return x.astype(dtype)


def hermitian(shape, dtype):
    x = matrices(shape, dtype)
    return x @ adjoint(x) + shape[-1] * np.eye(shape[-1], dtype=dtype)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def close(got, want, factor=200):
    eps = float(np.finfo(want.dtype).eps)
    np.testing.assert_allclose(got, want, rtol=factor * eps, atol=factor * eps)


def is_orthonormal(q):
    product = adjoint(q) @ q
    close(product, np.broadcast_to(np.eye(q.shape[-1], dtype=q.dtype), product.shape))


def run(name, *operands, **params):
    """XLA's results, by all three writers, which have the types of the primitive."""
    several = lambda r: r if isinstance(r, list | tuple) else [r]
    computation = xla_computation(lambda *xs: several(apply(name, *xs, **params)))(*operands)
    proto, text = computation.as_serialized_hlo_module_proto(), computation.as_hlo_text()
    assert xla.printed_text(text) == xla.printed(proto)
    got = xla.run_proto(proto, operands)
    stable = xla.run_stablehlo(computation.as_stablehlo_text(), operands)
    want = several(TABLE[name].numpy(*operands, **params))
    for g, s, w in zip(got, stable, want, strict=True):
        np.testing.assert_array_equal(g, s)
        assert (g.dtype, g.shape) == (w.dtype, w.shape)
    return got, want


@EACH
@SQUARE
def test_cholesky(shape, dtype):
    x = hermitian(shape, dtype)
    (got,), (want,) = run("cholesky", np.tril(x))
    close(got, want)
    close(got @ adjoint(got), x)


@EACH
@SQUARE
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("form", [0, 1, 2])
def test_triangular_solve(shape, dtype, lower, form):
    a = matrices(shape, dtype) + 4 * np.eye(shape[-1], dtype=dtype)
    y = matrices((*shape[:-1], 3), dtype, 1)
    for is_unit in (False, True):
        params = {"lower": lower, "unit_diagonal": is_unit, "form": form}
        (got,), (want,) = run("triangular_solve", a, y, **params)
        scale = np.abs(want).max()
        close(got / scale, want / scale, 1000)


@EACH
@ANY
def test_lu(shape, dtype):
    x = matrices(shape, dtype)
    (factors, pivots, permutation), want = run("lu", x)
    close(factors, want[0])
    np.testing.assert_array_equal(pivots, want[1])
    np.testing.assert_array_equal(permutation, want[2])


@EACH
@ANY
@pytest.mark.parametrize("full_matrices", [False, True])
def test_qr(shape, dtype, full_matrices):
    x = matrices(shape, dtype)
    (q, r), _ = run("qr", x, full_matrices=full_matrices)
    close(q @ r, x)
    is_orthonormal(q)
    np.testing.assert_array_equal(r, np.triu(r))


@EACH
@ANY
def test_householder(shape, dtype):
    got, want = run("householder", matrices(shape, dtype))
    for g, w in zip(got, want, strict=True):
        close(g, w)


@EACH
@SQUARE
@pytest.mark.parametrize("lower", [False, True])
def test_eigh(shape, dtype, lower):
    x = hermitian(shape, dtype)
    part = np.tril(x) if lower else np.triu(x)
    (values, vectors), want = run("eigh", part, lower=lower, vectors=True)
    close(values, want[0])
    close(x @ vectors, values[..., None, :] * vectors, 2000)
    (alone,), _ = run("eigh", part, lower=lower, vectors=False)
    close(alone, values)


@EACH
@ANY
@pytest.mark.parametrize("full_matrices", [False, True])
def test_svd(shape, dtype, full_matrices):
    x = matrices(shape, dtype)
    (u, s, vh), want = run("svd", x, full_matrices=full_matrices, vectors=True)
    k = s.shape[-1]
    close(s, want[1])
    close((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], x)
    is_orthonormal(u)
    is_orthonormal(adjoint(vh))
    (alone,), _ = run("svd", x, full_matrices=full_matrices, vectors=False)
    close(alone, s)


@EACH
@SQUARE
def test_eig(shape, dtype):
    x = matrices(shape, dtype)
    (values, vectors), _ = run("eig", x, vectors=True)
    close(x @ vectors, values[..., None, :] * vectors, 1000)
    close(np.linalg.norm(vectors, axis=-2), np.ones(values.shape, values.real.dtype))
    (alone,), (want,) = run("eig", x, vectors=False)
    order = lambda w: np.take_along_axis(w, np.argsort(np.round(w.real, 3) + 1j * w.imag), -1)
    close(order(alone), order(want), 1000)


@EACH
@SQUARE
def test_schur(shape, dtype):
    x = matrices(shape, dtype)
    (t, z), _ = run("schur", x)
    close(z @ t @ adjoint(z), x)
    is_orthonormal(z)
    np.testing.assert_array_equal(t, np.triu(t, -1 if np.dtype(dtype).kind == "f" else 0))


@EACH
@SQUARE
def test_sqrtm(shape, dtype):
    x = matrices(shape, dtype) + 4 * np.eye(shape[-1], dtype=dtype)
    (root,), (want,) = run("sqrtm", x)
    close(root, want, 1000)
    close(root @ root, x.astype(root.dtype), 1000)


def test_no_factors_are_nan():
    x = np.stack([np.eye(3), np.full((3, 3), np.nan), -np.eye(3)])
    (factor,), _ = run("cholesky", x)
    found = np.isnan(factor).any((-1, -2))
    np.testing.assert_array_equal(found, [False, True, True])
    for name in ("eig", "eigh", "svd", "schur"):
        options = {"eigh": {"lower": True}, "svd": {"full_matrices": False}}.get(name, {})
        options |= {} if name == "schur" else {"vectors": True}
        for result in run(name, x, **options)[0]:
            found = np.isnan(result).reshape(3, -1)
            np.testing.assert_array_equal(found.any(-1), [False, True, False])


@pytest.mark.parametrize("shape", [(0, 3, 3), (2, 0, 3), (3, 0)], ids=str)
def test_empty_matrices_have_empty_factors(shape):
    x = np.zeros(shape)
    for full_matrices in (False, True):
        for vectors in (False, True):
            got, want = run("svd", x, full_matrices=full_matrices, vectors=vectors)
            assert all(map(np.array_equal, got, want))
        got, want = run("qr", x, full_matrices=full_matrices)
        assert all(map(np.array_equal, got, want))
