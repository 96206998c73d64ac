"""Hamiltonian Monte Carlo: densities whose moments are known, sampled, and the moments compared.

    python examples/hamiltonian_monte_carlo.py

A sampler is a few lines: a `fori_loop` of leapfrog steps with the gradient of the log-density, a
`scan` of such moves, `vmap` over chains. All of it, the search for a step length included, is one
compiled function for a density. Each moment is compared with what is known about it, in standard
errors that account for the correlation of the draws; the program fails when one is too far off.
"""

import functools
import math
import sys
import time

import numpy as np

import transpile
from transpile import lax, random
from transpile import numpy as jnp

CHAINS, WARMUP, DRAWS, LEAPS = 16, 400, 10_000, 16
MOST_ERRORS = 4.5  # a moment is as far off by chance once in 150 000 runs
LEAST_DRAWS = 10_000  # that the draws of a moment are worth


def gaussian(x):
    """Neighbours correlated by 0.8, the means 0, 1, 2, ..., the deviation 1."""
    z = x - jnp.arange(x.size)
    steps = (z[1:] - 0.8 * z[:-1]) / 0.6
    return -0.5 * (z[0] ** 2 + jnp.sum(steps**2))


def banana(x):
    """A Gaussian of deviations 2 and 1, bent: the second is larger by (x0**2 - 4) / 8."""
    return -0.5 * ((x[0] / 2) ** 2 + (x[1] - (x[0] ** 2 - 4) / 8) ** 2)


def log_gamma(x):
    """The logarithms of two Gamma variables, of the shapes 3 and 1."""
    return jnp.sum(jnp.array([3.0, 1.0]) * x - jnp.exp(x))


EULER = 0.5772156649015329
DENSITIES = (
    (
        gaussian,
        10,
        (
            ("mean of x[0]", lambda x: x[..., 0], 0),
            ("mean of x[9]", lambda x: x[..., 9], 9),
            ("variance of x[5]", lambda x: (x[..., 5] - 5) ** 2, 1),
            ("covariance of x[0], x[1]", lambda x: x[..., 0] * (x[..., 1] - 1), 0.8),
            ("covariance of x[0], x[3]", lambda x: x[..., 0] * (x[..., 3] - 3), 0.8**3),
        ),
    ),
    (
        banana,
        2,
        (
            ("mean of x[0]", lambda x: x[..., 0], 0),
            ("variance of x[0]", lambda x: x[..., 0] ** 2, 4),
            ("mean of x[1]", lambda x: x[..., 1], 0),
            ("variance of x[1]", lambda x: x[..., 1] ** 2, 1 + 2 * 4**2 / 8**2),
            ("mean of x[0]**2 x[1]", lambda x: x[..., 0] ** 2 * x[..., 1], 4),
        ),
    ),
    (
        log_gamma,
        2,
        (
            ("mean of x[0]", lambda x: x[..., 0], 1.5 - EULER),
            ("mean of x[1]", lambda x: x[..., 1], -EULER),
            ("variance of x[1]", lambda x: (x[..., 1] + EULER) ** 2, math.pi**2 / 6),
            ("mean of exp(x[0])", lambda x: np.exp(x[..., 0]), 3),
        ),
    ),
)


def leapfrog(density, x, momentum, length):
    """Where x and its momentum are after LEAPS steps."""
    slope = transpile.grad(density)

    def step(_, state):
        x, momentum = state
        x = x + length * momentum
        return x, momentum + length * slope(x)

    momentum = momentum + 0.5 * length * slope(x)
    x, momentum = lax.fori_loop(0, LEAPS, step, (x, momentum))
    return x, momentum - 0.5 * length * slope(x)


def move(density, key, x, length):
    """The next x, and the probability with which the proposal was accepted."""
    drawn, jittered, chosen = random.split(key, 3)
    momentum = random.normal(drawn, x.shape)
    length = length * random.uniform(jittered, minval=0.7, maxval=1.3)
    proposed, final = leapfrog(density, x, momentum, length)
    energy = 0.5 * jnp.sum(momentum**2) - density(x)
    change = 0.5 * jnp.sum(final**2) - density(proposed) - energy
    change = jnp.where(jnp.isfinite(change), change, jnp.inf)  # steps too long, and far away
    accepted = -change > jnp.log(random.uniform(chosen))
    x = lax.cond(accepted, lambda: proposed, lambda: x)
    return x, jnp.minimum(1.0, jnp.exp(-change))


def chain(density, key, start):
    """Draws from a density, the length of the steps, and how often they were accepted."""
    warmup, draws = random.split(key)

    def adapt(state, number_and_key):
        x, log_length = state
        number, key = number_and_key
        x, probability = move(density, key, x, jnp.exp(log_length))
        log_length = log_length + (probability - 0.8) / jnp.sqrt(number + 10)
        return (x, log_length), None

    def draw(x, key):
        x, probability = move(density, key, x, jnp.exp(log_length))
        return x, (x, probability)

    keys = jnp.arange(WARMUP), random.split(warmup, WARMUP)
    (x, log_length), _ = lax.scan(adapt, (start, jnp.log(0.1)), keys)
    _, (xs, probabilities) = lax.scan(draw, x, random.split(draws, DRAWS))
    return xs, jnp.exp(log_length), probabilities.mean()


@functools.partial(transpile.jit, static_argnums=(0, 2))
def sample(density, key, dimensions):
    """(chains, draws, dimensions), and the other results of each chain."""
    first, rest = random.split(key)
    starts = random.normal(first, (CHAINS, dimensions))
    run = functools.partial(chain, density)
    return transpile.vmap(run)(random.split(rest, CHAINS), starts)


def effective_size(draws):
    """How many independent draws (chains, draws) would tell the mean as well (Geyer's estimate)."""
    chains, n = draws.shape
    centred = draws - draws.mean()
    power = np.abs(np.fft.rfft(centred, 2 * n)) ** 2
    covariance = np.fft.irfft(power)[:, :n].mean(axis=0) / n
    correlation = covariance / covariance[0]
    pairs = correlation[0 : n - 1 : 2] + correlation[1:n:2]
    cut = int(np.argmax(pairs < 0)) if (pairs < 0).any() else len(pairs)
    pairs = np.minimum.accumulate(pairs[:cut])
    return chains * n / max(2 * pairs.sum() - 1, 1 / math.log10(chains * n))


def compare(moments, draws):
    """Print each moment; (the most standard errors that one is off, the fewest draws' worth)."""
    worst, fewest = 0.0, math.inf
    print(f"  {'':26}{'known':>9}{'found':>9}{'error':>9}{'errors off':>12}{'draws worth':>13}")
    for what, function, known in moments:
        values = function(draws)
        size = effective_size(values)
        error = values.std() / math.sqrt(size)
        off = (values.mean() - known) / error
        worst, fewest = max(worst, abs(off)), min(fewest, size)
        print(f"  {what:26}{known:9.4f}{values.mean():9.4f}{error:9.4f}{off:12.1f}{size:13.0f}")
    return worst, fewest


def main():
    found = []
    for number, (density, dimensions, moments) in enumerate(DENSITIES):
        key = random.key(number)
        sample(density, key, dimensions)  # compiles
        begin = time.perf_counter()
        draws, lengths, probabilities = sample(density, key, dimensions)
        taken = time.perf_counter() - begin
        leaps = CHAINS * (WARMUP + DRAWS) * LEAPS
        print(f"{density.__name__}: {CHAINS} chains of {DRAWS} draws, {dimensions} dimensions")
        print(
            f"  steps of {np.mean(lengths):.2f}, accepted {np.mean(probabilities):.2f}, "
            f"{taken:.2f} s for {leaps} steps with a gradient each"
        )
        found.append(compare(moments, np.asarray(draws)))
        print()
    worst, fewest = max(off for off, _ in found), min(size for _, size in found)
    print(f"all moments are within {worst:.1f} standard errors of what they should be")
    if not (worst < MOST_ERRORS and fewest > LEAST_DRAWS):
        sys.exit(f"that is too much, or {fewest:.0f} draws are too few")


if __name__ == "__main__":
    main()
