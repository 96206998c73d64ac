"""The parameters of a differential equation, fitted to noisy measurements by a gradient.

    python examples/fit_an_ode.py

Hares and lynxes (Lotka and Volterra): four rates and two numbers at the start are unknown. The
equation is solved by `scan`, a Runge-Kutta step at a time; the squared distance to what was seen
is differentiated backwards through all steps; and the search for the parameters is a `scan` too, so
that the whole fit is one compiled function. At the end the curvature tells how well the
measurements know each parameter; the program fails where one is further off than it should be.
"""

import functools
import sys
import time

import numpy as np

import transpile
from transpile import lax, random
from transpile import numpy as jnp

NAMES = ("births", "hunts", "deaths", "feeds", "hares", "lynxes")
TRUE = np.array([1.1, 0.4, 0.9, 0.25, 5.0, 2.0])
GUESS = np.array([0.8, 0.3, 0.7, 0.35, 4.0, 3.0])
END, STEPS, EVERY = 15.0, 600, 10
NOISE = 0.05  # of the logarithms of the numbers
SEARCH = 1500
MOST_ERRORS = 4.0


def slope(populations, rates):
    """How the logarithms of the numbers of hares and lynxes change."""
    births, hunts, deaths, feeds = rates
    hares, lynxes = jnp.exp(populations)
    return jnp.stack([births - hunts * lynxes, feeds * hares - deaths])


def solve(log_parameters):
    """The logarithms of the numbers at STEPS / EVERY times, (times, 2)."""
    rates, start = jnp.exp(log_parameters[:4]), log_parameters[4:]
    dt = END / STEPS

    def runge_kutta(y, _):
        k1 = slope(y, rates)
        k2 = slope(y + dt / 2 * k1, rates)
        k3 = slope(y + dt / 2 * k2, rates)
        k4 = slope(y + dt * k3, rates)
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return y, y

    _, path = lax.scan(runge_kutta, start, None, length=STEPS)
    return path[EVERY - 1 :: EVERY]


def loss(log_parameters, measured):
    return 0.5 * jnp.sum(((solve(log_parameters) - measured) / NOISE) ** 2)


@functools.partial(transpile.jit, static_argnames="steps")
def fit(guess, measured, *, steps):
    """Adam, its steps ever shorter: (the logarithms of the parameters, the loss on the way)."""

    def step(state, number):
        x, mean, square = state
        value, gradient = transpile.value_and_grad(loss)(x, measured)
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.99 * square + 0.01 * gradient**2
        rate = 0.03 * 0.5 * (1 + jnp.cos(jnp.pi * number / steps))
        scale = jnp.sqrt(square / (1 - 0.99 ** (number + 1))) + 1e-12
        return (x - rate * mean / (1 - 0.9 ** (number + 1)) / scale, mean, square), value

    zero = jnp.zeros_like(guess)
    (found, _, _), values = lax.scan(step, (guess, zero, zero), jnp.arange(steps))
    return found, values


@transpile.jit
def standard_errors(log_parameters):
    """How well the measurements know each parameter, by the curvature of the loss (Fisher)."""
    sensitivity = transpile.jacfwd(solve)(log_parameters).reshape(-1, log_parameters.size) / NOISE
    return jnp.sqrt(jnp.diagonal(jnp.linalg.inv(sensitivity.T @ sensitivity)))


@transpile.jit
def measure(key):
    """What was counted: the truth, and noise."""
    truth = solve(jnp.log(jnp.array(TRUE)))
    return truth + NOISE * random.normal(key, truth.shape)


def main():
    measured = measure(random.key(0))
    guess = np.log(GUESS)
    fit(guess, measured, steps=SEARCH)  # compiles
    begin = time.perf_counter()
    found, values = fit(guess, measured, steps=SEARCH)
    values = np.asarray(values)
    taken = time.perf_counter() - begin
    print(f"{measured.shape[0]} measurements of each, a gradient through {STEPS} steps for each of")
    print(f"{SEARCH} steps of the search, in {taken:.2f} s\n")
    print("   step          loss")
    for number in (0, 10, 100, 300, 1000, SEARCH - 1):
        print(f"{number:7}{values[number]:14.2f}")
    errors = np.asarray(standard_errors(found))
    off = np.asarray(found - np.log(TRUE)) / errors
    print(f"\n{'':10}{'true':>8}{'guess':>8}{'fitted':>8}{'error':>8}{'errors off':>12}")
    rows = zip(NAMES, TRUE, GUESS, np.exp(found), np.exp(found) * errors, off, strict=True)
    for name, true, first, fitted, error, distance in rows:
        print(f"{name:10}{true:8.3f}{first:8.3f}{fitted:8.3f}{error:8.3f}{distance:12.1f}")
    worst = np.abs(off).max()
    print(f"\nall parameters are within {worst:.1f} standard errors of the truth")
    if not worst < MOST_ERRORS:
        sys.exit("that is too much")


if __name__ == "__main__":
    main()
