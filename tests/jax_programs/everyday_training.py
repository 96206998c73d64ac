"""Programs as people write them for JAX on a CPU: training loops, modules by hand, ensembles."""

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax, random

PROGRAMS = []


def prog(function):
    PROGRAMS.append(function)
    return function


class Adam(NamedTuple):
    count: jnp.ndarray
    mu: dict
    nu: dict


@prog
def optax_like_training():
    """Chained gradient transformations, as optax has them, on a network of two layers."""

    def scale_by_adam(b1=0.9, b2=0.999, eps=1e-8):
        def init(params):
            zeros = jax.tree.map(jnp.zeros_like, params)
            return Adam(jnp.zeros([], jnp.int32), zeros, jax.tree.map(jnp.zeros_like, params))

        def update(updates, state, params=None):
            del params
            mu = jax.tree.map(lambda g, m: b1 * m + (1 - b1) * g, updates, state.mu)
            nu = jax.tree.map(lambda g, v: b2 * v + (1 - b2) * (g * g), updates, state.nu)
            count = state.count + 1
            mhat = jax.tree.map(lambda m: m / (1 - b1**count), mu)
            vhat = jax.tree.map(lambda v: v / (1 - b2**count), nu)
            updates = jax.tree.map(lambda m, v: m / (jnp.sqrt(v) + eps), mhat, vhat)
            return updates, Adam(count, mu, nu)

        return init, update

    def clip_by_global_norm(limit):
        def update(updates, state, params=None):
            norm = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(updates)))
            factor = jnp.minimum(1.0, limit / (norm + 1e-6))
            return jax.tree.map(lambda g: g * factor, updates), state

        return lambda params: (), update

    def schedule(step):
        warm = jnp.minimum(step / 10, 1.0)
        return warm * 0.5 * (1 + jnp.cos(jnp.pi * jnp.clip(step / 60, 0, 1)))

    def chain(*parts):
        def init(params):
            return tuple(part[0](params) for part in parts)

        def update(g, states, params=None):
            new = []
            for (_, f), state in zip(parts, states):
                g, state = f(g, state, params)
                new.append(state)
            return g, tuple(new)

        return init, update

    def scheduled():
        return (
            lambda params: jnp.zeros((), jnp.int32),
            lambda g, n, p: (jax.tree.map(lambda u: -0.05 * schedule(n) * u, g), n + 1),
        )

    init, update = chain(clip_by_global_norm(1.0), scale_by_adam(), scheduled())
    k1, k2, k3 = random.split(random.PRNGKey(0), 3)
    params = {
        "hidden": {"w": random.normal(k1, (2, 16)) * 0.5, "b": jnp.zeros(16)},
        "out": {"w": random.normal(k2, (16, 1)) * 0.5, "b": jnp.zeros(1)},
    }
    x = random.uniform(k3, (64, 2), minval=-1, maxval=1)
    y = jnp.sin(3 * x[:, :1]) * x[:, 1:]

    def loss_fn(params, x, y):
        h = jnp.tanh(x @ params["hidden"]["w"] + params["hidden"]["b"])
        pred = h @ params["out"]["w"] + params["out"]["b"]
        return jnp.mean((pred - y) ** 2)

    @jax.jit
    def step(params, state, x, y):
        loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
        updates, state = update(grads, state, params)
        params = jax.tree.map(lambda p, u: p + u, params, updates)
        return params, state, loss

    state = init(params)
    losses = []
    for _ in range(10):
        params, state, loss = step(params, state, x, y)
        losses.append(loss)
    return {
        "losses": jnp.stack(losses),
        "w": params["out"]["w"],
        "count": state[1].count,
        "last_step": state[2],
    }


@prog
def flax_like_modules():
    """Modules by hand: dataclasses with a variable store, batch norm and dropout."""

    @dataclasses.dataclass(frozen=True)
    class Dense:
        features: int

        def init(self, key, x):
            w = jax.nn.initializers.lecun_normal()(key, (x.shape[-1], self.features))
            return {"params": {"w": w, "b": jnp.zeros((self.features,))}, "stats": {}}

        def apply(self, v, x, train, key):
            return x @ v["params"]["w"] + v["params"]["b"], v["stats"]

    @dataclasses.dataclass(frozen=True)
    class BatchNorm:
        momentum: float = 0.9

        def init(self, key, x):
            n = x.shape[-1]
            return {
                "params": {"scale": jnp.ones(n), "bias": jnp.zeros(n)},
                "stats": {"mean": jnp.zeros(n), "var": jnp.ones(n)},
            }

        def apply(self, v, x, train, key):
            if train:
                mean, var = x.mean(0), x.var(0)
                m = self.momentum
                stats = {
                    "mean": m * v["stats"]["mean"] + (1 - m) * lax.stop_gradient(mean),
                    "var": m * v["stats"]["var"] + (1 - m) * lax.stop_gradient(var),
                }
            else:
                mean, var, stats = v["stats"]["mean"], v["stats"]["var"], v["stats"]
            y = (x - mean) * lax.rsqrt(var + 1e-5)
            return y * v["params"]["scale"] + v["params"]["bias"], stats

    @dataclasses.dataclass(frozen=True)
    class Dropout:
        rate: float

        def init(self, key, x):
            return {"params": {}, "stats": {}}

        def apply(self, v, x, train, key):
            if not train:
                return x, {}
            keep = random.bernoulli(key, 1 - self.rate, x.shape)
            return jnp.where(keep, x / (1 - self.rate), 0), {}

    @dataclasses.dataclass(frozen=True)
    class Lambda:
        f: callable

        def init(self, key, x):
            return {"params": {}, "stats": {}}

        def apply(self, v, x, train, key):
            return self.f(x), {}

    @dataclasses.dataclass(frozen=True)
    class Sequential:
        layers: tuple

        def init(self, key, x):
            made = []
            for layer, k in zip(self.layers, random.split(key, len(self.layers))):
                v = layer.init(k, x)
                x, _ = layer.apply(v, x, False, None)
                made.append(v)
            return made

        def apply(self, variables, x, train, key):
            keys = random.split(key, len(self.layers)) if train else [None] * len(self.layers)
            out = []
            for layer, v, k in zip(self.layers, variables, keys):
                x, stats = layer.apply(v, x, train, k)
                out.append({**v, "stats": stats})
            return x, out

    net = Sequential((Dense(8), BatchNorm(), Lambda(jax.nn.gelu), Dropout(0.25), Dense(3)))
    key = random.PRNGKey(1)
    x = random.normal(random.fold_in(key, 1), (12, 5))
    labels = random.randint(random.fold_in(key, 2), (12,), 0, 3)
    variables = net.init(key, x)

    def loss(params, stats, key):
        v = [{"params": p, "stats": s} for p, s in zip(params, stats)]
        logits, new = net.apply(v, x, True, key)
        logp = jax.nn.log_softmax(logits)
        nll = -jnp.take_along_axis(logp, labels[:, None], axis=1).mean()
        return nll, ([n["stats"] for n in new], logits.argmax(-1))

    @functools.partial(jax.jit, donate_argnums=())
    def step(params, stats, key):
        (value, (stats, guess)), g = jax.value_and_grad(loss, has_aux=True)(params, stats, key)
        return jax.tree.map(lambda p, d: p - 0.1 * d, params, g), stats, value, guess

    params, stats = [v["params"] for v in variables], [v["stats"] for v in variables]
    for i in range(5):
        params, stats, value, guess = step(params, stats, random.fold_in(key, 10 + i))
    final, _ = net.apply([{"params": p, "stats": s} for p, s in zip(params, stats)], x, False, None)
    return {"loss": value, "guess": guess, "mean": stats[1]["mean"], "final": final}


@prog
def ensemble_by_vmap():
    """An ensemble of regressions by vmap of init and of update, with epistemic spread."""

    def init(key):
        k1, k2 = random.split(key)
        return [
            (random.normal(k1, (1, 8)), jnp.zeros(8)),
            (random.normal(k2, (8, 1)) / jnp.sqrt(8), jnp.zeros(1)),
        ]

    def predict(params, x):
        for w, b in params[:-1]:
            x = jax.nn.relu(x @ w + b)
        w, b = params[-1]
        return (x @ w + b).squeeze(-1)

    def loss(params, x, y, weight):
        return jnp.average((predict(params, x) - y) ** 2, weights=weight)

    @jax.jit
    @functools.partial(jax.vmap, in_axes=(0, None, None, 0))
    def update(params, x, y, weight):
        g = jax.grad(loss)(params, x, y, weight)
        return jax.tree.map(lambda p, g: p - 0.02 * g, params, g)

    x = jnp.linspace(-1, 1, 20)[:, None]
    y = jnp.sin(4 * x[:, 0])
    params = jax.vmap(init)(random.split(random.key(0), 5))
    weight = random.exponential(random.key(9), (5, 20))
    for _ in range(15):
        params = update(params, x, y, weight)
    grid = jnp.linspace(-2, 2, 7)[:, None]
    guesses = jax.vmap(predict, (0, None))(params, grid)
    return {
        "mean": guesses.mean(0),
        "std": guesses.std(0, ddof=1),
        "rank": jnp.argsort(guesses, axis=0),
        "quantile": jnp.percentile(guesses, jnp.array([10, 90]), axis=0),
        "shapes": jnp.array([p.shape for p, _ in params]),
    }
