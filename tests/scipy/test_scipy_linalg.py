"""transpile.scipy.linalg against SciPy: plain arrays, through C, and derivatives."""

import inspect
import math

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile.errors import UnsupportedError
from transpile.scipy import linalg as ours
from transpile.test_util import check_grads

theirs = pytest.importorskip("scipy.linalg")

DTYPES = ["f4", "f8", "c8", "c16"]
QUICK = {"opt_level": 1, "extra_cflags": ["-Werror"]}


def matrix(dtype, *shape, seed=0):
    random = np.random.default_rng((seed, *shape))
    x = random.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * random.normal(size=shape)
    return x.astype(dtype)


def operands(dtype):
    """A regular matrix, right sides, a positive definite matrix, a tall and a wide one."""
    a = (matrix(dtype, 4, 4) + 3 * np.eye(4)).astype(dtype)
    positive = (a @ a.conj().T + np.eye(4)).astype(dtype)
    return a, matrix(dtype, 4, 3), positive, matrix(dtype, 5, 3), matrix(dtype, 3, 5)


def complex_always(x):
    return x.astype(np.result_type(x.dtype, np.complex64))


# Functions of a module (SciPy's or ours) and the operands.
CASES = {
    "expm": lambda m, a, b, p, t, w: m.expm(a / 3),
    "expm, norm 0": lambda m, a, b, p, t, w: m.expm(a * 0),
    "expm, norm large": lambda m, a, b, p, t, w: m.expm(a * 2),
    "expm of a stack": lambda m, a, b, p, t, w: m.expm(np.stack([a, a / 99, a * 0, p * 0.5])),
    "sqrtm": lambda m, a, b, p, t, w: complex_always(m.sqrtm(a)),
    "sqrtm of a positive one": lambda m, a, b, p, t, w: complex_always(m.sqrtm(p)),
    **{
        f"{f} {k}": lambda m, *xs, f=f, k=k: getattr(m, f)(xs[k])
        for f in ("lu", "lu_factor", "polar")
        for k in (0, 3, 4)
    },
    "lu permuted": lambda m, a, b, p, t, w: m.lu(t, permute_l=True),
    "lu indices": lambda m, a, b, p, t, w: m.lu(t, p_indices=True),
    "polar left": lambda m, a, b, p, t, w: m.polar(t, "left"),
    **{
        f"lu_solve {k}": lambda m, a, b, p, t, w, k=k: m.lu_solve(m.lu_factor(a), b, k)
        for k in (0, 1, 2)
    },
    "lu_solve of a vector": lambda m, a, b, p, t, w: m.lu_solve(m.lu_factor(a), b[:, 0]),
    **{
        f"solve_triangular {trans} {lower} {unit}": (
            lambda m, a, b, p, t, w, o=(trans, lower, unit): m.solve_triangular(a, b, *o)
        )
        for trans in (0, 1, 2, "T")
        for lower in (False, True)
        for unit in (False, True)
    },
    "solve_triangular of a vector": lambda m, a, b, p, t, w: m.solve_triangular(a, b[:, 1]),
    **{
        f"{name} {lower}": lambda m, a, b, p, t, w, f=f, lower=lower: f(m, p, b, lower)
        for lower in (False, True)
        for name, f in {
            "cholesky": lambda m, p, b, lower: m.cholesky(p, lower),
            "cho_solve": lambda m, p, b, lower: m.cho_solve(m.cho_factor(p, lower), b),
            "cho_solve of a vector": lambda m, p, b, k: m.cho_solve(m.cho_factor(p, k), b[:, 0]),
            "solve pos": lambda m, p, b, lower: m.solve(p, b, lower, assume_a="pos"),
            "solve her": lambda m, p, b, lower: m.solve(p, b, lower, assume_a="her"),
            "eigh": lambda m, p, b, lower: m.eigh(p, lower=lower)[0],
            "eigh of two": lambda m, p, b, k: m.eigh(p * 2, p + np.eye(4) @ p, lower=k)[0],
        }.items()
    },
    "solve": lambda m, a, b, p, t, w: m.solve(a, b),
    "solve sym": lambda m, a, b, p, t, w: m.solve(a + a.T, b, assume_a="sym"),
    "inv": lambda m, a, b, p, t, w: m.inv(a),
    "svd": lambda m, a, b, p, t, w: m.svd(t, full_matrices=False),
    "svd of values": lambda m, a, b, p, t, w: m.svd(t, compute_uv=False),
    **{f"qr {k}": lambda m, a, b, p, t, w, k=k: m.qr(t, mode=k) for k in ("full", "economic", "r")},
    "toeplitz": lambda m, a, b, p, t, w: m.toeplitz(a[0], t[0]),
    "toeplitz of one": lambda m, a, b, p, t, w: m.toeplitz(a[0]),
    "block_diag": lambda m, a, b, p, t, w: m.block_diag(a, b[0], t, w),
}


def parts(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("dtype", DTYPES)
@one_in(4)
def test_functions_equal_scipys(dtype, shared_cache):
    """On plain arrays, and all of them as one C program for two of the dtypes."""
    given = operands(dtype)
    limit = 2e-4 if np.dtype(dtype).type(0).real.itemsize == 4 else 1e-10
    plain = [parts(f(ours, *given)) for f in CASES.values()]
    compiled = plain
    if dtype in ("f4", "c16"):
        compiled = transpile.jit(
            lambda *xs: [parts(f(ours, *xs)) for f in CASES.values()], compiler_options=QUICK
        )(*given)
    for (name, function), *both in zip(CASES.items(), plain, compiled, strict=True):
        with np.errstate(all="ignore"):  # SciPy takes the logarithm of a norm of 0
            wanted = parts(function(theirs, *given))
        for found in both:
            assert len(found) == len(wanted), name
            for got, want in zip(found, wanted, strict=True):
                assert isinstance(got, np.ndarray) and got.shape == want.shape, name
                assert got.dtype == want.dtype, name
                scale = max(1, np.max(np.abs(want)))
                np.testing.assert_allclose(got, want, rtol=limit, atol=limit * scale, err_msg=name)


def test_vectors_of_two_hermitian_matrices():
    a, _, p, _, _ = operands("c16")
    h = a + a.conj().T
    w, v = ours.eigh(h, p)
    np.testing.assert_allclose(h @ v, p @ v * w, atol=1e-11)
    np.testing.assert_allclose(v.conj().T @ p @ v, np.eye(4), atol=1e-11)


def test_determinants_have_the_dtype_of_their_matrix():
    a, *_ = operands("f4")
    found = ours.det(a)
    assert found.dtype == np.float32  # SciPy's is float64
    np.testing.assert_allclose(found, theirs.det(a), rtol=1e-5)


def test_only_one_triangle_is_read():
    p = operands("f8")[2]
    below, above = np.tril(p), np.triu(p)
    for lower, half in ((True, below), (False, above)):
        np.testing.assert_allclose(
            ours.cholesky(half, lower), theirs.cholesky(p, lower), rtol=1e-12
        )
        np.testing.assert_allclose(
            ours.solve(half, p, lower, assume_a="pos"), np.eye(4), atol=1e-12
        )
        np.testing.assert_allclose(
            ours.eigh(half, lower=lower, eigvals_only=True), np.linalg.eigvalsh(p), rtol=1e-12
        )


def test_exponentials_of_any_norm():
    """Against the series: of nilpotent matrices, of rotations, and of the diagonal."""
    shift = np.eye(3, k=1)
    for scale in (1e-8, 1.0, 30.0, 2000.0):
        want = np.eye(3) + scale * shift + scale**2 / 2 * shift @ shift
        np.testing.assert_allclose(ours.expm(scale * shift), want, rtol=1e-11, atol=1e-13)
        turn = np.array([[0, scale], [-scale, 0]])
        want = [[math.cos(scale), math.sin(scale)], [-math.sin(scale), math.cos(scale)]]
        np.testing.assert_allclose(ours.expm(turn), want, atol=max(1e-13, 1e-14 * scale))
    diagonal = np.diag([-700.0, 0.0, 3.0])
    np.testing.assert_allclose(ours.expm(diagonal), np.diag(np.exp([-700, 0, 3])), rtol=1e-12)
    assert (
        np.isnan(ours.expm(np.eye(2) * 1e9)).all() and np.isnan(ours.expm(np.eye(2) * np.nan)).any()
    )
    assert np.isnan(ours.expm(np.eye(2) * 100, max_squarings=2)).all()
    upper = np.triu(matrix("f8", 4, 4))
    np.testing.assert_allclose(
        ours.expm(upper, upper_triangular=True), theirs.expm(upper), rtol=1e-12
    )
    assert ours.expm(np.zeros((0, 0))).shape == (0, 0)


@pytest.mark.parametrize("seed", range(5))
def test_square_roots_are_principal(seed):
    for dtype in ("f8", "c16"):
        x = matrix(dtype, 6, 6, seed=seed)
        root = transpile.jit(ours.sqrtm)(x)
        np.testing.assert_allclose(root @ root, x, atol=1e-10)
        assert np.all(np.linalg.eigvals(root).real > -1e-9)


def test_stacks_of_matrices():
    a, b = matrix("f8", 2, 3, 3) + 3 * np.eye(3), matrix("f8", 2, 3, 2)
    p, low, up = ours.lu(a)
    np.testing.assert_allclose(p @ low @ up, a, rtol=1e-12)
    np.testing.assert_allclose(a @ ours.lu_solve(ours.lu_factor(a), b), b, rtol=1e-10)
    for trans, turned in ((1, np.matrix_transpose(a)), (0, a)):
        found = ours.solve_triangular(a, b, trans, lower=True)
        want = np.linalg.solve(np.tril(a) if trans == 0 else np.triu(turned), b)
        np.testing.assert_allclose(found, want, rtol=1e-10)
    spd = a @ np.matrix_transpose(a)
    np.testing.assert_allclose(spd @ ours.cho_solve(ours.cho_factor(spd), b), b, rtol=1e-9)
    c = matrix("f8", 2, 4)
    np.testing.assert_array_equal(ours.toeplitz(c)[1], theirs.toeplitz(c[1]))


def test_arguments_that_are_refused():
    a = np.ones((3, 3))
    for call, words in (
        (lambda: ours.solve_triangular(a, a, trans=3), "trans is 0, 1, 2"),
        (lambda: ours.polar(a, "up"), "`side` must be either 'right' or 'left'"),
        (lambda: ours.qr(a, mode="nonsense"), "Mode argument"),
        (lambda: ours.block_diag(np.ones((2, 2, 2))), "dimension greater than 2"),
        (lambda: ours.solve(a, np.ones(4)), "incompatible"),
        (lambda: ours.expm(np.ones((2, 3))), "must be square"),
        (lambda: ours.lu_solve(ours.lu_factor(a), a, trans=5), "illegal value"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    for call in (lambda: ours.qr(a, mode="raw"), lambda: ours.eigh(a, a, type=2)):
        with pytest.raises(UnsupportedError):
            call()


# The arguments of JAX 0.10.2 that SciPy has not, or calls otherwise.
OF_JAX = {
    "dft": {"dtype"},
    "eigh_tridiagonal": {"key"},
    "solve_sylvester": {"A", "B", "C", "method", "tol"},
    "eigh": {"eigvals", "turbo"},
    "polar": {"method", "eps", "max_iterations"},
    "solve": {"debug"},
    "solve_triangular": {"debug"},
    "expm": {"upper_triangular", "max_squarings"},
}
if "blocksize" not in inspect.signature(theirs.sqrtm).parameters:  # from SciPy 1.18 on
    OF_JAX["sqrtm"] = {"blocksize"}


def test_arguments_have_scipys_names():
    for name in ours.__all__:
        own = inspect.signature(getattr(ours, name)).parameters
        known = inspect.signature(getattr(theirs, name)).parameters
        assert set(own) - set(known) == OF_JAX.get(name, set()), name


SMOOTH = {
    "expm": ours.expm,
    "sqrtm": lambda x: ours.sqrtm(x + 3 * np.eye(3)),
    "polar": lambda x: ours.polar(x + 3 * np.eye(3)),
    "lu": lambda x: ours.lu(x + 3 * np.eye(3))[1:],
    "lu_solve": lambda x: ours.lu_solve(ours.lu_factor(x + 3 * np.eye(3)), x),
    "cho_solve": lambda x: ours.cho_solve(ours.cho_factor(np.matmul(x, x.conj().T) + np.eye(3)), x),
    "solve_triangular": lambda x: ours.solve_triangular(x + 3 * np.eye(3), x, "C", lower=True),
    "eigh": lambda x: ours.eigh(x + x.conj().T, 3 * np.eye(3) + x.conj().T @ x, eigvals_only=True),
    "toeplitz": lambda x: ours.toeplitz(x[0], x[1]),
    "block_diag": lambda x: ours.block_diag(x, x[0]),
    "det": ours.det,
    "inv": lambda x: ours.inv(x + 3 * np.eye(3)),
    "svd": lambda x: ours.svd(x, compute_uv=False),
}


@pytest.mark.parametrize("name", SMOOTH)
@one_in(4)
def test_derivatives(name):
    for dtype in ("f8", "c16"):
        check_grads(SMOOTH[name], (matrix(dtype, 3, 3),), order=2)


def test_the_derivative_of_an_exponential_through_c(shared_cache):
    a, e = matrix("f8", 4, 4), matrix("f8", 4, 4, seed=1)
    compiled = transpile.jit(lambda a, e: transpile.jvp(ours.expm, (a,), (e,))[1])
    want = theirs.expm_frechet(a, e, compute_expm=False)
    np.testing.assert_allclose(compiled(a, e), want, rtol=1e-10, atol=1e-12)


def test_batches_equal_loops():
    x = matrix("f8", 3, 4, 4) + 3 * np.eye(4)
    for f in (ours.expm, lambda a: ours.lu(a), lambda a: ours.lu_solve(ours.lu_factor(a), a[0])):
        together = transpile.jit(transpile.vmap(f), compiler_options=QUICK)(x)
        for k in range(3):
            for got, want in zip(parts(together), parts(f(x[k])), strict=True):
                np.testing.assert_allclose(got[k], want, rtol=1e-10, atol=1e-13)
