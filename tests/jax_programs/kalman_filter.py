"""A Kalman filter and smoother, one after another and as an associative scan, and its fit.

A point moves in the plane with a noisy velocity; its position is measured with noise. The filter
goes forward, the smoother backward; the likelihood of the measurements is differentiated to find
how noisy they are.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy as jsp
from jax import lax, random


class Gaussian(NamedTuple):
    """A mean (n,) and a covariance (n, n)."""

    mean: jax.Array
    covariance: jax.Array


class Model(NamedTuple):
    """x' = A x + noise of covariance Q; y = H x + noise of covariance R."""

    transition: jax.Array
    process: jax.Array
    observation: jax.Array
    noise: jax.Array


def make_model(log_noise, dt=0.1):
    identity = jnp.eye(2)
    transition = jnp.block([[identity, dt * identity], [jnp.zeros((2, 2)), identity]])
    process = jnp.kron(jnp.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]]), identity)
    observation = jnp.concatenate([identity, jnp.zeros((2, 2))], axis=1)
    return Model(transition, process, observation, jnp.exp(2 * log_noise) * identity)


def observe(model, key, length):
    """A drawn path (length, 4) and its measurements (length, 2)."""
    first, second = random.split(key)
    kicks = random.multivariate_normal(first, jnp.zeros(4), model.process, (length,))
    noise = random.normal(second, (length, 2)) @ jnp.linalg.cholesky(model.noise).T

    def move(x, kick):
        x = model.transition @ x + kick
        return x, x

    _, path = lax.scan(move, jnp.array([0.0, 0.0, 1.0, 0.5]), kicks)
    return path, path @ model.observation.T + noise


def predict(model, belief):
    a = model.transition
    return Gaussian(a @ belief.mean, a @ belief.covariance @ a.T + model.process)


def update(model, belief, y):
    """The belief after a measurement, and the measurement's log-probability before it."""
    h = model.observation
    innovation = h @ belief.covariance @ h.T + model.noise
    gain = jsp.linalg.solve(innovation, h @ belief.covariance, assume_a="pos").T
    surprise = y - h @ belief.mean
    factor = jsp.linalg.cholesky(innovation, lower=True)
    white = jsp.linalg.solve_triangular(factor, surprise, lower=True)
    log_probability = -0.5 * white @ white - jnp.log(jnp.diagonal(factor)).sum()
    mean = belief.mean + gain @ surprise
    keep = jnp.eye(4) - gain @ h
    covariance = keep @ belief.covariance @ keep.T + gain @ model.noise @ gain.T
    return Gaussian(mean, covariance), log_probability - jnp.log(2 * jnp.pi)


def kalman_filter(model, ys):
    def step(belief, y):
        filtered, log_probability = update(model, predict(model, belief), y)
        return filtered, (filtered, log_probability)

    start = Gaussian(jnp.zeros(4), 10 * jnp.eye(4))
    _, (filtered, log_probabilities) = lax.scan(step, start, ys)
    return filtered, jnp.sum(log_probabilities)


def smoother(model, filtered):
    """The Rauch-Tung-Striebel smoother."""

    def step(later, belief):
        ahead = predict(model, belief)
        gain = jnp.linalg.solve(ahead.covariance, model.transition @ belief.covariance).T
        mean = belief.mean + gain @ (later.mean - ahead.mean)
        covariance = belief.covariance + gain @ (later.covariance - ahead.covariance) @ gain.T
        return Gaussian(mean, covariance), Gaussian(mean, covariance)

    last = jax.tree.map(lambda x: x[-1], filtered)
    before = jax.tree.map(lambda x: x[:-1], filtered)
    _, smoothed = lax.scan(step, last, before, reverse=True)
    return jax.tree.map(lambda a, b: jnp.concatenate([a, b[None]]), smoothed, last)


def steady_means(model, belief, ys):
    """Means of a filter with a constant gain: a linear recursion, as an associative scan."""
    h = model.observation
    ahead = predict(model, belief).covariance
    gain = jnp.linalg.solve(h @ ahead @ h.T + model.noise, h @ ahead).T
    matrix = (jnp.eye(4) - gain @ h) @ model.transition

    def combine(first, second):
        (a, b), (c, d) = first, second
        return c @ a, jnp.squeeze(c @ b[..., None], -1) + d

    matrices = jnp.broadcast_to(matrix, (ys.shape[0], 4, 4))
    _, means = lax.associative_scan(combine, (matrices, ys @ gain.T))
    return means


@jax.jit
def fit(ys, log_noise):
    """The log of the noise that makes the measurements likeliest, by Newton's method."""

    def loss(log_noise):
        return -kalman_filter(make_model(log_noise), ys)[1]

    def step(_, value):
        return value - jax.grad(loss)(value) / jax.jacfwd(jax.grad(loss))(value)

    return lax.fori_loop(0, 6, step, log_noise), jax.value_and_grad(loss)(log_noise)


def main(seed=0):
    model = make_model(jnp.log(0.3))
    path, ys = observe(model, random.key(seed), 80)
    filtered, likelihood = jax.jit(kalman_filter)(model, ys)
    smoothed = jax.jit(smoother)(model, filtered)
    last = jax.tree.map(lambda x: x[-1], filtered)
    found, (value, slope) = fit(ys, jnp.log(0.4))
    return {
        "path": path,
        "likelihood": likelihood,
        "filtered": filtered.mean,
        "covariance": filtered.covariance,
        "smoothed": smoothed.mean,
        "smoothed_covariance": smoothed.covariance,
        "errors": jnp.array([jnp.std(x.mean - path) for x in (filtered, smoothed)]),
        "steady": jax.jit(steady_means)(model, last, ys),
        "fitted": jnp.exp(found),
        "loss": jnp.array([value, slope]),
    }
