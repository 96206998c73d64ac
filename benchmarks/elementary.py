"""Every elementary function, and arithmetic that needs care, of whole arrays against NumPy alone.

    python -m benchmarks.elementary [NAME ...] [--dtypes f4 f8] [--sizes 1000 100000] [--rounds N]

A line for each function and dtype: NumPy's time over ours, above 1 where ours is faster, for each
size, and ours in nanoseconds an element. Both are called in turns, the best times count. At the end
are those below 1. Numbers are drawn from where the function has values; `x // s` and its relatives
have a divisor that is known when the program runs, one for the whole array.
"""

import argparse
import operator

import numpy as np

import transpile
from benchmarks.cliff_times import best_times

UNARY = [
    "sqrt",
    "cbrt",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "arccosh",
    "arctanh",
    "square",
    "reciprocal",
    "absolute",
    "sign",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "isnan",
    "isfinite",
    "signbit",
    "negative",
    "spacing",
    "deg2rad",
    "sinc",
    "i0",
]
BINARY = [
    "power",
    "float_power",
    "arctan2",
    "hypot",
    "logaddexp",
    "logaddexp2",
    "add",
    "multiply",
    "divide",
    "maximum",
    "fmax",
    "heaviside",
    "copysign",
    "nextafter",
    "fmod",
    "remainder",
    "floor_divide",
    "ldexp",
]
RANGES = {"arcsin": (-1, 1), "arccos": (-1, 1), "arctanh": (-1, 1), "arccosh": (1, 9)}
RANGES |= dict.fromkeys(
    ("sqrt", "log", "log2", "log10", "log1p", "power", "float_power"), (0.01, 20)
)
INTEGERS = {"floor_divide": operator.floordiv, "remainder": operator.mod, "divmod": divmod}
CALLS_BEFORE = 200  # from then on calls are as cheap as they get
INTEGER_DTYPES = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")


def drawn(random, name, dtype, size):
    """The operands of a function."""
    low, high = RANGES.get(name, (-10, 10))
    x = random.uniform(low, high, size).astype(dtype)
    y = random.uniform(-3, 3, size).astype(dtype)
    if name == "ldexp":
        return (x, y.astype(np.int32))
    if name in BINARY:
        return (x, y)
    return (x,)


def cases(names, dtypes):
    """(label, function, name, dtype, whether the operands are integers) of each comparison."""
    for name in (*UNARY, *BINARY):
        if not names or name in names:
            function = getattr(np, name)
            for dtype in dtypes:
                yield f"{name} {dtype}", function, name, dtype, False
    for name, function in INTEGERS.items():
        if not names or name in names:
            for dtype in INTEGER_DTYPES:
                yield f"{name} {dtype} by a scalar", function, name, dtype, True
                yield f"{name} {dtype}", function, name, dtype, None


def operands(name, dtype, integer, size):
    """The arrays, and the divisor."""
    random = np.random.default_rng(3)
    if integer is False:
        return drawn(random, name, np.dtype(dtype), size)
    limits = np.iinfo(dtype)
    x = random.integers(limits.min, limits.max, size, dtype)
    if integer:
        return (x, np.dtype(dtype).type(7))
    return (x, random.integers(1, min(limits.max, 1000), size, dtype))


def measured(function, name, dtype, integer, sizes, rounds):
    """For each size NumPy's time over ours, and ours in nanoseconds an element."""
    found = []
    for size in sizes:
        arguments = operands(name, dtype, integer, size)
        compiled = transpile.jit(function)
        for _ in range(CALLS_BEFORE):
            compiled(*arguments)
        with np.errstate(all="ignore"):
            numpy_time, own_time = best_times([function, compiled], arguments, rounds)
        found.append((numpy_time / own_time, 1e9 * own_time / size))
    return found


def main():
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--dtypes", nargs="+", default=["f2", "f4", "f8"])
    parser.add_argument("--sizes", nargs="+", type=int, default=[1000, 100_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    below = []
    print(f"{'':30}" + "".join(f"{size:>18}" for size in options.sizes))
    for label, function, *rest in cases(options.names, options.dtypes):
        found = measured(function, *rest, options.sizes, options.rounds)
        cells = "".join(f"{ratio:>8.2f} {own:6.3f} ns" for ratio, own in found)
        print(f"{label:30}{cells}", flush=True)
        below += [
            (ratio, label, size)
            for (ratio, _), size in zip(found, options.sizes, strict=True)
            if ratio < 1
        ]
    for ratio, label, size in sorted(below):
        print(f"below 1: {ratio:.2f} {label}, {size} elements")


if __name__ == "__main__":
    main()
