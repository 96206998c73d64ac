"""numpy.linalg against NumPy: values, shapes, dtypes, errors, through C, and derivatives."""

from itertools import pairwise

import numpy as np
import pytest
from helpers import assert_equal_values, assert_same, evaluate, leaves
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in

import transpile
import transpile.numpy as tnp
from transpile.test_util import check_grads

L = np.linalg
DTYPES = ["f4", "f8", "c8", "c16", "i4"]
TOLERANCE = {"f4": 3e-4, "c8": 3e-4}


def matrix(dtype, *shape, seed=0):
    random = np.random.default_rng((seed, *shape))
    if np.dtype(dtype).kind == "i":
        return random.integers(-5, 6, shape).astype(dtype)
    x = random.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * random.normal(size=shape)
    return x.astype(dtype)


def regular(dtype, *shape, seed=0):
    return (matrix(dtype, *shape, seed=seed) + 9 * np.eye(shape[-1])).astype(dtype)


def adjoint(x):
    return np.conjugate(np.matrix_transpose(x))


def positive(dtype, *shape, seed=0):
    x = matrix(dtype, *shape, seed=seed)
    return (x @ adjoint(x) + 3 * np.eye(shape[-1])).astype(dtype)


def complex_always(function):
    """The function with results that are complex also where NumPy makes them real."""

    def found(*args):
        parts = leaves(
            list(function(*args)) if isinstance(function(*args), tuple) else [function(*args)]
        )
        return [p.astype(np.result_type(p.dtype, np.complex64)) for p in parts]

    return found


OF_SQUARES = {
    "inv": L.inv,
    "det": L.det,
    "slogdet": L.slogdet,
    "solve": lambda x: L.solve(x, x[..., :1] + 1),
    "eigvals": complex_always(L.eigvals),
    **{f"power {n}": lambda x, n=n: L.matrix_power(x, n) for n in (0, 1, 2, 3, 5, -2)},
    **{
        f"cond {p}": lambda x, p=p: L.cond(x, p)
        for p in (None, 2, -2, 1, -1, np.inf, -np.inf, "fro")
    },
}
OF_HERMITIANS = {
    "cholesky": L.cholesky,
    "cholesky upper": lambda x: L.cholesky(x, upper=True),
    "eigvalsh": L.eigvalsh,
    "eigvalsh upper": lambda x: L.eigvalsh(x, "u"),
    "eigh": lambda x: (L.eigh(x)[0], np.abs(L.eigh(x)[1])),
    "svd": lambda x: L.svd(x, compute_uv=False, hermitian=True),
    "pinv": lambda x: L.pinv(x, hermitian=True),
    "rank": lambda x: L.matrix_rank(x, hermitian=True),
}
OF_ALL = {
    **{
        f"qr {mode}": lambda x, mode=mode: L.qr(x, mode)
        for mode in ("reduced", "complete", "r", "raw")
    },
    "svd": lambda x: L.svd(x, full_matrices=False),
    "svd of values": lambda x: L.svd(x, compute_uv=False),
    "svdvals": L.svdvals,
    "pinv": L.pinv,
    "pinv cut": lambda x: L.pinv(x, rcond=0.5),
    "pinv rtol": lambda x: L.pinv(x * 1.0, rtol=None),
    "rank": L.matrix_rank,
    "rank tol": lambda x: L.matrix_rank(x, tol=1.5),
    "rank rtol": lambda x: L.matrix_rank(x, rtol=0.5),
    **{
        f"norm {o} {keep}": lambda x, o=o, keep=keep: L.norm(x, o, axis=(-1, -2), keepdims=keep)
        for o in (2, -2, "nuc")
        for keep in (False, True)
    },
    "matrix_norm": L.matrix_norm,
    "vector_norm": L.vector_norm,
    "vector_norm 1": lambda x: L.vector_norm(x, axis=(0, 1), ord=1, keepdims=True),
    "vector_norm last": lambda x: L.vector_norm(x, axis=-1, ord=3),
    "matrix_transpose": L.matrix_transpose,
    "diagonal": lambda x: L.diagonal(x, offset=1),
    "trace": lambda x: L.trace(x, offset=-1),
    "matmul": lambda x: L.matmul(x, np.matrix_transpose(x)),
    "vecdot": lambda x: L.vecdot(x, x, axis=-2),
    "tensordot": lambda x: L.tensordot(x, x, axes=((0, 1), (0, 1))),
    "outer": lambda x: L.outer(x[..., 0].ravel(), x[..., 0].ravel()),
}
FAMILIES = [
    (OF_SQUARES, regular, [(3, 3), (2, 1, 4, 4), (1, 1), (0, 0), (2, 0, 0), (0, 3, 3)]),
    (OF_HERMITIANS, positive, [(3, 3), (2, 1, 4, 4), (1, 1), (0, 3, 3)]),
    (OF_ALL, matrix, [(3, 3), (2, 5, 3), (3, 5), (1, 4), (0, 3, 2)]),
]
CASES = [
    pytest.param(function, make, shapes, id=name)
    for family, make, shapes in FAMILIES
    for name, function in family.items()
]


@pytest.mark.parametrize(("function", "make", "shapes"), CASES)
@one_in(3)
def test_functions_equal_numpys(function, make, shapes):
    for dtype in DTYPES:
        for shape in shapes:
            x = make(dtype, *shape)
            assert_same(function, x, tolerance=TOLERANCE.get(dtype, 1e-9))


@pytest.mark.parametrize("dtype", ["f4", "c16", "i4"])
@one_in(3)
def test_c_gives_what_numpy_gives(dtype, shared_cache):
    """All functions in one program."""
    functions = [(f, make(dtype, 2, 3, 3)) for family, make, _ in FAMILIES for f in family.values()]

    def everything(*xs):
        return [leaves(f(x)) for (f, _), x in zip(functions, xs, strict=True)]

    found = transpile.jit(everything, compiler_options={"opt_level": 1})(*[x for _, x in functions])
    for (function, x), got in zip(functions, found, strict=True):
        wanted = leaves(function(x))
        assert len(got) == len(wanted)
        for a, b in zip(got, wanted, strict=True):
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            assert_equal_values(a, b, TOLERANCE.get(dtype, 1e-9))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 0, 3)], ids=str)
@pytest.mark.parametrize("dtype", ["f4", "c16", "i4"])
def test_matrices_without_elements(shape, dtype):
    x = np.zeros(shape, dtype)
    for name in ("svd of values", "svdvals", "pinv", "rank", "norm 2 False", "norm nuc True"):
        assert_same(OF_ALL[name], x)
    for mode in ("reduced", "complete", "r", "raw"):
        assert_same(lambda x, mode=mode: L.qr(x, mode), x)
    for full in (False, True):
        assert_same(lambda x, full=full: L.svd(x, full), x)
    assert_same(lambda x: L.norm(x, -2, axis=(-2, -1)), x)
    if len(shape) == 2:
        assert_same(lambda x: L.lstsq(x, np.ones((shape[0], 2))), x)


@st.composite
def systems(draw):
    n, k = draw(st.integers(0, 4)), draw(st.integers(0, 3))
    batch = draw(st.sampled_from([((), ()), ((2,), (2,)), ((), (2,)), ((2,), ()), ((2, 1), (3,))]))
    vector = draw(st.booleans())
    dtypes = [draw(st.sampled_from(["f4", "f8", "c8", "c16", "i8", "i2"])) for _ in range(2)]
    b = (n,) if vector else (*batch[1], n, k)
    wrong = draw(st.integers(0, 9)) == 0
    shape = (*batch[0], n, n + wrong)
    x = matrix(dtypes[0], *shape)
    if not wrong:
        x = (x + 9 * np.eye(n)).astype(dtypes[0])
    return x, matrix(dtypes[1], *b)


@given(systems())
@settings(max_examples=60, deadline=None)
def test_solve_of_drawn_shapes_and_dtypes(system):
    assert_same(L.solve, *system, tolerance=3e-4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)], ids=str)
def test_least_squares(shape, dtype):
    x = matrix(dtype, *shape)
    limit = TOLERANCE.get(dtype, 1e-8) * 10
    assert_same(L.lstsq, x, matrix("f4", shape[0], 2), tolerance=limit)
    assert_same(L.lstsq, x, matrix("f8", shape[0]), tolerance=limit)
    assert_same(
        lambda x, b: L.lstsq(x, b, rcond=0.4)[::2], x, matrix("f8", shape[0]), tolerance=limit
    )


def test_residuals_do_not_depend_on_the_rank():
    """NumPy leaves them out where the rank is too low, which a compiled program cannot."""
    x, b = np.ones((4, 2)), np.arange(4.0)
    found, residuals, rank, s = evaluate(L.lstsq, x, b)
    wanted = L.lstsq(x, b)
    np.testing.assert_allclose(found, wanted[0])
    assert wanted[1].shape == (0,) and rank == wanted[2] == 1
    np.testing.assert_allclose(residuals, [np.sum((b - x @ wanted[0]) ** 2)])
    np.testing.assert_allclose(s, wanted[3], atol=1e-15)


def test_chains_of_products():
    a, b, c, d = matrix("f8", 3, 4), matrix("f4", 4, 2), matrix("i4", 2, 6), matrix("f8", 6)
    chains = [(a, b), (a, b, c), (a, b, c, d), (a[0], b, c), (a[0], b, c, d), (b, c, d)]
    for chain in chains:
        assert_same(lambda *arrays: L.multi_dot(arrays), *chain, tolerance=1e-12)
    sizes = [10, 100, 5, 50, 1, 30]
    parts = [matrix("f8", m, n) for m, n in pairwise(sizes)]
    text = str(transpile.make_jaxpr(lambda *arrays: L.multi_dot(arrays))(*parts))
    assert "f64[10,30]" in text and "f64[100,50]" not in text


def test_tensor_equations():
    a, b = matrix("f8", 2, 3, 6), matrix("f8", 2, 3)
    assert_same(L.tensorsolve, a, b, tolerance=1e-10)
    assert_same(
        lambda a, b: L.tensorsolve(a, b, axes=(1,)), matrix("f8", 2, 6, 3), b.T, tolerance=1e-10
    )
    assert_same(lambda x: L.tensorinv(x, ind=1), matrix("f8", 4, 2, 2), tolerance=1e-10)
    assert_same(L.tensorinv, matrix("f8", 4, 6, 8, 3), tolerance=1e-9)
    assert_same(L.cross, matrix("f8", 2, 3), matrix("i4", 3))
    assert_same(lambda x, y: L.cross(x, y, axis=0), matrix("f8", 3, 2), matrix("f8", 3, 2))


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 2)], ids=str)
def test_shapes_that_numpy_refuses(shape):
    x = np.ones(shape)
    for f in (L.inv, L.det, L.slogdet, L.cholesky, L.eig, L.eigh, L.eigvals, L.eigvalsh):
        assert_same(f, x)
    assert_same(lambda x: L.matrix_power(x, 2), x)
    assert_same(lambda x: L.solve(x, x), x)
    assert_same(lambda x: L.cond(x, 1), x)
    if len(shape) < 2:
        for f in (L.qr, L.svd, L.cond):
            assert_same(f, x)
    with pytest.raises(L.LinAlgError, match=r"test_numpy_linalg.py:\d+: .*(at least|square)"):
        evaluate(lambda x: L.inv(x), x)


ONES = np.ones((2, 2))
REFUSED = {
    "solve columns": (L.solve, np.eye(3), np.ones(4)),
    "solve batch": (L.solve, np.ones((2, 3, 3)), np.ones((4, 3, 1))),
    "lstsq": (L.lstsq, np.ones((3, 2)), np.ones((2, 2))),
    "lstsq 3-d": (L.lstsq, np.ones((1, 3, 2)), np.ones((3, 2))),
    "tensorinv": (lambda x: L.tensorinv(x, 0), ONES),
    "tensorsolve": (L.tensorsolve, np.ones((2, 3)), np.ones(2)),
    "rank": (lambda x: L.matrix_rank(x, 1.0, rtol=1.0), ONES),
    "pinv": (lambda x: L.pinv(x, 1.0, rtol=1.0), ONES),
    "cross": (L.cross, np.ones((2, 3)), ONES),
    "outer": (L.outer, ONES, ONES),
    "cond": (L.cond, np.ones((0, 0))),
    "qr": (lambda x: L.qr(x, "nonsense"), ONES),
    "eigh": (lambda x: L.eigh(x, "nonsense"), ONES),
    "multi_dot": (lambda x: L.multi_dot([x]), ONES),
    "multi_dot 3-d": (lambda x: L.multi_dot([x, ONES[None], x]), ONES),
    "norm": (lambda x: L.matrix_norm(x, ord=3), ONES),
    "float16": (L.inv, np.eye(2, dtype="f2")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_arguments_that_numpy_refuses(name):
    function, *args = REFUSED[name]
    assert_same(function, *args)


def test_deprecated_modes_of_qr_warn():
    for mode, words in (("full", "'full' option is deprecated"), ("e", "'economic' option")):
        with pytest.warns(DeprecationWarning, match=words):
            found = evaluate(lambda x, mode=mode: L.qr(x, mode), regular("f8", 3, 3))
        with pytest.warns(DeprecationWarning):
            assert_equal_values(found[0], leaves(L.qr(regular("f8", 3, 3), mode))[0], 1e-12)


# ------------------------------------------------------------------- what only the values decide


def test_singular_matrices_give_numbers_that_are_not_finite(shared_cache):
    """NumPy raises a LinAlgError for most of these."""
    x = np.array([[1.0, 2.0], [2.0, 4.0]])

    def everything(x):
        return L.inv(x), L.solve(x, np.ones(2)), L.det(x), L.slogdet(x), L.cond(x, 1)

    inverse, solution, determinant, (sign, size), condition = transpile.jit(everything)(x)
    assert not np.any(np.isfinite(inverse)) and not np.any(np.isfinite(solution))
    assert (determinant, sign, size, condition) == (0, 0, -np.inf, np.inf)
    assert np.isnan(transpile.jit(L.cholesky)(-np.eye(2))[0, 0])
    assert np.isnan(transpile.jit(lambda x: L.cond(x, 1))(x * np.nan))


def test_eigenvalues_are_complex_whatever_they_are(shared_cache):
    x = positive("f4", 3, 3)
    w, v = transpile.jit(L.eig)(x)
    # NumPy's have been so since 2.5
    assert w.dtype == v.dtype == np.complex64 and L.eig(x)[0].dtype in (np.float32, np.complex64)
    np.testing.assert_allclose(np.sort(w.real), np.sort(L.eigvals(x).real), rtol=1e-5)
    assert not np.any(w.imag)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("extent", [3, 64, 65, 150])
@one_in(6)
def test_determinants_overflow_only_as_a_whole(dtype, extent):
    limits = np.finfo(dtype)
    for size in (limits.max / 2, limits.tiny * 2, limits.max**0.25):
        diagonal = np.full(extent, size, dtype)
        diagonal[1::2] = 1 / diagonal[1::2]
        diagonal[extent // 2 * 2 - 1 :] = -1.25 if dtype[0] == "f" else 1.25j
        diagonal[0] = 1
        x = np.diag(diagonal)
        want = L.det(x.astype("c16" if dtype[0] == "c" else "f8"))
        found = transpile.jit(L.det)(x)
        np.testing.assert_allclose(found, want, rtol=4 * extent * limits.eps)
        value, _ = transpile.value_and_grad(lambda x: np.real(L.det(x)))(x)
        np.testing.assert_array_equal(value, np.real(found))
    largest = np.full(extent, limits.max, dtype)
    largest[0] *= 1 if dtype[0] == "f" else 0.5 + 0.25j
    with np.errstate(all="ignore"):
        assert_equal_values(transpile.jit(L.det)(np.diag(largest)), L.det(np.diag(largest)))


def test_results_have_names():
    found = transpile.jit(L.svd)(np.eye(3))
    assert found.S.shape == (3,) and found.Vh is found[2]
    assert evaluate(lambda x: L.slogdet(x).logabsdet, np.eye(3) * 2)[0] == np.log(8)
    assert transpile.jit(L.qr)(np.eye(2)).R.shape == (2, 2)


def test_the_namespace_has_all_of_numpys():
    missing = [n for n in L.__all__ if n not in tnp.linalg.__all__]
    assert not missing
    assert tnp.linalg.cross is not tnp.cross and tnp.linalg.LinAlgError is L.LinAlgError
    assert tnp.linalg.det(np.eye(2)) == 1  # NumPy's own, for what is not traced
    with pytest.raises(AttributeError, match="'nonsense'"):
        _ = tnp.linalg.nonsense


def test_equal_factors_are_computed_once():
    def f(x, b):
        return L.solve(x, b), L.det(x), L.inv(x)

    text = transpile.jit(f).lower(np.eye(5), np.ones((5, 2))).as_text()
    assert text.count("    lu_f64(") == 1
    gradient = transpile.grad(lambda x, b: (L.solve(x, b) ** 2).sum())
    text = transpile.jit(gradient).lower(np.eye(5), np.ones((5, 2))).as_text()
    assert text.count("    lu_f64(") == 1


# ------------------------------------------------------------------------------------ derivatives

SMOOTH = {
    "inv": L.inv,
    "det": L.det,
    "slogdet": L.slogdet,
    "solve": lambda x: L.solve(x, x[..., :2] ** 2),
    "solve one": lambda x: L.solve(np.eye(3) * 2 + 0.1, x),
    "power": lambda x: L.matrix_power(x, -3),
    "eigvals": L.eigvals,
    "pinv": L.pinv,
    "cond": lambda x: L.cond(x),
    "cond 1": lambda x: L.cond(x, 1),
    "norm 2": lambda x: L.norm(x, 2, axis=(-2, -1)),
    "norm nuc": lambda x: L.norm(x, "nuc", axis=(-2, -1)),
    "cholesky": lambda x: L.cholesky(np.matmul(x, adjoint(x))),
    "cholesky upper": lambda x: L.cholesky(np.matmul(x, adjoint(x)), upper=True),
    "eigvalsh": lambda x: L.eigvalsh(np.matmul(x, adjoint(x)), "U"),
    "eigh": lambda x: np.abs(L.eigh(np.matmul(x, adjoint(x)))[1]),
    "qr": L.qr,
}


@pytest.mark.parametrize("name", SMOOTH)
@one_in(4)
def test_derivatives(name):
    for dtype, shape in (("f8", (3, 3)), ("c16", (3, 3)), ("f8", (2, 3, 3))):
        x = matrix(dtype, *shape) + 3 * np.eye(3)
        check_grads(SMOOTH[name], (x,), order=2)


@pytest.mark.parametrize("shape", [(4, 3), (3, 4)], ids=str)
@pytest.mark.parametrize("dtype", ["f8", "c16"])
@one_in(3)
def test_derivatives_of_least_squares(shape, dtype):
    x, b = matrix(dtype, *shape), matrix(dtype, shape[0], 2)
    check_grads(lambda x, b: L.lstsq(x, b)[0], (x, b), order=2)
    check_grads(lambda x, b: L.lstsq(x, b)[1:], (x, b), order=1)
    check_grads(L.pinv, (x,), order=2)


def test_least_squares_of_a_low_rank_move_with_the_matrix():
    x = np.outer(np.arange(1.0, 5), [1.0, 2.0, -1.0])

    def f(t):
        return L.lstsq(x * (1 + t) ** 2, np.array([1.0, 0.0, 2.0, 1.0]))[0]

    check_grads(f, (0.3,), order=2)


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_the_determinant_of_a_singular_matrix_has_a_derivative(dtype):
    x = matrix(dtype, 3, 3)
    x[2] = x[0] + x[1]
    check_grads(L.det, (x,), order=1)
    check_grads(L.det, (np.stack([x, matrix(dtype, 3, 3)]),), order=1)
    zero = transpile.grad(lambda x: L.det(x))(np.zeros((3, 3)))
    np.testing.assert_array_equal(zero, np.zeros((3, 3)))
    np.testing.assert_allclose(transpile.grad(lambda x: L.det(x))(np.zeros((1, 1))), [[1.0]])


def test_derivatives_of_one_triangle():
    """Only one triangle is read, so the gradient is zero in the other."""
    x = positive("f8", 3, 3)
    for f in (L.cholesky, L.eigvalsh):
        slope = transpile.grad(lambda x, f=f: f(x).sum())(x)
        assert not np.any(np.triu(slope, 1)) and np.any(np.tril(slope, -1) != 0)
        check_grads(f, (x,), order=2)


def test_derivatives_through_c(shared_cache):
    x, b = regular("f8", 4, 4), matrix("f8", 4)

    def f(x, b):
        w, v = L.eigh(np.matmul(x, x.T))
        return (L.solve(x, b) ** 2).sum() + np.log(w).sum() + (v[0] ** 4).sum() + L.slogdet(x)[1]

    wanted = transpile.grad(f, (0, 1))(x, b)
    for got, want in zip(transpile.jit(transpile.grad(f, (0, 1)))(x, b), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("axes", [(0, 0), (None, 0), (0, None)])
def test_batches_equal_loops(axes):
    a, b = regular("f8", 3, 4, 4), matrix("f8", 3, 4, 2)
    given = [x if axis == 0 else x[0] for x, axis in zip((a, b), axes, strict=True)]

    def f(a, b):
        return L.solve(a, b), L.det(a) + b.sum(), L.lstsq(a, b)[0], L.pinv(a) @ b

    for got, parts in zip(
        evaluate(transpile.vmap(f, axes), *given),
        zip(
            *[
                f(*(x[k] if s == 0 else x for x, s in zip(given, axes, strict=True)))
                for k in range(3)
            ],
            strict=True,
        ),
        strict=True,
    ):
        np.testing.assert_allclose(got, np.stack(parts), rtol=1e-9, atol=1e-12)
