"""What `dynamic_shapes="auto"` costs and saves: processor seconds, the compiler's included, of the
first calls of a function with one length after the other, with an empty cache, beside `jit`'s.

    python -m benchmarks.automatic_sizes [WORKLOAD ...]

Its programs run as fast as `python -m benchmarks --only sizes` says.
"""

import os
import statistics
import sys
import tempfile

import numpy as np

import transpile
from benchmarks.cases import CASES
from benchmarks.sizes import RUNTIME

LENGTHS = (40, 43, 50, 37, 64)
NAMES = (
    *("elementwise", "softmax", "layer_norm", "column_statistics", "stencil_step", "nbody"),
    *("cumulative_sum", "histogram", "sort", "kmeans_step", "matmul_float64", "dense_gelu"),
    *("mlp", "mlp_training_step", "lu_rows", "moving_average", "newton", "small_expression"),
)


def processor_seconds():
    """Of this process, and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def arguments(name, length):
    """The arguments of a workload with another length in the place of its own."""
    extent = RUNTIME[name]

    def leaf(x):
        shape = [
            length if size == extent.size and (axis == 0 or extent.everywhere) else size
            for axis, size in enumerate(x.shape)
        ]
        return np.resize(x, shape)

    return transpile.tree.map(leaf, CASES[name].make(np.random.default_rng(0)))


def seconds_of_first_calls(name, setting):
    """For each length the processor seconds of the first call with it."""
    function = transpile.jit(CASES[name].build(transpile.numpy, transpile), dynamic_shapes=setting)
    seconds = []
    for length in LENGTHS:
        args = arguments(name, length)
        start = processor_seconds()
        function(*args)
        seconds.append(processor_seconds() - start)
    return seconds


def main(names):
    """Print a line for each workload, and the means."""
    print("processor seconds of calls with 1 to 5 lengths: jit, and jit(dynamic_shapes='auto')")
    ratios = []
    for name in names:
        totals = {}
        for setting in (False, "auto"):
            with tempfile.TemporaryDirectory() as cache:
                os.environ["TRANSPILE_CACHE_DIR"] = cache
                transpile.jit(lambda x: np.sort(x @ x))(np.ones((3, 3)))
                transpile.clear_caches()
                totals[setting] = np.cumsum(seconds_of_first_calls(name, setting))
        ratios.append(totals["auto"] / totals[False])
        for setting, total in totals.items():
            print(f"  {name:22}{setting or 'each':6}", *(f"{s:7.2f}" for s in total), flush=True)
    means = [statistics.geometric_mean(column) for column in zip(*ratios, strict=True)]
    print("  auto / each, geometric means:", *(f"{mean:.2f}" for mean in means))


if __name__ == "__main__":
    main(sys.argv[1:] or NAMES)
