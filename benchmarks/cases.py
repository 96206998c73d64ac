"""What is measured: functions over a NumPy-like namespace, and their arguments.

A case is the same Python for everyone; `xp` is numpy, or jax.numpy. Arguments come from a fixed
seed, so that every process makes the same ones. Derivatives have no NumPy to compare with; there
PyTorch takes part, in `benchmarks.torch_peer`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.networks import (
    attention_gradient,
    classifier,
    mlp_gradient,
    mlp_training_step,
    normal,
    rosenbrock_hessian,
    transformer,
)

FORWARD = ("transpile", "numpy", "jax")
DERIVATIVES = ("transpile", "jax", "torch")


@dataclass(frozen=True)
class Case:
    """One comparison.

    make          random generator -> the arguments, pytrees of NumPy arrays
    build         xp, library -> the function to measure
    calls         how many calls make one measurement
    contestants   who takes part, where installed
    carries       the result is a pair whose second is the next call's first argument, which is
                  donated; one call makes one measurement
    tolerance     how far results may be apart, relative to their norm
    """

    title: str
    make: Callable[[np.random.Generator], tuple[Any, ...]]
    build: Callable[[Any, Any], Callable[..., Any]]
    calls: int = 1
    contestants: tuple[str, ...] = FORWARD
    carries: bool = False
    tolerance: float = 1e-4


def elementwise(xp, library):
    def wave(x, y):
        return xp.exp(-x * x) * xp.sin(y) + 0.5 * x

    return wave


def softmax(xp, library):
    def softmax(x):
        e = xp.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    return softmax


def nbody(xp, library):
    def accelerations(position, mass):
        separation = position[None, :, :] - position[:, None, :]
        distance = (separation * separation).sum(axis=2) + 1e-3
        weight = mass / (distance * xp.sqrt(distance))
        return (separation * weight[:, :, None]).sum(axis=1)

    return accelerations


def small_call(xp, library):
    def line(x):
        return x * 2 + 1

    return line


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
    "mlp_training_step": Case(
        "a training step, dense layers 784-512-512-10, batch 128, float32",
        lambda random: classifier(random, 128, (784, 512, 512, 10)),
        mlp_training_step,
        contestants=DERIVATIVES,
        carries=True,
        tolerance=1e-3,
    ),
    "attention_training_step": Case(
        "value and gradient, 2 layers of attention, 4 x 128 x 256, 8 heads, float32",
        lambda random: transformer(random, 4, 128, 256, 2),
        attention_gradient,
        contestants=DERIVATIVES,
    ),
    "rosenbrock_hessian": Case(
        "the Hessian of the Rosenbrock function, 100 float64",
        lambda random: (random.standard_normal(100),),
        rosenbrock_hessian,
        100,
        contestants=DERIVATIVES,
        tolerance=1e-12,
    ),
    "mlp_gradient_small": Case(
        "one call, value and gradient, dense layers 16-32-32-4, batch 1, float32",
        lambda random: classifier(random, 1, (16, 32, 32, 4)),
        mlp_gradient,
        1000,
        contestants=DERIVATIVES,
    ),
}
