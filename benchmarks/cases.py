"""What is measured: functions over a NumPy-like namespace, and their arguments.

A case is the same Python for everyone; `xp` is numpy, or jax.numpy. Arguments come from a fixed
seed, so that every process makes the same ones.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """One comparison.

    make      random generator -> the arguments, NumPy arrays
    build     xp -> the function to measure
    calls     how many calls make one measurement
    """

    title: str
    make: Callable[[np.random.Generator], tuple[Any, ...]]
    build: Callable[[Any], Callable[..., Any]]
    calls: int = 1


def elementwise(xp):
    def wave(x, y):
        return xp.exp(-x * x) * xp.sin(y) + 0.5 * x

    return wave


def softmax(xp):
    def softmax(x):
        e = xp.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    return softmax


def nbody(xp):
    def accelerations(position, mass):
        separation = position[None, :, :] - position[:, None, :]
        distance = (separation * separation).sum(axis=2) + 1e-3
        weight = mass / (distance * xp.sqrt(distance))
        return (separation * weight[:, :, None]).sum(axis=1)

    return accelerations


def small_call(xp):
    def line(x):
        return x * 2 + 1

    return line


def normal(random, *shape):
    return random.standard_normal(shape, dtype=np.float32)


CASES = {
    "elementwise": Case(
        "exp(-x*x)*sin(y) + 0.5*x, 10 million float32",
        lambda random: (normal(random, 10_000_000), normal(random, 10_000_000)),
        elementwise,
    ),
    "softmax": Case(
        "softmax, 4096 x 1024 float32", lambda random: (normal(random, 4096, 1024),), softmax
    ),
    "nbody": Case(
        "pairwise forces, 1500 points, float32",
        lambda random: (normal(random, 1500, 3), random.random(1500, dtype=np.float32)),
        nbody,
    ),
    "small_expression": Case(
        "one call, exp(-x*x)*sin(y) + 0.5*x of 4 float32",
        lambda random: (normal(random, 4), normal(random, 4)),
        elementwise,
        2000,
    ),
    "small_call": Case(
        "one call, x*2 + 1 of 4 float64", lambda random: (random.random(4),), small_call, 2000
    ),
}
