"""Small programs on the topics of JAX's documentation: rules of one's own for derivatives, what a
derivative leaves out, a cookbook."""

from functools import partial

import jax
import jax.numpy as jnp
import jax.scipy as jsp
from jax import lax, random
from jax.flatten_util import ravel_pytree

checkpoint = jax.checkpoint
custom_jvp = jax.custom_jvp
custom_vjp = jax.custom_vjp
grad = jax.grad
hessian = jax.hessian
jacfwd = jax.jacfwd
jacrev = jax.jacrev
jit = jax.jit
jvp = jax.jvp
vjp = jax.vjp
vmap = jax.vmap

PROGRAMS = []


def prog(function):
    PROGRAMS.append(function)
    return function


@prog
def custom_jvp_log1pexp():
    @custom_jvp
    def log1pexp(x):
        return jnp.log(1.0 + jnp.exp(x))

    @log1pexp.defjvp
    def _(primals, tangents):
        (x,) = primals
        (t,) = tangents
        return log1pexp(x), (1 - 1 / (1 + jnp.exp(x))) * t

    return (
        vmap(jit(grad(log1pexp)))(jnp.array([0.0, 100.0])),
        grad(grad(log1pexp))(0.5),
        jvp(log1pexp, (3.0,), (1.0,)),
        hessian(log1pexp)(1.0),
    )


@prog
def custom_jvp_defjvps_nondiff():
    @partial(custom_jvp, nondiff_argnums=(0,))
    def app(f, x):
        return f(x)

    @app.defjvp
    def app_jvp(f, primals, tangents):
        return f(primals[0]), 2.0 * tangents[0]

    @custom_jvp
    def g(x, y):
        return jnp.sin(x) * y

    g.defjvps(lambda t, ans, x, y: jnp.cos(x) * t * y, None)
    return grad(lambda x: app(lambda z: z**3, x))(2.0), jax.value_and_grad(g, (0, 1))(1.0, 2.0)


@prog
def custom_vjp_clip():
    @custom_vjp
    def clip_gradient(lo, hi, x):
        return x

    clip_gradient.defvjp(
        lambda lo, hi, x: (x, (lo, hi)), lambda res, g: (None, None, jnp.clip(g, *res))
    )
    f = lambda t: jnp.sin(clip_gradient(-0.75, 0.75, t))
    return vmap(grad(f))(jnp.linspace(0, 4, 7)), vjp(f, 1.0)[1](3.0)


@prog
def custom_vjp_fixed_point():
    @partial(custom_vjp, nondiff_argnums=(0,))
    def fixed_point(f, a, x_guess):
        def cond(c):
            return jnp.abs(c[0] - c[1]) > 1e-9

        return lax.while_loop(cond, lambda c: (c[1], f(a, c[1])), (x_guess, f(a, x_guess)))[1]

    def fwd(f, a, x0):
        x = fixed_point(f, a, x0)
        return x, (a, x)

    def rev(f, res, xbar):
        a, x = res
        _, vjp_a = vjp(lambda a: f(a, x), a)
        (abar,) = vjp_a(
            fixed_point(
                partial(
                    lambda f, packed, u: (
                        packed[1] + vjp(lambda x: f(packed[0], x), packed[2])[1](u)[0]
                    ),
                    f,
                ),
                (a, xbar, x),
                xbar,
            )
        )
        return abar, jnp.zeros_like(x)

    fixed_point.defvjp(fwd, rev)
    newton = lambda a: fixed_point(lambda a, x: 0.5 * (x + a / x), a, a)
    return newton(2.0), grad(newton)(2.0), jit(grad(newton))(3.0)


@prog
def cookbook_hvp():
    def f(X):
        return jnp.sum(jnp.tanh(X) ** 2)

    def hvp(f, x, v):
        return jvp(grad(f), (x,), (v,))[1]

    X = random.normal(random.key(0), (3, 2))
    V = random.normal(random.key(1), (3, 2))
    return (
        hvp(f, X, V),
        jnp.tensordot(hessian(f)(X), V, 2),
        grad(lambda x: jnp.vdot(grad(f)(x), V))(X),
    )


@prog
def cookbook_jacobians():
    f = lambda W, b: jax.nn.sigmoid(jnp.dot(jnp.arange(6.0).reshape(2, 3), W) + b)
    W = jnp.array([0.1, 0.2, 0.3])
    J = jacfwd(f, argnums=(0, 1))(W, 0.1)
    R = jacrev(f, argnums=(0, 1))(W, 0.1)

    def predict_dict(p, x):
        return jnp.tanh(x @ p["W"] + p["b"])

    JD = jacrev(predict_dict)({"W": W, "b": 0.2}, jnp.eye(3))
    _, vjp_fun = vjp(lambda w: f(w, 0.1), W)
    return J, R, JD, vmap(vjp_fun)(jnp.eye(2))


@prog
def cookbook_complex():
    f = lambda z: jnp.cos(jnp.sin(z))
    z = 3.0 + 4j
    return (
        grad(f, holomorphic=True)(z),
        jvp(f, (z,), (1j,)),
        grad(lambda z: jnp.abs(z) ** 2)(z),
        grad(lambda x, y: jnp.real((x + 1j * y) ** 2), (0, 1))(1.0, 2.0),
        jacfwd(f, holomorphic=True)(z),
        vjp(f, z)[1](1j),
    )


@prog
def cookbook_lax_custom_root():
    def root(a):
        return lax.custom_root(
            lambda x: x**3 - a,
            a,
            lambda f, x0: lax.fori_loop(0, 60, lambda i, x: x - f(x) / (3 * x**2), x0),
            lambda g, y: y / g(1.0),
        )

    A = jnp.array([[4.0, 1.0], [1.0, 3.0]])

    def solve(b):
        return lax.custom_linear_solve(
            lambda x: A @ x, b, lambda mv, b: jnp.linalg.solve(A, b), symmetric=True
        )

    return (
        root(8.0),
        grad(root)(8.0),
        solve(jnp.array([1.0, 2.0])),
        jacrev(solve)(jnp.array([1.0, 2.0])),
        jacfwd(solve)(jnp.array([1.0, 2.0])),
    )


@prog
def stop_gradient_td():
    value = lambda th, s: jnp.dot(th, s)

    def td(th, s, r, s1):
        return -0.5 * ((r + lax.stop_gradient(value(th, s1))) - value(th, s)) ** 2

    th = jnp.array([0.1, -0.1, 0.0])
    a = (jnp.array([1.0, 2.0, -1.0]), jnp.array(1.0), jnp.array([2.0, 1.0, 0.0]))
    straight = lambda x: x - lax.stop_gradient(x) + lax.stop_gradient(jnp.round(x))
    return (
        grad(td)(th, *a),
        straight(3.2),
        grad(straight)(3.2),
        vmap(grad(td), (None, 0, None, None))(th, jnp.stack([a[0]] * 2), a[1], a[2]),
    )


@prog
def checkpoint_policies():
    f = lambda x, w: jnp.sin(jnp.sin(x @ w) @ w).sum()
    x, w = jnp.ones(3) * 0.3, jnp.arange(9.0).reshape(3, 3) / 9
    c = checkpoint(f, policy=jax.checkpoint_policies.dots_saveable)
    return (
        grad(c, 1)(x, w),
        jit(grad(checkpoint(f)))(x, w),
        grad(lambda x: lax.scan(checkpoint(lambda c, _: (jnp.sin(c), None)), x, None, length=5)[0])(
            0.3
        ),
    )


@prog
def ravel_newton():
    p = {"a": jnp.array([1.0, 2.0]), "b": jnp.array(3.0)}
    flat, un = ravel_pytree(p)
    loss = lambda v: (un(v)["a"] ** 4).sum() + jnp.exp(un(v)["b"])
    step = flat - jnp.linalg.solve(hessian(loss)(flat), grad(loss)(flat))
    return un(step), flat


@prog
def ode_rk4_scan_grad():
    def rk4(f, y, t, dt):
        k1 = f(y, t)
        k2 = f(y + dt / 2 * k1, t + dt / 2)
        k3 = f(y + dt / 2 * k2, t + dt / 2)
        k4 = f(y + dt * k3, t + dt)
        return y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    def solve(th):
        return lax.scan(
            lambda y, t: (rk4(lambda y, t: jnp.stack([y[1], -th * jnp.sin(y[0])]), y, t, 0.1), y),
            jnp.array([1.0, 0.0]),
            jnp.arange(30) * 0.1,
        )

    return (
        solve(2.0)[0],
        grad(lambda th: solve(th)[0][0])(2.0),
        jacfwd(lambda th: solve(th)[0])(2.0),
        vmap(lambda th: solve(th)[0])(jnp.array([1.0, 2.0])),
    )


@prog
def linearize_transpose():
    f = lambda x: jnp.sin(x) * x
    y, lin = jax.linearize(f, 2.0)
    t = jax.linear_transpose(lambda x: 3 * x, jnp.ones(2))
    return (
        y,
        lin(1.0),
        t(jnp.ones(2)),
        jax.eval_shape(f, jax.ShapeDtypeStruct((2, 3), jnp.float32)).shape,
        jax.value_and_grad(lambda x: (x**2, {"aux": x}), has_aux=True)(3.0),
        jax.jacobian(lambda x: x**2)(jnp.arange(3.0)),
    )


@prog
def lstsq_grad_eigh():
    A = jnp.array([[2.0, 1.0], [1.0, 3.0], [0.0, 1.0]])
    b = jnp.array([1.0, 2.0, 3.0])
    return (
        grad(lambda A: jnp.linalg.lstsq(A, b)[0].sum())(A),
        grad(lambda M: jnp.linalg.eigh(M)[0][0])(A.T @ A),
        grad(lambda M: jnp.linalg.slogdet(M)[1])(A.T @ A),
        jsp.linalg.expm(jnp.eye(2) * 0.3),
        grad(lambda M: jsp.linalg.cho_solve(jsp.linalg.cho_factor(M), b[:2]).sum())(A.T @ A),
    )


def main():
    """The leaves of results: both parts of complex ones, the codes of letters of texts."""
    found = {}
    for program in PROGRAMS:
        for k, leaf in enumerate(jax.tree.leaves(program())):
            if isinstance(leaf, str):
                found[f"{program.__name__} {k}"] = list(leaf.encode())
            elif jnp.iscomplexobj(leaf):
                found[f"{program.__name__} {k} real"] = jnp.real(leaf)
                found[f"{program.__name__} {k} imag"] = jnp.imag(leaf)
            else:
                found[f"{program.__name__} {k}"] = leaf
    return found
