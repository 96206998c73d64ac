"""Markov chain Monte Carlo: logistic regression by random walk, slices and Langevin steps.

Four chains run side by side under `vmap`; a chain is a `scan`; the samplers are branches of a
`switch`, one of them with a `while_loop` inside.
"""

import functools
import math

import jax
import jax.numpy as jnp
from jax import lax, nn, random
from jax.scipy.special import logsumexp

CHAINS, SAMPLES = 4, 300


def make_data(key):
    """(inputs (n, 3), labels (n,)) of a logistic model."""
    first, second = random.split(key)
    x = jnp.hstack([jnp.ones((60, 1)), random.normal(first, (60, 2))])
    probability = nn.sigmoid(x @ jnp.array([0.5, 1.5, -1.0]))
    return x, random.bernoulli(second, probability)


def log_density(weights, x, y):
    """Of the weights, given the data, but for a constant."""
    logits = x @ weights
    return jnp.sum(jnp.where(y, nn.log_sigmoid(logits), nn.log_sigmoid(-logits))) - 0.5 * jnp.sum(
        jnp.square(weights)
    )


def random_walk(density, key, w):
    """A step of Metropolis' algorithm."""
    walk, choice = random.split(key)
    proposed = w + 0.4 * random.normal(walk, w.shape)
    accept = jnp.log(random.uniform(choice)) < density(proposed) - density(w)
    return lax.cond(accept, lambda: proposed, lambda: w), accept.astype(float)


def langevin(density, key, w, rate=0.05):
    """A step of the Metropolis-adjusted Langevin algorithm."""
    walk, choice = random.split(key)

    def log_proposal(to, at):
        return -jnp.sum((to - at - rate * jax.grad(density)(at)) ** 2) / (4 * rate)

    noise = math.sqrt(2 * rate) * random.normal(walk, w.shape)
    proposed = w + rate * jax.grad(density)(w) + noise
    ratio = density(proposed) + log_proposal(w, proposed)
    ratio = ratio - density(w) - log_proposal(proposed, w)
    accept = random.exponential(choice) > -ratio
    return jnp.where(accept, proposed, w), accept.astype(float)


def slice_sample(density, key, w):
    """A step along a random direction, from an interval that shrinks until a point is found."""
    height, place, direction, key = random.split(key, 4)
    level = density(w) - random.exponential(height)
    d = random.ball(direction, 3)
    low = -2 * random.uniform(place)

    def missed(carry):
        return density(w + carry["step"] * d) < level

    def shrink(carry):
        low = jnp.where(carry["step"] < 0, carry["step"], carry["low"])
        high = jnp.where(carry["step"] < 0, carry["high"], carry["step"])
        key, sub = random.split(carry["key"])
        step = random.uniform(sub, minval=low, maxval=high)
        return {"low": low, "high": high, "step": step, "key": key, "tries": carry["tries"] + 1}

    start = {"low": low, "high": low + 2, "step": low, "key": key, "tries": 0.0}
    found = lax.while_loop(missed, shrink, start)
    return w + found["step"] * d, found["tries"]


@functools.partial(jax.jit, static_argnums=3)
def run(key, x, y, samples):
    """(weights, statistics) of all chains, (chains, samples, ...): steps of three kinds."""
    density = functools.partial(log_density, x=x, y=y)
    steps = [functools.partial(step, density) for step in (random_walk, langevin, slice_sample)]

    def chain(key):
        first, key = random.split(key)

        def step(w, number):
            w, statistic = lax.switch(number % 3, steps, random.fold_in(key, number), w)
            return w, (w, statistic)

        return lax.scan(step, random.normal(first, (3,)), jnp.arange(samples))[1]

    return jax.vmap(chain)(random.split(key, CHAINS))


@jax.jit
def potential_scale_reduction(samples):
    """Gelman and Rubin's: nearly 1 where the chains agree."""
    n = samples.shape[1]
    within = jnp.var(samples, axis=1, ddof=1).mean(axis=0)
    between = n * jnp.var(samples.mean(axis=1), axis=0, ddof=1)
    return jnp.sqrt(((n - 1) / n * within + between / n) / within)


@jax.jit
def predictive(samples, x):
    """The log of the mean probability of a label 1, at each x."""
    logits = jnp.einsum("csd,nd->csn", samples, x)
    count = math.prod(samples.shape[:2])
    return logsumexp(nn.log_sigmoid(logits), axis=(0, 1)) - jnp.log(count)


def main(seed=0):
    data, chains = random.split(random.key(seed))
    x, y = make_data(data)
    samples, statistics = run(chains, x, y, SAMPLES)
    kept = samples[:, SAMPLES // 3 :]
    return {
        "labels": y,
        "last": samples[:, -1],
        "mean": kept.mean(axis=(0, 1)),
        "covariance": jnp.cov(kept.reshape(-1, 3), rowvar=False),
        "accepted": statistics.reshape(CHAINS, -1, 3).mean(axis=(0, 1)),
        "quantiles": jnp.quantile(kept, jnp.array([0.05, 0.5, 0.95]), axis=(0, 1)),
        "agreement": potential_scale_reduction(kept),
        "predictive": predictive(kept, x[:5]),
    }
