"""What is measured: functions over a NumPy-like namespace, and their arguments.

A case is the same Python for NumPy, JAX and us; `xp` is numpy, or jax.numpy. Numba's, PyTorch's and
C's are in `benchmarks.numba_peer`, `benchmarks.torch_peer` and `benchmarks.hand_written`. Arguments
come from a fixed seed, so that every process makes the same ones. Whole programs are those of
tests/jax_programs.
"""

import runpy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import array_programs, loop_programs, networks
from benchmarks.networks import normal

EVERYONE = ("transpile", "c", "numpy", "numba", "jax", "torch")
WITHOUT_NUMPY = ("transpile", "c", "numba", "jax", "torch")
DERIVATIVES = ("transpile", "c", "jax", "torch")
RANDOM = ("transpile", "c", "jax")
LOOPS_OF_NUMBERS = ("transpile", "c", "numba", "jax")  # PyTorch would unroll them, or not compile
WITHOUT_NUMBA = ("transpile", "c", "numpy", "jax", "torch")
COMPLETE = ("transpile", "jax")

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
    contestants: tuple[str, ...] = EVERYONE
    carries: bool = False
    tolerance: float = 1e-4
    compiles: bool = True


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
        contestants=COMPLETE,
        tolerance=1e-6,
        compiles=False,
    )


def loops(title, make, build, tolerance=1e-9, contestants=WITHOUT_NUMPY):
    return Case(title, make, build, contestants=contestants, tolerance=tolerance)


def rows(random):
    return (normal(random, 4096, 1024),)


def square(dtype):
    return lambda random: tuple(random.standard_normal((2, 1024, 1024)).astype(dtype))


ARRAYS = {
    "elementwise": Case(
        "exp(-x*x)*sin(y) + 0.5*x, 10 million float32",
        lambda random: (normal(random, 10_000_000), normal(random, 10_000_000)),
        array_programs.elementwise,
    ),
    "black_scholes": Case(
        "Black-Scholes, 4 million options, float64",
        lambda random: array_programs.options(random, 4_000_000),
        array_programs.black_scholes,
    ),
    "softmax": Case("softmax, 4096 x 1024 float32", rows, array_programs.softmax),
    "layer_norm": Case(
        "layer norm, 4096 x 1024 float32",
        lambda random: (*rows(random), normal(random, 1024), normal(random, 1024)),
        array_programs.layer_norm,
    ),
    "logsumexp": Case("logsumexp of rows, 4096 x 1024 float32", rows, array_programs.logsumexp),
    "row_statistics": Case(
        "mean, deviation, least, largest of rows, 4096 x 1024 float32",
        rows,
        array_programs.statistics(1),
    ),
    "column_statistics": Case(
        "mean, deviation, least, largest of columns, 4096 x 1024 float32",
        rows,
        array_programs.statistics(0),
    ),
    "transposed_add": Case(
        "x + y.T, 2048 x 2048 float32",
        lambda random: (normal(random, 2048, 2048), normal(random, 2048, 2048)),
        array_programs.transposed_add,
    ),
    "stencil_step": Case(
        "a step of the 5-point stencil, 2048 x 2048 float32",
        lambda random: (normal(random, 2048, 2048),),
        array_programs.stencil_step,
    ),
    "nbody": Case(
        "pairwise forces, 1500 points, float32",
        lambda random: (normal(random, 1500, 3), random.random(1500, dtype=np.float32)),
        array_programs.nbody,
    ),
    "cumulative_sum": Case(
        "cumulative sum of 10 million float32",
        lambda random: (normal(random, 10_000_000),),
        array_programs.cumulative_sum,
    ),
    "gather": Case(
        "10 million elements of a table of 1 million, float32",
        lambda random: (normal(random, 1_000_000), random.integers(0, 1_000_000, 10_000_000)),
        array_programs.gather,
    ),
    "scatter": Case(
        "10 million values added into 65536 sums, float32",
        lambda random: (normal(random, 10_000_000), random.integers(0, 65536, 10_000_000)),
        array_programs.scatter,
    ),
    "histogram": Case(
        "histogram of 10 million float32, 256 bins",
        lambda random: (normal(random, 10_000_000),),
        array_programs.histogram,
    ),
    "sort": Case(
        "sort of 1 million float32",
        lambda random: (normal(random, 1_000_000),),
        array_programs.sort,
    ),
    "kmeans_step": Case(
        "a step of k-means, 100000 points of 8 numbers, 16 centres, float32",
        lambda random: (normal(random, 100_000, 8), normal(random, array_programs.CLUSTERS, 8)),
        array_programs.kmeans_step,
    ),
    "fourier": Case(
        "Fourier transform of 2^20 complex64",
        lambda random: (normal(random, 2**20, 2).view(np.complex64)[:, 0],),
        array_programs.fourier,
        contestants=WITHOUT_NUMBA,
    ),
    "tiny_chain": Case(
        "one call, a chain of 200 operations on 8 float32",
        lambda random: (normal(random, 8),),
        array_programs.tiny_chain,
        1000,
    ),
    "small_expression": Case(
        "one call, exp(-x*x)*sin(y) + 0.5*x of 4 float32",
        lambda random: (normal(random, 4), normal(random, 4)),
        array_programs.elementwise,
        2000,
    ),
    "small_call": Case(
        "one call, x*2 + 1 of 4 float64",
        lambda random: (random.random(4),),
        array_programs.small_call,
        2000,
    ),
    "normals": Case("10 million normal float32", a_key, array_programs.normals, contestants=RANDOM),
    "monte_carlo": Case(
        "how many of 10 million random points are in a circle, float32",
        a_key,
        array_programs.monte_carlo,
        contestants=RANDOM,
    ),
}

NETWORKS = {
    "matmul_float32": Case(
        "matrix product, 1024 x 1024 float32", square(np.float32), array_programs.matmul
    ),
    "matmul_float64": Case(
        "matrix product, 1024 x 1024 float64", square(np.float64), array_programs.matmul
    ),
    "dense_gelu": Case(
        "dense layer with bias and gelu, 512 x 1024 x 1024 float32",
        lambda random: (
            normal(random, 512, 1024),
            normal(random, 1024, 1024) / np.float32(32),
            normal(random, 1024),
        ),
        networks.dense_gelu,
    ),
    "mlp": Case(
        "dense layers 784-512-512-10, batch 128, float32",
        lambda random: networks.classifier(random, 128, (784, 512, 512, 10))[:2],
        networks.mlp,
        10,
    ),
    "mlp_small": Case(
        "one call, dense layers 16-32-32-4, batch 1, float32",
        lambda random: networks.classifier(random, 1, (16, 32, 32, 4))[:2],
        networks.mlp,
        1000,
    ),
    "attention": Case(
        "attention, batch 4, 8 heads, 256 x 64 float32",
        lambda random: tuple(normal(random, 4, 8, 256, 64) for _ in range(3)),
        networks.attention,
        5,
    ),
    "conv2d": Case(
        "convolution, 8 x 32 x 56 x 56, 64 filters of 3 x 3, float32",
        lambda random: (normal(random, 8, 32, 56, 56), normal(random, 64, 32, 3, 3) / 17),
        networks.conv2d,
        5,
        contestants=WITHOUT_NUMPY,
    ),
    "mlp_training_step": Case(
        "a training step, dense layers 784-512-512-10, batch 128, float32",
        lambda random: networks.classifier(random, 128, (784, 512, 512, 10)),
        networks.mlp_training_step,
        contestants=DERIVATIVES,
        carries=True,
        tolerance=1e-3,
    ),
    "attention_training_step": Case(
        "value and gradient, 2 layers of attention, 4 x 128 x 256, 8 heads, float32",
        lambda random: networks.transformer(random, 4, 128, 256, 2),
        networks.attention_gradient,
        contestants=DERIVATIVES,
    ),
    "rosenbrock_hessian": Case(
        "the Hessian of the Rosenbrock function, 100 float64",
        lambda random: (random.standard_normal(100),),
        networks.rosenbrock_hessian,
        100,
        contestants=DERIVATIVES,
        tolerance=1e-12,
    ),
    "mlp_gradient_small": Case(
        "one call, value and gradient, dense layers 16-32-32-4, batch 1, float32",
        lambda random: networks.classifier(random, 1, (16, 32, 32, 4)),
        networks.mlp_gradient,
        1000,
        contestants=DERIVATIVES,
    ),
    "lstm_gradient": Case(
        "value and gradient, an LSTM over 1000 steps, batch 16, 64 hidden, float32",
        lambda random: networks.lstm(random, 1000, 16, 32, 64),
        networks.lstm_gradient,
        contestants=DERIVATIVES,
        tolerance=1e-3,
    ),
    "convolutional_training_step": Case(
        "a training step, 2 convolutions and a dense layer, 64 pictures of 28 x 28, float32",
        lambda random: networks.convolutional(random, 64),
        networks.convolutional_training_step,
        contestants=DERIVATIVES,
        carries=True,
        tolerance=1e-3,
    ),
}

LOOPS = {
    "lu_numbers": loops(
        "LU without pivoting, number by number, 128 x 128 float64",
        lambda random: (loop_programs.diagonally_dominant(random, 128),),
        loop_programs.lu_numbers,
        contestants=LOOPS_OF_NUMBERS,
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
        contestants=LOOPS_OF_NUMBERS,
    ),
    "moving_average": loops(
        "an exponential moving average of 1 million float64",
        lambda random: (random.standard_normal(loop_programs.LENGTH),),
        loop_programs.moving_average,
        contestants=LOOPS_OF_NUMBERS,
    ),
    "newton": loops(
        "Newton's method for 100000 equations at once, float64",
        lambda random: (10 * random.standard_normal(100_000),),
        loop_programs.newton,
    ),
    "stencil": loops(
        "100 steps of the 5-point stencil, 2048 x 2048 float32",
        lambda random: (normal(random, 2048, 2048),),
        loop_programs.stencil,
        1e-5,
    ),
    "mandelbrot": loops(
        "steps of Mandelbrot's iteration, at most 100, 1024 x 1024 float32",
        lambda random: loop_programs.plane(random, 1024),
        loop_programs.mandelbrot,
        1e-2,  # a rounding decides when a point near the edge leaves
    ),
}

PROGRAMS = {f"program_{name}": program(name) for name in LOADING["NAMES"]}

CASES = ARRAYS | NETWORKS | LOOPS | PROGRAMS
