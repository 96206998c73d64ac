"""What is measured: functions over a NumPy-like namespace, and their arguments.

A case is the same Python for everyone; `xp` is numpy, or jax.numpy. Arguments come from a fixed
seed, so that every process makes the same ones. Derivatives have no NumPy to compare with; there
PyTorch takes part, in `benchmarks.torch_peer`. Nor have loops, which are compared with the same
written in C, `benchmarks.hand_written`. Whole programs are those of tests/jax_programs.
"""

import runpy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import loop_programs
from benchmarks.networks import (
    attention_gradient,
    classifier,
    convolutional,
    convolutional_training_step,
    lstm,
    lstm_gradient,
    mlp_gradient,
    mlp_training_step,
    normal,
    rosenbrock_hessian,
    transformer,
)

FORWARD = ("transpile", "numpy", "jax")
DERIVATIVES = ("transpile", "jax", "torch")
LOOPS = ("transpile", "c", "jax")
PROGRAMS = ("transpile", "jax")

LOADING = runpy.run_path(
    str(Path(__file__).parent.parent / "tests" / "jax_programs" / "loading.py")
)


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
    compiles      the function is to be compiled; else it calls compiled functions itself
    """

    title: str
    make: Callable[[np.random.Generator], tuple[Any, ...]]
    build: Callable[[Any, Any], Callable[..., Any]]
    calls: int = 1
    contestants: tuple[str, ...] = FORWARD
    carries: bool = False
    tolerance: float = 1e-4
    compiles: bool = True


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


def normals(xp, library):
    def normals(key):
        return library.random.normal(key, (10_000_000,), np.float32)

    return normals


def monte_carlo(xp, library):
    def quarter(key):
        keys = library.random.split(key)
        x, y = (library.random.uniform(k, (10_000_000,), np.float32) for k in keys)
        return (x * x + y * y < 1).mean()

    return quarter


def a_key(random):
    return (random.integers(2**32, size=2, dtype=np.uint32),)


def program(name):
    """A whole program: its `main`, which calls compiled functions."""

    def build(xp, library):
        return LOADING["load"](name, library.__name__).main

    return Case(
        f"the program {name}",
        lambda random: (),
        build,
        contestants=PROGRAMS,
        tolerance=1e-6,
        compiles=False,
    )


def loops(title, make, build):
    return Case(title, make, build, contestants=LOOPS, tolerance=1e-9)


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
    "normals": Case("10 million normal float32", a_key, normals, contestants=PROGRAMS),
    "monte_carlo": Case(
        "how many of 10 million random points are in a circle, float32",
        a_key,
        monte_carlo,
        contestants=PROGRAMS,
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
    "lstm_gradient": Case(
        "value and gradient, an LSTM over 1000 steps, batch 16, 64 hidden, float32",
        lambda random: lstm(random, 1000, 16, 32, 64),
        lstm_gradient,
        contestants=DERIVATIVES,
        tolerance=1e-3,
    ),
    "convolutional_training_step": Case(
        "a training step, 2 convolutions and a dense layer, 64 pictures of 28 x 28, float32",
        lambda random: convolutional(random, 64),
        convolutional_training_step,
        contestants=DERIVATIVES,
        carries=True,
        tolerance=1e-3,
    ),
    "lu_numbers": loops(
        "LU without pivoting, number by number, 128 x 128 float64",
        lambda random: (loop_programs.diagonally_dominant(random, 128),),
        loop_programs.lu_numbers,
    ),
    "lu_rows": loops(
        "LU without pivoting, row by row, 256 x 256 float64",
        lambda random: (loop_programs.diagonally_dominant(random, 256),),
        loop_programs.lu_rows,
    ),
    "floyd_warshall": loops(
        "all shortest paths of 256 nodes, float64",
        lambda random: (loop_programs.distances(random, 256),),
        loop_programs.floyd_warshall,
    ),
    "nussinov": loops(
        "Nussinov's folding of 200 letters, int64",
        lambda random: (random.integers(0, 4, 200),),
        loop_programs.nussinov,
    ),
    "moving_average": loops(
        "an exponential moving average of 1 million float64",
        lambda random: (random.standard_normal(loop_programs.LENGTH),),
        loop_programs.moving_average,
    ),
    "newton": loops(
        "Newton's method for 100000 equations at once, float64",
        lambda random: (10 * random.standard_normal(100_000),),
        loop_programs.newton,
    ),
    "stencil": loops(
        "100 steps of the 5-point stencil, 1024 x 1024 float64",
        lambda random: (random.standard_normal((1024, 1024)),),
        loop_programs.stencil,
    ),
} | {f"program_{name}": program(name) for name in LOADING["NAMES"]}
