"""Small problems for jaxopt: solvers, implicit derivatives, projections, proximal operators."""

import jax
import jax.numpy as jnp
import jaxopt
import numpy as np
from jaxopt import implicit_diff, isotonic, linear_solve, objective, projection, prox
from problems import A, B, Y, loss, start

Q = A.T @ A + np.eye(4)
C = A.T @ B


def quadratic(x, c=C):
    return 0.5 * jnp.vdot(x, jnp.asarray(Q) @ x) - jnp.vdot(jnp.asarray(c), x)


def residuals(x, y):
    return jnp.tanh(jnp.asarray(A) @ x) - jnp.tanh(y)


def rosenbrock(x):
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2.0) ** 2.0 + (1 - x[:-1]) ** 2.0)


def of(solver, *args, **kwargs):
    return lambda: solver.run(*args, **kwargs).params


def smooth():
    """Unconstrained minimisation."""
    x = jnp.zeros(4)
    long = {"maxiter": 60, "tol": 1e-9}
    return {
        "GradientDescent": lambda: (
            jaxopt.GradientDescent(loss, maxiter=20).run(start(), A, Y).params
        ),
        "GradientDescent, step": of(
            jaxopt.GradientDescent(quadratic, stepsize=0.02, maxiter=30, acceleration=False), x
        ),
        "BFGS": of(jaxopt.BFGS(quadratic, **long), x),
        "LBFGS": of(jaxopt.LBFGS(rosenbrock, **long), x),
        "LBFGS, zoom": of(jaxopt.LBFGS(rosenbrock, linesearch="zoom", **long), x),
        "LBFGS, backtracking": of(
            jaxopt.LBFGS(rosenbrock, linesearch="backtracking", maxiter=25), x
        ),
        "LBFGS, hager-zhang": of(jaxopt.LBFGS(rosenbrock, linesearch="hager-zhang", maxiter=25), x),
        "LBFGSB": lambda: (
            jaxopt.LBFGSB(rosenbrock, **long)
            .run(x, bounds=(jnp.full(4, -0.5), jnp.full(4, 0.8)))
            .params
        ),
        "NonlinearCG": of(jaxopt.NonlinearCG(quadratic, **long), x),
        "GaussNewton": of(jaxopt.GaussNewton(residuals, maxiter=8), x, y=B),
        "LevenbergMarquardt": of(jaxopt.LevenbergMarquardt(residuals, maxiter=12), x, y=B),
        "ArmijoSGD": of(jaxopt.ArmijoSGD(quadratic, maxiter=10), x),
        "PolyakSGD": of(jaxopt.PolyakSGD(quadratic, maxiter=10, max_stepsize=0.05), x),
    }


def constrained():
    """Minimisation with constraints, and fixed points."""
    x = jnp.full(4, 0.25)
    return {
        "ProximalGradient": lambda: (
            jaxopt.ProximalGradient(objective.least_squares, prox.prox_lasso, maxiter=40)
            .run(x, hyperparams_prox=0.3, data=(jnp.asarray(A), jnp.asarray(B)))
            .params
        ),
        "ProjectedGradient": lambda: (
            jaxopt.ProjectedGradient(quadratic, projection.projection_simplex, maxiter=30)
            .run(x, hyperparams_proj=1.0)
            .params
        ),
        "MirrorDescent": lambda: mirror(x),
        "BlockCoordinateDescent": lambda: (
            jaxopt.BlockCoordinateDescent(objective.least_squares, prox.prox_lasso, maxiter=10)
            .run(x, hyperparams_prox=0.3, data=(jnp.asarray(A), jnp.asarray(B)))
            .params
        ),
        "FixedPointIteration": of(
            jaxopt.FixedPointIteration(lambda v, s: jnp.cos(s * v), maxiter=40), x, 0.9
        ),
        "AndersonAcceleration": of(
            jaxopt.AndersonAcceleration(lambda v, s: jnp.cos(s * v), maxiter=12), x, 0.9
        ),
        "AndersonWrapper": of(
            jaxopt.AndersonWrapper(jaxopt.GradientDescent(quadratic, stepsize=0.02, maxiter=12)), x
        ),
        "Bisection": lambda: (
            jaxopt.Bisection(lambda v, c: v**3 - v - c, 1.0, 3.0).run(c=2.0).params
        ),
        "Broyden": of(jaxopt.Broyden(lambda v: v**3 + v - 1.0, maxiter=15), x),
        "EqualityConstrainedQP": lambda: equality(),
        "OSQP": lambda: (
            jaxopt.OSQP(maxiter=200)
            .run(
                params_obj=(jnp.asarray(Q), -jnp.asarray(C)),
                params_eq=(jnp.ones((1, 4)), jnp.ones(1)),
                params_ineq=(-jnp.eye(4), jnp.zeros(4)),
            )
            .params.primal
        ),
        "BoxOSQP": lambda: (
            jaxopt.BoxOSQP(maxiter=200)
            .run(
                params_obj=(jnp.asarray(Q), -jnp.asarray(C)),
                params_eq=jnp.eye(4),
                params_ineq=(jnp.zeros(4), jnp.ones(4)),
            )
            .params.primal
        ),
        "BoxCDQP": lambda: (
            jaxopt.BoxCDQP(maxiter=20)
            .run(
                x,
                params_obj=(jnp.asarray(Q), -jnp.asarray(C)),
                params_ineq=(jnp.zeros(4), jnp.ones(4)),
            )
            .params
        ),
        "OptaxSolver": lambda: optax_solver(),
        "IterativeRefinement": lambda: (
            jaxopt.IterativeRefinement(maxiter=5).run(None, jnp.asarray(Q), jnp.asarray(C)).params
        ),
        "ScipyMinimize": of(jaxopt.ScipyMinimize(fun=quadratic, method="L-BFGS-B"), x),
        "ScipyBoundedMinimize": lambda: (
            jaxopt.ScipyBoundedMinimize(fun=quadratic, method="L-BFGS-B")
            .run(x, bounds=(jnp.zeros(4), jnp.ones(4)))
            .params
        ),
        "ScipyRootFinding": of(
            jaxopt.ScipyRootFinding(
                optimality_fun=lambda v: v**3 + v - 1.0, method="hybr", tol=1e-10
            ),
            x,
        ),
    }


def mirror(x):
    solver = jaxopt.MirrorDescent(
        quadratic,
        projection_grad=jaxopt.MirrorDescent.make_projection_grad(
            projection.kl_projection_transport if False else (lambda v, h: jax.nn.softmax(v)),
            lambda v: jnp.log(v),
        ),
        stepsize=0.05,
        maxiter=20,
    )
    return solver.run(x, hyperparams_proj=None).params


def equality():
    solver = jaxopt.EqualityConstrainedQP()
    return solver.run(
        params_obj=(jnp.asarray(Q), -jnp.asarray(C)), params_eq=(jnp.ones((1, 4)), jnp.ones(1))
    ).params


def optax_solver():
    import optax

    return jaxopt.OptaxSolver(quadratic, optax.adam(0.1), maxiter=15).run(jnp.zeros(4)).params


def derivatives():
    """By the implicit function theorem, and through unrolled loops."""

    def ridge(c, unroll):
        solver = jaxopt.GradientDescent(
            quadratic, maxiter=60, stepsize=0.03, implicit_diff=not unroll, unroll=unroll
        )
        return solver.run(jnp.zeros(4), c).params

    def optimality(x, c):
        return jnp.asarray(Q) @ x - c

    @implicit_diff.custom_root(optimality)
    def solved(_, c):
        return jnp.linalg.solve(jnp.asarray(Q), c)

    @implicit_diff.custom_fixed_point(lambda x, s: jnp.cos(s * x))
    def fixed(_, s):
        return (
            jaxopt.FixedPointIteration(lambda v, s: jnp.cos(s * v), maxiter=60, implicit_diff=False)
            .run(jnp.asarray(0.5), s)
            .params
        )

    return {
        "implicit derivative": lambda: jax.jacobian(lambda c: ridge(c, False))(jnp.asarray(C)),
        "unrolled derivative": lambda: jax.jacobian(lambda c: ridge(c, True))(jnp.asarray(C)),
        "custom_root": lambda: jax.jacobian(lambda c: solved(None, c))(jnp.asarray(C)),
        "custom_fixed_point": lambda: jax.grad(lambda s: fixed(None, s))(0.9),
        "vmap of a solver": lambda: jax.vmap(lambda c: ridge(c, False))(
            jnp.stack([jnp.asarray(C), 2 * jnp.asarray(C)])
        ),
    }


def pieces():
    """Linear solvers, projections, proximal operators, isotonic regression."""
    x = jnp.asarray(A[0])
    m = jnp.asarray(Q)
    found = {}
    for name in ("cg", "normal_cg", "gmres", "bicgstab", "cholesky", "inv", "lu", "qr"):
        solve = getattr(linear_solve, f"solve_{name}", None)
        if solve is not None:
            found[f"solve_{name}"] = lambda solve=solve: solve(lambda v: m @ v, jnp.asarray(C))
    made = {
        "simplex": lambda: projection.projection_simplex(x),
        "l1_ball": lambda: projection.projection_l1_ball(x, 0.5),
        "l1_sphere": lambda: projection.projection_l1_sphere(x, 0.5),
        "l2_ball": lambda: projection.projection_l2_ball(x, 0.5),
        "linf_ball": lambda: projection.projection_linf_ball(x, 0.5),
        "hyperplane": lambda: projection.projection_hyperplane(x, (jnp.ones(4), 1.0)),
        "halfspace": lambda: projection.projection_halfspace(x, (jnp.ones(4), 0.1)),
        "box": lambda: projection.projection_box(x, (-0.5, 0.5)),
        "box_section": lambda: projection.projection_box_section(
            x, (jnp.zeros(4), jnp.ones(4), jnp.ones(4), 1.0)
        ),
        "affine_set": lambda: projection.projection_affine_set(x, (jnp.ones((1, 4)), jnp.ones(1))),
        "transport": lambda: projection.projection_transport(
            jnp.asarray(A[:3, :3]), (jnp.ones(3) / 3, jnp.ones(3) / 3)
        ),
        "kl_transport": lambda: projection.kl_projection_transport(
            jnp.asarray(A[:3, :3]), (jnp.ones(3) / 3, jnp.ones(3) / 3)
        ),
        "birkhoff": lambda: projection.projection_birkhoff(jnp.asarray(A[:3, :3])),
        "polyhedron": lambda: projection.projection_polyhedron(
            x, (jnp.ones((1, 4)), jnp.ones(1), -jnp.eye(4), jnp.zeros(4))
        ),
        "sparse_simplex": lambda: projection.projection_sparse_simplex(x, 2),
    }
    found.update({f"projection_{k}": v for k, v in made.items()})
    for name in ("lasso", "ridge", "elastic_net", "group_lasso", "non_negative_lasso"):
        function = getattr(prox, f"prox_{name}")
        hyper = (0.3, 0.5) if name == "elastic_net" else 0.3
        found[f"prox_{name}"] = lambda f=function, h=hyper: f(x, h)
    found["isotonic_l2_pav"] = lambda: isotonic.isotonic_l2_pav(x)
    return found


def problems():
    return {**smooth(), **constrained(), **derivatives(), **pieces()}
