"""scipy.linalg: matrices of a known form, Schur forms, and what is made of them."""

import re

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile.scipy import linalg
from transpile.test_util import check_grads

RANDOM = np.random.default_rng(3)
SQUARES = RANDOM.normal(size=(2, 4, 4))


def test_matrices_of_vectors_are_those_of_jax():
    c = np.arange(1, 4)
    assert linalg.circulant(c).tolist() == [[1, 3, 2], [2, 1, 3], [3, 2, 1]]
    assert linalg.hankel(c).tolist() == [[1, 2, 3], [2, 3, 0], [3, 0, 0]]
    assert linalg.hankel(c, np.array([9, 8])).tolist() == [[1, 2], [2, 3], [3, 8]]
    assert linalg.fiedler(c).tolist() == [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    assert linalg.companion(c).tolist() == [[-2, -3], [1, 0]]
    assert linalg.leslie(c, np.array([0.5, 0.2])).tolist() == [[1, 2, 3], [0.5, 0, 0], [0, 0.2, 0]]
    found = linalg.fiedler_companion(np.arange(1, 5))
    assert found.tolist() == [[-2, -3, 1], [1, 0, 0], [0, -4, 0]]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7])
def test_companion_matrices_have_the_roots_of_the_polynomial(n):
    roots = np.arange(1, n + 1) / 2
    coefficients = np.poly(roots) * 3
    for function in (linalg.companion, linalg.fiedler_companion):
        found = np.sort(np.linalg.eigvals(function(coefficients)).real)
        np.testing.assert_allclose(found, roots, rtol=1e-6)
        assert function(np.stack([coefficients] * 2)).shape == (2, n, n)


@pytest.mark.parametrize("mode", ["full", "valid", "same"])
@pytest.mark.parametrize(("m", "n"), [(3, 4), (4, 3), (5, 1), (1, 2), (2, 2)])
@one_in(2)
def test_a_convolution_matrix_convolves(mode, m, n):
    a, v = RANDOM.normal(size=m), RANDOM.normal(size=n)
    want = np.convolve(a, v, mode)
    for function in (
        linalg.convolution_matrix,
        transpile.jit(linalg.convolution_matrix, static_argnums=(1, 2)),
    ):
        np.testing.assert_allclose(function(a, n, mode) @ v, want, rtol=1e-12)


def test_matrices_of_sizes():
    np.testing.assert_allclose(linalg.dft(5) @ np.arange(5), np.fft.fft(np.arange(5)), atol=1e-13)
    np.testing.assert_allclose(
        linalg.dft(4, "sqrtn") @ linalg.dft(4, "sqrtn").conj(), np.eye(4), atol=1e-15
    )
    np.testing.assert_allclose(linalg.dft(4, "n"), linalg.dft(4) / 4)
    h = linalg.hadamard(8)
    assert h.dtype == np.int64 and (h @ h.T == 8 * np.eye(8)).all()
    full = linalg.helmert(5, full=True)
    np.testing.assert_allclose(full @ full.T, np.eye(5), atol=1e-15)
    np.testing.assert_array_equal(linalg.helmert(5), full[1:])
    np.testing.assert_allclose(
        linalg.hilbert(3), [[1, 1 / 2, 1 / 3], [1 / 2, 1 / 3, 1 / 4], [1 / 3, 1 / 4, 1 / 5]]
    )
    assert linalg.invhilbert(3).tolist() == [[9, -36, 30], [-36, 192, -180], [30, -180, 180]]
    np.testing.assert_allclose(linalg.hilbert(6) @ linalg.invhilbert(6), np.eye(6), atol=1e-9)
    assert linalg.pascal(3).tolist() == [[1, 1, 1], [1, 2, 3], [1, 3, 6]]
    assert linalg.pascal(3, "lower").tolist() == [[1, 0, 0], [1, 1, 0], [1, 2, 1]]
    for kind in ("symmetric", "lower", "upper"):
        np.testing.assert_array_equal(linalg.pascal(7, kind) @ linalg.invpascal(7, kind), np.eye(7))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: linalg.companion(np.ones(1)), "must be at least 2; got shape (1,)."),
        (lambda: linalg.convolution_matrix(np.ones(3), 0), "n must be a positive integer; got 0."),
        (
            lambda: linalg.convolution_matrix(np.ones(3), 2, "x"),
            "mode must be one of 'full', 'valid'",
        ),
        (lambda: linalg.dft(3, "q"), "scale must be None, 'sqrtn', or 'n'; got 'q'."),
        (lambda: linalg.hadamard(3), "n must be a positive power of 2; got 3."),
        (lambda: linalg.helmert(0), "n must be a positive integer; got 0."),
        (lambda: linalg.pascal(3, "q"), "Expected kind to be on of: ['symmetric'"),
        (lambda: linalg.leslie(np.ones(3), np.ones(3)), "Incorrect lengths for f and s."),
        (lambda: linalg.leslie(np.ones(1), np.ones(0)), "must be at least 2; got shape (1,)."),
        (
            lambda: linalg.schur(np.eye(2), "x"),
            "Expected 'output' to be either 'real' or 'complex'",
        ),
        (lambda: linalg.qr_multiply(np.eye(2), np.eye(2), "x"), "mode must be 'right' or 'left'"),
        (lambda: linalg.qr_multiply(np.eye(2), np.ones(3)), "so Q has 2 rows, but c has 3 columns"),
        (lambda: linalg.solve_sylvester(*[np.eye(2)] * 3, method="x"), "Unrecognized method x."),
        (
            lambda: linalg.eigh_tridiagonal(np.ones(3), np.ones(2), select="x"),
            "'select must have a value",
        ),
    ],
)
def test_errors_are_those_of_jax(call, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        call()


# ------------------------------------------------------------------------------ Schur forms


def both(function, *operands, **settings):
    """What a function gives outside of a program and in one."""
    return function(*operands, **settings), transpile.jit(lambda *x: function(*x, **settings))(
        *operands
    )


@pytest.mark.parametrize("output", ["real", "complex"])
def test_schur_forms_are_similar_to_the_matrix(output):
    for form, vectors in both(linalg.schur, SQUARES, output=output):
        back = vectors @ form @ np.conj(np.swapaxes(vectors, -1, -2))
        np.testing.assert_allclose(back, SQUARES, atol=1e-13)
        below = -1 if output == "complex" else -2
        assert np.abs(np.tril(form, below)).max() < 1e-13
        assert form.dtype == (np.complex128 if output == "complex" else np.float64)


def test_compiled_schur_forms_have_their_eigenvalues_where_lapack_has_them():
    """JAX's too: outside of `jit` the order may be another."""
    x = np.array([[1.0, 2, 0], [0.5, 3, 1], [0, 1, -2]])
    diagonals = [np.diag(f(x)[0]) for f in (transpile.jit(linalg.schur), linalg.schur)]
    np.testing.assert_allclose(diagonals[0], [3.56884961, 0.63555194, -2.20440155], rtol=1e-8)
    np.testing.assert_allclose(*map(np.sort, diagonals), rtol=1e-12)


def test_a_real_schur_form_becomes_complex():
    form, vectors = linalg.rsf2csf(*linalg.schur(SQUARES[0]))
    assert np.abs(np.tril(form, -1)).max() < 1e-13
    np.testing.assert_allclose(vectors @ form @ vectors.conj().T, SQUARES[0], atol=1e-13)


def test_hessenberg_forms_are_similar_to_the_matrix():
    for x in (SQUARES, SQUARES + 1j * SQUARES[::-1]):
        for form, q in both(linalg.hessenberg, x, calc_q=True):
            adjoint = np.conj(np.swapaxes(q, -1, -2))
            np.testing.assert_allclose(q @ form @ adjoint, x, atol=1e-13)
            np.testing.assert_allclose(q @ adjoint, np.broadcast_to(np.eye(4), x.shape), atol=1e-14)
            assert np.abs(np.tril(form, -2)).max() == 0
    np.testing.assert_array_equal(
        linalg.hessenberg(SQUARES[0]), linalg.hessenberg(SQUARES[0], calc_q=True)[0]
    )


def test_the_derivative_of_the_exponential_is_a_difference():
    a, e, step = SQUARES[0], SQUARES[1], 1e-6
    want = (linalg.expm(a + step * e) - linalg.expm(a - step * e)) / (2 * step)
    for value, derivative in both(linalg.expm_frechet, a, e):
        np.testing.assert_allclose(value, linalg.expm(a), rtol=1e-12)
        np.testing.assert_allclose(derivative, want, rtol=1e-6)
    np.testing.assert_allclose(linalg.expm_frechet(a, e, compute_expm=False), want, rtol=1e-6)
    check_grads(lambda x: linalg.expm_frechet(x, e, compute_expm=False), (a,), order=1, rtol=1e-4)


def test_functions_of_matrices():
    a = SQUARES[0] + 3 * np.eye(4)
    for found in both(lambda x: linalg.funm(x, np.exp), a):
        assert found.dtype == np.complex128
        np.testing.assert_allclose(found, linalg.expm(a), rtol=1e-9, atol=1e-9)
    root, error = linalg.funm(a, np.sqrt, disp=False)
    np.testing.assert_allclose(root @ root, a, atol=1e-10)
    assert 0 < error < 1e-10


def test_sylvesters_equation():
    a, b, c = SQUARES[0], SQUARES[1][:3, :3] + 5 * np.eye(3), RANDOM.normal(size=(4, 3))
    for method in ("schur", "eigen"):
        for x in both(linalg.solve_sylvester, a, b, c, method=method):
            assert x.dtype == np.float64
            np.testing.assert_allclose(a @ x + x @ b, c, atol=1e-12)
    assert np.isnan(linalg.solve_sylvester(a, -a, a)).all()
    x = linalg.solve_sylvester(a + 1j * a.T, b, c)
    np.testing.assert_allclose((a + 1j * a.T) @ x + x @ b, c, atol=1e-12)


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
def test_products_with_q(shape):
    a = RANDOM.normal(size=shape)
    q, r = linalg.qr(a, mode="economic")
    k = min(shape)
    left, right = RANDOM.normal(size=(k, 2)), RANDOM.normal(size=(2, shape[0]))
    for found, upper in both(linalg.qr_multiply, a, left, mode="left"):
        np.testing.assert_allclose(found, q @ left, atol=1e-13)
        np.testing.assert_allclose(upper, r, atol=1e-13)
    np.testing.assert_allclose(linalg.qr_multiply(a, right)[0], right @ q, atol=1e-13)
    np.testing.assert_allclose(linalg.qr_multiply(a, right[0])[0], right[0] @ q, atol=1e-13)
    found, r, order = linalg.qr_multiply(a, np.eye(shape[0]), pivoting=True)
    np.testing.assert_allclose(found @ r, a[:, order], atol=1e-12)


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 4, 3)])
@pytest.mark.parametrize("mode", ["full", "economic"])
@one_in(3)
def test_qr_with_pivots_has_a_diagonal_that_does_not_grow(shape, mode):
    a = RANDOM.normal(size=shape)
    for q, r, order in both(linalg.qr, a, mode=mode, pivoting=True):
        assert order.dtype == np.int32
        np.testing.assert_allclose(
            q @ r, np.take_along_axis(a, order[..., None, :], -1), atol=1e-13
        )
        diagonal = np.abs(np.diagonal(r, axis1=-2, axis2=-1))
        assert (np.diff(diagonal, axis=-1) < 1e-13).all()
    only, again = linalg.qr(a, mode="r", pivoting=True)
    np.testing.assert_array_equal(again, order)
    np.testing.assert_allclose(np.abs(only[..., :1, :]), np.abs(r[..., :1, :]), atol=1e-13)


def test_eigenvalues_of_tridiagonal_matrices():
    d, e = RANDOM.normal(size=5), RANDOM.normal(size=4)
    matrix = np.diag(d) + np.diag(e, 1) + np.diag(e, -1)
    for w, v in both(linalg.eigh_tridiagonal, d, e):
        np.testing.assert_allclose(matrix @ v, v * w, atol=1e-13)
    want = np.linalg.eigvalsh(matrix)
    np.testing.assert_allclose(linalg.eigh_tridiagonal(d, e, eigvals_only=True), want, atol=1e-13)
    some = linalg.eigh_tridiagonal(d, e, eigvals_only=True, select="i", select_range=(1, 2))
    np.testing.assert_allclose(some, want[1:3], atol=1e-13)
    with pytest.raises(NotImplementedError, match="select='v'"):
        linalg.eigh_tridiagonal(d, e, select="v", select_range=(0.0, 1.0))
    with pytest.raises(TypeError, match="must have same dtype"):
        linalg.eigh_tridiagonal(d, e.astype(np.float32))


def test_every_name_of_jax_is_there():
    jax_linalg = pytest.importorskip("jax.scipy.linalg")
    assert set(linalg.__all__) >= {n for n in dir(jax_linalg) if n[0] != "_"}


def test_every_public_name_is_documented():
    assert len(set(linalg.__all__)) == len(linalg.__all__)
    for name in linalg.__all__:
        assert getattr(linalg, name).__doc__, name


def test_circulant_and_hankel_matrices_of_runtime_sizes():
    vector = transpile.ShapeDtypeStruct(("n",), np.float64)
    other = transpile.ShapeDtypeStruct((2, "m"), np.float64)

    def matrices(c, r):
        return linalg.circulant(c), linalg.hankel(c), linalg.hankel(c, r)

    compiled = transpile.jit(matrices).lower(vector, other).compile()
    for n, m in ((1, 1), (2, 5), (7, 3)):
        c, r = np.arange(1.0, n + 1), np.arange(10.0, 10 + 2 * m).reshape(2, m)
        around, triangle, two = compiled(c, r)
        down, across = np.ogrid[:n, :n]
        assert np.array_equal(around, c[(down - across) % n])
        assert np.array_equal(triangle, np.append(c, np.zeros(n))[down + across])
        for row, matrix in zip(r, two, strict=True):
            ends = np.append(c, row[1:])
            assert np.array_equal(matrix, ends[np.add.outer(np.arange(n), np.arange(m))])
