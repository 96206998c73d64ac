"""What a size that is known at run time costs: each workload compiled for its size, and for any.

The two programs take turns in one process, and the best turn of each counts. `RUNTIME` says which
extent of a workload's arguments becomes a runtime size.
"""

import time
from dataclasses import dataclass

import numpy as np

import transpile
from benchmarks.cases import CASES
from transpile.errors import TranspileError

SHORTEST = 0.05  # seconds that a turn takes at least


@dataclass(frozen=True)
class Extent:
    """The extent that becomes `n`: of first axes alone, or of all axes that have it; it is declared
    to be at least `least`, which slices may need."""

    size: int
    everywhere: bool = False
    least: int = 1


RUNTIME = {
    "elementwise": Extent(10_000_000),
    "black_scholes": Extent(4_000_000),
    "softmax": Extent(4096),
    "layer_norm": Extent(4096),
    "logsumexp": Extent(4096),
    "row_statistics": Extent(4096),
    "column_statistics": Extent(4096),
    "transposed_add": Extent(2048, everywhere=True),
    "stencil_step": Extent(2048, everywhere=True, least=2),
    "nbody": Extent(1500),
    "cumulative_sum": Extent(10_000_000),
    "gather": Extent(10_000_000),
    "scatter": Extent(10_000_000),
    "histogram": Extent(10_000_000),
    "sort": Extent(1_000_000),
    "kmeans_step": Extent(100_000),
    "fourier": Extent(2**20),
    "tiny_chain": Extent(8),
    "small_expression": Extent(4),
    "small_call": Extent(4),
    "matmul_float32": Extent(1024, everywhere=True),
    "matmul_float64": Extent(1024, everywhere=True),
    "dense_gelu": Extent(512),
    "mlp": Extent(128),
    "mlp_small": Extent(1),
    "attention": Extent(4),
    "conv2d": Extent(8),
    "mlp_training_step": Extent(128),
    "attention_training_step": Extent(4),
    "rosenbrock_hessian": Extent(100, least=2),
    "mlp_gradient_small": Extent(1),
    "lstm_gradient": Extent(16, everywhere=True),
    "convolutional_training_step": Extent(64),
    "lu_numbers": Extent(128, everywhere=True),
    "lu_rows": Extent(256, everywhere=True),
    "floyd_warshall": Extent(256, everywhere=True),
    "nussinov": Extent(200),
    "moving_average": Extent(1_000_000),
    "newton": Extent(100_000),
    "stencil": Extent(2048, everywhere=True, least=2),
    "mandelbrot": Extent(1024, everywhere=True),
}


def abstract(args, extent):
    """The types of arguments with `n` in the place of an extent."""
    (n,) = transpile.dims("n", f"n >= {extent.least}")

    def leaf(x):
        shape = tuple(
            n if size == extent.size and (axis == 0 or extent.everywhere) else size
            for axis, size in enumerate(x.shape)
        )
        return transpile.ShapeDtypeStruct(shape, x.dtype)

    return transpile.tree.map(leaf, args)


def turn(function, args, calls):
    """Seconds a call."""
    start = time.perf_counter()
    for _ in range(calls):
        function(*args)
    return (time.perf_counter() - start) / calls


def compare(name, rounds, seconds):
    """(seconds for a fixed size, seconds for a runtime size), best of turns, of a workload; a text
    where it cannot be compiled for any size."""
    case, extent = CASES[name], RUNTIME[name]
    args = case.make(np.random.default_rng(0))
    function = transpile.jit(case.build(transpile.numpy, transpile))
    try:
        runtime = function.lower(*abstract(args, extent)).compile()
    except (TranspileError, TypeError, ValueError, NotImplementedError) as error:
        return f"{type(error).__name__}: {error}"
    fixed = function.lower(*args).compile()
    both = fixed, runtime
    for one, other in zip(*[transpile.tree.leaves(f(*args)) for f in both], strict=True):
        np.testing.assert_allclose(one, other, rtol=case.tolerance, atol=case.tolerance)
    calls = max(1, round(SHORTEST / max(turn(fixed, args, 3), 1e-7)))
    best = [np.inf, np.inf]
    start = time.perf_counter()
    for _ in range(rounds):
        for k, f in enumerate(both):
            best[k] = min(best[k], turn(f, args, calls))
        if time.perf_counter() - start > seconds:
            break
    return tuple(best)


def measure_all(rounds, seconds, names=None):
    """{workload: what `compare` finds}."""
    return {name: compare(name, rounds, seconds) for name in names or RUNTIME}


def lines(found):
    """A table, and how many workloads are within 5 %."""
    yield "\na runtime size in the place of a fixed one: ms fixed, ms runtime, ratio"
    ratios = []
    for name, times in found.items():
        if isinstance(times, str):
            yield f"  {name:28}{times.splitlines()[0][:120]}"
            continue
        fixed, runtime = times
        ratios.append(runtime / fixed)
        yield f"  {name:28}{fixed * 1e3:12.4f}{runtime * 1e3:12.4f}{ratios[-1]:8.2f}"
    near = sum(ratio <= 1.05 for ratio in ratios)
    yield f"  {near} of {len(found)} within 5 %, {len(found) - len(ratios)} not compiled"
