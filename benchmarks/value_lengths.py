"""Functions whose results are as long as values say, beside NumPy: x[mask], unique and kin.

    python -m benchmarks.value_lengths [NAME ...] [--sizes 100,10000,1000000] [--dtypes f8,f4,i8]

A table has the microseconds of NumPy and how many times as fast the compiled function is, for each
size and dtype. The two take turns in one process, and the best turn of each counts. The results are
compared first. JAX has no such functions without `size=`. The last line is the geometric mean, and
how many are slower than NumPy.
"""

import argparse
import math
import time

import numpy as np

import transpile

SHORTEST = 0.01  # seconds that a turn takes at least

# Each takes x, a mask m, further values y, and counts k; numbers repeat, some ten times each.
FUNCTIONS = {
    "x[m]": lambda x, m, y, k: x[m],
    "x[x > 0]": lambda x, m, y, k: x[x > 0],
    "x[x > 0].mean()": lambda x, m, y, k: x[x > 0].mean(),
    "np.exp(x[m])": lambda x, m, y, k: np.exp(x[m]),
    "nonzero(x > 0)": lambda x, m, y, k: np.nonzero(x > 0)[0],
    "flatnonzero(m)": lambda x, m, y, k: np.flatnonzero(m),
    "argwhere(m)": lambda x, m, y, k: np.argwhere(m),
    "where(x > y)": lambda x, m, y, k: np.where(x > y)[0],
    "compress(m, x)": lambda x, m, y, k: np.compress(m, x),
    "extract(m, x)": lambda x, m, y, k: np.extract(m, x),
    "delete(x, m)": lambda x, m, y, k: np.delete(x, m),
    "trim_zeros(x * m)": lambda x, m, y, k: np.trim_zeros(x * m),
    "unique(x)": lambda x, m, y, k: np.unique(x),
    "unique(x[m])": lambda x, m, y, k: np.unique(x[m]),
    "unique_counts(x)": lambda x, m, y, k: np.unique(x, return_counts=True)[1],
    "unique_inverse(x)": lambda x, m, y, k: np.unique(x, return_inverse=True)[1],
    "union1d(x, y)": lambda x, m, y, k: np.union1d(x, y),
    "intersect1d(x, y)": lambda x, m, y, k: np.intersect1d(x, y),
    "setdiff1d(x, y)": lambda x, m, y, k: np.setdiff1d(x, y),
    "setxor1d(x, y)": lambda x, m, y, k: np.setxor1d(x, y),
    "bincount(k)": lambda x, m, y, k: np.bincount(k),
    "bincount(k, x)": lambda x, m, y, k: np.bincount(k, x),
    "repeat(x, k)": lambda x, m, y, k: np.repeat(x, k % 4),
}


def arguments(size, dtype, random):
    """x, m, y and k; numbers are whole halves, so that some are equal and some are 0."""
    values = max(4, size // 10)
    x, y = (random.integers(-values, values, size) / 2 for _ in "xy")
    if np.dtype(dtype).kind == "i":
        x, y = x * 2, y * 2
    return x.astype(dtype), random.random(size) < 0.5, y.astype(dtype), random.integers(0, 50, size)


def turn(function, args, calls):
    """Seconds a call."""
    start = time.process_time()
    for _ in range(calls):
        function(*args)
    return (time.process_time() - start) / calls


def compare(name, size, dtype, rounds):
    """(NumPy's seconds, ours), best of turns, of equal results."""
    function = FUNCTIONS[name]
    args = arguments(size, dtype, np.random.default_rng(0))
    compiled = transpile.jit(function)
    expected, got = function(*args), compiled(*args)
    exact = np.asarray(expected).dtype.kind != "f"
    np.testing.assert_allclose(got, expected, rtol=0 if exact else 1e-5, err_msg=name)
    both = function, compiled
    calls = [max(1, round(SHORTEST / max(turn(f, args, 2), 1e-7))) for f in both]
    best = [math.inf, math.inf]
    for _ in range(rounds):
        for k, f in enumerate(both):
            best[k] = min(best[k], turn(f, args, calls[k]))
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="of functions, all by default")
    parser.add_argument("--sizes", default="100,10000,1000000")
    parser.add_argument("--dtypes", default="f8,f4,i8")
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    sizes, dtypes = [int(n) for n in asked.sizes.split(",")], asked.dtypes.split(",")
    print("| | " + " | ".join(f"{n} {d}" for n in sizes for d in dtypes) + " |")
    print("|---" + "|--:" * (len(sizes) * len(dtypes)) + "|")
    ratios = []
    for name in asked.names or FUNCTIONS:
        cells = []
        for size in sizes:
            for dtype in dtypes:
                theirs, ours = compare(name, size, dtype, asked.rounds)
                ratios.append(theirs / ours)
                cells.append(f"{theirs * 1e6:.1f}, {theirs / ours:.1f}x")
        print(f"| `{name}` | " + " | ".join(cells) + " |", flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    slower = sum(ratio < 1 for ratio in ratios)
    print(f"geometric mean {mean:.2f}; {slower} of {len(ratios)} slower than NumPy")


if __name__ == "__main__":
    main()
