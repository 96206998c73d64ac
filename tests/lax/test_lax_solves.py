"""custom_root and custom_linear_solve: derivatives of the equations, not of the solvers."""

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile import lax
from transpile.functional.differentiate import jvp, vjp
from transpile.functional.gradients import grad
from transpile.functional.jacobians import hessian, jacrev
from transpile.functional.vectorize import vmap
from transpile.test_util import check_grads

RANDOM = np.random.default_rng(4)
A = RANDOM.normal(size=(3, 3)) + 4 * np.eye(3)
B = RANDOM.normal(size=3)
SYMMETRIC = A @ A.T
COMPILED = pytest.mark.parametrize("compiled", [False, True], ids=["plain", "jit"])


def near(found, expected, tolerance=1e-9):
    for x, y in zip(transpile.tree.leaves(found), transpile.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


# ---------------------------------------------------------------------------- custom_linear_solve


def by_lu(a, b):
    return lax.custom_linear_solve(
        lambda x: a @ x,
        b,
        lambda _, b: np.linalg.solve(a, b),
        lambda _, b: np.linalg.solve(a.T, b),
    )


def conjugate_gradients(matvec, b):
    """A solver with a loop that only forward mode could differentiate."""

    def step(state):
        x, r, p, k = state
        q = matvec(p)
        size = (r @ r) / (p @ q)
        following = r - size * q
        p = following + (following @ following) / (r @ r) * p
        return x + size * state[2], following, p, k + 1

    start = (np.zeros_like(b), b, b, 0)
    goes_on = lambda s: (s[1] @ s[1] > 1e-26) & (s[3] < 30)
    return lax.while_loop(goes_on, step, start)[0]


def by_gradients(a, b):
    return lax.custom_linear_solve(lambda x: a @ x, b, conjugate_gradients, symmetric=True)


SOLVERS = [(by_lu, A), (by_gradients, SYMMETRIC)]
SOLVER = pytest.mark.parametrize(("solver", "a"), SOLVERS, ids=["lu", "conjugate gradients"])


@COMPILED
@SOLVER
@one_in(2)
def test_derivatives_are_those_of_the_solution(solver, a, compiled):
    wrap = transpile.jit if compiled else lambda f: f
    near(wrap(solver)(a, B), np.linalg.solve(a, B))

    def energy(solve):
        return lambda a, b: (solve(a @ a.T if solver is by_gradients else a, b) ** 2).sum()

    found = wrap(grad(energy(solver), (0, 1)))(a, B)
    near(found, grad(energy(np.linalg.solve), (0, 1))(a, B), 1e-7)
    directions = (RANDOM.normal(size=(3, 3)), RANDOM.normal(size=3))
    tangent = wrap(lambda a, b: jvp(energy(solver), (a, b), directions)[1])(a, B)
    near(tangent, jvp(energy(np.linalg.solve), (a, B), directions)[1], 1e-7)


def test_second_derivatives_of_a_linear_solve():
    check_grads(by_lu, (A, B), 2)
    found = hessian(lambda b: (by_lu(A, b) ** 3).sum())(B)
    near(found, hessian(lambda b: (np.linalg.solve(A, b) ** 3).sum())(B))


@COMPILED
@SOLVER
@one_in(2)
def test_batches_of_linear_solves(solver, a, compiled):
    wrap = transpile.jit if compiled else lambda f: f
    many_a, many_b = np.stack([a, 2 * a]), np.stack([B, B + 1])
    near(wrap(vmap(solver))(many_a, many_b), np.linalg.solve(many_a, many_b[..., None])[..., 0])
    near(wrap(vmap(solver, (None, 0)))(a, many_b), np.linalg.solve(a, many_b.T).T)
    gradients = vmap(grad(lambda a, b: solver(a, b).sum(), (0, 1)))
    reference = grad(lambda a, b: np.linalg.solve(a, b).sum(), (0, 1))
    if solver is by_lu:
        expected = [reference(x, y) for x, y in zip(many_a, many_b, strict=True)]
        near(wrap(gradients)(many_a, many_b), [np.stack(c) for c in zip(*expected, strict=True)])


def test_trees_and_further_results():
    def solve(matvec, b):
        x = {"u": b["u"] / 2.0, "v": b["v"] / 4.0}
        return x, {"steps": 7}

    def f(b):
        return lax.custom_linear_solve(
            lambda x: {"u": x["u"] * 2.0, "v": x["v"] * 4.0}, b, solve, solve, has_aux=True
        )

    b = {"u": np.ones(2), "v": np.array(3.0)}
    x, aux = f(b)
    near(x, {"u": np.full(2, 0.5), "v": 0.75})
    assert aux["steps"] == 7
    (found,) = vjp(lambda b: f(b)[0], b)[1](x)
    near(found, {"u": np.full(2, 0.25), "v": 0.75 / 4})


def test_the_solver_is_given_the_transpose():
    seen = []

    def transposed(vecmat, b):
        seen.append(vecmat)
        return np.linalg.solve(A.T, b)

    def f(b):
        return lax.custom_linear_solve(
            lambda x: A @ x, b, lambda _, b: np.linalg.solve(A, b), transposed
        )

    found = jacrev(f)(B)
    near(found, np.linalg.inv(A))
    near(transpile.jit(lambda x: _vecmat(x))(B), A.T @ B)


def _vecmat(x):
    return vjp(
        lambda b: lax.custom_linear_solve(
            lambda x: A @ x, b, lambda _, b: b, lambda vecmat, b: vecmat(b)
        ),
        x,
    )[1](x)[0]


ERRORS = [
    (
        TypeError,
        "transpose_solve required for backwards mode automatic differentiation of "
        "custom_linear_solve",
        lambda: grad(
            lambda b: lax.custom_linear_solve(lambda x: 2 * x, b, lambda _, b: b / 2).sum()
        )(B),
    ),
    (
        ValueError,
        r"matvec\(\) output shapes must match b, got \[\(2,\)\] and \[\(3,\)\]",
        lambda: lax.custom_linear_solve(lambda x: x[:2], B, lambda _, b: b),
    ),
    (
        ValueError,
        r"solve\(\) output shapes must match b, got \[\(\)\] and \[\(3,\)\]",
        lambda: lax.custom_linear_solve(lambda x: x, B, lambda _, b: b[0]),
    ),
    (
        TypeError,
        r"solve\(\) output pytree structure must match b, got PyTreeDef\(\[\*\]\) and "
        r"PyTreeDef\(\*\)",
        lambda: lax.custom_linear_solve(lambda x: x, B, lambda _, b: [b]),
    ),
    (
        ValueError,
        r"solve\(\) produced a pytree with structure PyTreeDef\(\*\), but a pytree tuple with "
        r"auxiliary output was expected because has_aux was set to True.",
        lambda: lax.custom_linear_solve(lambda x: x, B, lambda _, b: b, has_aux=True),
    ),
    (
        TypeError,
        r"f\(\) output pytree structure must match initial_guess",
        lambda: lax.custom_root(lambda x: (x, x), 1.0, lambda f, x: x, lambda g, y: y),
    ),
    (
        TypeError,
        r"tangent_solve\(\) output pytree structure must match x",
        lambda: lax.custom_root(lambda x: x, 1.0, lambda f, x: x, lambda g, y: (y, y)),
    ),
]


@pytest.mark.parametrize(("kind", "text", "call"), ERRORS, ids=range(len(ERRORS)))
def test_solvers_that_do_not_fit_are_errors(kind, text, call):
    with pytest.raises(kind, match=text):
        call()


# ------------------------------------------------------------------------------------ custom_root


def newton(f, x):
    """A root by Newton's method, which only forward mode could differentiate."""

    def step(x):
        value, slope = jvp(f, (x,), (1.0,))
        return x - value / slope

    return lax.while_loop(lambda x: np.abs(f(x)) > 1e-13, step, x)


def cube_root(a, guess=1.0):
    return lax.custom_root(lambda x: x**3 - a, guess, newton, lambda g, y: y / g(1.0))


@COMPILED
def test_derivatives_of_a_root(compiled):
    wrap = transpile.jit if compiled else lambda f: f
    near(wrap(cube_root)(2.0), 2 ** (1 / 3))
    near(wrap(grad(cube_root))(2.0), 2 ** (-2 / 3) / 3)
    near(wrap(grad(grad(cube_root)))(2.0), -2 / 9 * 2 ** (-5 / 3))
    near(wrap(lambda a: jvp(cube_root, (a,), (1.0,))[1])(2.0), 2 ** (-2 / 3) / 3)
    slopes = np.array([1 / 3, 2 ** (-2 / 3) / 3])
    near(wrap(vmap(grad(cube_root)))(np.array([1.0, 2.0])), slopes)
    assert wrap(grad(lambda g: cube_root(2.0, g)))(1.0) == 0.0


@COMPILED
def test_a_root_of_several_unknowns(compiled):
    wrap = transpile.jit if compiled else lambda f: f

    def solve(a):
        def f(x):
            return {"u": x["u"] ** 2 + x["v"] - a[0], "v": x["v"] * a[1] - x["u"]}

        def of_f(f, x):
            def flat(z):
                found = f({"u": z[0], "v": z[1]})
                return np.stack([found["u"], found["v"]])

            def step(_, z):
                return z - np.linalg.solve(jacrev(flat)(z), flat(z))

            z = lax.fori_loop(0, 12, step, np.stack([x["u"], x["v"]]))
            return {"u": z[0], "v": z[1]}, 3

        def tangent(g, y):
            columns = [g({"u": a, "v": b}) for a, b in ((1.0, 0.0), (0.0, 1.0))]
            matrix = np.stack([np.stack([c["u"], c["v"]]) for c in columns], 1)
            found = np.linalg.solve(matrix, np.stack([y["u"], y["v"]]))
            return {"u": found[0], "v": found[1]}

        guess = {"u": np.array(1.0), "v": np.array(1.0)}
        return lax.custom_root(f, guess, of_f, tangent, has_aux=True)

    a = np.array([2.0, 1.5])

    def direct(a):  # u = v a1, so (v a1)² + v = a0
        v = (-1 + np.sqrt(1 + 4 * a[1] ** 2 * a[0])) / (2 * a[1] ** 2)
        return {"u": v * a[1], "v": v}

    found, steps = wrap(solve)(a)
    near(found, direct(a))
    assert steps == 3
    near(wrap(jacrev(lambda a: solve(a)[0]))(a), jacrev(direct)(a), 1e-8)
