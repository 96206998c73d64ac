"""Programs as people write them for JAX on a CPU: derivatives, rules, solvers."""

import functools

import jax
import jax.numpy as jnp
from jax import flatten_util, lax, random
from jax.ad_checkpoint import checkpoint_name
from jax.scipy import linalg as jsl
from jax.scipy import optimize, special

PROGRAMS = []


def prog(function):
    PROGRAMS.append(function)
    return function


@prog
def hessians_and_jacobians():
    """Second derivatives in every nesting, Hessian-vector products, and a Gauss-Newton step."""

    def rosenbrock(x):
        return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    x = jnp.array([-1.2, 1.0, 0.3, 0.7])
    hvp = lambda f, x, v: jax.jvp(jax.grad(f), (x,), (v,))[1]
    v = jnp.ones_like(x)

    def residuals(p, t):
        return p["a"] * jnp.exp(-p["k"] * t) + p["c"]

    t = jnp.linspace(0, 3, 8)
    p = {"a": 2.0, "k": 1.0, "c": jnp.array([0.5])}
    j = jax.jacfwd(residuals)(p, t)
    jr = jax.jacrev(residuals)(p, t)
    flat, unravel = flatten_util.ravel_pytree(p)
    jflat = jax.jacobian(lambda q: residuals(unravel(q), t))(flat)
    step = jnp.linalg.lstsq(jflat, residuals(p, t))[0]
    laplacian = jnp.trace(jax.hessian(rosenbrock)(x))
    third = jax.grad(jax.grad(jax.grad(lambda z: jnp.sin(z) * z**3)))(0.7)
    _y, lin = jax.linearize(rosenbrock, x)
    return {
        "hessian": jax.hessian(rosenbrock)(x),
        "forward_over_forward": jax.jacfwd(jax.jacfwd(rosenbrock))(x),
        "hvp": hvp(rosenbrock, x, v),
        "ja": j["a"],
        "jc": jr["c"],
        "step": step,
        "unraveled": unravel(flat + step)["c"],
        "laplacian": laplacian,
        "third": third,
        "linear": lin(v),
        "has_aux": jax.jacrev(lambda x: (x**2, x.sum()), has_aux=True)(x)[1],
    }


@prog
def rematerialisation():
    """checkpoint with policies and names over a scan of layers, beside the plain gradient."""

    def layer(x, w):
        h = checkpoint_name(jnp.dot(x, w), "product")
        return jnp.sin(h) + x

    def loss(ws, x, wrap):
        return jnp.sum(lax.scan(lambda x, w: (wrap(layer)(x, w), None), x, ws)[0] ** 2)

    ws = random.normal(random.key(0), (4, 3, 3)) * 0.4
    x = jnp.arange(3.0)
    policies = {
        "all": jax.checkpoint,
        "named": functools.partial(
            jax.checkpoint, policy=jax.checkpoint_policies.save_only_these_names("product")
        ),
        "dots": functools.partial(
            jax.checkpoint, policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable
        ),
        "static": lambda f: jax.checkpoint(f, prevent_cse=False),
    }
    out = {"plain": jax.grad(loss)(ws, x, lambda f: f)}
    for name, wrap in policies.items():
        out[name] = jax.jit(jax.grad(loss), static_argnums=2)(ws, x, wrap)

    @functools.partial(jax.checkpoint, static_argnums=(1,))
    def branch(x, flag):
        return jnp.cos(x) if flag else jnp.sin(x)

    out["branch"] = jax.grad(branch)(0.3, True)
    out["hessian"] = jax.hessian(lambda x: jax.checkpoint(lambda v: jnp.sum(jnp.sin(v) ** 3))(x))(x)
    return out


@prog
def custom_rules():
    """custom_jvp and custom_vjp with nondifferentiable arguments, symbolic zeros, and closures."""

    @functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
    def power(x, n):
        return x**n

    @power.defjvp
    def _(n, primals, tangents):
        (x,), (t,) = primals, tangents
        return power(x, n), n * power(x, n - 1) * t

    @jax.custom_vjp
    def clipped(x, lo, hi):
        return x

    clipped.defvjp(
        lambda x, lo, hi: (x, (lo, hi)),
        lambda res, g: (jnp.clip(g, res[0], res[1]), None, None),
    )

    @jax.custom_vjp
    def straight(x):
        return jnp.round(x)

    straight.defvjp(lambda x: (straight(x), None), lambda _, g: (g,))

    @jax.custom_gradient
    def reciprocal(x):
        y = 1 / x
        return y, lambda g: -g * y * y

    @jax.custom_jvp
    def safe_norm(x):
        return jnp.sqrt(jnp.sum(x * x))

    safe_norm.defjvps(lambda t, y, x: jnp.vdot(x, t) / jnp.where(y == 0, 1, y))
    x = jnp.array([0.3, -1.2, 2.5])
    dodge = lambda x: jnp.where(x == 0, 0.0, jnp.sin(x) / jnp.where(x == 0, 1.0, x))
    return {
        "power": jax.jvp(lambda x: power(x, 3), (x,), (jnp.ones(3),))[1],
        "power2": jax.grad(jax.grad(lambda x: power(x, 3)))(2.0),
        "clipped": jax.grad(lambda x: (clipped(x, -0.5, 0.5) ** 3).sum())(x),
        "straight": jax.vmap(jax.grad(lambda x: straight(x) ** 2))(x),
        "reciprocal": jax.grad(reciprocal)(4.0),
        "norm": jax.grad(safe_norm)(jnp.zeros(2)),
        "norm2": jax.jit(jax.grad(safe_norm))(x),
        "dodge": jax.vmap(jax.grad(dodge))(jnp.array([0.0, 1.0])),
        "stop": jax.grad(lambda x: x * lax.stop_gradient(x))(3.0),
        "logsumexp": jax.grad(lambda x: special.logsumexp(x))(jnp.array([1000.0, 1000.0])),
        "float0": jax.vjp(lambda x, n: x * n, 2.0, 3)[1](1.0)[0],
        "complex": jax.grad(lambda z: jnp.abs(z) ** 2)(1.0 + 2.0j),
        "holomorphic": jax.grad(lambda z: z**3, holomorphic=True)(1.0 + 2.0j),
        "transpose": jax.linear_transpose(lambda x: 2 * x[:2], x)(jnp.ones(2))[0],
    }


@prog
def linear_algebra():
    """Factorisations, solves and their derivatives, matrix functions, batched by vmap."""
    a = jnp.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
    b = jnp.array([[1.0, 2.0], [0.0, 1.0], [3.0, 1.0]])
    l = jnp.linalg.cholesky(a)
    c, low = jsl.cho_factor(a, lower=True)
    q, r = jnp.linalg.qr(b)
    w, v = jnp.linalg.eigh(a)
    u, s, vt = jnp.linalg.svd(b, full_matrices=False)
    stack = jnp.stack([a, 2 * a])

    def log_likelihood(a, y):
        l = jnp.linalg.cholesky(a)
        z = jsl.solve_triangular(l, y, lower=True)
        return -0.5 * z @ z - jnp.log(jnp.diag(l)).sum()

    return {
        "solve": jnp.linalg.solve(a, b),
        "cho": jsl.cho_solve((c, low), b),
        "q": q @ r,
        "w": w,
        "v": (v * w) @ v.T,
        "s": s,
        "rebuilt": u * s @ vt,
        "inv": jnp.linalg.inv(stack),
        "det": jnp.linalg.det(stack),
        "slogdet": jnp.linalg.slogdet(-a),
        "pinv": jnp.linalg.pinv(b),
        "rank": jnp.linalg.matrix_rank(b),
        "norms": jnp.stack([jnp.linalg.norm(b, k) for k in (1, 2, jnp.inf, "fro", "nuc")]),
        "expm": jsl.expm(a / 4),
        "power": jnp.linalg.matrix_power(a, 3),
        "multi": jnp.linalg.multi_dot([a, b, b.T]),
        "tensor": jnp.tensordot(stack, b, axes=([2], [0])),
        "grad": jax.grad(log_likelihood)(a, b[:, 0]),
        "dinv": jax.jacfwd(lambda t: jnp.linalg.inv(a + t * jnp.eye(3)))(0.1),
        "dsvd": jax.grad(lambda b: jnp.linalg.svd(b, compute_uv=False)[0])(b),
        "deig": jax.grad(lambda a: jnp.linalg.eigh(a)[0][0])(a),
        "block": jsl.block_diag(a[:1, :1], b[:2]),
        "toeplitz": jsl.toeplitz(jnp.array([1, 2, 3])),
        "lstsq": jnp.linalg.lstsq(b, jnp.arange(3.0))[0],
        "sqrtm": jsl.sqrtm(a).real,
        "lu": jsl.lu(a)[2],
        "tri": lax.linalg.triangular_solve(l, b, left_side=True, lower=True),
        "cg": jax.scipy.sparse.linalg.cg(a, b[:, 0])[0],
    }


@prog
def optimizers():
    """minimize by BFGS, a line search of one's own, Nelder-Mead by while_loop, L-BFGS memory."""

    def rosen(x):
        return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    result = optimize.minimize(rosen, jnp.array([-1.2, 1.0, 1.0]), method="BFGS", tol=1e-8)

    def backtrack(x, g, f):
        def cond(t):
            return (f(x - t * g) > f(x) - 0.3 * t * jnp.vdot(g, g)) & (t > 1e-8)

        return lax.while_loop(cond, lambda t: t * 0.5, 1.0)

    @functools.partial(jax.jit, static_argnames=("f", "steps"))
    def descend(x, *, f, steps=20):
        def step(x, _):
            value, g = jax.value_and_grad(f)(x)
            t = backtrack(x, g, f)
            return x - t * g, (value, t)

        return lax.scan(step, x, length=steps)

    x, (values, steps) = descend(jnp.array([0.5, -0.5]), f=rosen)
    newton = x
    for _ in range(6):
        newton = newton - jnp.linalg.solve(jax.hessian(rosen)(newton), jax.grad(rosen)(newton))

    def projected(x, _):
        x = x - 0.1 * jax.grad(lambda v: jnp.sum((v - jnp.array([2.0, -1.0, 0.5])) ** 2))(x)
        u = jnp.sort(x)[::-1]
        css = jnp.cumsum(u)
        k = jnp.arange(1, 4)
        rho = jnp.sum(u * k > css - 1)
        theta = (css[rho - 1] - 1) / rho
        return jnp.maximum(x - theta, 0), None

    return {
        "x": jnp.round(result.x, 4),
        "values": values,
        "steps": steps,
        "newton": newton,
        "simplex": lax.scan(projected, jnp.ones(3) / 3, None, length=30)[0],
    }
