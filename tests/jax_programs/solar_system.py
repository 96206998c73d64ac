"""A physics simulation: bodies that attract each other, by the leapfrog method.

The forces are the gradient of the potential energy, which is the only formula. Energy, momentum and
angular momentum are watched on the way, and the sensitivity of the end to the start is a
derivative through the whole simulation.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax, random


class System(NamedTuple):
    """Positions (n, 3), velocities (n, 3), and masses (n,)."""

    position: jax.Array
    velocity: jax.Array
    mass: jax.Array


def potential_energy(position, mass, softening=1e-2):
    """The sum over pairs of -m m / distance."""

    def pair(p, q, m, n):
        return -m * n / jnp.sqrt(jnp.sum((p - q) ** 2) + softening**2)

    row = jax.vmap(pair, in_axes=(None, 0, None, 0))
    energies = jax.vmap(row, in_axes=(0, None, 0, None))(position, position, mass, mass)
    return jnp.sum(jnp.triu(energies, k=1))


def kinetic_energy(system):
    return 0.5 * jnp.einsum("n,nd,nd->", system.mass, system.velocity, system.velocity)


def acceleration(position, mass):
    return -jax.grad(potential_energy)(position, mass) / mass[:, None]


def leapfrog(system, dt):
    """Half a kick, a drift, half a kick."""
    velocity = system.velocity + 0.5 * dt * acceleration(system.position, system.mass)
    position = system.position + dt * velocity
    velocity = velocity + 0.5 * dt * acceleration(position, system.mass)
    return system._replace(position=position, velocity=velocity)


@partial(jax.jit, static_argnames=("steps", "every"))
def simulate(system, dt, *, steps, every):
    """The system after all steps, and what it was after each `every` of them."""

    def stretch(system, _):
        system = lax.fori_loop(0, every, lambda _, s: leapfrog(s, dt), system)
        energy = kinetic_energy(system) + potential_energy(system.position, system.mass)
        momentum = jnp.tensordot(system.mass, system.velocity, axes=1)
        spin = jnp.sum(system.mass[:, None] * jnp.cross(system.position, system.velocity), axis=0)
        return system, {"energy": energy, "momentum": momentum, "spin": spin}

    return lax.scan(stretch, system, None, length=steps // every)


@jax.jit
def closest_approach(system, dt):
    """(time, distance): when the bodies 0 and 1 stop coming closer, and how close they are."""

    def distance(system):
        return jnp.linalg.norm(system.position[0] - system.position[1])

    def comes_closer(carry):
        steps, system, last = carry
        return (distance(system) < last) & (steps < 1000)

    def step(carry):
        steps, system, _ = carry
        return steps + 1, leapfrog(system, dt), distance(system)

    steps, _, last = lax.while_loop(comes_closer, step, (0, system, jnp.inf))
    return (steps - 1) * dt, last


def make_system(seed, planets):
    """A sun, and planets at the far ends of their paths around it."""
    keys = random.split(random.key(seed), 3)
    radius = jnp.linspace(1.0, 3.0, planets)
    angle = random.uniform(keys[0], (planets,), maxval=2 * jnp.pi)
    height = 0.05 * random.normal(keys[1], (planets,))
    around = jnp.stack([radius * jnp.cos(angle), radius * jnp.sin(angle), height], axis=-1)
    speed = jnp.sqrt(0.8 / radius)
    along = jnp.stack([-jnp.sin(angle), jnp.cos(angle), jnp.zeros(planets)], axis=-1)
    mass = random.uniform(keys[2], (planets,), minval=1e-4, maxval=1e-3)
    zero = jnp.zeros((1, 3))
    return System(
        position=jnp.concatenate([zero, around]),
        velocity=jnp.concatenate([zero, speed[:, None] * along]),
        mass=jnp.concatenate([jnp.ones(1), mass]),
    )


@jax.jit
def sensitivity(system, dt):
    """How the distance of body 1 from body 0 after 100 steps changes with their masses."""

    def end(mass):
        final, _ = lax.scan(
            lambda s, _: (leapfrog(s, dt), None), system._replace(mass=mass), length=100
        )
        return jnp.linalg.norm(final.position[1] - final.position[0])

    return jax.grad(end)(system.mass), jax.jacfwd(end)(system.mass)


def main(seed=0):
    system = make_system(seed, planets=6)
    final, history = simulate(system, 0.01, steps=2000, every=100)
    when, distance = closest_approach(system, 0.01)
    backward, forward = sensitivity(system, 0.01)
    return {
        "position": final.position,
        "velocity": final.velocity,
        "energy": history["energy"],
        "momentum": history["momentum"],
        "spin": history["spin"],
        "closest": jnp.array([when, distance]),
        "sensitivity": backward,
        "sensitivity_forward": forward,
    }
