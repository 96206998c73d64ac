"""A tour in under a minute: three NumPy functions, the C they become, their speed, and a C program.

    python examples/demo.py

Nothing in the three functions knows of transpile: they are NumPy code, and run as such.
"""

import inspect
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import transpile
from transpile.build import toolchain
from transpile.disk_cache.cache import default_cache

COLUMNS = 100
TERMINAL = sys.stdout.isatty()


# ------------------------------------------------------------------------- three NumPy functions


def normal_cdf(x):
    t = 1 / (1 + 0.2316419 * np.abs(x))  # Abramowitz and Stegun, 26.2.17
    p = 1.330274429
    for coefficient in (-1.821255978, 1.781477937, -0.356563782, 0.319381530):
        p = p * t + coefficient
    tail = p * t * np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)
    return np.where(x > 0, 1 - tail, tail)


def black_scholes(spot, strike, years, rate, sigma):
    spread = sigma * np.sqrt(years)
    d = (np.log(spot / strike) + rate * years) / spread + 0.5 * spread
    discounted = strike * np.exp(-rate * years)
    call = spot * normal_cdf(d) - discounted * normal_cdf(d - spread)
    return {"call": call, "put": call + discounted - spot}


def heat_step(u, alpha):
    inside = u[1:-1, 1:-1]
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    return np.pad(inside + alpha * (around - 4 * inside), 1)


def classify(images, w1, b1, w2, b2):
    hidden = np.maximum(images @ w1 + b1, 0)
    scores = hidden @ w2 + b2
    likely = np.exp(scores - scores.max(axis=1, keepdims=True))
    return likely / likely.sum(axis=1, keepdims=True)


# ---------------------------------------------------------------------------- what the tour shows


def main():
    print(bold("transpile: NumPy functions become C that you can read, ship and trust"))
    random = np.random.default_rng(0)
    prices(random)
    heat(random)
    network(random)
    ship()
    heading("Where to go from here")
    print()
    for place, what in (
        ("README.md", "what it can do, and how to use it"),
        ("ARCHITECTURE.md", "how it works, in the order in which data flows through it"),
        (shown(default_cache().path) + "/", "every program of this tour, to read and to compare"),
        ("python -m transpile", "the command line: build, show, doctor, cache"),
    ):
        print(f"{place:21}{what}")


def options(random, count):
    """Random options: spot, strike, years, rate, sigma."""
    spot, strike = random.uniform(50, 150, (2, count))
    years, sigma = random.uniform(0.1, 2, count), random.uniform(0.1, 0.5, count)
    return spot, strike, years, 0.03, sigma


def prices(random):
    heading("1  A formula: the prices of a million options")
    listing(inspect.getsource(normal_cdf) + "\n" + inspect.getsource(black_scholes))
    arguments = options(random, 1_000_000)
    lowered = transpile.jit(black_scholes).lower(*arguments)
    equations = str(lowered.compiler_ir("graph")).splitlines()[1:-1]
    print(f"Called once on tracers, it leaves a graph of {len(equations)} operations, such as")
    listing("\n".join([*(line.strip() for line in equations[:4]), "..."]))
    print("and the graph becomes C in which no array is made but the results:")
    listing("\n".join(kernels(lowered)))
    compare(black_scholes, arguments)


def heat(random):
    heading("2  A stencil: one step of the heat equation on a 1000 x 1000 grid")
    listing(inspect.getsource(heat_step))
    arguments = (random.random((1000, 1000)), 0.1)
    print("Slices are subscripts, and the border is not tested for in every iteration:")
    listing("\n".join(kernels(transpile.jit(heat_step).lower(*arguments))))
    compare(heat_step, arguments)


def network(random):
    heading("3  A small neural network: 512 images through 784 x 128 x 10 units")
    listing(inspect.getsource(classify))
    shapes = (512, 784), (784, 128), (128,), (128, 10), (10,)
    arguments = [random.normal(0, 0.1, shape).astype(np.float32) for shape in shapes]
    found = kernels(transpile.jit(classify).lower(*arguments))
    print("Blocks of rows go through both products, which call a routine, and through softmax:")
    listing(found[-1])
    compare(classify, arguments)


PROGRAM = """\
#include <stdio.h>
#include "black_scholes.h"

int main(void)
{
    double spot[3] = {90, 100, 110}, strike[3] = {100, 100, 100}, years[3] = {0.5, 1, 2};
    double rate = 0.03, sigma[3] = {0.2, 0.3, 0.4}, call[3], put[3];
    int code = black_scholes(spot, strike, years, &rate, sigma, call, put, NULL);
    for (int i = 0; i < 3; i++)
        printf("%.17g %.17g\\n", call[i], put[i]);
    return code;
}
"""


def ship():
    heading("4  A library for C, with nothing of Python left in it")
    spot, strike, years = (np.array(x, float) for x in ([90, 100, 110], [100] * 3, [0.5, 1, 2]))
    arguments = spot, strike, years, 0.03, np.array([0.2, 0.3, 0.4])
    compiled = transpile.jit(black_scholes).lower(*arguments).compile()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = compiled.save(folder)
        print("\ncompiled.save(folder) has written the prices of three options as")
        listing("\n".join(f"{path.name:18}{path.stat().st_size:8,} bytes" for path in files))
        print("A C program that calls them:")
        listing(PROGRAM)
        (folder / "main.c").write_text(PROGRAM)
        compiler = toolchain.find_compiler(transpile.Options())
        build = ["main.c", "-L.", "-l:black_scholes.so", "-Wl,-rpath,$ORIGIN", "-o", "main"]
        subprocess.run([*compiler.command, *build], cwd=folder, check=True)
        listing(f"$ {Path(compiler.command[0]).name} {shlex.join(build)}\n$ ./main")
        done = subprocess.run([folder / "main"], check=True, capture_output=True, text=True)
    from_c = np.array(done.stdout.split(), float).reshape(3, 2)
    result = compiled(*arguments)
    from_python = np.stack([result["call"], result["put"]], axis=1)
    print(f"{'':18}{'from C':^24}{'from Python':^24}".rstrip())
    print(f"{'spot':>5}{'years':>9}    {'call':>12}{'put':>12}{'call':>12}{'put':>12}")
    for price, end, c, python in zip(spot, years, from_c, from_python, strict=True):
        numbers = "".join(f"{x:12.6f}" for x in (*c, *python))
        same = "the same bits" if np.array_equal(c, python) else "DIFFERENT"
        print(f"{price:5.0f}{end:9.1f}    {numbers}   {same}")


def compare(function, arguments):
    """Print where the program is, how far its results are from NumPy's, and both times."""
    compiled = transpile.jit(function).lower(*arguments).compile()
    expected = values(function(*arguments))
    found = values(compiled(*arguments))
    pairs = list(zip(found, expected, strict=True))
    scale = max(np.abs(y).max() for _, y in pairs)
    error = max(np.abs(x - y).max() for x, y in pairs) / scale
    limit = 1e-5 if found[0].dtype == np.float32 else 1e-12
    result = f"NumPy's to {error:.0e} of the largest" if error else "NumPy's, bit for bit"
    numpy_time, our_time = medians([function, compiled], arguments)
    row("kept in", shown(compiled.runtime_executable().entry.directory) + "/")
    row("result", result if error < limit else f"WRONG by {error:.0e}")
    speed = f"{numpy_time / our_time:.1f} times as fast"
    row("time", f"NumPy {milliseconds(numpy_time)}, C {milliseconds(our_time)}: {speed}")


def milliseconds(seconds):
    return f"{seconds * 1e3:.3g} ms"


def values(result):
    return list(result.values()) if isinstance(result, dict) else [result]


def medians(functions, arguments, rounds=7):
    """The median time of each function. They take turns, so that both see the same machine, and
    each turn starts after a pause, in which the threads of the other one's turn stop spinning."""
    times = [[] for _ in functions]
    for _ in range(rounds):
        for function, taken in zip(functions, times, strict=True):
            time.sleep(0.1)
            function(*arguments)
            for _ in range(3):
                start = time.perf_counter()
                function(*arguments)
                taken.append(time.perf_counter() - start)
    return [float(np.median(taken)) for taken in times]


def kernels(lowered):
    """The loops of a C text, without the declarations and helper functions around them."""
    text = lowered.as_text("c")
    name = re.search(r"^int (\w+)\(", text, re.MULTILINE)[1]
    parts = re.split(r"\n\n(?=/\*|static|size_t)", text)
    return [part for part in parts if re.search(rf"^static void {name}_", part, re.MULTILINE)]


# ---------------------------------------------------------------------------------------- looks


def bold(text):
    return f"\033[1m{text}\033[0m" if TERMINAL else text


def heading(text):
    print(f"\n\n{bold(text)}\n{'-' * len(text)}")


def row(title, text):
    print(f"{title:9}{text}")


def listing(text):
    """Lines of code, indented as far as the terminal has room for all of them."""
    lines = text.strip("\n").splitlines()
    indent = max(0, min(4, COLUMNS - max(map(len, lines))))
    print("\n" + "\n".join(f"{'':{indent}}{line}".rstrip() for line in lines) + "\n")


def shown(path):
    """A path below this directory is shown relative to it."""
    path = Path(path)
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


if __name__ == "__main__":
    main()
