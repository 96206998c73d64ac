"""Times of `benchmarks.python_kernels` under `transpile.jit` and under Numba's `njit`.

`python -m benchmarks.python_kernel_times [name ...]`, in an environment that has Numba. For each
kernel: milliseconds of both at the large size, interleaved, the best of several rounds; their
ratio; the first calls, in seconds; and whether results and arguments agree with each other.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

import transpile
from benchmarks.python_kernels import KERNELS, Kernel

_ROUNDS = 7


def _timed(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[float, Any]:
    begin = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - begin, result


def _arguments(kernel: Kernel, size: int) -> tuple[Any, ...]:
    return kernel.arguments(np.random.default_rng(1), size)


def _agree(one: Any, other: Any) -> bool:
    leaves = zip(transpile.tree.leaves(one), transpile.tree.leaves(other), strict=True)
    return all(np.allclose(x, y, rtol=1e-9, equal_nan=True) for x, y in leaves)


def compare(name: str) -> float:
    """Print the line of a kernel; the ratio of Numba's time to ours."""
    kernel = KERNELS[name]
    functions = transpile.jit(kernel.function), numba.njit(kernel.function)
    first, results = [], []
    for function in functions:
        arguments = _arguments(kernel, kernel.large)
        seconds, result = _timed(function, arguments)
        first.append(seconds)
        results.append((result, arguments))
    times: list[list[float]] = [[], []]
    for _ in range(_ROUNDS):
        for function, own in zip(functions, times, strict=True):
            own.append(_timed(function, _arguments(kernel, kernel.large))[0])
    ours, theirs = map(min, times)
    print(
        f"{name:20} {1e3 * ours:10.3f} {1e3 * theirs:10.3f} {theirs / ours:7.2f} "
        f"{first[0]:7.2f} {first[1]:7.2f}  {'' if _agree(*results) else 'DIFFERENT'}",
        flush=True,
    )
    return theirs / ours


def main() -> None:
    """Compare the kernels named on the command line, or all."""
    print(f"{'':20} {'ours':>10} {'Numba':>10} {'ratio':>7} {'first':>7} {'Numba':>7}")
    ratios = [compare(name) for name in sys.argv[1:] or KERNELS]
    print(f"geometric mean {statistics.geometric_mean(ratios):.2f}, least {min(ratios):.2f}")


if __name__ == "__main__":
    main()
