"""Iterative solvers of linear systems and minimisers, against direct solutions and SciPy."""

import re

import numpy as np
import pytest
from thorough import one_in, thorough

import transpile
from transpile import tree
from transpile.scipy import optimize
from transpile.scipy.sparse import linalg

scipy_optimize = pytest.importorskip("scipy.optimize")

DRAW = np.random.default_rng(0)
N = 9
GENERAL = DRAW.normal(size=(N, N)) / N + 1.5 * np.eye(N)
DEFINITE = GENERAL @ GENERAL.T
COMPLEX = GENERAL + 0.2j * DEFINITE
B = DRAW.normal(size=N)


def incremental(*arguments, **settings):
    return linalg.gmres(*arguments, solve_method="incremental", **settings)


SOLVERS = {
    "cg": (linalg.cg, DEFINITE),
    "bicgstab": (linalg.bicgstab, GENERAL),
    "gmres": (linalg.gmres, GENERAL),
    "incremental": (incremental, GENERAL),
}
every_solver = pytest.mark.parametrize("name", SOLVERS)


@every_solver
@one_in(2)
def test_solutions_and_their_derivatives(name):
    solver, matrix = SOLVERS[name]
    solve = transpile.jit(lambda a, b: solver(a, b, tol=1e-12)[0])
    want = np.linalg.solve(matrix, B)
    np.testing.assert_allclose(solve(matrix, B), want, rtol=1e-9, atol=1e-10)
    by_b, by_matrix = transpile.grad(lambda b, a: np.sum(solve(a, b) * B), (0, 1))(B, matrix)
    adjoint = np.linalg.solve(matrix.T, B)
    np.testing.assert_allclose(by_b, adjoint, rtol=1e-8, atol=1e-9)
    if name != "cg":  # which takes the matrix to be symmetric
        np.testing.assert_allclose(by_matrix, -np.outer(adjoint, want), rtol=1e-8, atol=1e-9)
    _, tangent = transpile.jvp(lambda b: solve(matrix, b), (B,), (want,))
    np.testing.assert_allclose(tangent, np.linalg.solve(matrix, want), rtol=1e-8, atol=1e-9)


@every_solver
@one_in(2)
def test_batches_and_single_precision(name):
    solver, matrix = SOLVERS[name]
    rows = np.stack([B, np.zeros(N), 2 * B])
    found = transpile.vmap(lambda b: solver(matrix, b, tol=1e-10)[0])(rows)
    want = np.linalg.solve(matrix, rows.T).T
    np.testing.assert_allclose(found, want, rtol=1e-7, atol=1e-9)
    single = solver(matrix.astype("f4"), B.astype("f4"))[0]
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, want[0], rtol=1e-3, atol=1e-4)


@every_solver
@one_in(2)
def test_functions_of_pytrees_preconditioners_and_guesses(name):
    solver, matrix = SOLVERS[name]
    b = {"head": B[:4].reshape(2, 2), "tail": B[4:]}

    def of(tree_like):
        def product(x):
            flat = tree_like(x)
            return {"head": flat[:4].reshape(2, 2), "tail": flat[4:]}

        return product

    flat = lambda x: np.concatenate([x["head"].reshape(-1), x["tail"]])
    inverse = np.diag(1 / np.diag(matrix))
    found, info = solver(
        of(lambda x: matrix @ flat(x)),
        b,
        tree.map(lambda v: v * 0.5, b),
        tol=1e-11,
        M=of(lambda x: inverse @ flat(x)),
    )
    np.testing.assert_allclose(flat(found), np.linalg.solve(matrix, B), rtol=1e-8, atol=1e-9)
    assert info in (None, 0)
    exact = np.linalg.solve(matrix, B)  # nothing is left to do, nor may it be spoilt
    np.testing.assert_allclose(solver(matrix, B, exact, tol=1e-8)[0], exact, rtol=1e-12)


@pytest.mark.parametrize("name", ["bicgstab", "gmres", "incremental"])
def test_complex_systems(name):
    b = B + 1j * B[::-1]
    found = SOLVERS[name][0](COMPLEX, b, tol=1e-12, M=np.diag(1 / np.diag(COMPLEX)))[0]
    np.testing.assert_allclose(found, np.linalg.solve(COMPLEX, b), rtol=1e-8)


@thorough
def test_tolerances_limits_and_restarts():
    once = linalg.cg(DEFINITE, B, maxiter=1)[0]
    alpha = B @ B / (B @ DEFINITE @ B)
    np.testing.assert_allclose(once, alpha * B, rtol=1e-12)
    assert not linalg.cg(DEFINITE, B, atol=1e9)[0].any()
    for tolerance in (1e-2, 1e-6):
        for solver, matrix in SOLVERS.values():
            residual = B - matrix @ solver(matrix, B, tol=tolerance)[0]
            assert np.linalg.norm(residual) <= 1.0001 * tolerance * np.linalg.norm(B)
    for solver in (linalg.gmres, incremental):
        found = solver(GENERAL, B, tol=1e-10, restart=2)[0]
        np.testing.assert_allclose(found, np.linalg.solve(GENERAL, B), rtol=1e-7, atol=1e-8)
    projection = np.diag([1.0, 1, 0])  # a Krylov space that breaks down
    np.testing.assert_allclose(linalg.gmres(projection, np.array([1.0, 2, 0]))[0], [1, 2, 0])
    assert linalg.gmres(np.full((2, 2), np.nan), np.ones(2))[1] == -1


def test_programs_need_no_other_library(tmp_path):
    for name, (solver, matrix) in SOLVERS.items():
        compiled = transpile.jit(lambda a, b: solver(a, b)[0]).lower(matrix, B).compile()
        compiled.save(tmp_path / name)
        assert (tmp_path / name).is_dir()


def test_refused_systems():
    with pytest.raises(ValueError, match=re.escape("must be a square matrix, but has shape: (9,)")):
        linalg.cg(B, B)
    with pytest.raises(TypeError, match="either a function or ndarray"):
        linalg.cg("x", B)
    with pytest.raises(ValueError, match="must have matching tree structure"):
        linalg.cg(DEFINITE, B, {"a": B})
    with pytest.raises(ValueError, match="must have matching shapes"):
        linalg.bicgstab(DEFINITE, B, B[:3])
    with pytest.raises(ValueError, match="invalid solve_method x"):
        linalg.gmres(GENERAL, B, solve_method="x")


# --------------------------------------------------------------------------------------- minimisers

METHODS = ["BFGS", "l-bfgs-experimental-do-not-rely-on-this"]


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@pytest.mark.parametrize("method", METHODS)
@one_in(2)
def test_minima_are_those_of_scipy(method):
    for fun, x0, want in (
        (rosenbrock, np.array([-1.2, 1.0, 0.5]), np.ones(3)),
        (lambda x: np.sum(np.cosh(x - 0.3)) + x[0] ** 4, np.array([3.0, -2.0]), None),
        (lambda x: np.log(1 + np.sum((x - 5) ** 2)), np.array([20.0]), np.array([5.0])),
    ):
        theirs = scipy_optimize.minimize(fun, x0, jac=transpile.grad(fun), method="BFGS", tol=1e-9)
        ours = optimize.minimize(fun, x0, method=method, tol=1e-6, options={"maxiter": 100})
        np.testing.assert_allclose(ours.x, theirs.x, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(ours.jac, transpile.grad(fun)(ours.x), atol=1e-12)
        assert ours.fun == pytest.approx(fun(ours.x)) and ours.nfev == ours.njev > ours.nit
        assert ours.status == 0 if ours.success else ours.status == 4
        if want is not None:
            np.testing.assert_allclose(ours.x, want, rtol=1e-4)


def test_minimisers_in_programs_and_batches():
    @transpile.jit
    def fit(center, x0):
        return optimize.minimize(
            lambda x, c: np.sum((x - c) ** 4 + (x - c) ** 2), x0, (center,), method="BFGS"
        )

    found = fit(np.array([1.0, 2.0]), np.zeros(2))
    np.testing.assert_allclose(found.x, [1, 2], atol=1e-5)
    assert isinstance(found, optimize.OptimizeResults) and found.success
    assert found.hess_inv.shape == (2, 2)
    starts = np.array([[-1.2, 1], [0, 0], [2, 2], [1, 1]])
    rows = transpile.vmap(lambda x: optimize.minimize(rosenbrock, x, method="bfgs"))(starts)
    np.testing.assert_allclose(rows.x, np.ones((4, 2)), rtol=1e-4)
    assert rows.nit[3] == 0 and rows.success.all()
    single = optimize.minimize(rosenbrock, np.zeros(2, "f4"), method="BFGS", tol=1e-3)
    assert single.x.dtype == np.float32
    np.testing.assert_allclose(single.x, 1, rtol=1e-2)


def test_minimisers_that_do_not_arrive():
    ours = optimize.minimize(rosenbrock, np.zeros(2), method="BFGS", options={"maxiter": 2})
    assert (ours.success, ours.status, ours.nit) == (False, 1, 2)
    falling = optimize.minimize(lambda x: x[0], np.zeros(1), method="BFGS")
    assert not falling.success and falling.status in (3, 5)
    broken = optimize.minimize(lambda x: np.sum(np.sqrt(x) * np.nan), np.ones(2), method="BFGS")
    assert not broken.success


def test_refused_minimisers():
    with pytest.raises(TypeError, match="must be a tuple, got 1"):
        optimize.minimize(rosenbrock, np.zeros(2), 1, method="BFGS")
    with pytest.raises(ValueError, match="Method CG not recognized"):
        optimize.minimize(rosenbrock, np.zeros(2), method="CG")
    with pytest.raises(TypeError, match="unexpected keyword argument 'x'"):
        optimize.minimize(rosenbrock, np.zeros(2), method="BFGS", options={"x": 1})
