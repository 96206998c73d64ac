"""Functions that assign to their arguments, beside NumPy: x[m] = 0, x[i] *= 2 and the like.

    python -m benchmarks.assignments [NAME ...] [--shapes 3000x20,20000x100] [--share 0.01]

A table has the microseconds of NumPy and how many times as fast the compiled function is. The two
take turns in one process, each with arrays of its own, and the best turn of each counts; what they
have written is compared first. `--share` is the part of the rows that a mask or an array of indices
names. The last line is the geometric mean, and how many are slower than NumPy.
"""

import argparse
import math
import time

import numpy as np

import transpile

SHORTEST = 0.002  # seconds that a turn takes at least
TURNS = 15
CALLS = 100  # after which calls are made in C
FUNCTIONS = {}


def listed(function):
    """Put a function of x, y, a mask m and places k of rows, and two rows i and j, on the list."""
    FUNCTIONS[function.__name__] = function
    return function


@listed
def masked_rows_are_zero(x, y, m, k, i, j):
    x[m] = 0


@listed
def masked_rows_are_scaled(x, y, m, k, i, j):
    x[m] *= 2


@listed
def masked_rows_are_others(x, y, m, k, i, j):
    x[m] = y[m]


@listed
def masked_rows_are_centred(x, y, m, k, i, j):
    x[m] -= x[m].mean(0)


@listed
def a_column_of_masked_rows(x, y, m, k, i, j):
    x[m, 0] = 1


@listed
def elements_that_are_negative(x, y, m, k, i, j):
    x[x < 0] = 0


@listed
def elements_by_others(x, y, m, k, i, j):
    positive = x > 0
    x[positive] = x[positive] * y[positive] - 1


@listed
def named_rows_are_scaled(x, y, m, k, i, j):
    x[k] *= 2


@listed
def named_rows_are_others(x, y, m, k, i, j):
    x[k] = y[k]


@listed
def named_rows_are_sums(x, y, m, k, i, j):
    x[k] = x[k] + y[k]


@listed
def named_elements(x, y, m, k, i, j):
    x[k, 3] += 1


@listed
def named_rows_add_up(x, y, m, k, i, j):
    np.add.at(x, k, 1)


@listed
def two_rows_change_places(x, y, m, k, i, j):
    kept = x[i].copy()
    x[i] = x[j]
    x[j] = kept


@listed
def two_rows_by_their_places(x, y, m, k, i, j):
    x[[i, j]] = x[[j, i]]


@listed
def elimination_of_a_row(x, y, m, k, i, j):
    x[i] -= x[i, 0] / x[j, 0] * x[j]


@listed
def a_diagonal(x, y, m, k, i, j):
    np.fill_diagonal(x, 1.0)


@listed
def a_column(x, y, m, k, i, j):
    x[:, 2] *= y[:, 1]


@listed
def every_other_row(x, y, m, k, i, j):
    x[::2] += 1


@listed
def a_block(x, y, m, k, i, j):
    x[i : i + 8, 2:10] = 0


@listed
def inner_points(x, y, m, k, i, j):
    x[1:-1, 1:-1] = (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]) / 4


@listed
def rows_in_a_loop(x, y, m, k, i, j):
    for row in range(1, x.shape[0]):
        x[row, 1:-1] += x[row - 1, 2:] * 0.5


@listed
def all_less_their_means(x, y, m, k, i, j):
    x -= x.mean(0)


@listed
def all_by_a_step(x, y, m, k, i, j):
    y -= x * 0.01
    x += y * 0.01


@listed
def the_larger_ones(x, y, m, k, i, j):
    np.maximum(x, y, out=x)


@listed
def rows_move_up(x, y, m, k, i, j):
    x[:-1] = x[1:]


@listed
def differences(x, y, m, k, i, j):
    x[1:] -= x[:-1]


@listed
def rows_are_sorted(x, y, m, k, i, j):
    x.sort(axis=1)


def arguments(shape, share, random):
    """x, y, m, k, i and j; no place of k is named twice."""
    rows = shape[0]
    count = max(1, round(share * rows))
    x, y = random.standard_normal((2, *shape))
    return x, y, random.random(rows) < share, random.permutation(rows)[:count], 1, rows - 2


def copies(args):
    return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)


def turn(function, args):
    """Seconds a call."""
    calls, start = 0, time.process_time()
    while (taken := time.process_time() - start) < SHORTEST:
        function(*args)
        calls += 1
    return taken / calls


def measured(function, args):
    """The best seconds of NumPy and of the compiled function, which is warm."""
    compiled, ours, numpys = transpile.jit(function), copies(args), copies(args)
    compiled(*ours)
    function(*numpys)
    for own, other in zip(ours, numpys, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-12, err_msg=function.__name__)
    for _ in range(CALLS):
        compiled(*ours)
    best = [math.inf, math.inf]
    with np.errstate(all="ignore"):
        for _ in range(TURNS):
            for number, each in enumerate((function, compiled)):
                best[number] = min(best[number], turn(each, (numpys, ours)[number]))
    return best


def main(words=None):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.assignments",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", choices=[[], *FUNCTIONS])
    parser.add_argument("--shapes", default="3000x20,20000x100")
    parser.add_argument("--share", type=float, default=0.01)
    options = parser.parse_args(words)
    shapes = [tuple(map(int, text.split("x"))) for text in options.shapes.split(",")]
    ratios = []
    print(f"{'':28}" + "".join(f"{'x'.join(map(str, s)):>22}" for s in shapes))
    for name in options.names or FUNCTIONS:
        cells = []
        for shape in shapes:
            args = arguments(shape, options.share, np.random.default_rng(1))
            theirs, ours = measured(FUNCTIONS[name], args)
            ratios.append(theirs / ours)
            cells.append(f"{1e6 * theirs:12.2f} us {theirs / ours:6.2f}")
        print(f"{name:28}" + "".join(cells), flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    slower = sum(ratio < 1 for ratio in ratios)
    print(f"geometric mean {mean:.2f}; slower than NumPy: {slower} of {len(ratios)}")


if __name__ == "__main__":
    main()
