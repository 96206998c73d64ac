"""The primitives that LAPACK computes: as C against NumPy's meaning, batched, and their
derivatives."""

import numpy as np
import pytest
from helpers import evaluate, leaves
from thorough import one_in

import transpile
from transpile.analysis.oracle.loop_interpreter import run
from transpile.errors import UndecidedSizeError
from transpile.ir.dims import Dim
from transpile.ir.primitive import TABLE
from transpile.ir.types import ArrayType, type_of
from transpile.library.routines import plan_routine
from transpile.lower.kernels import lower
from transpile.numpy.core.promotion import has_tracer
from transpile.passes import optimise
from transpile.primitives.linalg import decompositions as primitives
from transpile.test_util import check_grads
from transpile.trace.trace import bind, trace_function

STRICT = {"extra_cflags": ["-Werror"], "opt_level": 1}
DTYPES = ["f4", "f8", "c8", "c16"]
TOLERANCE = {"f4": 1e-5, "f8": 1e-13, "c8": 1e-5, "c16": 1e-13}
DECOMPOSED = [r for r in TABLE.values() if r.kind == "routine"]


def matrix(dtype, *shape, seed=0):
    random = np.random.default_rng((seed, *shape))
    x = random.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * random.normal(size=shape)
    return x.astype(dtype)


def adjoint(x):
    return np.conjugate(np.matrix_transpose(x))


def positive(dtype, *shape):
    x = matrix(dtype, *shape)
    return (x @ adjoint(x) + np.eye(shape[-1])).astype(dtype)


def regular(dtype, *shape):
    return (matrix(dtype, *shape) + 3 * np.eye(*shape[-2:])).astype(dtype)


def calls():
    """(primitive, params, makers of operands, whether the results are unique)."""
    yield "lu", {}, [regular], [(3, 3), (2, 5, 3), (3, 5), (1, 1), (2, 1, 8, 8), (9, 5), (40, 40)]
    yield "cholesky", {}, [positive], [(3, 3), (2, 4, 4), (1, 1), (70, 70)]
    for full in (False, True):
        shapes = [(3, 3), (2, 5, 3), (3, 5), (5, 1), (70, 40)]
        yield "qr", {"full_matrices": full}, [matrix], shapes
        yield "svd", {"full_matrices": full, "vectors": True}, [matrix], [*shapes, (40, 5)]
    yield (
        "svd",
        {"full_matrices": False, "vectors": False},
        [matrix],
        [(2, 5, 3), (3, 30), (40, 40)],
    )
    yield "householder", {}, [matrix], [(2, 5, 3), (3, 5), (3, 3)]
    for below in (False, True):
        for vectors in (False, True):
            params = {"lower": below, "vectors": vectors}
            yield "eigh", params, [positive], [(3, 3), (2, 4, 4), (1, 1), (40, 40)]
        for form in (0, 1, 2):
            params = {"lower": below, "unit_diagonal": form == 1, "form": form}
            yield "triangular_solve", params, [regular, matrix], [(3, 3), (2, 8, 8), (9, 9)]
    for vectors in (False, True):
        yield "eig", {"vectors": vectors}, [regular], [(3, 3), (2, 4, 4), (1, 1), (30, 30)]
    yield "sqrtm", {}, [positive], [(3, 3), (2, 4, 4), (1, 1)]
    yield "schur", {}, [matrix], [(3, 3), (2, 4, 4), (1, 1), (20, 20)]


CALLS = list(calls())


def results(found):
    return list(found) if isinstance(found, list | tuple) else [found]


def batch_of(dtype):
    """Every call as a function of all operands, the operands, and what NumPy makes of them."""
    operands, cases = [], []
    for name, params, makers, shapes in CALLS:
        for shape in shapes:
            given = [make(dtype, *shape) for make in makers]
            if len(given) == 2:
                given[1] = np.ascontiguousarray(given[1][..., :2])
            cases.append((name, params, len(operands), given))
            operands += given

    def everything(*tracers):
        return [
            results(bind(TABLE[name], *tracers[first : first + len(given)], **params))
            for name, params, first, given in cases
        ]

    return everything, operands, cases


def same_up_to_phases(got, want, tolerance):
    """Equal, or of vectors in columns equal but for a factor of size 1 each."""
    scale = tolerance * max(1, np.max(np.abs(want)))
    if np.all(np.abs(got - want) <= scale):
        return True
    along = np.sum(np.conjugate(want) * got, axis=-2, keepdims=True)
    return bool(np.all(np.abs(want * along - got) <= 10 * scale))


def check_schur_form(x, t, z, limit):
    """What makes it one: the eigenvalues may stand in any order."""
    n = x.shape[-1]
    assert (t.dtype, z.dtype, t.shape, z.shape) == (x.dtype, x.dtype, x.shape, x.shape)
    np.testing.assert_allclose(z @ t @ adjoint(z), x, atol=limit)
    np.testing.assert_allclose(z @ adjoint(z), np.broadcast_to(np.eye(n), x.shape), atol=limit)
    below = np.diagonal(t, -1, -2, -1)
    assert not np.tril(t, -2).any()
    assert x.dtype.kind == "f" or not below.any()
    assert not (below[..., 1:] * below[..., :-1]).any()  # blocks of two rows at most
    main, above = np.diagonal(t, 0, -2, -1), np.diagonal(t, 1, -2, -1)
    blocks = below != 0
    assert (abs(main[..., 1:] - main[..., :-1])[blocks] <= limit).all()
    assert (np.real(below * above)[blocks] < 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
@one_in(4)
def test_primitives_as_c_equal_numpy(dtype, shared_cache):
    everything, operands, cases = batch_of(dtype)
    found = transpile.jit(everything, compiler_options=STRICT)(*operands)
    for (name, params, _, given), got in zip(cases, found, strict=True):
        wanted = results(TABLE[name].numpy(*given, **params))
        assert len(got) == len(wanted)
        limit = TOLERANCE[dtype] * given[0].shape[-1] * 10
        if name == "schur":
            for t, z in (got, wanted):
                check_schur_form(given[0], t, z, limit)
            continue
        for part, (a, b) in enumerate(zip(got, wanted, strict=True)):
            what = f"{name} {params} {given[0].shape}: result {part}"
            assert (a.dtype, a.shape) == (b.dtype, b.shape), what
            if name == "svd" and part == 2:
                a, b = adjoint(a), adjoint(b)
            if name == "eig" and part == 0:
                a, b = np.sort_complex(np.round(a, 4)), np.sort_complex(np.round(b, 4))
                limit = 1e-3
            if name == "eig" and part == 1:
                continue  # in the order of the values: see the next test but one
            if name == "svd" and params["full_matrices"] and part != 1:
                k = min(given[0].shape[-2:])  # the others are any basis of the rest
                a, b = a[..., :k], b[..., :k]
            assert same_up_to_phases(a, b, limit), what


def test_every_primitive_is_tried():
    assert {name for name, *_ in CALLS} | {"pivots_to_permutation"} == {r.name for r in DECOMPOSED}


def jitted(primitive, **params):
    return transpile.jit(lambda *x: results(bind(primitive, *x, **params)), compiler_options=STRICT)


@pytest.mark.parametrize("dtype", DTYPES)
@one_in(2)
def test_factors_give_the_matrix_again(dtype, shared_cache):
    """Of a batch, as one program; the factors are orthonormal and triangular."""
    x = matrix(dtype, 3, 6, 4)

    def factors(x):
        return (
            bind(primitives.qr, x, full_matrices=False),
            bind(primitives.qr, x, full_matrices=True),
            bind(primitives.svd, x, full_matrices=True, vectors=True),
            bind(primitives.lu, x),
            bind(primitives.eig, x[:, :4], vectors=True),
            bind(primitives.sqrtm, x[:, :4]),
        )

    reduced, complete, (u, s, vh), (lu, pivots, order), (w, v), root = transpile.jit(
        factors, compiler_options=STRICT
    )(x)
    limit = {"rtol": 0, "atol": 300 * np.finfo(dtype).eps}
    for q, r in (reduced, complete):
        np.testing.assert_allclose(q @ r, x, **limit)
        np.testing.assert_allclose(adjoint(q) @ q, np.tile(np.eye(q.shape[-1]), (3, 1, 1)), **limit)
        assert not np.any(np.tril(r, -1))
    np.testing.assert_allclose(u[..., :4] @ (s[..., None] * vh), x, **limit)
    np.testing.assert_allclose(adjoint(u) @ u, np.tile(np.eye(6), (3, 1, 1)), **limit)
    assert np.all(s[:, :-1] >= s[:, 1:]) and np.all(s >= 0)
    lower = np.tril(lu, -1) + np.eye(6, 4)
    np.testing.assert_allclose(
        lower @ np.triu(lu[:, :4]), np.take_along_axis(x, order[..., None], 1), **limit
    )
    assert np.all(np.abs(np.tril(lu, -1)) <= 1.5) and pivots.shape == (3, 4)
    np.testing.assert_allclose(x[:, :4] @ v, v * w[:, None], **limit)
    np.testing.assert_allclose(np.linalg.norm(v, axis=1), np.ones((3, 4)), **limit)
    np.testing.assert_allclose(root @ root, x[:, :4], **limit)
    assert np.all(np.linalg.eigvals(root).real > -1e-3)


def test_only_one_triangle_is_read(shared_cache):
    x = positive("c16", 4, 4)
    below, above = np.tril(x) + np.triu(np.full((4, 4), np.nan), 1), np.triu(x)
    above[np.tril_indices(4, -1)] = np.nan
    lower, upper = (
        jitted(primitives.eigh, lower=part, vectors=False)(y)
        for part, y in ((True, below), (False, above))
    )
    np.testing.assert_allclose(lower[0], np.linalg.eigvalsh(x), rtol=1e-13)
    np.testing.assert_allclose(upper[0], np.linalg.eigvalsh(x), rtol=1e-13)
    (factor,) = jitted(primitives.cholesky)(below)
    np.testing.assert_allclose(factor @ adjoint(factor), x, rtol=1e-13)


def test_what_has_no_decomposition_is_nan(shared_cache):
    bad = np.stack([np.eye(3), -np.eye(3), np.eye(3)])
    (found,) = jitted(primitives.cholesky)(bad)
    np.testing.assert_array_equal(found[[0, 2]], bad[[0, 2]])
    np.testing.assert_array_equal(np.isnan(found[1]), np.tri(3, dtype=bool))
    np.testing.assert_array_equal(found, primitives.cholesky.numpy(bad))
    a = np.array([[1.0, 2.0], [0.0, 0.0]])
    solve = jitted(primitives.triangular_solve, lower=False, unit_diagonal=False, form=0)
    (found,) = solve(a, np.ones((2, 1)))
    assert not np.any(np.isfinite(found))
    factors, _, order = jitted(primitives.lu)(np.full((3, 3), np.nan))
    assert np.isnan(factors).all() and sorted(order) == [0, 1, 2]


def test_defective_and_singular_matrices_have_square_roots(shared_cache):
    jordan = np.array([[4.0, 1.0], [0.0, 4.0]])
    (found,) = jitted(primitives.sqrtm)(np.stack([jordan, np.zeros((2, 2)), -np.eye(2)]))
    np.testing.assert_allclose(found[0], [[2, 0.25], [0, 2]], atol=1e-15)
    np.testing.assert_array_equal(found[1], np.zeros((2, 2)))
    np.testing.assert_allclose(found[2], 1j * np.eye(2), atol=1e-15)
    np.testing.assert_allclose(primitives.sqrtm.numpy(jordan), found[0], atol=1e-7)


def test_pivots_make_permutations(shared_cache):
    pivots = np.array([[2, 2, 2], [0, 3, 3]])
    make = jitted(primitives.pivots_to_permutation, size=4)
    (found,) = make(pivots)
    np.testing.assert_array_equal(found, [[2, 0, 1, 3], [0, 3, 1, 2]])
    np.testing.assert_array_equal(primitives.pivots_to_permutation.numpy(pivots, size=4), found)


# ------------------------------------------------------------------------------ transformations

SQUARE = [
    ("lu", {}, [regular], (0,)),
    ("cholesky", {}, [positive], (0,)),
    ("eigh", {"lower": True, "vectors": False}, [positive], (0,)),
    ("eigh", {"lower": False, "vectors": True}, [positive], (0,)),
    ("eig", {"vectors": False}, [regular], (0,)),
    ("eig", {"vectors": True}, [regular], (0, 1)),
    ("svd", {"full_matrices": True, "vectors": True}, [regular], (1,)),
    ("sqrtm", {}, [positive], (0,)),
    *[
        ("triangular_solve", {"lower": k > 2, "unit_diagonal": k % 2 == 1, "form": k % 3}, (), (0,))
        for k in range(6)
    ],
]


def anywhere(f):
    """A function of traced values that is computed by NumPy where there are none."""

    def function(*x):
        return leaves(f(*x)) if has_tracer(x) else evaluate(f, *x)

    return function


@pytest.mark.parametrize("dtype", ["f8", "c16"])
@pytest.mark.parametrize(
    ("name", "params", "makers", "kept"),
    SQUARE,
    ids=[f"{name} {params}" for name, params, *_ in SQUARE],
)
@one_in(3)
def test_derivatives_of_square_matrices(name, params, makers, kept, dtype):
    makers = makers or [regular, matrix]
    operands = [make(dtype, 3, 3) for make in makers]
    f = anywhere(lambda *x: [results(bind(TABLE[name], *x, **params))[k] for k in kept])
    check_grads(f, operands, order=2)


@pytest.mark.parametrize("dtype", ["f8", "c16"])
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (2, 3, 3)], ids=str)
@one_in(2)
def test_derivatives_of_other_matrices(shape, dtype):
    x = matrix(dtype, *shape)

    def factors(x):
        u, s, vh = bind(primitives.svd, x, full_matrices=False, vectors=True)
        found = [bind(primitives.lu, x)[0], s, np.abs(u), np.abs(vh)]
        if shape[-2] >= shape[-1]:
            found += bind(primitives.qr, x, full_matrices=False)
        return found

    check_grads(anywhere(factors), (x,), order=2)


@pytest.mark.parametrize(
    ("primitive", "params", "shape", "words"),
    [
        (primitives.qr, {"full_matrices": True}, (4, 3), "mode='reduced'"),
        (primitives.qr, {"full_matrices": False}, (3, 4), "square matrices, and in mode="),
        (primitives.svd, {"full_matrices": True, "vectors": True}, (4, 3), "full_matrices=False"),
        (primitives.householder, {}, (4, 3), "take q and r"),
    ],
)
def test_derivatives_that_do_not_exist_say_why(primitive, params, shape, words):
    f = anywhere(lambda x: results(bind(primitive, x, **params))[0])
    with pytest.raises(NotImplementedError, match=words):
        transpile.jvp(f, (matrix("f8", *shape),), (np.ones(shape),))


@pytest.mark.parametrize("dtype", ["f8", "c8"])
def test_a_batch_is_a_loop_over_its_examples(dtype):
    for name, params, makers, shapes in CALLS:
        shape = next(s for s in shapes if max(s) < 10)
        operands = [make(dtype, 3, *shape) for make in makers]
        together = evaluate(transpile.vmap(lambda *x: bind(TABLE[name], *x, **params)), *operands)
        for k in range(3):
            alone = results(TABLE[name].numpy(*(x[k] for x in operands), **params))
            for got, want in zip(together, alone, strict=True):
                np.testing.assert_array_equal(got[k], want, str((name, params)))


@pytest.mark.parametrize("batched", [(0, None), (None, 0)])
def test_systems_of_which_one_side_is_batched(batched):
    a, b = regular("f8", 3, 4, 4), matrix("f8", 3, 4, 2)
    given = [x if axis == 0 else x[0] for x, axis in zip((a, b), batched, strict=True)]
    params = {"lower": True, "unit_diagonal": False, "form": 0}

    def f(a, b):
        return bind(primitives.triangular_solve, a, b, **params)

    lowered = transpile.jit(transpile.vmap(f, batched)).lower(*given)
    got = lowered.compile()(*given)
    for k in range(3):
        one = [x[k] if axis == 0 else x for x, axis in zip(given, batched, strict=True)]
        np.testing.assert_allclose(
            got[k], primitives.triangular_solve.numpy(*one, **params), rtol=1e-12
        )
    if batched == (None, 0):  # many right sides are one call
        assert (
            "12, 2" not in lowered.as_text() and "triangular_solve_f64(4, 6," in lowered.as_text()
        )


# -------------------------------------------------------------------------------------- lowering


def test_the_loops_of_a_decomposition_run_in_the_interpreter():
    x = positive("f8", 2, 3, 3)

    def f(x):
        w, v = bind(primitives.eigh, x * 2, lower=True, vectors=True)
        factors, _, order = bind(primitives.lu, x)
        return v * np.exp(w)[..., None, :], np.triu(factors), order + 1

    graph, _ = trace_function(lambda x: (list(f(x)), None), [type_of(x)], ["x"])
    program = lower(optimise(graph))
    got = run(program, [x])
    w, v = np.linalg.eigh(x * 2)
    lu, _, order = primitives.lu.numpy(x)
    for found, want in zip(got, (v * np.exp(w)[:, None], np.triu(lu), order + 1), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-12)
    assert "call eigh(n=3, x=&" in str(program) and "eigh" in "".join(program.placements)


def test_nothing_that_is_not_read_is_decomposed():
    def f(x):
        bind(primitives.svd, x, full_matrices=True, vectors=True)
        return x + bind(primitives.qr, x, full_matrices=False)[1]

    text = transpile.jit(f).lower(np.ones((3, 3))).as_text()
    assert "qr_f64(" in text and "svd" not in text and "malloc" not in text


def test_a_view_is_put_into_memory_first(shared_cache):
    x = regular("f8", 4, 3)
    f = transpile.jit(lambda x: bind(primitives.lu, np.matrix_transpose(x)[:, 1:])[0])
    np.testing.assert_allclose(f(x), primitives.lu.numpy(x.T[:, 1:])[0], rtol=1e-12)


def planned(primitive, shape, **params):
    kind = ArrayType(shape, np.dtype("f8"))
    graph, _ = trace_function(lambda x: ([bind(primitive, x, **params)], None), [kind], ["x"])
    return plan_routine(graph.equations[0])


def test_matrices_of_runtime_sizes_are_planned_unless_the_smaller_size_is_open():
    n, m = Dim.symbol("n", 1), Dim.symbol("m", 1)
    (call,) = planned(primitives.cholesky, (m, n, n)).calls
    assert [loop.extent for loop in call.loops] == [m]
    with pytest.raises(UndecidedSizeError, match=r"m < n|n < m|m <= n|n <= m"):
        planned(primitives.svd, (n, m), full_matrices=False, vectors=True)


@pytest.mark.parametrize(
    ("primitive", "params", "kinds"),
    [
        (primitives.cholesky, {}, [("f8", (2, 3))]),
        (primitives.lu, {}, [("i8", (3, 3))]),
        (primitives.lu, {}, [("f2", (3, 3))]),
        (primitives.eigh, {"lower": True, "vectors": True}, [("f8", (3,))]),
        (
            primitives.triangular_solve,
            {"lower": True, "unit_diagonal": False, "form": 0},
            [("f8", (3, 3)), ("f8", (2, 3))],
        ),
    ],
)
def test_type_rules_refuse_what_lapack_cannot_take(primitive, params, kinds):
    with pytest.raises(TypeError):
        primitive.result_types([ArrayType(s, np.dtype(d)) for d, s in kinds], params)


@pytest.mark.parametrize(
    ("dtype", "tiny", "tolerance"), [("c8", 1e-39, 1e-4), ("c16", 1e-309, 1e-12)]
)
def test_small_complex_systems_of_subnormal_numbers(dtype, tiny, tolerance):
    """Their pivots have no finite reciprocals."""
    a, b = (matrix("c16", 3, n, seed=5) for n in (3, 2))
    jitted = transpile.jit(lambda a, b: (np.linalg.solve(a, b), np.linalg.slogdet(a).sign))
    solved, sign = jitted((a * tiny).astype(dtype), (b * tiny).astype(dtype))
    np.testing.assert_allclose(solved, np.linalg.solve(a, b), rtol=tolerance)
    np.testing.assert_allclose(sign, np.linalg.slogdet(a).sign, rtol=tolerance)
