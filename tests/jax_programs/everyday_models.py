"""Programs as people write them for JAX on a CPU: nets, attention, loops."""

import functools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax, random

PROGRAMS = []


def prog(function):
    PROGRAMS.append(function)
    return function


@prog
def scan_gru():
    """A GRU by scan with padded sequences, its gradient by truncated backpropagation."""

    def cell(p, h, x):
        z = jax.nn.sigmoid(x @ p["wz"] + h @ p["uz"])
        r = jax.nn.sigmoid(x @ p["wr"] + h @ p["ur"])
        n = jnp.tanh(x @ p["wn"] + (r * h) @ p["un"])
        return (1 - z) * n + z * h

    names = ["wz", "uz", "wr", "ur", "wn", "un"]
    keys = dict(zip(names, random.split(random.key(3), 6)))
    p = {
        n: random.orthogonal(keys[n], 6) if n[0] == "u" else random.normal(keys[n], (4, 6)) * 0.3
        for n in names
    }
    x = random.normal(random.key(4), (3, 9, 4))
    lengths = jnp.array([9, 4, 7])
    mask = jnp.arange(9) < lengths[:, None]

    def run(p, x, mask):
        def step(carry, inputs):
            h, t = carry
            xt, mt = inputs
            new = jnp.where(mt[:, None], cell(p, h, xt), h)
            h = lax.cond(t % 4 == 3, lax.stop_gradient, lambda v: v, new)
            return (h, t + 1), h.sum(-1)

        (h, t), ys = lax.scan(step, (jnp.zeros((3, 6)), 0), (x.swapaxes(0, 1), mask.T), unroll=2)
        return h, t, ys.T

    h, t, ys = jax.jit(run)(p, x, mask)
    grads = jax.jit(jax.grad(lambda p: (run(p, x, mask)[0] ** 2).sum()))(p)
    backward = lax.scan(lambda c, v: (c * 0.5 + v, c), 0.0, ys[0], reverse=True)
    return {"h": h, "t": t, "ys": ys, "g": grads["un"], "gz": grads["wz"], "back": backward[1]}


@prog
def attention_by_einsum():
    """Multi-head attention with rotary positions, a causal mask, a cache, and its gradient."""
    heads, dim, length = 3, 4, 6

    def rotate(x, position):
        half = x.shape[-1] // 2
        frequency = 1.0 / (100.0 ** (jnp.arange(half) / half))
        angle = position[:, None] * frequency
        sin, cos = jnp.sin(angle)[:, None], jnp.cos(angle)[:, None]
        a, b = jnp.split(x, 2, axis=-1)
        return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)

    def attend(w, x, cache=None, start=0):
        q, k, v = jnp.einsum("tm,cmhd->cthd", x, w["qkv"])
        position = start + jnp.arange(x.shape[0])
        q, k = rotate(q, position), rotate(k, position)
        if cache is not None:
            k = lax.dynamic_update_slice(cache["k"], k, (start, 0, 0))
            v = lax.dynamic_update_slice_in_dim(cache["v"], v, start, axis=0)
            cache = {"k": k, "v": v}
        scores = jnp.einsum("thd,shd->hts", q, k) / math.sqrt(dim)
        allowed = position[:, None] >= jnp.arange(k.shape[0])[None]
        scores = jnp.where(allowed, scores, jnp.finfo(scores.dtype).min)
        p = jax.nn.softmax(scores, axis=-1)
        return jnp.einsum("hts,shd,hdm->tm", p, v, w["out"]), cache

    key = random.key(7)
    w = {
        "qkv": random.truncated_normal(random.fold_in(key, 0), -2, 2, (3, 5, heads, dim)),
        "out": random.truncated_normal(random.fold_in(key, 1), -2, 2, (heads, dim, 5)),
    }
    x = random.normal(random.fold_in(key, 2), (length, 5))
    whole, _ = jax.jit(attend)(w, x)

    @jax.jit
    def decode(x):
        cache = {"k": jnp.zeros((length, heads, dim)), "v": jnp.zeros((length, heads, dim))}

        def one(cache, inputs):
            t, token = inputs
            y, cache = attend(w, token[None], cache, t)
            return cache, y[0]

        return lax.scan(one, cache, (jnp.arange(length), x))[1]

    g = jax.grad(lambda w: jnp.linalg.norm(attend(w, x)[0]))(w)
    return {"whole": whole, "steps": decode(x), "g": g["qkv"], "out": g["out"].sum((0, 2))}


@prog
def implicit_derivatives():
    """A fixed point by while_loop with a custom_vjp, and a root with custom_root."""

    @functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
    def fixed_point(f, a, x0):
        def cond(carry):
            previous, x, n = carry
            return (jnp.abs(previous - x).max() > 1e-10) & (n < 200)

        def body(carry):
            _, x, n = carry
            return x, f(a, x), n + 1

        return lax.while_loop(cond, body, (x0, f(a, x0), 1))[1]

    def forward(f, a, x0):
        x = fixed_point(f, a, x0)
        return x, (a, x)

    def backward(f, residuals, bar):
        a, x = residuals
        _, vjp_a = jax.vjp(lambda a: f(a, x), a)

        def inner(args, u):
            bar, x, a = args
            _, vjp_x = jax.vjp(lambda x: f(a, x), x)
            return bar + vjp_x(u)[0]

        (a_bar,) = vjp_a(fixed_point(inner, (bar, x, a), bar))
        return a_bar, jnp.zeros_like(x)

    fixed_point.defvjp(forward, backward)
    newton = lambda a, x: 0.5 * (x + a / x)
    a = jnp.array([2.0, 3.0, 10.0])
    root = jax.jit(lambda a: fixed_point(newton, a, a))
    slope = jax.vmap(jax.grad(lambda a: fixed_point(newton, a, a)))(a)
    second = jax.jacrev(lambda a: fixed_point(newton, a, a))(a)

    def kepler(mean, eccentricity):
        f = lambda e: e - eccentricity * jnp.sin(e) - mean
        solve = lambda f, guess: lax.fori_loop(0, 12, lambda _, e: e - f(e) / jax.grad(f)(e), guess)
        tangent = lambda g, y: y / g(1.0)
        return lax.custom_root(f, mean, solve, tangent)

    return {
        "root": root(a),
        "slope": slope,
        "jacobian": second,
        "kepler": jax.vmap(kepler, (0, None))(jnp.array([0.5, 1.0, 2.0]), 0.3),
        "dkepler": jax.grad(kepler, argnums=(0, 1))(1.0, 0.3),
    }


@prog
def while_with_dicts():
    """A conjugate gradient and a bisection whose carries are dicts and named tuples."""

    class State(NamedTuple):
        x: jnp.ndarray
        info: dict

    a = jnp.array([[4.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 2.0]])
    b = jnp.array([1.0, 2.0, 3.0])

    @jax.jit
    def solve(a, b):
        def cond(s):
            return (s["rs"] > 1e-12) & (s["k"] < 50)

        def body(s):
            ap = a @ s["p"]
            alpha = s["rs"] / (s["p"] @ ap)
            r = s["r"] - alpha * ap
            rs = r @ r
            return {
                "x": s["x"] + alpha * s["p"],
                "r": r,
                "p": r + rs / s["rs"] * s["p"],
                "rs": rs,
                "k": s["k"] + 1,
            }

        return lax.while_loop(
            cond, body, {"x": jnp.zeros_like(b), "r": b, "p": b, "rs": b @ b, "k": 0}
        )

    @jax.jit
    def bisect(lo, hi):
        def body(i, s):
            mid = (s.x[0] + s.x[1]) / 2
            right = mid**3 - mid - 2 < 0
            x = jnp.where(right, jnp.array([mid, s.x[1]]), jnp.array([s.x[0], mid]))
            return State(x, {"count": s.info["count"] + right, "last": i})

        start = State(jnp.array([lo, hi]), {"count": 0, "last": -1})
        return lax.fori_loop(0, 40, body, start)

    solved, bracket = solve(a, b), bisect(1.0, 2.0)
    many = jax.vmap(bisect, in_axes=(0, None))(jnp.array([0.0, 1.0, 1.5]), 2.0)
    return {
        "x": solved["x"],
        "k": solved["k"],
        "bracket": bracket.x,
        "count": bracket.info["count"],
        "last": bracket.info["last"],
        "many": many.x,
        "counts": many.info["count"],
    }
