"""Small problems for blackjax: samplers whose random bits are JAX's, so that chains are alike."""

import blackjax
import jax
import jax.numpy as jnp
import numpy as np


def density(x):
    return -0.5 * jnp.sum((x - 1.0) ** 2 / jnp.array([1.0, 4.0])) - 0.1 * jnp.sum(x**4)


START = np.array([0.5, -0.3])


def chain(kernel, steps=5):
    state = kernel.init(jnp.asarray(START))

    def one(state, key):
        state, _ = kernel.step(key, state)
        return state, state.position

    last, positions = jax.jit(lambda s, k: jax.lax.scan(one, s, k))(
        state, jax.random.split(jax.random.key(0), steps)
    )
    return positions, last.position


def adapted():
    warmup = blackjax.window_adaptation(blackjax.hmc, density, num_integration_steps=3)
    (state, parameters), _ = warmup.run(jax.random.key(1), jnp.asarray(START), num_steps=20)
    return state.position, parameters["step_size"], parameters["inverse_mass_matrix"]


def vi():
    import optax

    algorithm = blackjax.meanfield_vi(density, optax.sgd(1e-2), 8)
    state = algorithm.init(jnp.asarray(START))
    for key in jax.random.split(jax.random.key(2), 3):
        state, info = algorithm.step(key, state)
    return state.mu, state.rho, info.elbo


def problems():
    ones = jnp.ones(2)
    return {
        "hmc": lambda: chain(blackjax.hmc(density, 0.1, ones, 4)),
        "nuts": lambda: chain(blackjax.nuts(density, 0.3, ones)),
        "mala": lambda: chain(blackjax.mala(density, 0.1)),
        "rmh": lambda: chain(
            blackjax.additive_step_random_walk.normal_random_walk(density, 0.4 * ones)
        ),
        "ghmc": lambda: ghmc(),
        "dynamic_hmc": lambda: dynamic(),
        "elliptical_slice": lambda: chain(
            blackjax.elliptical_slice(density, mean=jnp.zeros(2), cov=jnp.eye(2))
        ),
        "barker": lambda: chain(blackjax.barker_proposal(density, 0.2)),
        "window_adaptation": adapted,
        "meanfield_vi": vi,
        "pathfinder": lambda: pathfinder(),
        "ess": lambda: blackjax.diagnostics.effective_sample_size(
            jnp.asarray(np.random.default_rng(0).normal(size=(2, 50, 2)))
        ),
        "rhat": lambda: blackjax.diagnostics.potential_scale_reduction(
            jnp.asarray(np.random.default_rng(0).normal(size=(2, 50, 2)))
        ),
    }


def ghmc():
    kernel = blackjax.ghmc(density, 0.1, jnp.ones(2), 0.5, 0.1)
    state = kernel.init(jnp.asarray(START), jax.random.key(4))
    for key in jax.random.split(jax.random.key(0), 3):
        state, _ = jax.jit(kernel.step)(key, state)
    return state.position


def dynamic():
    kernel = blackjax.dynamic_hmc(density, 0.1, jnp.ones(2))
    state = kernel.init(jnp.asarray(START), jax.random.key(5))
    for key in jax.random.split(jax.random.key(0), 3):
        state, _ = jax.jit(kernel.step)(key, state)
    return state.position


def pathfinder():
    state, _ = blackjax.vi.pathfinder.approximate(
        jax.random.key(3), density, jnp.asarray(START), num_samples=10
    )
    return state.position, state.elbo
