"""A ray marcher: a picture of solids that are given by their distance from a point.

Every pixel marches along its ray until it is near a surface (`while_loop` under `vmap`); the normal
of the surface is the gradient of the distance; the material is a branch of a `switch`. In the end
a picture is differentiated by the position of the light.
"""

import functools

import jax
import jax.numpy as jnp
from jax import lax

FAR, NEAR, STEPS = 20.0, 1e-4, 96
SPHERE = jnp.array([0.0, 0.2, 0.0])
BOX = jnp.array([1.3, -0.2, 0.6])
RING = jnp.array([-1.4, 0.1, 0.5])


def ball(p):
    return jnp.linalg.norm(p - SPHERE) - 0.8


def box(p, size=0.5, rounding=0.1):
    q = jnp.abs(p - BOX) - (size - rounding)
    outside = jnp.sqrt(jnp.sum(jnp.maximum(q, 0.0) ** 2) + 1e-12)
    return outside + jnp.minimum(jnp.max(q), 0.0) - rounding


def ring(p):
    p = p - RING
    around = jnp.hypot(p[0], p[2]) - 0.5
    return jnp.hypot(around, p[1]) - 0.18


def floor(p):
    return p[1] + 0.7


def distances(p):
    """(4,): from each of the solids."""
    return jnp.stack([ball(p), box(p), ring(p), floor(p)])


def distance(p):
    each = distances(p)
    return each[jnp.argmin(each)]


def march(origin, direction):
    """How far the ray goes until it meets something, and in how many steps."""

    def goes_on(state):
        _, gap, count = state
        return (gap > NEAR) & (count < STEPS)

    def step(state):
        t, _, count = state
        gap = distance(origin + t * direction)
        return jnp.minimum(t + gap, FAR), jnp.where(t < FAR, gap, 0.0), count + 1

    t, _, count = lax.while_loop(goes_on, step, (0.0, jnp.inf, 0))
    return t, count


def shadow(p, towards):
    """0 where the light is hidden, 1 where it is free; soft at the edges."""

    def step(_, state):
        t, light = state
        gap = distance(p + t * towards)
        return t + lax.clamp(0.02, gap, 0.5), jnp.minimum(light, 8 * gap / t)

    _, light = lax.fori_loop(0, 24, step, (0.05, 1.0))
    return jnp.clip(light, 0.0, 1.0)


def plain(colour, p, normal):
    return jnp.array(colour)


def chequered(p, normal):
    odd = (jnp.floor(p[0]) + jnp.floor(p[2])) % 2
    return lax.select(odd == 1, jnp.full(3, 0.25), jnp.full(3, 0.85))


def striped(p, normal):
    wave = 0.5 + 0.5 * jnp.sin(14 * p[1])
    return wave * jnp.array([0.9, 0.5, 0.1]) + (1 - wave) * jnp.abs(normal)


MATERIALS = (
    functools.partial(plain, (0.8, 0.2, 0.2)),
    striped,
    functools.partial(plain, (0.2, 0.4, 0.9)),
    chequered,
)


def shade(origin, direction, light):
    """The colour that is seen from a point in a direction."""
    t, count = march(origin, direction)
    t = lax.stop_gradient(t)
    p = origin + t * direction
    normal = jax.grad(distance)(p)
    normal = normal / (jnp.linalg.norm(normal) + 1e-9)
    towards = light - p
    towards = towards / jnp.linalg.norm(towards)
    half = towards - direction
    half = half / jnp.linalg.norm(half)
    material = jnp.argmin(distances(p))
    colour = lax.switch(material, MATERIALS, p, normal)
    diffuse = jnp.maximum(normal @ towards, 0.0) * shadow(p + 1e-3 * normal, towards)
    shine = jnp.power(jnp.maximum(normal @ half, 0.0), 32)
    lit = colour * (0.15 + 0.85 * diffuse) + 0.3 * shine * diffuse
    sky = jnp.array([0.6, 0.75, 0.95]) * (0.6 + 0.4 * direction[1])
    return jnp.where(t < FAR, lit, sky), count


@functools.partial(jax.jit, static_argnums=(0, 1))
def render(height, width, eye, target, light):
    """The picture (height, width, 3), and the steps that each pixel took."""
    forward = (target - eye) / jnp.linalg.norm(target - eye)
    right = jnp.cross(forward, jnp.array([0.0, 1.0, 0.0]))
    right = right / jnp.linalg.norm(right)
    up = jnp.cross(right, forward)
    ys, xs = jnp.mgrid[0.75 : -0.75 : height * 1j, -1.0 : 1.0 : width * 1j]

    def pixel(x, y):
        direction = forward * 1.6 + x * right + y * up
        return shade(eye, direction / jnp.linalg.norm(direction), light)

    return jax.vmap(jax.vmap(pixel))(xs, ys)


@jax.jit
def brightness(light, eye, directions):
    """The mean brightness of a few rays, ray by ray, and its slope by the light's place."""

    def mean(light):
        colours = lax.map(lambda d: shade(eye, d, light)[0], directions)
        return jnp.mean(colours @ jnp.array([0.3, 0.6, 0.1]))

    return jax.value_and_grad(mean)(light)


def main(height=36, width=48):
    eye, light = jnp.array([0.4, 1.1, -4.2]), jnp.array([3.0, 4.0, -3.0])
    picture, steps = render(height, width, eye, jnp.zeros(3), light)
    angles = jnp.linspace(-0.3, 0.3, 7)
    directions = jnp.stack([jnp.sin(angles), -0.2 * jnp.ones(7), jnp.cos(angles)], axis=1)
    directions /= jnp.linalg.norm(directions, axis=1, keepdims=True)
    value, slope = brightness(light, eye, directions)
    return {
        "picture": picture,
        "steps": steps,
        "rows": picture.mean(axis=(1, 2)),
        "brightness": value,
        "slope": slope,
    }
