"""A PDE solver: Gray and Scott's patterns, heat through a wall, Burgers' shock, and waves.

Explicit steps with a convolution for the Laplacian, implicit steps with a tridiagonal solver made
of two scans, steps whose length is chosen on the way, and Fourier modes.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax, random

STENCIL = jnp.array([[0.05, 0.2, 0.05], [0.2, -1.0, 0.2], [0.05, 0.2, 0.05]])


def laplacian(field):
    """Of a periodic field (rows, columns)."""
    padded = jnp.pad(field, 1, mode="wrap")
    return lax.conv_general_dilated(
        padded[None, None], STENCIL[None, None], window_strides=(1, 1), padding="VALID"
    )[0, 0]


@partial(jax.jit, static_argnums=3)
def gray_scott(u, v, rates, steps):
    """The two concentrations after some steps of length 1."""
    feed, kill = rates

    def step(_, fields):
        u, v = fields
        reaction = u * v * v
        du = laplacian(u) - reaction + feed * (1 - u)
        dv = 0.5 * laplacian(v) + reaction - (feed + kill) * v
        return u + du, v + dv

    return lax.fori_loop(0, steps, step, (u, v))


def tridiagonal_solve(lower, diagonal, upper, right):
    """x with lower[i] x[i-1] + diagonal[i] x[i] + upper[i] x[i+1] = right[i] (Thomas)."""

    def eliminate(carry, row):
        c, d = carry
        a, b, above, r = row
        pivot = b - a * c
        return (above / pivot, (r - a * d) / pivot), (above / pivot, (r - a * d) / pivot)

    zero = jnp.zeros(())
    _, (c, d) = lax.scan(eliminate, (zero, zero), (lower, diagonal, upper, right))

    def substitute(x, row):
        c, d = row
        x = d - c * x
        return x, x

    return lax.scan(substitute, zero, (c, d), reverse=True)[1]


@partial(jax.jit, static_argnames=("steps",))
def heat(temperature, conductivity, *, dt, steps):
    """The temperature in a wall whose ends are kept at 1 and 0, after implicit steps."""
    n = temperature.shape[0]
    h = 1 / (n + 1)
    between = 0.5 * (conductivity[1:] + conductivity[:-1]) * dt / h**2  # (n + 1,)
    lower, upper = -between[:-1], -between[1:]
    diagonal = 1 - lower - upper

    def step(t, _):
        right = t.at[0].add(between[0])
        t = tridiagonal_solve(lower, diagonal, upper, right)
        return t, lax.dynamic_slice_in_dim(t, n // 2, 2).mean()

    return lax.scan(step, temperature, xs=None, length=steps)


@jax.jit
def conductivity_gradient(temperature, log_conductivity):
    """How the heat that comes through depends on the conductivity of each layer."""

    def through(log_conductivity):
        conductivity = jnp.exp(log_conductivity)
        final, _ = heat(temperature, conductivity, dt=2e-2, steps=25)
        return final[-1] * conductivity[-1]

    return jax.value_and_grad(through)(log_conductivity)


def burgers_slope(u, h, viscosity):
    """du/dt of u_t + u u_x = viscosity u_xx, periodic, upwind."""
    left, right = jnp.roll(u, 1), jnp.roll(u, -1)
    slope = jnp.where(u > 0, (u - left) / h, (right - u) / h)
    return -u * slope + viscosity * (left - 2 * u + right) / h**2


@jax.jit
def burgers(u, viscosity, end):
    """(u at the end, steps taken): Heun's method with steps as its error allows."""
    h = 2 * jnp.pi / u.size

    def goes_on(state):
        t, _, _, taken = state
        return (t < end) & (taken < 10_000)

    def step(state):
        t, dt, u, taken = state
        dt = jnp.minimum(dt, end - t)
        first = burgers_slope(u, h, viscosity)
        second = burgers_slope(u + dt * first, h, viscosity)
        error = jnp.max(jnp.abs(second - first)) * dt / 2
        accepted = error < 1e-4
        u = lax.cond(accepted, lambda u: u + dt * (first + second) / 2, lambda u: u, u)
        t = jnp.where(accepted, t + dt, t)
        factor = jnp.clip(0.9 * jnp.sqrt(1e-4 / (error + 1e-16)), 0.2, 2.0)
        return t, dt * factor, u, taken + 1

    _, _, u, taken = lax.while_loop(goes_on, step, (0.0, 1e-3, u, 0))
    return u, taken


@jax.jit
def wave_by_fourier(u, time):
    """The wave equation solved exactly, mode by mode."""
    frequency = 2 * jnp.pi * jnp.fft.rfftfreq(u.size, 1 / u.size)
    return jnp.fft.irfft(jnp.fft.rfft(u) * jnp.cos(frequency * time), n=u.size)


def main(seed=0):
    noise = random.uniform(random.key(seed), (2, 48, 48), maxval=0.05)
    u, v = jnp.ones((48, 48)) - noise[0], noise[1]
    square = jnp.ix_(jnp.arange(18, 30), jnp.arange(18, 30))
    u, v = jax.jit(lambda u, v: (u.at[square].set(0.5), v.at[square].add(0.25)))(u, v)
    u, v = gray_scott(u, v, (0.037, 0.06), 300)
    layers = jnp.repeat(jnp.array([1.0, 0.1, 0.5, 2.0]), 8)[:32]
    temperature, middle = heat(jnp.zeros(30), layers, dt=1e-2, steps=60)
    value, gradient = conductivity_gradient(jnp.zeros(30), jnp.log(layers))
    x = jnp.linspace(0, 2 * jnp.pi, 128, endpoint=False)
    shock, taken = burgers(1 + jnp.sin(x), 0.05, 1.0)
    bump = jnp.exp(-100 * (jnp.linspace(0, 1, 64, endpoint=False) - 0.5) ** 2)
    return {
        "u": u,
        "v": v,
        "temperature": temperature,
        "middle": middle,
        "heat": value,
        "gradient": gradient,
        "burgers": shock,
        "taken": taken,
        "wave": wave_by_fourier(bump, 0.2),
    }
